/*
 * Evaluated episodes as files.
 *
 *     run,task,method,seed,reset_seed,episode,steps,return,success,…
 */
#include "commands/eval_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/csv.h"
#include "tools/files.h"
#include "tools/json.h"
#include "tools/numbers.h"

tce_status eval_rows_add(eval_rows *rows, const char *run, const settings *s, uint64_t seed,
                         const episodes *ep)
{
    int failed = 0;
    eval_run *more = realloc(rows->runs, (rows->n + 1) * sizeof *more);
    if (!more)
        return tce_fail(TCE_E_NOMEM, "no memory for the episodes of %s", run);
    rows->runs = more;
    eval_run *r = &rows->runs[rows->n++];
    *r = (eval_run){
        .method = s->table->name, .seed = seed, .reset_seed = s->run.seed, .E = ep->E, .M = ep->M
    };
    snprintf(r->run, sizeof r->run, "%s", run);
    snprintf(r->task, sizeof r->task, "%s", s->task.name);
    r->names = array_of(ep->M, sizeof *r->names, &failed);
    r->lengths = array_of(ep->E, sizeof *r->lengths, &failed);
    r->returns = array_of_doubles(ep->E, &failed);
    r->results = array_of_doubles(ep->E * ep->M, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu episodes of %s", ep->E, run);
    for (size_t k = 0; k < ep->M; k++)
        snprintf(r->names[k], sizeof r->names[k], "%s", ep->spec->metric_names[k]);
    memcpy(r->lengths, ep->lengths, ep->E * sizeof *r->lengths);
    memcpy(r->returns, ep->returns, ep->E * sizeof *r->returns);
    if (ep->M > 0)
        memcpy(r->results, ep->results, ep->E * ep->M * sizeof *r->results);
    return TCE_OK;
}

void eval_rows_free(eval_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        free(rows->runs[i].names);
        free(rows->runs[i].lengths);
        free(rows->runs[i].returns);
        free(rows->runs[i].results);
    }
    free(rows->runs);
    memset(rows, 0, sizeof *rows);
}

static tce_status write_to(const char *path, void (*write)(FILE *file, const void *content),
                           const void *content)
{
    if (strcmp(path, "-") != 0)
        return file_replace(path, write, content);
    write(stdout, content);
    return TCE_OK;
}

/* The place of a metric in a run; M when it has none of that name. */
static size_t find_metric(const eval_run *r, const char *name)
{
    size_t k = 0;
    while (k < r->M && strcmp(r->names[k], name) != 0)
        k++;
    return k;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Whether a run before run i has the metric. */
static int is_known(const eval_rows *rows, size_t i, const char *name)
{
    for (size_t k = 0; k < i; k++)
        if (find_metric(&rows->runs[k], name) < rows->runs[k].M)
            return 1;
    return 0;
}

/* Each metric once, in the order in which the runs have them. */
static const char *next_metric(const eval_rows *rows, size_t *i, size_t *k)
{
    for (; *i < rows->n; ++*i, *k = 0)
        while (*k < rows->runs[*i].M) {
            const char *name = rows->runs[*i].names[(*k)++];
            if (!is_known(rows, *i, name))
                return name;
        }
    return NULL;
}

/* Empty where there is no number. */
static void put_field(FILE *file, double value)
{
    char text[NUMBER_TEXT] = "";
    if (!isnan(value))
        number_text(value, 0, text);
    fprintf(file, ",%s", text);
}

static void put_episode(FILE *file, const eval_rows *rows, const eval_run *r, size_t e)
{
    const char *name;
    const int lost = r->lengths[e] == 0;
    csv_put_text(file, r->run);
    fputc(',', file);
    csv_put_text(file, r->task);
    fprintf(file, ",%s,%" PRIu64 ",%" PRIu64 ",%zu,%" PRId32, r->method, r->seed, r->reset_seed, e,
            r->lengths[e]);
    put_field(file, lost ? NAN : r->returns[e]);
    for (size_t i = 0, k = 0; (name = next_metric(rows, &i, &k)) != NULL;) {
        const size_t at = find_metric(r, name);
        put_field(file, lost || at == r->M ? NAN : r->results[e * r->M + at]);
    }
    fputc('\n', file);
}

static void write_csv(FILE *file, const void *content)
{
    const eval_rows *rows = content;
    const char *name;
    fputs("run,task,method,seed,reset_seed,episode,steps,return", file);
    for (size_t i = 0, k = 0; (name = next_metric(rows, &i, &k)) != NULL;) {
        fputc(',', file);
        csv_put_text(file, name);
    }
    fputc('\n', file);
    for (size_t i = 0; i < rows->n; i++)
        for (size_t e = 0; e < rows->runs[i].E; e++)
            put_episode(file, rows, &rows->runs[i], e);
}

tce_status eval_rows_csv(const eval_rows *rows, const char *path)
{
    return write_to(path, write_csv, rows);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_pair(FILE *file, const char *name, double value)
{
    fputs(", ", file);
    json_put_text(file, name);
    fputs(": ", file);
    json_put_number(file, value);
}

/* Mean over the episodes that were not dropped; value of episode e at x[e * stride]. */
static double mean_of(const eval_run *r, const double *x, size_t stride)
{
    double sum = 0.0, n = 0.0;
    for (size_t e = 0; e < r->E; e++)
        if (r->lengths[e] > 0) {
            sum += x[e * stride];
            n += 1.0;
        }
    return sum / n;
}

static void put_run(FILE *file, const eval_run *r)
{
    size_t dropped = 0;
    for (size_t e = 0; e < r->E; e++)
        dropped += r->lengths[e] == 0;
    fputs("{\"run\": ", file);
    json_put_text(file, r->run);
    fputs(", \"task\": ", file);
    json_put_text(file, r->task);
    fprintf(file,
            ", \"method\": \"%s\", \"seed\": %" PRIu64 ", \"reset_seed\": %" PRIu64
            ",\n  \"mean\": {\"episodes\": %zu, \"dropped\": %zu",
            r->method, r->seed, r->reset_seed, r->E, dropped);
    put_pair(file, "return", mean_of(r, r->returns, 1));
    for (size_t k = 0; k < r->M; k++)
        put_pair(file, r->names[k], mean_of(r, r->results + k, r->M));
    fputs("},\n  \"episodes\": [", file);
    for (size_t e = 0; e < r->E; e++) {
        const int lost = r->lengths[e] == 0;
        fprintf(file, "%s\n    {\"episode\": %zu, \"steps\": %" PRId32, e ? "," : "", e,
                r->lengths[e]);
        put_pair(file, "return", lost ? NAN : r->returns[e]);
        for (size_t k = 0; k < r->M; k++)
            put_pair(file, r->names[k], lost ? NAN : r->results[e * r->M + k]);
        fputc('}', file);
    }
    fputs("]}", file);
}

static void write_json(FILE *file, const void *content)
{
    const eval_rows *rows = content;
    fputc('[', file);
    for (size_t i = 0; i < rows->n; i++) {
        fputs(i ? ",\n" : "", file);
        put_run(file, &rows->runs[i]);
    }
    fputs("]\n", file);
}

tce_status eval_rows_json(const eval_rows *rows, const char *path)
{
    return write_to(path, write_json, rows);
}
