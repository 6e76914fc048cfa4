/*
 * Fields of CSV files, out and in.
 */
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
