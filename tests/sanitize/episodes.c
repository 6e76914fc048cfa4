/*
 * Every task of a library through the public calls: one episode of raw actions and one along a
 * desired path, on two threads, and states read and put back. For the sanitizers and valgrind,
 * which find what goes wrong on the way; the suites know what must come out.
 *
 *     episodes LIBRARY [TASK ...]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

enum { SEED = 5, N_ENVS = 2, N_THREADS = 2 };

/* Tasks whose other options run other code; what a name begins with. */
static const struct {
    const char *prefix;
    const char *settings;
} VARIANTS[] = {
    { "", "" },
    { "metaworld_", "profile=2" },
    { "box_pushing_dense", "whole=1" },
    { "box_pushing_dense", "random_start=0" },
    { "hopper_jump", "dense=1" },
    { "table_tennis", "terminal=1" },
    { "table_tennis", "markov=1" },
    { "table_tennis", "whole_path=1" },
};

static void must(int holds, const char *task, const char *settings, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "episodes: %s \"%s\": %s: %s\n", task, settings, what, tce_error_message());
    exit(1);
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    if (!memory) {
        fprintf(stderr, "episodes: no memory\n");
        exit(1);
    }
    return memory;
}

/* One episode of raw actions drawn within their limits; returns the steps of the longest one. */
static size_t step_episode(tce_rollout *rollout, const char *task, const char *settings)
{
    const tce_env_spec *spec = tce_rollout_spec(rollout);
    const size_t A = (size_t)spec->n_action, T = (size_t)spec->n_steps;
    double *actions = allocate(N_ENVS * A, sizeof *actions);
    double *obs = allocate(N_ENVS * (size_t)spec->n_obs, sizeof *obs);
    double *numbers = allocate(N_ENVS * (size_t)spec->n_metrics, sizeof *numbers);
    tce_env_result results[N_ENVS];
    tce_random random;
    size_t t = 0;
    int over = 0;

    tce_random_start(&random, SEED, 1, 0, 0);
    must(tce_rollout_reset(rollout, N_ENVS, 0, obs, NULL, NULL) == TCE_OK, task, settings, "reset");
    for (; t < T && !over; t++) {
        for (size_t i = 0; i < N_ENVS * A; i++)
            actions[i] = spec->action_low[i % A] +
                         tce_random_uniform(&random) *
                             (spec->action_high[i % A] - spec->action_low[i % A]);
        must(tce_rollout_step(rollout, N_ENVS, actions, obs, results) == TCE_OK, task, settings,
             "step");
        over = 1;
        for (size_t i = 0; i < N_ENVS; i++)
            over = over && (results[i].terminated || results[i].truncated);
    }
    must(tce_rollout_metrics(rollout, N_ENVS, numbers) == TCE_OK, task, settings, "metrics");
    free(actions);
    free(obs);
    free(numbers);
    return t;
}

/* One episode along waves around the place where it starts. */
static void path_episode(tce_rollout *rollout, const char *task, const char *settings)
{
    const tce_env_spec *spec = tce_rollout_spec(rollout);
    const size_t D = (size_t)spec->n_dof, T = (size_t)spec->n_steps, O = (size_t)spec->n_obs;
    const double reach = 0.3, pi = 3.14159265358979323846;
    double *first = allocate(N_ENVS * O, sizeof *first);
    double *start = allocate(N_ENVS * D, sizeof *start);
    double *pos = allocate(N_ENVS * T * D, sizeof *pos);
    double *vel = allocate(N_ENVS * T * D, sizeof *vel);
    double *obs = allocate(N_ENVS * (T + 1) * O, sizeof *obs);
    double *rewards = allocate(N_ENVS * T, sizeof *rewards);
    double *numbers = allocate(N_ENVS * (size_t)spec->n_metrics, sizeof *numbers);
    int32_t lengths[N_ENVS];
    tce_rollout_paths out;

    must(tce_rollout_reset(rollout, N_ENVS, 1, first, start, NULL) == TCE_OK, task, settings,
         "reset");
    for (size_t e = 0; e < N_ENVS; e++) {
        memcpy(obs + e * (T + 1) * O, first + e * O, O * sizeof *obs);
        for (size_t t = 0; t < T; t++)
            for (size_t d = 0; d < D; d++) {
                const double rate = 2.0 * pi * (double)(d + 1) / ((double)T * spec->dt),
                             time = (double)(t + 1) * spec->dt;
                pos[(e * T + t) * D + d] = start[e * D + d] + reach * sin(rate * time);
                vel[(e * T + t) * D + d] = reach * rate * cos(rate * time);
            }
    }
    out = TCE_INIT(tce_rollout_paths);
    out.obs = obs;
    out.rewards = rewards;
    out.lengths = lengths;
    out.metrics = numbers;
    must(tce_rollout_run(rollout, N_ENVS, T, pos, vel, &out) == TCE_OK, task, settings, "run");
    for (size_t e = 0; e < N_ENVS; e++)
        must(lengths[e] > 0, task, settings, "an episode without steps");
    free(first);
    free(start);
    free(pos);
    free(vel);
    free(obs);
    free(rewards);
    free(numbers);
}

