/*
 * CSV files of numbers in, CSV files out.
 */
#include <errno.h>
#include <fcntl.h>
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

/* The names in the first line. */
static tce_status take_header(const char *path, const csv_row *row, table *t)
{
    t->n_columns = row->n;
    t->names = calloc(t->n_columns, sizeof *t->names);
    if (!t->names)
        return tce_fail(TCE_E_NOMEM, "no memory for the columns of %s", path);
    for (size_t i = 0; i < t->n_columns; i++) {
        const size_t length = strlen(row->fields[i]);
        if (length == 0 || length >= METRIC_NAME)
            return tce_fail(TCE_E_CORRUPT, "%s:1: name of column %zu is empty or too long", path,
                            i + 1);
        memcpy(t->names[i], row->fields[i], length);
    }
    return TCE_OK;
}

/* Memory for one more row of t, which has room for *room of them. */
static tce_status grow(const char *path, table *t, size_t *room)
{
    if (t->n_rows < *room)
        return TCE_OK;
    const size_t more = *room ? 2 * *room : 256;
    double *values = realloc(t->values, more * t->n_columns * sizeof *values);
    if (!values)
        return tce_fail(TCE_E_NOMEM, "no memory for the rows of %s", path);
    t->values = values;
    *room = more;
    return TCE_OK;
}

static tce_status take_row(const char *path, size_t number, const csv_row *row, table *t)
{
    double *out = t->values + t->n_rows * t->n_columns;
    for (size_t i = 0; i < row->n && i < t->n_columns; i++)
        if (!csv_number(row->fields[i], &out[i]))
            return tce_fail(TCE_E_CORRUPT, "%s:%zu: \"%s\" is not a number", path, number,
                            row->fields[i]);
    if (row->n != t->n_columns)
        return tce_fail(TCE_E_CORRUPT, "%s:%zu: this line does not have %zu fields", path, number,
                        t->n_columns);
    t->n_rows++;
    return TCE_OK;
}

static tce_status read_lines(const char *path, FILE *file, table *t)
{
    char *line = NULL;
    size_t size = 0, room = 0, number = 0;
    csv_row row = { 0 };
    tce_status status = TCE_OK;
    for (ssize_t length; status == TCE_OK && (length = getline(&line, &size, file)) > 0 &&
                         line[length - 1] == '\n';) {
        number++;
        status = csv_row_cut(&row, line);
        if (status != TCE_OK)
            status = tce_fail(status, "%s:%zu: %s", path, number, tce_error_message());
        else if (number == 1)
            status = take_header(path, &row, t);
        else
            status = grow(path, t, &room);
        if (status == TCE_OK && number > 1)
            status = take_row(path, number, &row, t);
    }
    free(line);
    csv_row_free(&row);
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
    tce_status status = file_open(path, O_RDONLY, "r", &file);
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
