/*
 * Texts in CSV files (RFC 4180, one line a record).
 */
#ifndef TRAINER_CSV_H
#define TRAINER_CSV_H

#include <stddef.h>
#include <stdio.h>

/* A text as one field: in quotes where it needs them, line ends as blanks. */
void csv_put_text(FILE *file, const char *text);

/*
 * Cuts a line into its fields, in place, without quotes and line end. Returns how many there are;
 * the first `max` of them are in out. 0: a quote is open.
 */
size_t csv_split(char *line, size_t max, char **out);

#endif
