/*
 * Published points to draw over curves: CSV files with columns source, method, environment_steps
 * and, last, the value, whatever it is called.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/plot.h"

#define MAX_FIELDS 32

enum { SOURCE, METHOD, STEPS, N_NAMED };
static const char *const NAMED[] = { "source", "method", "environment_steps" };

/* Where the named columns are, and how many there are. */
typedef struct header {
    size_t n, at[N_NAMED];
} header;

static tce_status read_header(const char *path, char *line, header *out)
{
    char *fields[MAX_FIELDS];
    out->n = csv_split(line, MAX_FIELDS, fields);
    if (out->n == 0 || out->n > MAX_FIELDS)
        return tce_fail(TCE_E_CORRUPT, "%s:1: must have the names of 4 to %d columns", path,
                        MAX_FIELDS);
    for (int i = 0; i < N_NAMED; i++) {
        out->at[i] = 0;
        while (out->at[i] < out->n && strcmp(fields[out->at[i]], NAMED[i]) != 0)
            out->at[i]++;
        if (out->at[i] + 1 >= out->n)
            return tce_fail(TCE_E_CORRUPT,
                            "%s:1: has no column %s before the last one, which is the value: it "
                            "must be like source,method,"
                            "environment_steps,success",
                            path, NAMED[i]);
    }
    return TCE_OK;
}

static int read_number(const char *text, double *out)
{
    return csv_number(text, out) && isfinite(*out);
}

static tce_status copy_point(const char *path, size_t number, char *line, const header *h,
                             FILE *out)
{
    char *fields[MAX_FIELDS];
    double steps, value;
    if (csv_split(line, MAX_FIELDS, fields) != h->n)
        return tce_fail(TCE_E_CORRUPT, "%s:%zu: this line does not have %zu fields", path, number,
                        h->n);
    if (!read_number(fields[h->at[STEPS]], &steps) || !read_number(fields[h->n - 1], &value))
        return tce_fail(TCE_E_CORRUPT, "%s:%zu: \"%s\" and \"%s\" must be numbers", path, number,
                        fields[h->at[STEPS]], fields[h->n - 1]);
    csv_put_text(out, fields[h->at[SOURCE]]);
    fputc(',', out);
    csv_put_text(out, fields[h->at[METHOD]]);
    fprintf(out, ",%.17g,%.17g\n", steps, value);
    return TCE_OK;
}

static tce_status copy_file(const char *path, FILE *out)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return tce_fail(TCE_E_NOT_FOUND, "--over: cannot read %s: %s", path, strerror(errno));
    char *line = NULL;
    size_t size = 0, number = 0;
    header h = { 0, { 0 } };
    tce_status status = TCE_OK;
    while (status == TCE_OK && getline(&line, &size, file) > 0)
        status = ++number == 1 ? read_header(path, line, &h)
                               : copy_point(path, number, line, &h, out);
    free(line);
    fclose(file);
    return status == TCE_OK && number < 2 ? tce_fail(TCE_E_CORRUPT, "%s has no points", path)
                                          : status;
}

tce_status plot_write_points(const plot_data *data, const char *folder, size_t n,
                             const char *const *paths)
{
    FILE *out = NULL;
    tce_status status = plot_open(folder, "over.csv", &out);
    if (status != TCE_OK)
        return status;
    fprintf(out, "source,method,%s,%s%s\n", data->x_name, plot_prefix(data), data->metric);
    for (size_t i = 0; status == TCE_OK && i < n; i++)
        status = copy_file(paths[i], out);
    const tce_status closed = plot_close(folder, "over.csv", out);
    return status == TCE_OK ? closed : status;
}
