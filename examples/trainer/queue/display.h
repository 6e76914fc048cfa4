/*
 * What the user sees of a run: one line that is redrawn on a terminal, plain lines elsewhere,
 * nothing when quiet.
 */
#ifndef TRAINER_DISPLAY_H
#define TRAINER_DISPLAY_H

#include "run/run.h"

typedef struct display {
    int quiet, terminal, colour;
    int has_line;          /* an unfinished line stands on the terminal */
    double started, shown; /* seconds */
    int64_t first_iteration, first_steps;
    double eval_success; /* last one; NaN: none yet */
} display;

/* On stdout. Colours need a terminal and no NO_COLOR. */
void display_init(display *d, int quiet);

/* Where the counting of speed begins. */
void display_start(display *d, int64_t iteration, int64_t env_steps);

/* After each iteration; evaluated ones are always written when not on a terminal. */
void display_update(display *d, const run_standing *now);

/* The line as text, without colours: width 0 means all of it. */
void display_line(const display *d, const run_standing *standing, double now, size_t width,
                  char *out, size_t size);

/* A line of its own on stdout, unless quiet. */
void display_note(display *d, const char *format, ...) TCE_PRINTF(2, 3);

/* A warning on stderr, quiet or not. */
void display_warn(display *d, const char *format, ...) TCE_PRINTF(2, 3);

/* An observer that shows a run on the display, and stops it when a signal has asked for that. */
void display_observe(display *d, run_observer *out);

/* Ends an unfinished line. */
void display_end(display *d);

/* "1:05", "2:03:04" */
void display_duration(double seconds, char *out, size_t size);

#endif
