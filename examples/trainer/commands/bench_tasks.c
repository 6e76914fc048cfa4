/*
 * tce bench --tasks: what a step of each task costs beside the mj_step calls in it.
 *
 * Rollouts on the thread pool along random paths of a ProDMP, in rounds. A round runs the same
 * episodes twice: as in training, for the processor time of all threads; and with a clock around
 * the physics (examples/tasks/shared/step_cost.h). With c the cost of a step and b that of the
 * mj_step calls in it, with as many threads busy, rollouts reach b / c of what n threads of bare
 * calls would. Printed are medians over rounds, which other programs on the machine disturb least.
 */
#define _GNU_SOURCE /* dladdr */

#include "commands/bench_tasks.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/collect.h"
#include "commands/commands.h"
#include "tools/memory.h"

#define ENVS_PER_THREAD 4
#define SEED 1

/* Medians over rounds, µs per step of the environment. */
typedef struct task_cost {
    double step, bare, reached, calls; /* c, b, b / c, mj_step calls per step */
    char version[32];
} task_cost;

/* What a task runs on. */
typedef struct task_run {
    tce_rollout *rollout;
    tce_mp *mp;
    size_t n, T, D, P;
    double *params, *times, *start_pos, *start_vel, *pos, *vel, *rewards;
    int32_t *lengths;
    double *rounds[3]; /* step, bare, reached of each */
} task_run;

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

tasks_step_cost_function step_cost_of(const tce_env_vtable *vtable)
{
    Dl_info info;
    tasks_step_cost_function found = NULL;
    void *library = dladdr(vtable, &info) ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (!library)
        return NULL;
    *(void **)&found = dlsym(library, "tce_tasks_step_cost");
    dlclose(library);
    return found;
}

static void close_run(task_run *r)
{
    double *const arrays[] = { r->params, r->times,   r->start_pos, r->start_vel, r->pos,
                               r->vel,    r->rewards, r->rounds[0], r->rounds[1], r->rounds[2] };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    free(r->lengths);
    tce_rollout_free(r->rollout);
    tce_mp_free(r->mp);
}

static tce_status open_run(task_run *r, const tce_env_vtable *vtable, const char *settings_text,
                           tce_pool *pool, int64_t rounds)
{
    memset(r, 0, sizeof *r);
    r->n = ENVS_PER_THREAD * (size_t)tce_pool_n_threads(pool);
    tce_rollout_options options;
    tce_rollout_options_init(&options, sizeof options);
    options.vtable = vtable;
    options.settings = settings_text;
    options.seed = SEED;
    options.n_envs = (int32_t)r->n;
    options.pool = pool;
    tce_status status = tce_rollout_create(&options, NULL, &r->rollout);
    if (status != TCE_OK)
        return status;

    /* a primitive as long as the episode */
    const tce_env_spec *spec = tce_rollout_spec(r->rollout);
    tce_mp_options mp;
    tce_mp_options_init(&mp, sizeof mp);
    r->T = (size_t)spec->n_steps;
    r->D = (size_t)spec->n_dof;
    mp.n_dof = spec->n_dof;
    mp.tau = spec->n_steps * spec->dt;
    mp.dt = spec->dt;
    mp.relative_goal = 1;
    mp.weights_scale = 0.3;
    mp.goal_scale = 0.3;
    status = tce_mp_create(&mp, NULL, &r->mp);
    if (status != TCE_OK)
        return status;
    r->P = tce_mp_n_params(r->mp);

    int failed = 0;
    r->params = array_of_doubles(r->n * r->P, &failed);
    r->times = array_of_doubles(r->T, &failed);
    r->start_pos = array_of_doubles(r->n * r->D, &failed);
    r->start_vel = array_of_doubles(r->n * r->D, &failed);
    r->pos = array_of_doubles(r->n * r->T * r->D, &failed);
    r->vel = array_of_doubles(r->n * r->T * r->D, &failed);
    r->rewards = array_of_doubles(r->n * r->T, &failed);
    for (int i = 0; i < 3; i++)
        r->rounds[i] = array_of_doubles((size_t)rounds, &failed);
    r->lengths = calloc(r->n, sizeof *r->lengths);
    for (size_t t = 0; !failed && t < r->T; t++)
        r->times[t] = (double)(t + 1) * spec->dt;
    return failed || !r->lengths ? tce_fail(TCE_E_NOMEM, "no memory to measure %s", vtable->name)
                                 : TCE_OK;
}

/*
 * Episodes of a round from their resets on, of which only the steps count: processor seconds and
 * steps taken.
 */
