/*
 * What the suites of tasks share; see task_suite.h.
 */
#include "task_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tce/rollout.h>

#include "support.h"

/* Of the episodes of task_check_threads. */
#define SEED 11

tce_env_library *task_library;

/* What a test does to TCE_MODELS must not reach the next one where both are in one process. */
static char *models;

static void open_library(void)
{
    const char *path = getenv("TCE_TASKS"), *folder = getenv("TCE_MODELS");

    models = folder ? strdup(folder) : NULL;
    ck_assert_msg(path != NULL, "TCE_TASKS is not set: run `make check-trainer`");
    ok(tce_env_library_open(path, NULL, &task_library));
}

static void close_library(void)
{
    tce_env_library_free(task_library);
    if (models)
        setenv("TCE_MODELS", models, 1);
    else
        unsetenv("TCE_MODELS");
    free(models);
}

TCase *task_case(Suite *suite, const char *name, double timeout)
{
    TCase *tcase = test_case(suite, name, timeout);

    tcase_add_checked_fixture(tcase, open_library, close_library);
    return tcase;
}

const tce_env_vtable *task_find(const char *name)
{
    const tce_env_vtable *task = NULL;

    ok(tce_env_library_find(task_library, name, &task));
    return task;
}

void *task_create(const tce_env_vtable *task, const char *settings)
{
    void *env = NULL;

    ck_assert_msg(task->create(NULL, settings, &env) == TCE_OK, "%s: %s", task->name,
                  tce_error_message());
    return env;
}

void task_refuses(const tce_env_vtable *task, const char *settings, tce_status status,
                  const char *part)
{
    void *env = NULL;

    fails(task->create(NULL, settings, &env), status, part);
    ck_assert_ptr_null(env);
}

static void fail_with(void *context, int32_t severity, const char *message)
{
    /* tasks that track no paths are meant so */
    if (severity == TCE_ENV_REMARK && strncmp(message, "n_dof = 0:", 10) == 0)
        return;
    ck_abort_msg("%s: %s", (const char *)context, message);
}

void task_inspect(const tce_env_vtable *task, const char *settings)
{
    char name[200];
    tce_env_inspect_options options;

    snprintf(name, sizeof name, "%s, \"%s\"", task->name, settings ? settings : "");
    tce_env_inspect_options_init(&options, sizeof options);
    options.vtable = task;
    options.settings = settings;
    options.report = fail_with;
    options.context = name;
    ok(tce_env_inspect(&options, NULL, NULL));
}

/* ---- threads --------------------------------------------------------------------------------- */

/* A rollout of the task on a pool of this many threads. */
static tce_rollout *create_rollout(const tce_env_vtable *task, const char *settings,
                                   int32_t n_threads, tce_pool **out_pool)
{
    tce_rollout_options options;
    tce_rollout *rollout = NULL;

    *out_pool = test_pool(n_threads);
    tce_rollout_options_init(&options, sizeof options);
    options.vtable = task;
    options.settings = settings;
    options.seed = SEED;
    options.n_envs = TASK_N_ENVS;
    options.pool = *out_pool;
    ok(tce_rollout_create(&options, NULL, &rollout));
    return rollout;
}

/* Rewards [E, T] of the last round; returns its observations [E, T+1, O], malloc'ed. */
static double *run(tce_rollout *rollout, uint64_t n_rounds, size_t T, double drift, double *rewards,
                   size_t *n_obs)
{
    const size_t E = TASK_N_ENVS;
    const size_t D = (size_t)tce_rollout_spec(rollout)->n_dof;
    const size_t O = (size_t)tce_rollout_spec(rollout)->n_obs;
    double *first = calloc(E * O, sizeof *first);
    double *start = calloc(E * D, sizeof *start);
    double *path = calloc(E * T * D, sizeof *path);
    double *speed = calloc(E * T * D, sizeof *speed);
    double *obs = calloc(E * (T + 1) * O, sizeof *obs);
    tce_rollout_paths paths;

    ck_assert(first && start && path && speed && obs);
    paths = TCE_INIT(tce_rollout_paths);
    paths.rewards = rewards;
    paths.obs = obs;
    for (uint64_t round = 0; round < n_rounds; round++) {
        ok(tce_rollout_reset(rollout, E, round, first, start, NULL));
        for (size_t e = 0; e < E; e++) {
            memcpy(obs + e * (T + 1) * O, first + e * O, O * sizeof *obs);
            for (size_t t = 0; t < T; t++) {
                memcpy(path + (e * T + t) * D, start + e * D, D * sizeof *path);
                path[(e * T + t) * D] += drift * (double)t;
            }
        }
        ok(tce_rollout_run(rollout, E, T, path, speed, &paths));
    }
    free(first);
    free(start);
    free(path);
    free(speed);
    *n_obs = E * (T + 1) * O;
    return obs;
}

void task_check_threads(const tce_env_vtable *task, const char *settings, uint64_t n_rounds,
                        size_t T, double drift, double *out_rewards)
{
    double *rewards[2] = { calloc(TASK_N_ENVS * T, sizeof(double)), out_rewards };
    double *obs[2];
    size_t n_obs = 0;

    for (int i = 0; i < 2; i++) {
        tce_pool *pool = NULL;
        tce_rollout *rollout = create_rollout(task, settings, i == 0 ? 1 : 3, &pool);
        obs[i] = run(rollout, n_rounds, T, drift, rewards[i], &n_obs);
        tce_rollout_free(rollout);
        tce_pool_free(pool);
    }
    ck_assert_mem_eq(rewards[0], rewards[1], TASK_N_ENVS * T * sizeof(double));
    ck_assert_mem_eq(obs[0], obs[1], n_obs * sizeof(double));
    free(rewards[0]);
    free(obs[0]);
    free(obs[1]);
}
