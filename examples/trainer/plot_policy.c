/*
 * What trained policies do: smoothness of their movements and correlation of their actions.
 *
 * The mean policy of each run is taken for n episodes on resets that training never saw. Two velocities are judged, each with one row before every
 * step: the desired one (of the primitive) and, where the task shows it in its observation, the measured one, which is what papers report.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

/* Collections of training count iterations; this one is beyond all of them. */
#define PLOT_COLLECTION ((uint64_t)1 << 40)

/* Where the D joint velocities stand in a task's observation. */
static const struct {
    const char *task; /* or how its name begins, up to a '*' */
    size_t first;
} VELOCITIES[] = { { "point_via", 2 }, { "reacher5", 10 }, { "box_pushing*", 7 } };

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

/* A run's policy with its environments. */
typedef struct player {
    task t;
    tce_store *store;
    tce_mp *mp;
    tce_policy *policy;
    episodes ep;
} player;

static void player_close(player *p)
{
    episodes_free(&p->ep);
    tce_policy_free(p->policy);
    tce_mp_free(p->mp);
    tce_store_free(p->store);
    task_close(&p->t);
}

static tce_status player_open(player *p, const plotted_run *run, int32_t n_episodes, tce_pool *pool)
{
    const settings *s = &run->s;
    char path[2 * TEXT_SIZE];
    memset(p, 0, sizeof *p);
    snprintf(path, sizeof path, "%s/policy.safetensors", run->folder);
    tce_status status = tce_store_load(path, NULL, &p->store);
    if (status == TCE_OK)
        status = tce_mp_create_from(p->store, "mp", NULL, &p->mp);
    if (status == TCE_OK)
        status = tce_policy_create_from(p->store, "policy", s->collect.environments, pool, NULL, &p->policy);
    if (status == TCE_OK)
        status = task_open(s, &p->t);
    if (status != TCE_OK)
        return status;
    const int contextual = s->policy.covariance == TCE_POLICY_FULL_CONTEXTUAL;
    const episodes_options options = { n_episodes, s->collect.environments, contextual, PURPOSE_EVAL_ENV, "" };
    status = episodes_create(&p->ep, &p->t, s, pool, &options);
    if (status == TCE_OK && (p->ep.O_net != tce_policy_num_obs(p->policy) || p->ep.D != tce_mp_num_dof(p->mp)))
        status = tce_fail(TCE_E_SHAPE, "%s is for %zu inputs and %zu degrees of freedom, the task %s has %zu and %zu: its library has changed", path,
                          tce_policy_num_obs(p->policy), tce_mp_num_dof(p->mp), s->task.name, p->ep.O_net, p->ep.D);
    return status == TCE_OK ? episodes_allocate(&p->ep, tce_mp_num_params(p->mp)) : status;
}

/* ---- smoothness ------------------------------------------------------------------------------------ */

/* Whether the observation shows the joint velocities, and where. */
static int find_velocity(const char *name, size_t *first)
{
    for (size_t i = 0; i < sizeof VELOCITIES / sizeof VELOCITIES[0]; i++) {
        const char *star = strchr(VELOCITIES[i].task, '*');
        const size_t length = star ? (size_t)(star - VELOCITIES[i].task) : strlen(VELOCITIES[i].task) + 1;
        if (strncmp(name, VELOCITIES[i].task, length) == 0) {
            *first = VELOCITIES[i].first;
            return 1;
        }
    }
    return 0;
}

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

/* velocity: scratch [T, D]. */
static void add_episode(report *r, const episodes *ep, size_t e, int measured, size_t first, double *velocity)
{
    const size_t n = (size_t)ep->lengths[e], D = ep->D;
    for (size_t t = 0; measured && t < n; t++)
        memcpy(velocity + t * D, ep->obs + (e * (ep->T + 1) + t) * ep->O + first, D * sizeof *velocity);
    if (measured)
        add_movement(&r->paths[MEASURED], n, D, velocity, ep->spec->dt);

    memcpy(velocity, ep->init_vel + e * D, D * sizeof *velocity);
    memcpy(velocity + D, ep->vel + e * ep->T * D, (n - 1) * D * sizeof *velocity);
    add_movement(&r->paths[DESIRED], n, D, velocity, ep->spec->dt);
}

