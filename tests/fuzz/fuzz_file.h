/*
 * For fuzz targets of functions that read a named file: a folder of this process, in memory where
 * the system has such a place, removed at exit.
 */
#ifndef TCE_TESTS_FUZZ_FILE_H
#define TCE_TESTS_FUZZ_FILE_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define FUZZ_PATH 64

/* The folder; made by the first call. */
const char *fuzz_folder(void);

/* folder/name */
void fuzz_path(const char *name, char out[FUZZ_PATH]);

void fuzz_write(const char *name, const void *data, size_t size);

#endif
