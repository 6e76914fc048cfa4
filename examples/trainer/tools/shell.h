/*
 * Words of commands that a message proposes: they can be pasted into a shell whatever is in them.
 */
#ifndef TRAINER_SHELL_H
#define TRAINER_SHELL_H

#include <stddef.h>

/* Room for a path as a word: each of its characters may become four. */
#define SHELL_WORD (4 * 4096 + 8)

/* The text as one word of a shell, in quotes where it needs them. Returns out. */
const char *shell_word(const char *text, char *out, size_t size);

#endif
