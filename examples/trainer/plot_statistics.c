/*
 * The tables of a plot: interquartile mean with its band along the curve, performance profile and aggregates of each run's last measurement.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

/* Points of a profile, both ends included. */
#define N_TAU 101

static void put_group(FILE *file, const plot_group *g)
{
    char text[64];
    plot_put_text(file, plot_task_text(g, text, sizeof text));
    fputc(',', file);
    plot_put_text(file, g->label);
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
        fprintf(file, ",%.17g,%.17g,%.17g,%.17g\n", g->x[p], iqm_of(g, scores, work), band.low, band.high);
    }
    return status;
}

/* 0 … 1 when every score lies there, as rates do; else from the least score of any run to the greatest. */
static void choose_taus(const plot_data *data, double *taus)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < data->n_groups; i++)
        for (size_t k = 0; k < data->groups[i].R * data->groups[i].K; k++) {
            low = fmin(low, data->groups[i].last[k]);
            high = fmax(high, data->groups[i].last[k]);
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
    const tce_status status = stats_bootstrap_profile(g->R, g->K, g->last, N_TAU, taus, BOOTSTRAP_CURVE, PLOT_SEED, band);
    for (size_t t = 0; status == TCE_OK && t < N_TAU; t++) {
        put_group(file, g);
        fprintf(file, ",%.17g,%.17g,%.17g,%.17g,%.17g\n", taus[t], stats_profile(g->R * g->K, g->last, taus[t]), band[t].low, band[t].high,
                stats_profile_mean(g->R, g->K, g->last, taus[t]));
    }
    return status;
}

static tce_status write_summary(FILE *file, const plot_group *g, double *work)
{
    const size_t n = g->R * g->K;
    char text[64];
    interval band;
    const tce_status status = stats_bootstrap_iqm(g->R, g->K, g->last, BOOTSTRAP_TABLE, PLOT_SEED, &band);
    if (status != TCE_OK)
        return status;
    const double mean = stats_mean(n, g->last), gap = stats_optimality_gap(n, g->last), median = stats_median(g->R, g->K, g->last, work);
    const double iqm = iqm_of(g, g->last, work);
    put_group(file, g);
    fprintf(file, ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", g->x[g->n - 1], iqm, band.low, band.high, mean, median, gap);
    printf("%-22s %-18s %4zu  %8.4g [%.4g, %.4g]  %8.4g %8.4g %8.4g\n", plot_task_text(g, text, sizeof text), g->label, g->R, iqm, band.low, band.high, mean,
           median, gap);
    return TCE_OK;
}

tce_status plot_write_statistics(const plot_data *data, const char *folder)
{
    static const char *const NAMES[] = { "curves.csv", "profile.csv", "summary.csv" };
    FILE *files[3] = { NULL, NULL, NULL };
    double taus[N_TAU];
    size_t largest = 1;
    for (size_t i = 0; i < data->n_groups; i++)
        if (data->groups[i].R * data->groups[i].K > largest)
            largest = data->groups[i].R * data->groups[i].K;
    double *work = calloc(largest, sizeof *work);
    tce_status status = work ? TCE_OK : tce_fail(TCE_E_NOMEM, "no memory for %zu scores", largest);
    for (int i = 0; status == TCE_OK && i < 3; i++)
        status = plot_open(folder, NAMES[i], &files[i]);

    /* columns are named by what they hold, so that the pictures can say it */
    if (status == TCE_OK) {
        fprintf(files[0], "task,method,runs,%s,%s,low,high\n", data->x_name, data->metric);
        fprintf(files[1], "task,method,runs,%s,fraction,low,high,fraction_of_task_means\n", data->metric);
        fprintf(files[2], "task,method,runs,%s,%s,low,high,mean,median,optimality_gap\n", data->x_name, data->metric);
        printf("%s at the end of each run; IQM with 95 %% stratified-bootstrap interval\n", data->metric);
        printf("%-22s %-18s %4s  %8s %-18s %8s %8s %8s\n", "task", "method", "runs", "IQM", "interval", "mean", "median", "gap to 1");
    }
    choose_taus(data, taus);
    for (size_t i = 0; status == TCE_OK && i < data->n_groups; i++) {
        status = write_curve(files[0], &data->groups[i], work);
        if (status == TCE_OK)
            status = write_profile(files[1], &data->groups[i], taus);
        if (status == TCE_OK)
            status = write_summary(files[2], &data->groups[i], work);
    }
    for (int i = 0; i < 3; i++) {
        const tce_status closed = files[i] ? plot_close(folder, NAMES[i], files[i]) : TCE_OK;
        status = status == TCE_OK ? closed : status;
    }
    free(work);
    return status;
}
