/*
 * CSV files of numbers in, CSV files out.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/plot.h"
#include "run/run.h"

#define PATH_SIZE (2 * TEXT_SIZE)

void table_free(table *t)
{
    free(t->names);
    free(t->values);
    memset(t, 0, sizeof *t);
}

size_t table_column(const table *t, const char *name)
{
    size_t i = 0;
    while (i < t->n_columns && strcmp(t->names[i], name) != 0)
        i++;
    return i;
}

/* The names in the first line, which is cut at its commas. */
static tce_status read_header(const char *path, char *line, table *t)
{
    t->n_columns = 1;
    for (const char *c = line; *c; c++)
        t->n_columns += *c == ',';
    t->names = calloc(t->n_columns, sizeof *t->names);
    if (!t->names)
        return tce_fail(TCE_E_NOMEM, "no memory for the columns of %s", path);
    for (size_t i = 0; i < t->n_columns; i++) {
        const size_t length = strcspn(line, ",\r\n");
        if (length == 0 || length >= METRIC_NAME)
            return tce_fail(TCE_E_CORRUPT, "%s:1: name of column %zu is empty or too long", path,
                            i + 1);
        memcpy(t->names[i], line, length);
        line += length + 1;
    }
    return TCE_OK;
}

static tce_status read_row(const char *path, size_t number, const char *line, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        const size_t length = strcspn(line, ",\r\n");
        char *end = NULL;
        out[i] = length ? strtod(line, &end) : NAN;
        if (length && end != line + length)
            return tce_fail(TCE_E_CORRUPT, "%s:%zu: \"%.*s\" is not a number", path, number,
                            (int)length, line);
        if ((line[length] == ',') != (i + 1 < n))
            return tce_fail(TCE_E_CORRUPT, "%s:%zu: has not %zu fields", path, number, n);
        line += length + 1;
    }
    return TCE_OK;
}

static tce_status read_lines(const char *path, FILE *file, table *t)
{
    char *line = NULL;
    size_t size = 0, room = 0, number = 0;
    tce_status status = TCE_OK;
    ssize_t length;
    while (status == TCE_OK && (length = getline(&line, &size, file)) > 0 &&
           line[length - 1] == '\n') {
        number++;
        if (number == 1) {
            status = read_header(path, line, t);
            continue;
        }
        if (t->n_rows == room) {
            room = room ? 2 * room : 256;
            double *more = realloc(t->values, room * t->n_columns * sizeof *more);
            if (!more) {
                status = tce_fail(TCE_E_NOMEM, "no memory for the rows of %s", path);
                continue;
            }
            t->values = more;
        }
        status = read_row(path, number, line, t->n_columns, t->values + t->n_rows * t->n_columns);
        t->n_rows += status == TCE_OK;
    }
    free(line);
    if (status == TCE_OK && ferror(file))
        return tce_fail(TCE_E_IO, "cannot read %s: %s", path, strerror(errno));
    if (status == TCE_OK && number == 0)
        return tce_fail(TCE_E_CORRUPT, "%s is empty", path);
    return status;
}

tce_status table_read(const char *path, table *out)
{
    memset(out, 0, sizeof *out);
    FILE *file;
    tce_status status = run_open(path, O_RDONLY, "r", &file);
    if (status != TCE_OK)
        return status;
    status = read_lines(path, file, out);
    fclose(file);
    if (status != TCE_OK)
        table_free(out);
    return status;
}

tce_status plot_open(const char *folder, const char *name, FILE **out)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *out = fopen(path, "w");
    return *out ? TCE_OK
                : tce_fail(TCE_E_IO, "cannot write %s: %s; choose another folder with --out", path,
                           strerror(errno));
}

tce_status plot_close(const char *folder, const char *name, FILE *file)
{
    const int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return tce_fail(TCE_E_IO, "cannot write %s/%s: %s", folder, name, strerror(errno));
    return TCE_OK;
}
