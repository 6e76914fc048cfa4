/*
 * Which runs there are, which of them are one line of a plot, and their values at common points.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/plot.h"
#include "run/run.h"
#include "tools/words.h"

#define PATH_SIZE (2 * TEXT_SIZE)

/* ---- runs ------------------------------------------------------------------------------------ */

static tce_status fail_column(const char *folder, const table *t, const char *name,
                              const char *option)
{
    nearest columns;
    nearest_start(&columns, name);
    for (size_t i = 0; i < t->n_columns; i++)
        nearest_try(&columns, t->names[i]);
    const char *near = nearest_found(&columns);
    return tce_fail(TCE_E_NOT_FOUND,
                    "%s/progress.csv has no column %s%s%s%s; choose another with --%s (its first "
                    "line lists them)",
                    folder, name, near ? ", did you mean " : "", near ? near : "", near ? "?" : "",
                    option);
}

/*
 * What is plotted when nobody asks: success of the mean policy, or its return where the task knows
 * no success.
 */
static void choose_metric(plot_data *data, const table *t)
{
    if (!data->metric[0])
        snprintf(data->metric, sizeof data->metric, "%s",
                 table_column(t, "eval_success") < t->n_columns ? "eval_success" : "eval_return");
}

/* The rows in which the metric was measured. */
static tce_status take_points(plotted_run *run, const table *t, const char *x_name,
                              const char *metric, double smooth)
{
    const size_t ix = table_column(t, x_name), iy = table_column(t, metric);
    if (ix == t->n_columns)
        return fail_column(run->folder, t, x_name, "x");
    if (iy == t->n_columns)
        return fail_column(run->folder, t, metric, "metric");
    run->x = calloc(t->n_rows + 1, sizeof *run->x);
    run->y = calloc(t->n_rows + 1, sizeof *run->y);
    if (!run->x || !run->y)
        return tce_fail(TCE_E_NOMEM, "no memory for %s", run->folder);
    for (size_t i = 0; i < t->n_rows; i++) {
        const double *row = t->values + i * t->n_columns;
        if (!isfinite(row[ix]) || !isfinite(row[iy]))
            continue;
        if (run->n > 0 && row[ix] <= run->x[run->n - 1])
            return tce_fail(TCE_E_CORRUPT, "%s/progress.csv: %s does not increase in row %zu",
                            run->folder, x_name, i + 2);
        run->x[run->n] = row[ix];
        run->y[run->n] = run->n > 0 ? smooth * run->y[run->n - 1] + (1.0 - smooth) * row[iy]
                                    : row[iy];
        run->last = row[iy];
        run->n++;
    }
    return TCE_OK;
}

/* label, extra: what the user and the queue call the run, or NULL. */
static tce_status read_run(plot_data *data, plotted_run *run, const char *label, const char *extra)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/config.yaml", run->folder);
    tce_status status = run_read_settings(path, data->methods, &run->s);
    if (status != TCE_OK)
        return status;
    if (label)
        snprintf(run->label, sizeof run->label, "%s", label);
    else
        method_of(&run->s)->label(&run->s, run->label, sizeof run->label);
    const size_t used = strlen(run->label);
    if (!label && extra && extra[0])
        snprintf(run->label + used, sizeof run->label - used, " %s", extra);

    table progress;
    snprintf(path, sizeof path, "%s/progress.csv", run->folder);
    status = table_read(path, &progress);
    if (status != TCE_OK)
        return status;
    choose_metric(data, &progress);
    status = take_points(run, &progress, data->x_name, data->metric, data->smooth);
    table_free(&progress);
    return status;
}

static void free_run(plotted_run *run)
{
    free(run->x);
    free(run->y);
    memset(run, 0, sizeof *run);
}