static tce_status play(player *p, const plotted_run *run, report *r)
{
    episodes *ep = &p->ep;
    const tce_status status = episodes_collect(ep, p->policy, p->mp, run->s.run.seed, PLOT_COLLECTION, 0, NULL, NULL);
    if (status != TCE_OK)
        return status;
    double *velocity = calloc(ep->T * ep->D, sizeof *velocity);
    if (!velocity)
        return tce_fail(TCE_E_NOMEM, "no memory for a path of %zu steps", ep->T);

    size_t first = 0, i_success = 0;
    const int measured = find_velocity(run->s.task.name, &first) && first + ep->D <= ep->O;
    while (i_success < ep->M && strcmp(ep->spec->metric_names[i_success], "success") != 0)
        i_success++;
    for (size_t e = 0; e < ep->E; e++) {
        if (ep->lengths[e] == 0)
            continue;
        add_episode(r, ep, e, measured, first, velocity);
        r->success += i_success < ep->M ? ep->results[e * ep->M + i_success] : NAN;
        r->n_episodes++;
    }
    r->n_runs++;
    free(velocity);
    return TCE_OK;
}

static void write_report(FILE *file, const plot_group *g, const report *r)
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
        printf("%-22s %-18s %-8s %7.3f", name, g->label, PATH_NAMES[path], success);
        for (int i = 0; i < N_NUMBERS; i++) {
            fprintf(file, ",%.17g,%.17g", mean[i], std[i]);
            printf("  %9.3g (%8.2g)", mean[i], std[i]);
        }
        fputc('\n', file);
        printf("\n");
    }
}

/* ---- correlation ----------------------------------------------------------------------------------- */

/* correlation_<task>_<method>.csv, other characters than letters and digits as '_'. */
static void correlation_name(const plot_group *g, const plotted_run *run, char *out, size_t size)
{
    snprintf(out, size, "correlation_%.100s_%s.csv", run->s.task.name, g->label);
    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c) && strcmp(c, ".csv") != 0)
            *c = '_';
}

static tce_status write_correlation(const char *folder, const plot_group *g, const plotted_run *run, const player *p)
{
    const size_t T = p->ep.T, n = p->ep.D * T;
    char name[256];
    correlation_name(g, run, name, sizeof name);
    double *matrix = calloc(n * n, sizeof *matrix);
    if (!matrix)
        return tce_fail(TCE_E_NOMEM, "no memory for a matrix of %zu actions", n);
    FILE *file = NULL;
    tce_status status = action_correlation(p->mp, T, p->ep.times, p->ep.factor, matrix);
    if (status == TCE_OK)
        status = plot_open(folder, name, &file);
    if (status == TCE_OK) {
        fprintf(file, "# dof=%zu steps=%zu dt=%.17g task=%s method=%s\n", p->ep.D, T, p->ep.spec->dt, run->s.task.name, g->label);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                fprintf(file, "%.9g%c", matrix[i * n + j], j + 1 < n ? ',' : '\n');
        status = plot_close(folder, name, file);
    }
    free(matrix);
    return status;
}

/* ---- groups ---------------------------------------------------------------------------------------- */

static void warn(const plotted_run *run, const char *what)
{
    fprintf(stderr, "tce plot: no %s of %s: %s\n", what, run->folder, tce_error_message());
}

/* All runs of a group; the correlation is that of its first policy. */
static void report_group(const plot_data *data, const plot_group *g, const char *folder, int32_t n_episodes, tce_pool *pool, report *r)
{
    int drawn = 0;
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < g->R * g->K; i++) {
        const plotted_run *run = &data->runs[g->runs[i]];
        player p;
        tce_status status = player_open(&p, run, n_episodes, pool);
        if (status == TCE_OK)
            status = play(&p, run, r);
        if (status != TCE_OK)
            warn(run, "smoothness");
        else if (!drawn && write_correlation(folder, g, run, &p) != TCE_OK)
            warn(run, "correlation matrix");
        drawn |= status == TCE_OK;
        player_close(&p);
    }
}

tce_status plot_write_policies(const plot_data *data, const char *folder, int32_t n_episodes, tce_pool *pool)
{
    FILE *file;
    const tce_status status = plot_open(folder, "smoothness.csv", &file);
    if (status != TCE_OK)
        return status;
    fprintf(file, "task,method,runs,episodes,path,success,maximum_jerk,maximum_jerk_std,mean_squared_jerk,mean_squared_jerk_std,"
                  "dimensionless_jerk,dimensionless_jerk_std,dimensionless_jerk_integral,dimensionless_jerk_integral_std\n");
    printf("\nsmoothness of the mean policy, %d episodes a run: mean (standard deviation) over episodes\n", (int)n_episodes);
    printf("%-22s %-18s %-8s %7s  %-20s  %-20s  %-20s  %-20s\n", "task", "method", "path", "success", "max jerk, 1/s^3", "mean jerk^2, 1/s^6", "dimensionless jerk",
           "its integral form");
    for (size_t i = 0; i < data->tasks.n; i++) {
        report r;
        report_group(data, &data->tasks.list[i], folder, n_episodes, pool, &r);
        if (r.n_runs > 0)
            write_report(file, &data->tasks.list[i], &r);
    }
    return plot_close(folder, "smoothness.csv", file);
}
