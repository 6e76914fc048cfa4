/*
 * Temporary files: in $TMPDIR, or /tmp where that is not set.
 */
#ifndef TRAINER_TEMPORARY_H
#define TRAINER_TEMPORARY_H

#include <stdio.h>

#include <tce/tce.h>

/*
 * A new file to write and to read. It has no name any more, so that nothing is left of it however
 * this process ends, and programs that this process starts do not inherit it. fclose when done.
 * TCE_E_IO with the folder, the system's reason and the remedy.
 */
tce_status temporary_open(FILE **out);

#endif
