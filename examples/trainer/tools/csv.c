/*
 * Fields of CSV files, out and in.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/csv.h"

void csv_put_text(FILE *file, const char *text)
{
    const int quoted = strpbrk(text, ",\"\n\r") != NULL;
    if (quoted)
        fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text == '\n' || *text == '\r' ? ' ' : *text, file);
    }
    if (quoted)
        fputc('"', file);
}

/*
 * Takes a field that stands in quotes to its plain text; returns what follows the closing quote, or
 * NULL.
 */
static char *take_quoted(char *at, char **out)
{
    char *to = *out = at++;
    for (;; at++) {
        if (*at == '\0')
            return NULL;
        if (*at == '"' && *++at != '"')
            break;
        *to++ = *at;
    }
    *to = '\0';
    return at;
}

size_t csv_split(char *line, size_t max, char **out)
{
    size_t n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line;; at++) {
        char *field = at;
        if (*at == '"') {
            at = take_quoted(at, &field);
            if (!at)
                return 0;
        }
        at += strcspn(at, ",");
        const int last = *at == '\0';
        *at = '\0';
        if (n < max)
            out[n] = field;
        n++;
        if (last)
            return n;
    }
}

tce_status csv_row_cut(csv_row *row, char *line)
{
    size_t most = 1;
    for (const char *c = line; *c; c++)
        most += *c == ',';
    if (most > row->room) {
        char **more = realloc(row->fields, most * sizeof *more);
        if (!more)
            return tce_fail(TCE_E_NOMEM, "no memory for %zu fields", most);
        row->fields = more;
        row->room = most;
    }
    row->n = csv_split(line, row->room, row->fields);
    return row->n > 0 ? TCE_OK : tce_fail(TCE_E_CORRUPT, "a quote is open");
}

size_t csv_row_find(const csv_row *row, const char *text)
{
    size_t i = 0;
    while (i < row->n && strcmp(row->fields[i], text) != 0)
        i++;
    return i;
}

void csv_row_free(csv_row *row)
{
    free(row->fields);
    memset(row, 0, sizeof *row);
}

int csv_number(const char *field, double *out)
{
    char *end = NULL;
    *out = *field ? strtod(field, &end) : NAN;
    return !*field || (end != field && *end == '\0');
}