/* found_there: it was not named, but lies in a folder that was. */
static tce_status add_run(plot_data *data, const char *folder, const char *label, const char *extra,
                          int found_there)
{
    /* a run counts once, or the statistics would be wrong */
    struct stat found;
    if (strlen(folder) >= TEXT_SIZE || stat(folder, &found) != 0)
        return tce_fail(TCE_E_NOT_FOUND, "%s: no such folder, or its path is too long", folder);
    for (size_t i = 0; i < data->n_runs; i++) {
        struct stat other;
        if (stat(data->runs[i].folder, &other) == 0 && other.st_dev == found.st_dev &&
            other.st_ino == found.st_ino)
            return tce_fail(TCE_E_VALUE, "%s is given twice", folder);
    }

    plotted_run *more = realloc(data->runs, (data->n_runs + 1) * sizeof *more);
    if (!more)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu runs", data->n_runs + 1);
    data->runs = more;
    plotted_run *run = &data->runs[data->n_runs++];
    memset(run, 0, sizeof *run);
    snprintf(run->folder, sizeof run->folder, "%s", folder);
    const tce_status status = read_run(data, run, label, extra);
    if (status != TCE_OK || run->n > 0)
        return status;

    free_run(run);
    data->n_runs--;
    if (!found_there)
        return tce_fail(
            TCE_E_NOT_FOUND,
            "%s has no measurement of %s yet: train longer, or choose another with --metric",
            folder, data->metric);
    messages_warn(&data->say, "%s has no measurement of %s yet: left out", folder, data->metric);
    return TCE_OK;
}

static int is_run(const char *folder)
{
    char path[PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/progress.csv", folder);
    return access(path, F_OK) == 0;
}

static const char *extra_label(const plot_run_label *labels, size_t n, const char *folder)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(labels[i].folder, folder) == 0)
            return labels[i].label;
    return NULL;
}

/* Runs in a folder, and in the folders of runs in it. */
static tce_status add_folder(plot_data *data, const char *folder, const char *label, size_t *found)
{
    struct dirent **entries = NULL;
    plot_run_label *labels = NULL;
    size_t n_labels = 0;
    const int n = scandir(folder, &entries, NULL, alphasort);
    tce_status status = data->run_labels && !label ? data->run_labels(folder, &n_labels, &labels)
                                                   : TCE_OK;
    for (int i = 0; i < n; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        const int hidden = entries[i]->d_name[0] == '.';
        if (status == TCE_OK && !hidden && is_run(path)) {
            status = add_run(data, path, label, extra_label(labels, n_labels, entries[i]->d_name),
                             1);
            ++*found;
        } else if (status == TCE_OK && !hidden && data->holds_runs(path)) {
            status = add_folder(data, path, label, found);
        }
        free(entries[i]);
    }
    free(entries);
    free(labels);
    return status;
}

