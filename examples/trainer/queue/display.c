/*
 * The line that a run redraws while it trains, and its plain form.
 *
 *     120/200  384k steps  12.3k/s  return -1.23  success 0.85 (eval 0.91)
 *         entropy 3.20  KL 0.050  simulation 40% critic 35% policy 25%  ETA 1:23
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queue/display.h"
#include "queue/signals.h"
#include "tools/clock.h"
#include "tools/terminal.h"

/*
 * Seconds between updates: fast enough to look alive, slow enough to cost nothing; a log wants
 * fewer.
 */
#define TERMINAL_PERIOD 0.1
#define PLAIN_PERIOD 5.0

void display_init(display *d, int quiet)
{
    memset(d, 0, sizeof *d);
    const char *no_colour = getenv("NO_COLOR");
    d->quiet = quiet;
    d->terminal = is_terminal(STDOUT_FILENO);
    d->colour = d->terminal && !(no_colour && *no_colour);
    d->eval_success = NAN;
    display_start(d, 0, 0);
}

void display_start(display *d, int64_t iteration, int64_t env_steps)
{
    d->started = now_seconds();
    d->shown = d->terminal ? 0.0 : d->started;
    d->first_iteration = iteration;
    d->first_steps = env_steps;
}

void display_duration(double seconds, char *out, size_t size)
{
    const long long s = seconds > 0.0 && seconds < 1e12 ? (long long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(out, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%lld:%02lld", s / 60, s % 60);
}

/* ---- the line -------------------------------------------------------------------------------- */

/* 950, 12.3k, 4.56M: three digits. */
static void short_number(double value, char *out, size_t size)
{
    static const char *const UNITS[] = { "", "k", "M", "G", "T" };
    int unit = 0;
    for (; unit < 4 && value >= 999.5; unit++)
        value /= 1000.0;
    const int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, size, "%.*f%s", digits, value, UNITS[unit]);
}

/*
 * Appends a part of the line; what does not fit into the width is left out as a whole, as is all
 * that follows.
 */
typedef struct line {
    char *text;
    size_t used, limit;
    int full;
} line;

static void add(line *to, const char *format, ...) TCE_PRINTF(2, 3);

static void add(line *to, const char *format, ...)
{
    char part[160];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(part, sizeof part, format, list);
    va_end(list);
    const size_t gap = to->used ? 2 : 0;
    if (n <= 0 || to->full || to->used + gap + (size_t)n > to->limit) {
        to->full = to->full || n > 0;
        return;
    }
    memset(to->text + to->used, ' ', gap);
    memcpy(to->text + to->used + gap, part, (size_t)n + 1);
    to->used += gap + (size_t)n;
}

static void add_metric(line *to, const char *label, double value, const char *format)
{
    char number[32];
    if (isnan(value))
        return;
    snprintf(number, sizeof number, format, value);
    add(to, "%s %s", label, number);
}

static void add_success(line *to, double success, double evaluated)
{
    if (isnan(success))
        return;
    if (isnan(evaluated))
        add(to, "success %.2f", success);
    else
        add(to, "success %.2f (eval %.2f)", success, evaluated);
}

/* "simulation 40% critic 35% policy 25%" */
static void add_split(line *to, const char *const *phases, const double *seconds)
{
    char text[160] = "";
    double all = 0.0;
    size_t used = 0;
    for (size_t k = 0; phases[k]; k++)
        all += seconds[k];
    for (size_t k = 0; all > 0.0 && phases[k] && used < sizeof text; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.0f%%", k ? " " : "",
                                 phases[k], 100.0 * seconds[k] / all);
    if (used > 0 && used < sizeof text)
        add(to, "%s", text);
}

/* Time left, by whichever limit comes first. */
static double time_left(const display *d, const run_standing *state, double elapsed)
{
    const double done = (double)(state->iteration - d->first_iteration);
    const double steps = (double)(state->env_steps - d->first_steps);
    double left = done > 0.0 ? elapsed / done * (double)(state->iterations - state->iteration)
                             : NAN;
    if (state->steps_limit > 0 && steps > 0.0)
        left = fmin(left, elapsed / steps * (double)(state->steps_limit - state->env_steps));
    return left;
}

void display_line(const display *d, const run_standing *state, double now, size_t width, char *out,
                  size_t size)
{
    line to = { out, 0, width && width < size - 1 ? width : size - 1, 0 };
    char steps[32], rate[32], left[32];
    const double elapsed = now - d->started;
    out[0] = '\0';
    short_number((double)state->env_steps, steps, sizeof steps);
    short_number(elapsed > 0.0 ? (double)(state->env_steps - d->first_steps) / elapsed : 0.0, rate,
                 sizeof rate);
    display_duration(time_left(d, state, elapsed), left, sizeof left);

    add(&to, "%" PRId64 "/%" PRId64, state->iteration, state->iterations);
    add(&to, "ETA %s", left);
    add(&to, "%s steps", steps);
    add(&to, "%s/s", rate);
    add_metric(&to, "return", metrics_get(state->m, "return"), "%.4g");
    add_success(&to, metrics_get(state->m, "success"), d->eval_success);
    add_metric(&to, "entropy", metrics_get(state->m, "entropy"), "%.2f");
    add_metric(&to, "KL", metrics_get(state->m, "kl_mean") + metrics_get(state->m, "kl_cov"),
               "%.3g");
    add_split(&to, state->phases, state->seconds);
    if (state->dropped > 0)
        add(&to, "dropped %" PRId64, state->dropped);
}

/* ---- on the screen --------------------------------------------------------------------------- */

/* The numbers stand out, their names do not. */
static void print_coloured(const char *text)
{
    int bright = 0;
    for (const char *word = text; *word;) {
        const size_t gap = strspn(word, " ");
        const size_t length = strcspn(word + gap, " ");
        const char first = word[gap] == '(' ? word[gap + 1] : word[gap];
        const int number = (first >= '0' && first <= '9') || first == '-';
        if (number != bright)
            fputs(number ? "\033[0;1m" : "\033[0;2m", stdout);
        bright = number;
        printf("%.*s", (int)(gap + length), word);
        word += gap + length;
    }
    fputs("\033[0m", stdout);
}

void display_update(display *d, const run_standing *state)
{
    const double now = now_seconds();
    if (state->evaluated)
        d->eval_success = metrics_get(state->m, "eval_success");
    const double period = d->terminal ? TERMINAL_PERIOD : PLAIN_PERIOD;
    if (d->quiet ||
        (!state->last && !(state->evaluated && !d->terminal) && now - d->shown < period))
        return;
    d->shown = now;

    char text[1024];
    display_line(d, state, now, d->terminal ? terminal_width() : 0, text, sizeof text);
    if (!d->terminal) {
        printf("%s\n", text);
    } else {
        /* to the left edge, the line, and nothing behind it */
        fputs("\r", stdout);
        if (d->colour)
            print_coloured(text);
        else
            fputs(text, stdout);
        fputs("\033[K", stdout);
        d->has_line = 1;
    }
    fflush(stdout);
}

void display_end(display *d)
{
    if (d->has_line)
        putchar('\n');
    d->has_line = 0;
    fflush(stdout);
}

void display_note(display *d, const char *format, ...)
{
    if (d->quiet)
        return;
    display_end(d);
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

void display_warn(display *d, const char *format, ...)
{
    display_end(d);
    va_list list;
    va_start(list, format);
    fputs("tce: warning: ", stderr);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void note(void *context, const char *sentence)
{
    display_note(context, "%s", sentence);
}

static void warn(void *context, const char *sentence)
{
    display_warn(context, "%s", sentence);
}

static void start(void *context, int64_t iteration, int64_t env_steps)
{
    display_start(context, iteration, env_steps);
}

static void advance(void *context, const run_standing *now)
{
    display_update(context, now);
}

static int wish(void *context)
{
    (void)context;
    return signals_caught() ? RUN_STOP : RUN_GO_ON;
}

static void end(void *context)
{
    display_end(context);
}

void display_observe(display *d, run_observer *out)
{
    *out = (run_observer){ { d, note, warn }, d, start, advance, wish, end };
}
