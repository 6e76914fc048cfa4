/*
 * A journal: the last rows of a ring in memory, kept on the disk as they come, so that a checkpoint
 * writes only the new rows and not the whole ring.
 *
 * Rows are numbered from 0 and have a fixed size. They are appended to files rows-<first row>.bin
 * of a fixed number of rows, which never change once they are full. A checkpoint holds the number
 * of rows, and of each file that it needs the first row, the number of rows and their checksum. The
 * files are on the disk before the checkpoint is; a process that is killed in between leaves rows
 * that the next one cuts off. A file is removed when the oldest checkpoint no longer needs it.
 *
 * A journal does not know what rows mean.
 */
#ifndef TRAINER_JOURNAL_H
#define TRAINER_JOURNAL_H

#include <stdint.h>

#include "tools/files.h"

/* What is kept, the owner's. */
typedef struct journal_rows {
    size_t size;         /* bytes of a row */
    int64_t capacity;    /* rows of the ring */
    int64_t written;     /* rows so far; the last `capacity` of them are in the ring */
    unsigned char *ring; /* [capacity, size]: row k is at k mod capacity */
} journal_rows;

/* The beginning of a file: rows first … first + n - 1. */
typedef struct journal_file {
    int64_t first, n;
    uint64_t checksum;
} journal_file;

typedef struct journal {
    char folder[FILE_PATH];
    journal_rows *rows;
    journal_file *files; /* [n_files] those that the present rows need, oldest first */
    size_t n_files, room;
    int leftovers; /* there may be rows in the folder that no checkpoint has */
} journal;

/* A journal of rows in a folder, which is there. Nothing is read yet. TCE_E_IO: too long a name. */
tce_status journal_open(journal *j, const char *folder, journal_rows *rows);
void journal_close(journal *j);

/* Rows per file. */
int64_t journal_file_rows(const journal_rows *rows);

/*
 * Before a checkpoint is written: appends the rows that are not on the disk yet, waits until the
 * disk has them, and puts into the store what the checkpoint has to hold ("journal.…").
 * TCE_E_IO: the checkpoint must not be written; a later call tries again.  TCE_E_NOMEM.
 */
tce_status journal_append(journal *j, tce_store *store);

/*
 * The rows of a checkpoint, back into the ring. TCE_E_CORRUPT: a file is missing, shorter or other
 * than it was; the message says which.  TCE_E_SHAPE: rows of another size.  TCE_E_NOT_FOUND: the
 * store has no journal. After a failure there are no rows.
 */
tce_status journal_load(journal *j, const tce_store *store);

/* The number of rows of a checkpoint; 0 when it says none. */
int64_t journal_rows_of(const tce_store *store);

/* Whether the folder has files that the present rows do not need: there is something to trim. */
int journal_has_old_files(const journal *j);

/* Removes the files that a checkpoint of this many rows, and all later ones, do not need. */
void journal_trim(const journal *j, int64_t oldest);

#endif
