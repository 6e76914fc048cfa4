/*
 * Which settings of a queue are best: those whose finished runs had most success in their last
 * evaluation, the mean over tasks and seeds; among equals, and where the tasks know no success, those
 * with the highest return.
 *
 *     rank,task,settings,file,runs,success,success_least,success_most,return,return_least,return_most
 *
 * Settings for other tasks are not compared with each other: they have ranks of their own.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue/jobs.h"
#include "tools/csv.h"
#include "tools/numbers.h"

/* Mean and range of a number over runs; NaN before any. */
typedef struct spread {
    size_t n;
    double mean, least, most;
} spread;

/* The finished runs of settings. */
typedef struct standing {
    size_t variant, rank;
    char task[TASK_NAME + 32]; /* or how many there are */
    size_t n_tasks;
    const char *first_task;
    size_t runs;
    spread success, value;
} standing;

static void take(spread *s, double x)
{
    if (isnan(x))
        return;
    s->mean = s->n == 0 ? x : s->mean + (x - s->mean) / (double)(s->n + 1);
    s->least = s->n == 0 || x < s->least ? x : s->least;
    s->most = s->n == 0 || x > s->most ? x : s->most;
    s->n++;
}

/* Whether the task of run i has an earlier run with the same settings. */
static int is_repeated(const jobs_display *d, size_t i)
{
    const queue_entry *own = d->jobs[i].entry;
    for (size_t k = 0; k < i; k++)
        if (d->jobs[k].entry->variant == own->variant &&
            strcmp(d->jobs[k].entry->task, own->task) == 0)
            return 1;
    return 0;
}

static void add_up(const jobs_display *d, standing *s)
{
    s->success = s->value = (spread){ 0, NAN, NAN, NAN };
    for (size_t i = 0; i < d->n; i++) {
        const queue_job *j = &d->jobs[i];
        if (j->entry->variant != s->variant)
            continue;
        if (!is_repeated(d, i) && s->n_tasks++ == 0)
            s->first_task = j->entry->task;
        if (j->entry->state != QUEUE_DONE)
            continue;
        take(&s->success, j->progress.success);
        take(&s->value, j->progress.value);
        s->runs++;
    }
    if (s->n_tasks == 1)
        snprintf(s->task, sizeof s->task, "%s", s->first_task);
    else
        snprintf(s->task, sizeof s->task, "%zu tasks", s->n_tasks);
}

/* Tasks in the order of the settings, then the best first; without a number last. */
static int by_standing(const void *a, const void *b)
{
    const standing *x = a, *y = b;
    const int task = strcmp(x->task, y->task);
    if (task != 0)
        return task;
    if (x->success.n && y->success.n && x->success.mean != y->success.mean)
        return x->success.mean < y->success.mean ? 1 : -1;
    if (x->value.n && y->value.n && x->value.mean != y->value.mean)
        return x->value.mean < y->value.mean ? 1 : -1;
    if (!x->value.n != !y->value.n)
        return x->value.n ? -1 : 1;
    return (x->variant > y->variant) - (x->variant < y->variant);
}

static void print_spread(const char *format, const spread *s, size_t width)
{
    char mean[32], least[32], most[32], text[128] = "-";
    if (s->n > 0) {
        snprintf(mean, sizeof mean, format, s->mean);
        snprintf(least, sizeof least, format, s->least);
        snprintf(most, sizeof most, format, s->most);
        if (s->n == 1)
            snprintf(text, sizeof text, "%s", mean);
        else
            snprintf(text, sizeof text, "%s (%s to %s)", mean, least, most);
    }
    printf("  %-*s", (int)width, text);
}

static void print_table(const jobs_display *d, const standing *list)
{
    char name[QUEUE_TEXT + 128];
    printf("\nbest settings, by the last evaluation of finished runs: mean (least to most)\n");
    for (size_t i = 0; i < d->q->n_variants; i++) {
        if (i == 0 || strcmp(list[i].task, list[i - 1].task) != 0)
            printf("%s\n", list[i].task);
        printf("  %3zu  %-*s  %3zu run%s", list[i].rank, (int)d->name_width,
               queue_name(d->q, list[i].variant, name, sizeof name), list[i].runs,
               list[i].runs == 1 ? " " : "s");
        printf("  success");
        print_spread("%.3f", &list[i].success, 24);
        printf("return");
        print_spread("%.4g", &list[i].value, 0);
        printf("\n");
    }
    fflush(stdout);
}

/* ---- the file -------------------------------------------------------------------------------- */

typedef struct content {
    const queue *q;
    const standing *list;
} content;

static void put_spread(FILE *file, const spread *s)
{
    const double values[3] = { s->mean, s->least, s->most };
    for (size_t i = 0; i < 3; i++) {
        char text[NUMBER_TEXT] = "";
        if (s->n > 0)
            number_text(values[i], 0, text);
        fprintf(file, ",%s", text);
    }
}

static void write_rows(FILE *file, const void *given)
{
    const content *c = given;
    fputs("rank,task,settings,file,runs,success,success_least,success_most,return,return_least,"
          "return_most\n",
          file);
    for (size_t i = 0; i < c->q->n_variants; i++) {
        const standing *s = &c->list[i];
        char name[QUEUE_TEXT + 128];
        fprintf(file, "%zu,", s->rank);
        csv_put_text(file, s->task);
        fputc(',', file);
        csv_put_text(file, queue_name(c->q, s->variant, name, sizeof name));
        queue_settings_name(s->variant, name, sizeof name);
        fprintf(file, ",%s,%zu", name, s->runs);
        put_spread(file, &s->success);
        put_spread(file, &s->value);
        fputc('\n', file);
    }
}

tce_status jobs_best(const jobs_display *d)
{
    const size_t n = d->q->n_variants;
    if (n < 2)
        return TCE_OK;
    standing *list = calloc(n, sizeof *list);
    if (!list)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu settings", n);
    for (size_t v = 0; v < n; v++) {
        list[v].variant = v;
        add_up(d, &list[v]);
    }
    qsort(list, n, sizeof *list, by_standing);
    for (size_t i = 0; i < n; i++)
        list[i].rank = i > 0 && strcmp(list[i].task, list[i - 1].task) == 0 ? list[i - 1].rank + 1
                                                                            : 1;
    if (!d->quiet)
        print_table(d, list);
    const content c = { d->q, list };
    const tce_status status = run_replace(d->q->folder, "best.csv", write_rows, &c);
    free(list);
    return status;
}
