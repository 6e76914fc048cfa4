/*
 * Rows of demonstrations: all numbers of the file first, then by episode.
 */
#include "commands/demos.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/csv.h"
#include "tools/files.h"

enum { EPISODE = 0, TIME = 1, POS = 2 }; /* columns; observations follow the positions */

/* A file while it is read. */
typedef struct table {
    const char *path;
    FILE *file;
    char *line;
    size_t size;
    long number; /* of the line */
    csv_row row;
    size_t D, O;
    size_t n, room; /* rows */
    double *values; /* [n, POS + D + O] */
} table;

static tce_status fail_line(const table *r, const char *what)
{
    return tce_fail(TCE_E_CORRUPT, "%s:%ld: %s", r->path, r->number, what);
}

/* Cuts the next line that is not empty. *more: 0 at the end. */
static tce_status next_row(table *r, int *more)
{
    while ((*more = getline(&r->line, &r->size, r->file) > 0) != 0) {
        r->number++;
        if (r->line[strspn(r->line, " \t\r\n")] != '\0')
            return csv_row_cut(&r->row, r->line) == TCE_OK ? TCE_OK
                                                           : fail_line(r, tce_error_message());
    }
    return TCE_OK;
}

/* Columns name_1 … name_n from column `first` on; how many there are. */
static size_t count_columns(const csv_row *row, size_t first, const char *name)
{
    size_t n = 0;
    for (char wanted[64]; first + n < row->n; n++) {
        snprintf(wanted, sizeof wanted, "%s_%zu", name, n + 1);
        if (strcmp(row->fields[first + n], wanted) != 0)
            break;
    }
    return n;
}

static tce_status read_header(table *r)
{
    int more;
    const tce_status status = next_row(r, &more);
    if (status != TCE_OK)
        return status;
    if (!more)
        return tce_fail(TCE_E_CORRUPT, "%s is empty", r->path);
    r->D = count_columns(&r->row, POS, "pos");
    r->O = count_columns(&r->row, POS + r->D, "obs");
    const int named = r->row.n >= POS && strcmp(r->row.fields[EPISODE], "episode") == 0 &&
                      strcmp(r->row.fields[TIME], "time") == 0;
    return named && r->D > 0 && POS + r->D + r->O == r->row.n
               ? TCE_OK
               : fail_line(r, "the columns must be episode,time,pos_1,...,pos_D, and then obs_1,"
                              "...,obs_O or none");
}

/* Whether row i begins an episode. */
static int begins(const table *r, size_t i)
{
    const size_t width = POS + r->D + r->O;
    return i == 0 || r->values[i * width + EPISODE] != r->values[(i - 1) * width + EPISODE];
}

/* The numbers of a row; observations count in the first row of an episode alone. */
static tce_status add_row(table *r)
{
    const size_t width = POS + r->D + r->O;
    if (r->row.n != width)
        return fail_line(r, "does not have as many fields as the header");
    if (r->n == r->room) {
        const size_t room = 2 * r->room + 256;
        double *more = realloc(r->values, room * width * sizeof *more);
        if (!more)
            return tce_fail(TCE_E_NOMEM, "no memory for %zu rows", room);
        r->values = more;
        r->room = room;
    }
    double *values = r->values + r->n++ * width;
    for (size_t i = 0; i < width; i++)
        if (!csv_number(r->row.fields[i], &values[i]))
            return fail_line(r, "has a field that is not a number");
    for (size_t i = 0; i < width; i++)
        if (!isfinite(values[i]) && (i < POS + r->D || begins(r, r->n - 1)))
            return fail_line(r, "lacks a number");
    return TCE_OK;
}

static tce_status read_table(table *r)
{
    int more = 1;
    tce_status status = file_open(r->path, O_RDONLY, "r", &r->file);
    if (status == TCE_OK)
        status = read_header(r);
    while (status == TCE_OK && more) {
        status = next_row(r, &more);
        if (status == TCE_OK && more)
            status = add_row(r);
    }
    return status;
}

/* Rows by episode. */
static tce_status arrange(const table *r, demos *out)
{
    const size_t width = POS + r->D + r->O;
    size_t n = 0, rows = 0, longest = 0;
    for (size_t i = 0; i < r->n; i++) {
        rows = begins(r, i) ? 1 : rows + 1;
        n += rows == 1;
        longest = rows > longest ? rows : longest;
    }
    if (n == 0)
        return tce_fail(TCE_E_CORRUPT, "%s has no demonstrations", r->path);
    int32_t *n_rows = memory_take(&out->arrays, n, sizeof *n_rows);
    double *times = memory_doubles(&out->arrays, n * longest);
    double *pos = memory_doubles(&out->arrays, n * longest * r->D);
    double *obs = memory_doubles(&out->arrays, n * r->O + 1);
    if (out->arrays.failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu demonstrations", n);
    out->given = (demonstrations){ n, longest, r->D, r->O, n_rows, times, pos, r->O ? obs : NULL };
    n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const double *values = r->values + i * width;
        n += (size_t)begins(r, i);
        const size_t e = n - 1, at = e * longest + (size_t)n_rows[e]++;
        times[at] = values[TIME];
        memcpy(pos + at * r->D, values + POS, r->D * sizeof *pos);
        if (n_rows[e] == 1)
            memcpy(obs + e * r->O, values + POS + r->D, r->O * sizeof *obs);
    }
    return TCE_OK;
}

tce_status demos_read(demos *out, const char *path)
{
    table r = { .path = path };
    memset(out, 0, sizeof *out);
    tce_status status = read_table(&r);
    if (status == TCE_OK)
        status = arrange(&r, out);
    if (r.file)
        fclose(r.file);
    csv_row_free(&r.row);
    free(r.line);
    free(r.values);
    if (status != TCE_OK)
        demos_free(out);
    return status;
}

void demos_free(demos *d)
{
    memory_free(&d->arrays);
    memset(d, 0, sizeof *d);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_numbers(FILE *file, size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++)
        fprintf(file, ",%.17g", x[i]);
}

static void put_names(FILE *file, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        fprintf(file, ",%s_%zu", name, i + 1);
}

static void write_rows(FILE *file, const void *content)
{
    const episodes *ep = content;
    fprintf(file, "episode,time");
    put_names(file, ep->D, "pos");
    put_names(file, ep->O, "obs");
    fputc('\n', file);
    for (size_t e = 0; e < ep->E; e++) {
        if (ep->lengths[e] == 0)
            continue; /* lost to a fault */
        fprintf(file, "%zu,0", e + 1);
        put_numbers(file, ep->D, ep->init_pos + e * ep->D);
        put_numbers(file, ep->O, ep->obs + e * (ep->T + 1) * ep->O);
        fputc('\n', file);
        for (size_t t = 0; t < ep->T; t++) {
            fprintf(file, "%zu,%.17g", e + 1, ep->times[t]);
            put_numbers(file, ep->D, ep->pos + (e * ep->T + t) * ep->D);
            for (size_t i = 0; i < ep->O; i++)
                fputc(',', file);
            fputc('\n', file);
        }
    }
}

tce_status demos_write(const char *path, const episodes *ep)
{
    if (!ep->pos)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "--paths: this policy acts at every step and plans no paths");
    return file_replace(path, write_rows, ep);
}
