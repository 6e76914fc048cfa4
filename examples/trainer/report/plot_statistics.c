/*
 * The tables of a plot: interquartile mean with its band along the curve, performance profile and
 * aggregates of each run's last measurement.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/plot.h"

/* Points of a profile, both ends included. */
#define N_TAU 101

static void put_group(FILE *file, const plot_group *g)
{
    char text[64];
    csv_put_text(file, plot_task_text(g, text, sizeof text));
    fputc(',', file);
    csv_put_text(file, g->label);
    fprintf(file, ",%zu", g->R);
}

/* IQM of scores that must stay as they are. work [R, K]. */
static double iqm_of(const plot_group *g, const double *scores, double *work)
{
    const size_t n = g->R * g->K;
    memcpy(work, scores, n * sizeof *work);
    return stats_iqm(n, work);
}

static tce_status write_curve(FILE *file, const plot_group *g, double *work)
{
    tce_status status = TCE_OK;
    for (size_t p = 0; status == TCE_OK && p < g->n; p++) {
        const double *scores = g->y + p * g->R * g->K;
        interval band;
        status = stats_bootstrap_iqm(g->R, g->K, scores, BOOTSTRAP_CURVE, PLOT_SEED, &band);
        if (status != TCE_OK)
            break;
        put_group(file, g);
        fprintf(file, ",%.17g,%.17g,%.17g,%.17g\n", g->x[p], iqm_of(g, scores, work), band.low,
                band.high);
    }
    return status;
}

/*
 * 0 … 1 when every score lies there, as rates do; else from the least score of any run to the
 * greatest.
 */
static void choose_taus(const plot_data *data, double *taus)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < data->tasks.n; i++)
        for (size_t k = 0; k < data->tasks.list[i].R; k++) {
            low = fmin(low, data->tasks.list[i].last[k]);
            high = fmax(high, data->tasks.list[i].last[k]);
        }
    if (low >= 0.0 && high <= 1.0) {
        low = 0.0;
        high = 1.0;
    }
    for (size_t t = 0; t < N_TAU; t++)
        taus[t] = low + (high - low) * (double)t / (N_TAU - 1);
}

static tce_status write_profile(FILE *file, const plot_group *g, const double *taus)
{
    interval band[N_TAU];
    const tce_status status = stats_bootstrap_profile(g->R, g->K, g->last, N_TAU, taus,
                                                      BOOTSTRAP_CURVE, PLOT_SEED, band);
    for (size_t t = 0; status == TCE_OK && t < N_TAU; t++) {
        put_group(file, g);
        fprintf(file, ",%.17g,%.17g,%.17g,%.17g,%.17g\n", taus[t],
                stats_profile(g->R * g->K, g->last, taus[t]), band[t].low, band[t].high,
                stats_profile_mean(g->R, g->K, g->last, taus[t]));
    }
    return status;
}

/* A row for the file, and one for a person. */
/* widths: of tasks and labels. */
static tce_status write_summary(FILE *file, FILE *out, const plot_group *g, const int widths[2],
                                double *work)
{
    const size_t n = g->R * g->K;
    char text[64], between[64];
    interval band;
    const tce_status status = stats_bootstrap_iqm(g->R, g->K, g->last, BOOTSTRAP_TABLE, PLOT_SEED,
                                                  &band);
    if (status != TCE_OK)
        return status;
    const double mean = stats_mean(n, g->last), gap = stats_optimality_gap(n, g->last),
                 median = stats_median(g->R, g->K, g->last, work);
    const double iqm = iqm_of(g, g->last, work);
    put_group(file, g);
    fprintf(file, ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", g->x[g->n - 1], iqm, band.low,
            band.high, mean, median, gap);
    snprintf(between, sizeof between, "[%.4g, %.4g]", band.low, band.high);
    fprintf(out, "%-*s %-*s %4zu  %8.4g %-18s %8.4g %8.4g %8.4g\n", widths[0],
            plot_task_text(g, text, sizeof text), widths[1], g->label, g->R, iqm, between, mean,
            median, gap);
    return TCE_OK;
}

/* Scores of the largest group. */
static size_t largest_group(const plot_groups *groups)
{
    size_t largest = 1;
    for (size_t i = 0; i < groups->n; i++)
        if (groups->list[i].R * groups->list[i].K > largest)
            largest = groups->list[i].R * groups->list[i].K;
    return largest;
}