tce_status plot_add(plot_data *data, const char *folder, const char *label)
{
    size_t found = 0;
    if (is_run(folder))
        return add_run(data, folder, label, NULL, 0);
    const tce_status status = add_folder(data, folder, label, &found);
    if (status == TCE_OK && found == 0)
        return tce_fail(TCE_E_NOT_FOUND,
                        "%s is not a run folder and contains none: there is no progress.csv",
                        folder);
    return status;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int same_task(const settings *a, const settings *b)
{
    return strcmp(a->task.name, b->task.name) == 0 && strcmp(a->task.options, b->task.options) == 0;
}

static int belongs(const plot_data *data, size_t a, size_t b, int pool)
{
    return strcmp(data->runs[a].label, data->runs[b].label) == 0 &&
           (pool || same_task(&data->runs[a].s, &data->runs[b].s));
}

/* The runs that belong with run `first`, as [R, K]. marks [n_runs] gets 1 for each of them. */
static tce_status collect_group(const plot_data *data, size_t first, int pool, unsigned char *marks,
                                plot_group *g)
{
    const plotted_run *runs = data->runs;
    size_t *of_task = calloc(data->n_runs, sizeof *of_task); /* [K] first run of each task */
    size_t *count = calloc(data->n_runs, sizeof *count);     /* [K] runs of it */
    size_t *place = calloc(data->n_runs, sizeof *place);     /* [n_runs] task of each run */
    g->runs = calloc(data->n_runs, sizeof *g->runs);
    tce_status status = TCE_OK;
    if (!of_task || !count || !place || !g->runs)
        status = tce_fail(TCE_E_NOMEM, "no memory for %zu runs", data->n_runs);

    /* tasks in order of appearance, with the number of their runs */
    for (size_t i = first; status == TCE_OK && i < data->n_runs; i++) {
        if (!belongs(data, first, i, pool))
            continue;
        size_t k = 0;
        while (k < g->K && !same_task(&runs[of_task[k]].s, &runs[i].s))
            k++;
        if (k == g->K)
            of_task[g->K++] = i;
        place[i] = k;
        count[k]++;
        marks[i] = 1;
    }

    /* as many of each: the first ones */
    g->R = count ? count[0] : 0;
    for (size_t k = 0; status == TCE_OK && k < g->K; k++)
        g->R = count[k] < g->R ? count[k] : g->R;
    if (status == TCE_OK)
        memset(count, 0, data->n_runs * sizeof *count);
    for (size_t i = first; status == TCE_OK && i < data->n_runs; i++) {
        if (!belongs(data, first, i, pool))
            continue;
        if (count[place[i]] < g->R)
            g->runs[count[place[i]]++ * g->K + place[i]] = i;
        else
            g->n_left_out++;
    }
    free(of_task);
    free(count);
    free(place);
    return status;
}

/* Value of a run at x: its own there, or linear between two; the last one beyond its end. */
static double value_at(const plotted_run *run, double x)
{
    size_t i = 0;
    while (i + 1 < run->n && run->x[i + 1] <= x)
        i++;
    if (i + 1 == run->n || x <= run->x[i])
        return run->y[i];
    const double part = (x - run->x[i]) / (run->x[i + 1] - run->x[i]);
    return run->y[i] + part * (run->y[i + 1] - run->y[i]);
}

static size_t points_within(const plotted_run *run, double low, double high)
{
    size_t n = 0;
    for (size_t i = 0; i < run->n; i++)
        n += run->x[i] >= low && run->x[i] <= high;
    return n;
}

static tce_status align(const plot_data *data, plot_group *g, int hold)
{
    const size_t size = g->R * g->K;
    const plotted_run *first = &data->runs[g->runs[0]];
    double low = first->x[0], high = first->x[first->n - 1];
    for (size_t i = 1; i < size; i++) {
        const plotted_run *run = &data->runs[g->runs[i]];
        const double end = run->x[run->n - 1];
        low = fmax(low, run->x[0]);
        high = hold ? fmax(high, end) : fmin(high, end);
    }
    if (low > high)
        return tce_fail(TCE_E_VALUE,
                        "runs of %s on %s have no %s in common; --hold keeps the last value of "
                        "those that ended",
                        g->label, first->s.task.name, data->x_name);

    /* the points of the run with the most of them, so that equal cadences need no interpolation */
    const plotted_run *guide = first;
    for (size_t i = 1; i < size; i++)
        if (points_within(&data->runs[g->runs[i]], low, high) > points_within(guide, low, high))
            guide = &data->runs[g->runs[i]];
    const size_t n = points_within(guide, low, high);
    g->x = calloc(n + 1, sizeof *g->x);
    g->y = calloc((n + 1) * size, sizeof *g->y);
    g->last = calloc(size, sizeof *g->last);
    if (!g->x || !g->y || !g->last)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu points of %zu runs", n, size);
    for (size_t i = 0; i < guide->n; i++)
        if (guide->x[i] >= low && guide->x[i] <= high)
            g->x[g->n++] = guide->x[i];
    /* and the end, which the guide may lack */
    if (g->n == 0 || g->x[g->n - 1] < high)
        g->x[g->n++] = high;

    for (size_t i = 0; i < size; i++) {
        const plotted_run *run = &data->runs[g->runs[i]];
        for (size_t p = 0; p < g->n; p++)
            g->y[p * size + i] = value_at(run, g->x[p]);
        g->last[i] = run->last;
    }
    return TCE_OK;
}

/* The first method as it is by default, then its variants, then all others. */
static int label_rank(const char *first, const char *label)
{
    return strcmp(label, first) == 0 ? 0 : strncmp(label, first, strlen(first)) == 0 ? 1 : 2;
}

static void task_text(const settings *s, char *out, size_t size)
{
    snprintf(out, size, s->task.options[0] ? "%.500s %.500s" : "%.500s", s->task.name,
             s->task.options);
}

/*
 * Groups of a task stand together; the first method and its variants come first in each, the rest
 * as given. A stable sort: insertion.
 */
static tce_status sort_groups(const settings_table *const *methods, plot_groups *groups)
{
    settings s;
    char first[LABEL_SIZE];
    const tce_status status = settings_init(&s, methods, NULL);
    if (status != TCE_OK)
        return status;
    method_of(&s)->label(&s, first, sizeof first);
    for (size_t i = 1; i < groups->n; i++) {
        const plot_group g = groups->list[i];
        size_t to = i;
        for (size_t k = 0; k < i; k++) {
            const plot_group *other = &groups->list[k];
            const int same = strcmp(other->task, g.task) == 0;
            if (same && label_rank(first, g.label) < label_rank(first, other->label)) {
                to = k;
                break;
            }
            if (same)
                to = k + 1;
        }
        memmove(groups->list + to + 1, groups->list + to, (i - to) * sizeof g);
        groups->list[to] = g;
    }
    return TCE_OK;
}

static void free_group(plot_group *g)
{
    free(g->runs);
    free(g->x);
    free(g->y);
    free(g->last);
    memset(g, 0, sizeof *g);
}

/* pool: groups over all tasks of a label, where it has several. */
static tce_status form(const plot_data *data, int pool, int hold, plot_groups *out)
{
    out->list = calloc(data->n_runs, sizeof *out->list);
    unsigned char *marks = calloc(data->n_runs, 1);
    tce_status status = TCE_OK;
    if (!out->list || !marks)
        status = tce_fail(TCE_E_NOMEM, "no memory for %zu runs", data->n_runs);
    for (size_t i = 0; status == TCE_OK && i < data->n_runs; i++) {
        if (marks[i])
            continue;
        plot_group *g = &out->list[out->n++];
        g->label = data->runs[i].label;
        status = collect_group(data, i, pool, marks, g);
        if (status == TCE_OK && pool && g->K == 1) {
            free_group(g);
            out->n--;
            continue;
        }
        if (status == TCE_OK && g->K == 1)
            task_text(&data->runs[i].s, g->task, sizeof g->task);
        if (status == TCE_OK)
            status = align(data, g, hold);
    }
    free(marks);
    return status == TCE_OK ? sort_groups(data->methods, out) : status;
}

tce_status plot_form_groups(plot_data *data, int hold)
{
    if (data->n_runs == 0)
        return tce_fail(
            TCE_E_NOT_FOUND,
            "none of the runs has a measurement of %s yet: train longer, or choose another "
            "with --metric",
            data->metric);
    const tce_status status = form(data, 0, hold, &data->tasks);
    return status == TCE_OK ? form(data, 1, hold, &data->aggregates) : status;
}

static int has_task(const plot_data *data, const plot_group *group, const settings *s)
{
    for (size_t k = 0; k < group->K; k++)
        if (same_task(&data->runs[group->runs[k]].s, s))
            return 1;
    return 0;
}

const char *plot_lonely_task(const plot_data *data)
{
    for (size_t i = 0; i < data->aggregates.n; i++)
        for (size_t j = 0; j < data->aggregates.n; j++)
            for (size_t k = 0; k < data->aggregates.list[i].K; k++) {
                const settings *s = &data->runs[data->aggregates.list[i].runs[k]].s;
                if (!has_task(data, &data->aggregates.list[j], s))
                    return s->task.name;
            }
    return NULL;
}

/* Settings of different methods differ in the method, which is the first row of every table. */
static const setting_row *difference(const settings *a, const settings *b)
{
    const setting_row *row;
    if (a->table != b->table)
        return settings_row(a->table, 0);
    for (size_t i = 0; (row = settings_row(a->table, i)) != NULL; i++) {
        char of_a[4 * TEXT_SIZE], of_b[4 * TEXT_SIZE];
        if (row->flags & SETTING_CADENCE)
            continue;
        settings_text(a, row, of_a, sizeof of_a);
        settings_text(b, row, of_b, sizeof of_b);
        if (strcmp(of_a, of_b) != 0)
            return row;
    }
    return NULL;
}

const setting_row *plot_difference(const plot_data *data, const plot_group *group)
{
    const settings *first = &data->runs[group->runs[0]].s;
    const setting_row *row = NULL;
    for (size_t i = 1; !row && i < group->R * group->K; i++)
        row = difference(first, &data->runs[group->runs[i]].s);
    return row;
}

const char *plot_prefix(const plot_data *data)
{
    return data->smooth > 0.0 ? "smoothed_" : "";
}

int plot_label_width(const plot_data *data)
{
    size_t width = 18;
    for (size_t i = 0; i < data->tasks.n; i++)
        if (strlen(data->tasks.list[i].label) > width)
            width = strlen(data->tasks.list[i].label);
    return (int)width;
}

const char *plot_task_text(const plot_group *group, char *out, size_t size)
{
    if (group->K == 1)
        return group->task;
    snprintf(out, size, "%zu tasks", group->K);
    return out;
}

static void free_groups(plot_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        free_group(&groups->list[i]);
    free(groups->list);
}

void plot_free(plot_data *data)
{
    free_groups(&data->tasks);
    free_groups(&data->aggregates);
    for (size_t i = 0; i < data->n_runs; i++)
        free_run(&data->runs[i]);
    free(data->runs);
    memset(data, 0, sizeof *data);
}
