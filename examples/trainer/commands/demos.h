/*
 * Demonstrations as a CSV file: read for `tce fit`, written by `tce eval --paths`.
 */
#ifndef TRAINER_DEMOS_H
#define TRAINER_DEMOS_H

#include "run/imitate.h"

/* Demonstrations with the memory that they are in. */
typedef struct demos {
    demonstrations given;
    memory arrays;
} demos;

/* demos_free also after a failure. TCE_E_NOT_FOUND, TCE_E_CORRUPT with the line, TCE_E_NOMEM. */
tce_status demos_read(demos *out, const char *path);
void demos_free(demos *d);

/*
 * Writes the desired paths of episodes that were played, from their starts, and their first
 * observations. TCE_E_UNSUPPORTED: their policy plans no paths.  TCE_E_IO.
 */
tce_status demos_write(const char *path, const episodes *ep);

#endif
