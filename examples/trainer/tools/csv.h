/*
 * CSV files (RFC 4180, one line per record).
 */
#ifndef TRAINER_CSV_H
#define TRAINER_CSV_H

#include <stddef.h>
#include <stdio.h>

#include <tce/tce.h>

/* A text as one field: in quotes where it needs them, line ends as blanks. */
void csv_put_text(FILE *file, const char *text);

/*
 * Cuts a line into its fields, in place, without quotes and line end. Returns how many there are;
 * the first `max` of them are in out. 0: a quote is open.
 */
size_t csv_split(char *line, size_t max, char **out);

/* All fields of a line, however many there are. Starts as { 0 }, serves one line after another. */
typedef struct csv_row {
    size_t n;
    char **fields; /* [n], in the line that was cut */
    size_t room;
} csv_row;

/* Cuts a line, as csv_split does. TCE_E_CORRUPT: a quote is open.  TCE_E_NOMEM. */
tce_status csv_row_cut(csv_row *row, char *line);
/* The field with this text; n when there is none. */
size_t csv_row_find(const csv_row *row, const char *text);
void csv_row_free(csv_row *row);

/* Whether a field is a number; NaN for an empty one. */
int csv_number(const char *field, double *out);

#endif
