/*
 * The terminal, if there is one.
 */
#ifndef TRAINER_TERMINAL_H
#define TRAINER_TERMINAL_H

#include <stddef.h>

/* Whether a line written to a file descriptor can be redrawn in place. */
int is_terminal(int descriptor);

/* Columns of the terminal that a line may fill. */
size_t terminal_width(void);

#endif
