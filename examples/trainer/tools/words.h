/*
 * Words that people mistype.
 */
#ifndef TRAINER_WORDS_H
#define TRAINER_WORDS_H

#include <stddef.h>

/* Of n words, the one most like `word`, or NULL when none is near. */
const char *nearest_word(const char *word, size_t n, const char *const *words);

#endif