/*
 * Curves and profiles of groups. The columns are named by what they hold, so that the pictures can
 * say it. work [R, K]
 */
static tce_status write_groups(const plot_data *data, const plot_groups *groups, const char *folder,
                               const char *const *names, double *work)
{
    FILE *files[2] = { NULL, NULL };
    double taus[N_TAU];
    choose_taus(data, taus);
    tce_status status = TCE_OK;
    for (int i = 0; status == TCE_OK && i < 2; i++)
        status = plot_open(folder, names[i], &files[i]);
    if (status == TCE_OK) {
        fprintf(files[0], "task,method,runs,%s,%s%s,low,high\n", data->x_name, plot_prefix(data),
                data->metric);
        fprintf(files[1], "task,method,runs,%s,fraction,low,high,fraction_of_task_means\n",
                data->metric);
    }
    for (size_t i = 0; status == TCE_OK && i < groups->n; i++) {
        status = write_curve(files[0], &groups->list[i], work);
        if (status == TCE_OK)
            status = write_profile(files[1], &groups->list[i], taus);
    }
    for (int i = 0; i < 2; i++) {
        const tce_status closed = files[i] ? plot_close(folder, names[i], files[i]) : TCE_OK;
        status = status == TCE_OK ? closed : status;
    }
    return status;
}

/* The table by task, then the aggregates. */
static tce_status write_table(const plot_data *data, const char *folder, double *work)
{
    const plot_groups *const parts[] = { &data->tasks, &data->aggregates };
    FILE *file = NULL;
    int widths[2] = { 4, plot_label_width(data) };
    for (size_t i = 0; i < data->tasks.n; i++)
        if ((int)strlen(data->tasks.list[i].task) > widths[0])
            widths[0] = (int)strlen(data->tasks.list[i].task);
    tce_status status = plot_open(folder, "summary.csv", &file);
    if (status != TCE_OK)
        return status;
    fprintf(file, "task,method,runs,%s,%s,low,high,mean,median,optimality_gap\n", data->x_name,
            data->metric);
    fprintf(data->out, "%s at the end of each run; IQM with 95 %% stratified-bootstrap interval\n",
            data->metric);
    fprintf(data->out, "%-*s %-*s %4s  %8s %-18s %8s %8s %8s\n", widths[0], "task", widths[1],
            "method", "runs", "IQM", "interval", "mean", "median", "gap to 1");
    for (int part = 0; part < 2; part++) {
        if (part == 1 && parts[part]->n > 0)
            fprintf(data->out, "\n");
        for (size_t i = 0; status == TCE_OK && i < parts[part]->n; i++)
            status = write_summary(file, data->out, &parts[part]->list[i], widths, work);
    }
    const tce_status closed = plot_close(folder, "summary.csv", file);
    return status == TCE_OK ? closed : status;
}

tce_status plot_write_statistics(const plot_data *data, const char *folder)
{
    static const char *const BY_TASK[] = { "curves.csv", "profile.csv" };
    static const char *const TOGETHER[] = { "aggregate_curves.csv", "aggregate_profile.csv" };
    const size_t one = largest_group(&data->tasks), all = largest_group(&data->aggregates);
    double *work = calloc(one > all ? one : all, sizeof *work);
    if (!work)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu scores", one > all ? one : all);
    tce_status status = write_groups(data, &data->tasks, folder, BY_TASK, work);
    if (status == TCE_OK && data->aggregates.n > 0)
        status = write_groups(data, &data->aggregates, folder, TOGETHER, work);
    if (status == TCE_OK)
        status = write_table(data, folder, work);
    free(work);
    return status;
}

void plot_clear(const char *folder)
{
    static const char *const NAMES[] = { "aggregate_curves.csv",
                                         "aggregate_curves.png",
                                         "aggregate_profile.csv",
                                         "aggregate_profile.png",
                                         "summary.png",
                                         "over.csv",
                                         "profile.png" };
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        char path[2 * TEXT_SIZE];
        snprintf(path, sizeof path, "%s/%s", folder, NAMES[i]);
        unlink(path);
    }
}
