/*
 * A line on stderr, so that stdout keeps the results alone.
 */
#include "tools/counter.h"

#include <stdio.h>
#include <unistd.h>

#include "tools/clock.h"
#include "tools/terminal.h"

#define PATIENCE 0.5 /* seconds without a line */
#define PERIOD 0.1   /* between two of them */

void counter_start(counter *c, const char *doing, size_t total, const char *things)
{
    *c = (counter){ .doing = doing, .things = things, .total = total };
    c->terminal = is_terminal(STDERR_FILENO);
    c->shown = now_seconds() + PATIENCE - PERIOD;
}

void counter_add(counter *c, size_t n)
{
    c->done += n;
    const double now = now_seconds();
    if (!c->terminal || now - c->shown < PERIOD)
        return;
    c->shown = now;
    c->has_line = 1;
    fprintf(stderr, "\r%s: %zu of %zu %s\033[K", c->doing, c->done, c->total, c->things);
    fflush(stderr);
}

void counter_end(counter *c)
{
    if (c->has_line)
        fputs("\r\033[K", stderr);
    c->has_line = 0;
}
