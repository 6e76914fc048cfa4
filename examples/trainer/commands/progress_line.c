/*
 * A line on stderr, so that stdout keeps the results alone.
 */
#include "commands/progress_line.h"

#include <stdio.h>
#include <unistd.h>

#include "tools/clock.h"
#include "tools/terminal.h"

#define PATIENCE 0.5 /* seconds without a line */
#define PERIOD 0.1   /* between two of them */

void progress_line_start(progress_line *p, const char *doing, size_t total, const char *things)
{
    *p = (progress_line){ .doing = doing, .things = things, .total = total };
    p->terminal = is_terminal(STDERR_FILENO);
    p->shown = now_seconds() + PATIENCE - PERIOD;
}

void progress_line_add(progress_line *p, size_t n)
{
    p->done += n;
    const double now = now_seconds();
    if (!p->terminal || now - p->shown < PERIOD)
        return;
    p->shown = now;
    p->has_line = 1;
    fprintf(stderr, "\r%s: %zu of %zu %s\033[K", p->doing, p->done, p->total, p->things);
    fflush(stderr);
}

void progress_line_show(void *line, size_t done, size_t total)
{
    progress_line *p = line;
    p->total = total;
    p->done = done;
    progress_line_add(p, 0);
    if (done == total)
        progress_line_end(p);
}

void progress_line_end(progress_line *p)
{
    if (p->has_line)
        fputs("\r\033[K", stderr);
    p->has_line = 0;
}
