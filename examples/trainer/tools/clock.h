/*
 * Time that passes.
 */
#ifndef TRAINER_CLOCK_H
#define TRAINER_CLOCK_H

/* Seconds of a clock that never goes back. */
double now_seconds(void);

#endif
