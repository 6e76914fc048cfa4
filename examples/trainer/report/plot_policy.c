/*
 * What trained policies do: smoothness of their movements, and files of what they tried.
 *
 * The mean policy of each run is taken for n episodes on resets that training never saw. Two
 * velocities are judged: the desired one (of the primitive) and, where the task shows it in its
 * observation, the measured one, which is what papers report.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/plot.h"
#include "run/policy_runner.h"

enum { MEASURED = 0, DESIRED = 1, N_PATHS = 2 };
static const char *const PATH_NAMES[] = { "measured", "desired" };

enum { N_NUMBERS = sizeof(smoothness) / sizeof(double) };

/* Sums over the episodes of a group. */
typedef struct sums {
    size_t n;
    double sum[N_NUMBERS], squares[N_NUMBERS];
} sums;

typedef struct report {
    sums paths[N_PATHS];
    size_t n_episodes, n_runs;
    double success; /* summed over the episodes; NaN: the task has none */
} report;

/* ---- smoothness ------------------------------------------------------------------------------ */

static void add_movement(sums *s, size_t n, size_t D, const double *velocity, double dt)
{
    smoothness found;
    double numbers[N_NUMBERS];
    stats_smoothness(n, D, velocity, dt, &found);
    memcpy(numbers, &found, sizeof numbers);
    s->n++;
    for (int i = 0; i < N_NUMBERS; i++) {
        s->sum[i] += numbers[i];
        s->squares[i] += numbers[i] * numbers[i];
    }
}

static tce_status play(const plot_data *data, policy_runner *p, report *r)
{
    const episodes *ep = &p->ep;
    const tce_status status = policy_runner_run(p, data->played, data->played_context);
    if (status != TCE_OK)
        return status;
    double *velocity = calloc(ep->T * ep->D, sizeof *velocity);
    if (!velocity)
        return tce_fail(TCE_E_NOMEM, "no memory for a path of %zu steps", ep->T);

    size_t i_success = 0;
    while (i_success < ep->M && strcmp(ep->spec->metric_names[i_success], "success") != 0)
        i_success++;
    for (size_t e = 0; e < ep->E; e++) {
        const size_t n = (size_t)ep->lengths[e];
        if (n == 0)
            continue;
        if (episodes_measured_velocity(ep, e, velocity))
            add_movement(&r->paths[MEASURED], n, ep->D, velocity, ep->spec->dt);
        if (episodes_desired_velocity(ep, e, velocity))
            add_movement(&r->paths[DESIRED], n, ep->D, velocity, ep->spec->dt);
        r->success += i_success < ep->M ? ep->results[e * ep->M + i_success] : NAN;
        r->n_episodes++;
    }
    r->n_runs++;
    free(velocity);
    return TCE_OK;
}

/* Rows for the file, and lines for a person. width: of the labels. */
static void write_report(FILE *file, FILE *out, const plot_group *g, const report *r, int width)
{
    char text[64];
    const char *name = plot_task_text(g, text, sizeof text);
    const double success = r->success / (double)r->n_episodes;
    for (int path = 0; path < N_PATHS; path++) {
        const sums *s = &r->paths[path];
        if (s->n == 0)
            continue;
        double mean[N_NUMBERS], std[N_NUMBERS];
        for (int i = 0; i < N_NUMBERS; i++) {
            mean[i] = s->sum[i] / (double)s->n;
            std[i] = sqrt(fmax(0.0, s->squares[i] / (double)s->n - mean[i] * mean[i]));
        }
        csv_put_text(file, name);
        fputc(',', file);
        csv_put_text(file, g->label);
        fprintf(file, ",%zu,%zu,%s,%.17g", r->n_runs, s->n, PATH_NAMES[path], success);
        fprintf(out, "%-22s %-*s %-8s %7.3f", name, width, g->label, PATH_NAMES[path], success);
        for (int i = 0; i < N_NUMBERS; i++) {
            fprintf(file, ",%.17g,%.17g", mean[i], std[i]);
            fprintf(out, "  %9.3g (%8.2g)", mean[i], std[i]);
        }
        fputc('\n', file);
        fprintf(out, "\n");
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void warn(const plot_data *data, const plotted_run *run, const char *what)
{
    messages_warn(&data->say, "no %s of %s: %s", what, run->folder, tce_error_message());
}

/* All runs of a group; the correlation is that of its first policy. */
static void report_group(const plot_data *data, const plot_group *g, const char *folder,
                         const char *library, int32_t n_episodes, tce_pool *pool, report *r)
{
    int drawn = 0;
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < g->R * g->K; i++) {
        const plotted_run *run = &data->runs[g->runs[i]];
        policy_runner p;
        tce_status status = policy_runner_load(&p, run->folder, data->methods, library, NULL);
        if (status == TCE_OK)
            status = policy_runner_create(&p, n_episodes, pool);
        if (status == TCE_OK)
            status = play(data, &p, r);
        if (status != TCE_OK)
            warn(data, run, "smoothness");
        else if (!drawn && plot_write_correlation(data, folder, g, run, &p, pool) != TCE_OK)
            warn(data, run, "correlation matrix");
        drawn |= status == TCE_OK;
        policy_runner_close(&p);
    }
}

static void print_head(FILE *out, int32_t n_episodes, int width)
{
    fprintf(out,
            "\nsmoothness of the mean policy, %d episodes per run: mean (standard deviation) over "
            "episodes\n",
            (int)n_episodes);
    fprintf(out, "%-22s %-*s %-8s %7s  %-20s  %-20s  %-20s  %-20s\n", "task", width, "method",
            "path", "success", "max jerk, 1/s^3", "mean jerk^2, 1/s^6", "dimensionless jerk",
            "its integral form");
}

tce_status plot_write_policies(const plot_data *data, const char *folder, const char *library,
                               int32_t n_episodes, tce_pool *pool)
{
    FILE *file;
    const tce_status status = plot_open(folder, "smoothness.csv", &file);
    if (status != TCE_OK)
        return status;
    fprintf(file, "task,method,runs,episodes,path,success,maximum_jerk,maximum_jerk_std,mean_"
                  "squared_jerk,mean_squared_jerk_std,"
                  "dimensionless_jerk,dimensionless_jerk_std,dimensionless_jerk_integral,"
                  "dimensionless_jerk_integral_std\n");
    int any = 0;
    for (size_t i = 0; i < data->tasks.n; i++) {
        report r;
        report_group(data, &data->tasks.list[i], folder, library, n_episodes, pool, &r);
        if (r.n_runs == 0)
            continue;
        if (!any++)
            print_head(data->out, n_episodes, plot_label_width(data));
        write_report(file, data->out, &data->tasks.list[i], &r, plot_label_width(data));
    }
    return plot_close(folder, "smoothness.csv", file);
}
