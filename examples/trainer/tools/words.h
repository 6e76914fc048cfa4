/*
 * Words that people mistype.
 */
#ifndef TRAINER_WORDS_H
#define TRAINER_WORDS_H

#include <stddef.h>

/* The word most like another one, among candidates that are tried one by one. */
typedef struct nearest {
    const char *word, *best;
    size_t least; /* distance of the best */
} nearest;

void nearest_start(nearest *n, const char *word);
/* The candidate must outlive n. */
void nearest_try(nearest *n, const char *candidate);
/* The first of the nearest candidates, or NULL when none is near. */
const char *nearest_found(const nearest *n);

#endif