static tce_status run_round(task_run *r, uint64_t round, double *out_seconds, double *out_steps)
{
    static const double NOW = 0.0;
    tce_random random;
    tce_status status = tce_rollout_reset(r->rollout, r->n, round, NULL, r->start_pos,
                                          r->start_vel);
    if (status != TCE_OK)
        return status;
    tce_random_start(&random, SEED, 1, round, 0);
    tce_random_normals(&random, r->n * r->P, r->params);
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = r->n;
    grid.T = r->T;
    grid.n_time_rows = 1;
    grid.n_init_times = 1;
    grid.times = r->times;
    grid.init_time = &NOW;
    grid.init_pos = r->start_pos;
    grid.init_vel = r->start_vel;
    status = tce_mp_trajectory(r->mp, &grid, r->params, r->pos, r->vel, NULL);
    if (status != TCE_OK)
        return status;

    tce_rollout_paths paths = TCE_INIT(tce_rollout_paths);
    paths.rewards = r->rewards;
    paths.lengths = r->lengths;
    const double start = processor_seconds();
    status = tce_rollout_run(r->rollout, r->n, r->T, r->pos, r->vel, &paths);
    *out_seconds = processor_seconds() - start;
    *out_steps = 0.0;
    for (size_t i = 0; i < r->n; i++)
        *out_steps += r->lengths[i];
    return status;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n % 2 == 1 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

static tce_status measure(task_run *r, tasks_step_cost_function step_cost, int64_t rounds,
                          task_cost *out)
{
    tasks_step_cost cost;
    double seconds, steps;
    memset(out, 0, sizeof *out);
    memset(&cost, 0, sizeof cost);
    tce_status status = run_round(r, 0, &seconds, &steps); /* touches all memory */
    for (int64_t i = 0; status == TCE_OK && i < rounds; i++) {
        status = run_round(r, (uint64_t)i + 1, &seconds, &steps);
        r->rounds[0][i] = 1e6 * seconds / steps;
        if (!step_cost || status != TCE_OK)
            continue;
        step_cost(1, &cost);
        status = run_round(r, (uint64_t)i + 1, &seconds, &steps);
        step_cost(0, &cost);
        if (cost.n_steps == 0)
            continue; /* no MuJoCo in it */
        out->calls = (double)cost.n_steps / steps;
        r->rounds[1][i] = 1e6 * cost.seconds / steps;
        r->rounds[2][i] = r->rounds[1][i] / r->rounds[0][i];
    }
    if (status != TCE_OK)
        return status;
    out->step = median(r->rounds[0], rounds);
    out->bare = median(r->rounds[1], rounds);
    out->reached = median(r->rounds[2], rounds);
    memcpy(out->version, cost.version, sizeof out->version);
    return TCE_OK;
}

/* Of any task on MuJoCo, whose version is that of all; NULL: there is none. */
static tasks_step_cost_function any_step_cost(const tce_env_library *library)
{
    tasks_step_cost_function found = NULL;
    for (size_t i = 0; !found && i < tce_env_library_n_tasks(library); i++)
        found = step_cost_of(tce_env_library_at(library, i));
    return found;
}

static void print_head(const tce_env_library *library, int32_t threads, int64_t rounds)
{
    const tasks_step_cost_function step_cost = any_step_cost(library);
    if (step_cost) {
        tasks_step_cost about;
        step_cost(0, &about);
        printf("MuJoCo %s, ", about.version);
    }
    printf("%d threads, medians of %lld rounds, processor time\n\n", (int)threads,
           (long long)rounds);
    printf("%-28s %10s %10s %10s %11s\n", "task", "us per step", "mj_step", "per mj_step",
           "reached");
}

static void print_cost(const char *name, const task_cost *c, int32_t threads, int64_t rounds,
                       int json)
{
    const int has_physics = c->calls > 0.0;
    if (json) {
        printf(
            "{\"task\": \"%s\", \"threads\": %d, \"rounds\": %lld, \"microseconds_per_step\": %.6g",
            name, (int)threads, (long long)rounds, c->step);
        if (has_physics)
            printf(", \"mujoco\": \"%s\", \"bare_microseconds_per_step\": %.6g, "
                   "\"mj_steps_per_step\": %.6g, \"reached\": %.6g",
                   c->version, c->bare, c->calls, c->reached);
        printf("}\n");
    } else if (has_physics) {
        printf("%-28s %10.2f %10.2f %10.2f %9.1f %%\n", name, c->step, c->bare, c->bare / c->calls,
               100.0 * c->reached);
    } else {
        printf("%-28s %10.2f %10s %10s %11s\n", name, c->step, "-", "-", "-");
    }
    fflush(stdout);
}

int bench_tasks(const settings *s, const char *only, int64_t rounds, int json)
{
    task t;
    tce_pool *pool = NULL;
    tce_pool_options options;
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = s->run.threads;
    tce_status status = task_library_open(s, &t);
    const tce_env_vtable *wanted = NULL;
    if (status == TCE_OK && only)
        status = task_lookup(s, &t, only, &wanted);
    if (status == TCE_OK)
        status = tce_pool_create(&options, NULL, &pool);
    const int32_t threads = status == TCE_OK ? (int32_t)tce_pool_n_threads(pool) : 0;

    if (status == TCE_OK && !json)
        print_head(t.library, threads, rounds);
    for (size_t i = 0; status == TCE_OK && i < tce_env_library_n_tasks(t.library); i++) {
        const tce_env_vtable *vtable = tce_env_library_at(t.library, i);
        if (wanted && vtable != wanted)
            continue;
        if (!vtable->step) {
            if (wanted)
                status = tce_fail(TCE_E_UNSUPPORTED,
                                  "%s tracks no paths, but this measures steps along paths",
                                  vtable->name);
            continue;
        }
        task_run r;
        task_cost cost;
        status = open_run(&r, vtable, s->task.options, pool, rounds);
        if (status == TCE_OK)
            status = measure(&r, step_cost_of(vtable), rounds, &cost);
        if (status == TCE_OK)
            print_cost(vtable->name, &cost, threads, rounds, json);
        close_run(&r);
    }
    tce_pool_free(pool);
    task_close(&t);
    return status == TCE_OK ? EXIT_FINE : fail();
}
