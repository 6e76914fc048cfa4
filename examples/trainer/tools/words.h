/*
 * Words that people mistype.
 */
#ifndef TRAINER_WORDS_H
#define TRAINER_WORDS_H

#include <stddef.h>

enum { NEAREST_MOST = 3 };

/* The words most like another one, among candidates that are tried one by one. */
typedef struct nearest {
    const char *word;
    const char *found[NEAREST_MOST]; /* best first */
    size_t n;
} nearest;

void nearest_start(nearest *n, const char *word);
/* The candidate must outlive n. */
void nearest_try(nearest *n, const char *candidate);
/* The first of the nearest candidates, or NULL when none is near. */
const char *nearest_found(const nearest *n);
/* "; the nearest are \"a\", \"b\"", or "" when none is near. Returns out. */
const char *nearest_words(const nearest *n, char *out, size_t size);

#endif
