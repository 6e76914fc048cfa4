/*
 * The running program: where it lies, and how it ends.
 */
#ifndef TRAINER_PROGRAM_H
#define TRAINER_PROGRAM_H

#include <stddef.h>

/* Exit codes of tce: fine, failed (said on stderr, with the remedy), wrong usage, interrupted. */
enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

enum { PROGRAM_PATH = 4096 };

/*
 * A path that opens the file of the running program, also when it has been rebuilt or removed
 * since, where the system has such a path; NULL when it does not tell.
 */
const char *program_file(char out[PROGRAM_PATH]);

/* Folder of the running program, without the last slash; "." when the system does not tell. */
void program_folder(char *out, size_t size);

/* How many cores this process may use: taskset and batch systems leave it fewer than there are. */
int program_cores(void);

#endif
