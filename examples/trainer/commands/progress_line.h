/*
 * How far a command is: "playing: 320 of 1000 episodes" on the terminal, gone
 * when it is done.
 */
#ifndef TRAINER_PROGRESS_LINE_H
#define TRAINER_PROGRESS_LINE_H

#include <stddef.h>

typedef struct progress_line {
    const char *doing, *things;
    size_t done, total;
    double shown; /* seconds, when the line was written last */
    int terminal; /* stderr is one; elsewhere nothing is written */
    int has_line;
} progress_line;

void progress_line_start(progress_line *p, const char *doing, size_t total, const char *things);
/*
 * n more are done. Redraws the line, a few times a second at most and not before the first half
 * second is over.
 */
void progress_line_add(progress_line *p, size_t n);
/* Tells a progress_line how many are done; the last call takes the line away. */
void progress_line_show(void *line, size_t done, size_t total);
/* Takes the line away. */
void progress_line_end(progress_line *p);

#endif
