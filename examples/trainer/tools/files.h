/*
 * Files and folders.
 */
#ifndef TRAINER_FILES_H
#define TRAINER_FILES_H

#include <stdio.h>

#include <tce/tce.h>

enum { FILE_PATH = 4096 };

/* TCE_E_IO for a file that could not be written: the system's reason, and a remedy that fits it. */
tce_status file_fail_write(const char *path, int error);

/*
 * Opens a file, as fopen would for the flags of open and the mode. Never waits, and never writes
 * through a symbolic link: what is not a regular file is refused. TCE_E_NOT_FOUND, TCE_E_IO.
 */
tce_status file_open(const char *path, int flags, const char *mode, FILE **out);

/* What was written so far goes to the disk. 0, or the system's error. */
int file_sync(FILE *file);

/*
 * Writes a file, complete or not at all: a reader sees the old content or the new, and the
 * new one is on the disk. TCE_E_IO.
 */
tce_status file_replace(const char *path, void (*write)(FILE *file, const void *content),
                        const void *content);
/*
 * The same where several processes may write the file at the same time, each under a name of its
 * own, which follows from its work: what one left when it was killed, its successor takes away.
 */
tce_status file_replace_as(const char *path, const char *writer,
                           void (*write)(FILE *file, const void *content), const void *content);

/* The entries of a folder go to the disk: what was created or renamed in it. TCE_E_IO. */
tce_status folder_sync(const char *folder);

/* Makes a folder and its parents; one that is there is fine. TCE_E_IO. */
tce_status folder_make(const char *folder);
/*
 * The same for a folder inside a run folder: links on the way to it are the user's, but it must not
 * be one itself.
 */
tce_status folder_make_inside(const char *folder);

#endif