/* States read and put back. */
static void copy_states(tce_rollout *rollout, const char *task, const char *settings)
{
    const size_t S = tce_rollout_n_state(rollout);
    if (S == 0)
        return;
    double *states = allocate(N_ENVS * S, sizeof *states);
    must(tce_rollout_get_states(rollout, N_ENVS, states) == TCE_OK, task, settings, "get_states");
    must(tce_rollout_set_states(rollout, N_ENVS, states, NULL) == TCE_OK, task, settings,
         "set_states");
    free(states);
}

/* Both episodes of a task; returns the steps of the first. */
static size_t run_task(const tce_env_vtable *vtable, const char *settings, tce_pool *pool)
{
    tce_rollout_options options;
    tce_rollout *rollout = NULL;
    tce_rollout_options_init(&options, sizeof options);
    options.vtable = vtable;
    options.settings = settings;
    options.seed = SEED;
    options.n_envs = N_ENVS;
    options.pool = pool;
    must(tce_rollout_create(&options, NULL, &rollout) == TCE_OK, vtable->name, settings, "create");
    const size_t n = step_episode(rollout, vtable->name, settings);
    copy_states(rollout, vtable->name, settings);
    if (tce_rollout_spec(rollout)->n_dof > 0)
        path_episode(rollout, vtable->name, settings);
    tce_rollout_free(rollout);
    return n;
}

static int chosen(const char *name, int n, char **names)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return n == 0;
}

int main(int argc, char **argv)
{
    tce_env_library *library = NULL;
    tce_pool *pool = NULL;
    tce_pool_options threads;
    size_t n_tasks = 0, n_runs = 0, n_steps = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: episodes LIBRARY [TASK ...]\n");
        return 2;
    }
    tce_pool_options_init(&threads, sizeof threads);
    threads.n_threads = N_THREADS;
    must(tce_pool_create(&threads, NULL, &pool) == TCE_OK, "-", "", "pool");
    must(tce_env_library_open(argv[1], NULL, &library) == TCE_OK, argv[1], "", "open");
    for (size_t i = 0; i < tce_env_library_n_tasks(library); i++) {
        const tce_env_vtable *vtable = tce_env_library_at(library, i);
        if (!chosen(vtable->name, argc - 2, argv + 2))
            continue;
        n_tasks++;
        for (size_t k = 0; k < sizeof VARIANTS / sizeof VARIANTS[0]; k++)
            if (strncmp(vtable->name, VARIANTS[k].prefix, strlen(VARIANTS[k].prefix)) == 0) {
                n_steps += run_task(vtable, VARIANTS[k].settings, pool);
                n_runs++;
            }
    }
    tce_env_library_free(library);
    tce_pool_free(pool);
    if (n_tasks == 0) {
        fprintf(stderr, "episodes: no such task\n");
        return 1;
    }
    printf("%zu tasks, %zu with their options, two episodes each: %zu steps of raw actions\n",
           n_tasks, n_runs, n_steps);
    return 0;
}
