/*
 * How far a command is, for whoever waits: "playing: 320 of 1000 episodes" on the terminal, gone
 * when it is done.
 */
#ifndef TRAINER_COUNTER_H
#define TRAINER_COUNTER_H

#include <stddef.h>

typedef struct counter {
    const char *doing, *things;
    size_t done, total;
    double shown; /* seconds, when the line was written last */
    int terminal; /* stderr is one; elsewhere nothing is written */
    int has_line;
} counter;

void counter_start(counter *c, const char *doing, size_t total, const char *things);
/*
 * n more are done. Writes the line anew, a few times a second at most and not before the first half
 * second is over.
 */
void counter_add(counter *c, size_t n);
/* Takes the line away. */
void counter_end(counter *c);

#endif
