/*
 * rollout: episodes of a point mass on the pool, the same bytes for any number of threads, faults
 * of every kind kept to the environment that has them, and memory.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tce/rollout.h>

#include "support.h"

#define D 2
#define O (2 * D + 1)
#define A D
#define M 2
#define T 12
#define SENTINEL 77.0
#define MAX_ENVS 16

/* ---- the task: a point mass in the plane, pulled to where it should be ----------------------- */

/*
 * Not the toy of the other suites: instances are counted, and environments of a given number go
 * wrong at a given step in every way that there is, with a message and without.
 */

/* What goes wrong, and where: given to every environment as `user`, which counts itself in. */
typedef struct plan {
    int n_created, n_destroyed, n_alive;
    int bad_env; /* environment that misbehaves; -1: none */
    int bad_step;
    int kind;
    int ends_at; /* every environment ends after this many steps; 0: never */
    int odd_spec;
    int unmarked; /* the last step does not say that it is one */
} plan;

enum {
    FINE,
    SAYS_SO,      /* a negative status and a message */
    SAYS_NOTHING, /* a negative status alone */
    POSITIVE,     /* a status that does not exist */
    NAN_REWARD,
    INF_OBSERVATION,
    RESET_SAYS_SO,
    RESET_NAN,
    RESET_NAN_POSITION,
    METRICS_SAY_SO,
    N_KINDS,
    STATE_SAYS_SO
};

/* Specs that are odd only together with something else. */
enum { CARRIES = 100, STATES_DIFFER };

typedef struct point {
    plan *plan;
    int index;
    int step;
    double pos[D], vel[D], goal;
} point;

static tce_status point_create(void *user, const char *settings, void **out)
{
    plan *p = user;
    if (settings && strcmp(settings, "fail=3") == 0 && p->n_created == 3)
        return tce_fail(TCE_E_ENV, "the motor is off");
    if (settings && strcmp(settings, "null=2") == 0 && p->n_created == 2)
        return TCE_OK;
    point *self = calloc(1, sizeof *self);
    self->plan = p;
    self->index = p->n_created++;
    p->n_alive++;
    *out = self;
    return TCE_OK;
}

static void point_destroy(void *instance)
{
    point *self = instance;
    self->plan->n_destroyed++;
    self->plan->n_alive--;
    free(self);
}

static const char *const METRIC_NAMES[M] = { "success", "distance" };
static const int32_t CONTEXT[1] = { O - 1 };
static const double LOW[A] = { -1.0, -1.0 }, HIGH[A] = { 1.0, 1.0 };

static tce_status point_spec(void *instance, tce_env_spec *out)
{
    static const char *const no_names[M] = { "success", NULL };
    static const int32_t far[1] = { O };
    static const double nan_low[A] = { 0.0, NAN };
    const point *self = instance;

    out->n_obs = O;
    out->n_dof = D;
    out->n_action = A;
    out->n_steps = T;
    out->n_metrics = M;
    out->n_context = 1;
    out->dt = 0.02;
    out->metric_names = METRIC_NAMES;
    out->context = CONTEXT;
    out->action_low = LOW;
    out->action_high = HIGH;
    switch (self->plan->odd_spec) {
    case 1:
        out->n_obs = 0;
        break;
    case 2:
        out->n_dof = -1;
        break;
    case 3:
        out->n_steps = 0;
        break;
    case 4:
        out->dt = NAN;
        break;
    case 5:
        out->dt = 0.0;
        break;
    case 6:
        out->metric_names = NULL;
        break;
    case 7:
        out->metric_names = no_names;
        break;
    case 8:
        out->context = far;
        break;
    case 9:
        out->context = NULL;
        break;
    case 10:
        out->n_context = O + 1;
        break;
    case 11:
        out->action_low = NULL;
        break;
    case 12:
        out->action_low = nan_low;
        break;
    case 13:
        out->n_metrics = -1;
        break;
    case 14:
        return tce_fail(TCE_E_VALUE, "spec is out");
    case 15:
        out->n_obs = self->index == 2 ? O + 1 : O;
        break; /* differs from the first */
    case 16:
        return 4;
    case 17:
        out->carries_state = 2;
        break;
    case 18:
        out->velocity_end = D - 1;
        break;
    case 19:
        out->velocity_end = O + 1;
        break;
    case CARRIES:
        out->carries_state = 1;
        break;
    default:
        break;
    }
    return TCE_OK;
}

static void observe(const point *self, double *obs)
{
    memcpy(obs, self->pos, sizeof self->pos);
    memcpy(obs + D, self->vel, sizeof self->vel);
    obs[2 * D] = self->goal;
}

/* Whether this environment goes wrong in this way: the bad one, and the third after it. */
static int is_bad(const point *self, int kind)
{
    const plan *p = self->plan;
    return p->kind == kind && (p->bad_env == self->index || p->bad_env == self->index - 3);
}

static int goes_wrong(const point *self, int kind)
{
    return is_bad(self, kind) && self->step == self->plan->bad_step;
}

static tce_status point_reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                              double *out_vel)
{
    point *self = instance;

    self->step = 0;
    self->goal = tce_random_uniform(random);
    for (int d = 0; d < D; d++) {
        self->pos[d] = test_normal(random);
        self->vel[d] = 0.0;
    }
    if (goes_wrong(self, RESET_SAYS_SO))
        return tce_fail(TCE_E_ENV, "no ground to stand on");
    observe(self, out_obs);
    memcpy(out_pos, self->pos, sizeof self->pos);
    memcpy(out_vel, self->vel, sizeof self->vel);
    if (goes_wrong(self, RESET_NAN))
        out_obs[1] = NAN;
    if (goes_wrong(self, RESET_NAN_POSITION))
        out_pos[1] = NAN;
    return TCE_OK;
}

/* One step under an acceleration. */
static tce_status advance(point *self, const double *acceleration, double *out_obs,
                          tce_env_result *out)
{
    double distance = 0.0;

    for (int d = 0; d < D; d++) {
        self->vel[d] += 0.02 * acceleration[d];
        self->pos[d] += 0.02 * self->vel[d];
        distance += (self->pos[d] - self->goal) * (self->pos[d] - self->goal);
    }
    observe(self, out_obs);
    out->reward = -distance;
    out->event = self->step >= 4;
    if (goes_wrong(self, SAYS_SO))
        return tce_fail(TCE_E_UNSUPPORTED, "the arm is stuck");
    if (goes_wrong(self, SAYS_NOTHING))
        return TCE_E_ENV;
    if (goes_wrong(self, POSITIVE))
        return 5;
    if (goes_wrong(self, NAN_REWARD))
        out->reward = NAN;
    if (goes_wrong(self, INF_OBSERVATION))
        out_obs[3] = -INFINITY;
    self->step++;
    out->terminated = self->plan->ends_at > 0 && self->step == self->plan->ends_at;
    out->truncated = self->step == T && !self->plan->unmarked;
    return TCE_OK;
}

static tce_status point_step(void *instance, const double *pos, const double *vel, double *out_obs,
                             tce_env_result *out)
{
    point *self = instance;
    double acceleration[D];

    for (int d = 0; d < D; d++)
        acceleration[d] = 40.0 * (pos[d] - self->pos[d]) + 10.0 * (vel[d] - self->vel[d]);
    return advance(self, acceleration, out_obs, out);
}

static tce_status point_step_action(void *instance, const double *action, double *out_obs,
                                    tce_env_result *out)
{
    return advance(instance, action, out_obs, out);
}

static tce_status point_metrics(void *instance, double *out)
{
    const point *self = instance;

    if (is_bad(self, METRICS_SAY_SO))
        return tce_fail(TCE_E_ENV, "the tape is torn");
    out[0] = self->step == T;
    out[1] = fabs(self->pos[0] - self->goal);
    return TCE_OK;
}

/* A state: steps, position, velocity, goal. */
enum { S = 2 + 2 * D };

static size_t point_n_state(void *instance)
{
    const point *self = instance;
    return self->plan->odd_spec == STATES_DIFFER && self->index == 2 ? S + 1 : S;
}

static tce_status point_get_state(void *instance, double *out)
{
    const point *self = instance;

    if (is_bad(self, STATE_SAYS_SO))
        return tce_fail(TCE_E_ENV, "the encoder is off");
    out[0] = self->step;
    out[1] = self->goal;
    memcpy(out + 2, self->pos, sizeof self->pos);
    memcpy(out + 2 + D, self->vel, sizeof self->vel);
    return TCE_OK;
}

static tce_status point_set_state(void *instance, const double *state, double *out_obs)
{
    point *self = instance;

    if (is_bad(self, STATE_SAYS_SO))
        return 3;
    self->step = (int)state[0];
    self->goal = state[1];
    memcpy(self->pos, state + 2, sizeof self->pos);
    memcpy(self->vel, state + 2 + D, sizeof self->vel);
    observe(self, out_obs);
    return TCE_OK;
}

static const tce_env_vtable POINT = {
    .struct_size = sizeof POINT,
    .abi = TCE_ENV_ABI,
    .name = "point",
    .description = "a point mass",
    .create = point_create,
    .destroy = point_destroy,
    .spec = point_spec,
    .reset = point_reset,
    .step = point_step,
    .step_action = point_step_action,
    .metrics = point_metrics,
    .n_state = point_n_state,
    .get_state = point_get_state,
    .set_state = point_set_state,
};

/* ---- helpers --------------------------------------------------------------------------------- */

/* Everything that a rollout writes. */
typedef struct outputs {
    double obs[MAX_ENVS][T + 1][O];
    double rewards[MAX_ENVS][T];
    uint8_t terminated[MAX_ENVS][T], truncated[MAX_ENVS][T];
    uint8_t events[MAX_ENVS][T];
    int32_t lengths[MAX_ENVS];
    double metrics[MAX_ENVS][M];
    double start_obs[MAX_ENVS][O], start_pos[MAX_ENVS][D], start_vel[MAX_ENVS][D];
} outputs;

static tce_rollout_options default_options(plan *p, int32_t n_envs)
{
    tce_rollout_options options;

    tce_rollout_options_init(&options, sizeof options);
    options.vtable = &POINT;
    options.user = p;
    options.seed = 11;
    options.purpose = 2;
    options.n_envs = n_envs;
    return options;
}

static tce_rollout *make(plan *p, int32_t n_envs, int32_t on_fault, tce_pool *pool,
                         const tce_hooks *hooks)
{
    tce_rollout_options options = default_options(p, n_envs);
    tce_rollout *rollout;

    options.on_fault = on_fault;
    options.pool = pool;
    ok(tce_rollout_create(&options, hooks, &rollout));
    return rollout;
}

static tce_rollout_paths paths_of(outputs *out)
{
    tce_rollout_paths paths = TCE_INIT(tce_rollout_paths);
    paths.obs = out->obs[0][0];
    paths.rewards = out->rewards[0];
    paths.terminated = out->terminated[0];
    paths.truncated = out->truncated[0];
    paths.events = out->events[0];
    paths.lengths = out->lengths;
    paths.metrics = out->metrics[0];
    return paths;
}

/* Resets environment i to an episode of the handle's own streams, and leaves the others alone. */
static tce_status reset_alone(tce_rollout *rollout, size_t i, uint64_t number, double *obs,
                              double *pos, double *vel)
{
    tce_random stream;

    tce_random_start(&stream, 11, 2, i, number);
    return tce_rollout_reset_where(rollout, 1, &i, &stream, obs, pos, vel);
}

/* Desired paths that differ from environment to environment. */
static void desired(size_t n, double *pos, double *vel)
{
    for (size_t k = 0; k < n * T * D; k++) {
        pos[k] = sin(0.3 * (double)k);
        vel[k] = cos(0.7 * (double)k);
    }
}

/* Resets and runs an episode of n environments; returns the first status that is not TCE_OK. */
static tce_status episode(tce_rollout *rollout, size_t n, uint64_t number, outputs *out)
{
    static __thread double pos[MAX_ENVS * T * D], vel[MAX_ENVS * T * D];
    const tce_rollout_paths paths = paths_of(out);

    for (size_t k = 0; k < sizeof *out / sizeof(double); k++)
        ((double *)(void *)out)[k] = SENTINEL;
    desired(n, pos, vel);
    const tce_status first = tce_rollout_reset(rollout, n, number, out->start_obs[0],
                                               out->start_pos[0], out->start_vel[0]);
    for (size_t i = 0; i < n; i++)
        memcpy(out->obs[i][0], out->start_obs[i], sizeof out->start_obs[i]);
    const tce_status second = tce_rollout_run(rollout, n, T, pos, vel, &paths);
    return first ? first : second;
}

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(an_episode_is_what_the_environment_alone_would_do)
{
    enum { N = 5 };
    plan p = { .bad_env = -1 }, alone = { .bad_env = -1 };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    outputs *out = malloc(sizeof *out);
    double pos[N * T * D], vel[N * T * D];

    ok(episode(rollout, N, 4, out));
    desired(N, pos, vel);
    for (size_t i = 0; i < N; i++) {
        void *instance;
        double obs[O], start[D], speed[D], metrics[M];
        tce_random random;
        ok(point_create(&alone, NULL, &instance));
        tce_random_start(&random, 11, 2, i, 4);
        ok(point_reset(instance, &random, obs, start, speed));
        ck_assert_mem_eq(out->start_obs[i], obs, sizeof obs);
        ck_assert_mem_eq(out->start_pos[i], start, sizeof start);
        ck_assert_mem_eq(out->start_vel[i], speed, sizeof speed);
        for (size_t t = 0; t < T; t++) {
            tce_env_result result = { .reward = 0.0 };
            ok(point_step(instance, pos + (i * T + t) * D, vel + (i * T + t) * D, obs, &result));
            ck_assert_mem_eq(out->obs[i][t + 1], obs, sizeof obs);
            ck_assert_double_eq(out->rewards[i][t], result.reward);
            ck_assert_int_eq(out->truncated[i][t], t == T - 1);
            ck_assert_int_eq(out->terminated[i][t], 0);
            ck_assert_int_eq(out->events[i][t], t >= 4);
        }
        ok(point_metrics(instance, metrics));
        ck_assert_mem_eq(out->metrics[i], metrics, sizeof metrics);
        ck_assert_int_eq(out->lengths[i], T);
        ok(tce_rollout_status(rollout, i));
        ck_assert_str_eq(tce_rollout_message(rollout, i), "");
        point_destroy(instance);
    }
    tce_rollout_free(rollout);
    ck_assert_int_eq(p.n_created, N);
    ck_assert_int_eq(p.n_alive, 0);
    free(out);
}
END_TEST

START_TEST(an_episode_from_a_stream_of_the_caller)
{
    enum { N = 4 };
    static const size_t WHICH[] = { 1, 3 }, FAR[] = { 1, N }, BACK[] = { 3, 1 }, TWICE[] = { 2, 2 };
    plan p = { .bad_env = -1 };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    outputs *want = malloc(sizeof *want), *out = malloc(sizeof *out);
    tce_random streams[N], start[N];
    double obs[N][O], pos[N][D], vel[N][D];

    /* the streams of an episode give that episode, whatever the environment */
    ok(episode(rollout, N, 9, want));
    for (size_t i = 0; i < N; i++)
        tce_random_start(&streams[i], 11, 2, N - 1 - i, 9);
    memcpy(start, streams, sizeof start);
    ok(tce_rollout_reset_where(rollout, N, NULL, streams, obs[0], pos[0], vel[0]));
    for (size_t i = 0; i < N; i++) {
        ck_assert_mem_eq(obs[i], want->start_obs[N - 1 - i], sizeof obs[i]);
        ck_assert_mem_eq(pos[i], want->start_pos[N - 1 - i], sizeof pos[i]);
        ck_assert_mem_eq(vel[i], want->start_vel[N - 1 - i], sizeof vel[i]);
        ck_assert_int_ne(memcmp(&streams[i], &start[i], sizeof start[i]), 0);
    }

    /* some of them; the others stay where they were */
    ok(episode(rollout, 1, 3, out));
    memcpy(streams, start, sizeof start);
    ok(tce_rollout_reset_where(rollout, 2, WHICH, streams + 1, obs[0], NULL, NULL));
    ck_assert_mem_eq(obs[0], want->start_obs[2], sizeof obs[0]);
    ck_assert_mem_eq(obs[1], want->start_obs[1], sizeof obs[1]);
    double path[N * T * D] = { 0.0 };
    const tce_rollout_paths paths = paths_of(out);
    fails(tce_rollout_run(rollout, N, T, path, path, &paths), TCE_E_STATE,
          "environment 0 has no episode");

    fails(tce_rollout_reset_where(rollout, 2, FAR, streams, NULL, NULL, NULL), TCE_E_SHAPE,
          "which[1] = 4");
    fails(tce_rollout_reset_where(rollout, 2, BACK, streams, NULL, NULL, NULL), TCE_E_VALUE,
          "which[1] = 1 after 3");
    fails(tce_rollout_reset_where(rollout, 2, TWICE, streams, NULL, NULL, NULL), TCE_E_VALUE,
          "ascending");
    fails(tce_rollout_reset_where(rollout, 2, NULL, NULL, NULL, NULL, NULL), TCE_E_ARGUMENT,
          "streams");
    fails(tce_rollout_reset_where(rollout, N + 1, NULL, streams, NULL, NULL, NULL), TCE_E_SHAPE,
          "n = 5");
    p.bad_env = 2;
    p.kind = RESET_SAYS_SO;
    fails(tce_rollout_reset_where(rollout, N, NULL, streams, obs[0], NULL, NULL), TCE_E_ENV,
          "environment 2, reset of episode");
    ck_assert_double_eq(obs[2][0], 0.0);
    tce_rollout_free(rollout);
    free(want);
    free(out);
}
END_TEST

START_TEST(one_two_and_five_threads_give_the_same_bytes)
{
    enum { N = 13 };
    static const int32_t THREADS[] = { 1, 2, 5 };
    outputs *first = malloc(sizeof *first), *other = malloc(sizeof *other);

    for (uint64_t seed = 0; seed < 20; seed++) {
        for (size_t k = 0; k < 3; k++) {
            plan p = { .bad_env = seed % 2 ? 4 : -1,
                       .bad_step = 3,
                       .kind = NAN_REWARD,
                       .ends_at = seed % 3 ? 0 : 7 };
            tce_pool *pool = test_pool(THREADS[k]);
            tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_DROP, pool, NULL);
            for (uint64_t number = 0; number < 3; number++)
                ok(episode(rollout, N, seed + number, k ? other : first));
            ck_assert_msg(k == 0 || memcmp(first, other, sizeof *first) == 0, "seed %d, %d threads",
                          (int)seed, (int)THREADS[k]);
            tce_rollout_free(rollout);
            tce_pool_free(pool);
        }
    }
    free(first);
    free(other);
}
END_TEST

START_TEST(an_episode_depends_on_its_number_and_not_on_those_before)
{
    enum { N = 4 };
    plan p = { .bad_env = -1 };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    outputs *first = malloc(sizeof *first), *other = malloc(sizeof *other);

    ok(episode(rollout, N, 9, first));
    ok(episode(rollout, N, 10, other));
    ck_assert_int_ne(memcmp(first->start_obs, other->start_obs, sizeof first->start_obs[0]), 0);
    ok(episode(rollout, N, 9, other));
    ck_assert_mem_eq(first, other, sizeof *first);

    /* one alone, and fewer than there are */
    double obs[O], pos[D], vel[D];
    ok(reset_alone(rollout, 2, 9, obs, pos, vel));
    ck_assert_mem_eq(obs, first->start_obs[2], sizeof obs);
    ck_assert_mem_eq(pos, first->start_pos[2], sizeof pos);
    ck_assert_mem_eq(vel, first->start_vel[2], sizeof vel);
    ok(episode(rollout, 2, 9, other));
    ck_assert_mem_eq(first->obs, other->obs, 2 * sizeof first->obs[0]);
    ck_assert_double_eq(other->rewards[2][0], SENTINEL);
    tce_rollout_free(rollout);
    free(first);
    free(other);
}
END_TEST

START_TEST(after_an_early_end_nothing_more_happens)
{
    enum { N = 3 };
    plan p = { .bad_env = -1, .ends_at = 7 };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    outputs *out = malloc(sizeof *out);

    ok(episode(rollout, N, 0, out));
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(out->lengths[i], 7);
        for (size_t t = 0; t < T; t++) {
            ck_assert_int_eq(out->terminated[i][t], t >= 6);
            ck_assert_int_eq(out->truncated[i][t], 0);
            ck_assert_int_eq(out->events[i][t], t >= 4);
            ck_assert(t >= 7 ? out->rewards[i][t] == 0.0 : out->rewards[i][t] < 0.0);
            if (t >= 7)
                ck_assert_mem_eq(out->obs[i][t + 1], out->obs[i][7], sizeof out->obs[i][7]);
        }
    }
    tce_rollout_free(rollout);
    free(out);
}
END_TEST

START_TEST(the_last_step_is_an_end_whatever_the_task_says)
{
    enum { N = 3 };
    plan p = { .bad_env = -1 }, unmarked = { .bad_env = -1, .unmarked = 1 };
    tce_rollout *marked = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    tce_rollout *rollout = make(&unmarked, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    outputs *want = malloc(sizeof *want), *out = malloc(sizeof *out);
    double obs[N][O], before[N][O], actions[N * A] = { 0.0 }, metrics[N][M];
    tce_env_result results[N];

    /* whole paths, again and again */
    for (uint64_t number = 0; number < 3; number++) {
        ok(episode(marked, N, number, want));
        ok(episode(rollout, N, number, out));
        ck_assert_mem_eq(out, want, sizeof *out);
    }

    /* a longer path ends there */
    double pos[N * 2 * T * D] = { 0.0 }, rewards[N][2 * T];
    uint8_t truncated[N][2 * T];
    int32_t lengths[N];
    tce_rollout_paths paths = TCE_INIT(tce_rollout_paths);
    paths.rewards = rewards[0];
    paths.truncated = truncated[0];
    paths.lengths = lengths;
    ok(tce_rollout_reset(rollout, N, 0, NULL, NULL, NULL));
    ok(tce_rollout_run(rollout, N, 2 * T, pos, pos, &paths));
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(lengths[i], T);
        for (size_t t = 0; t < 2 * T; t++) {
            ck_assert_int_eq(truncated[i][t], t >= T - 1);
            ck_assert(t >= T ? rewards[i][t] == 0.0 : rewards[i][t] < 0.0);
        }
    }

    /* single steps: over, and then as it was, until it is reset */
    ok(tce_rollout_reset(rollout, N, 0, NULL, NULL, NULL));
    for (int t = 0; t < T + 3; t++) {
        memcpy(before, obs, sizeof before);
        ok(tce_rollout_step(rollout, N, actions, obs[0], results));
        for (size_t i = 0; i < N; i++) {
            ck_assert_int_eq(results[i].truncated, t >= T - 1);
            ck_assert_int_eq(results[i].terminated, 0);
            ck_assert_int_eq(results[i].event, t >= 4);
            ck_assert(t >= T ? results[i].reward == 0.0 : results[i].reward < 0.0);
            if (t >= T)
                ck_assert_mem_eq(obs[i], before[i], sizeof obs[i]);
        }
    }
    ck_assert_int_eq(((point *)tce_rollout_instance(rollout, 1))->step, T);
    ok(tce_rollout_metrics(rollout, N, metrics[0]));
    ck_assert_double_eq(metrics[1][0], 1.0);
    fails(tce_rollout_run(rollout, N, T, pos, pos, &paths), TCE_E_STATE,
          "environment 0 has no episode");
    ok(reset_alone(rollout, 0, 1, NULL, NULL, NULL));
    ok(tce_rollout_step(rollout, N, actions, obs[0], results));
    ck_assert_int_eq(results[0].truncated, 0);
    ck_assert_int_eq(results[1].truncated, 1);

    /* steps before a path count */
    ok(tce_rollout_reset(rollout, N, 0, NULL, NULL, NULL));
    ok(tce_rollout_step(rollout, N, actions, obs[0], results));
    ok(tce_rollout_run(rollout, N, 2 * T, pos, pos, &paths));
    ck_assert_int_eq(lengths[0], T - 1);
    tce_rollout_free(rollout);
    tce_rollout_free(marked);
    free(want);
    free(out);
}
END_TEST

START_TEST(only_what_is_asked_for_is_written)
{
    enum { N = 3 };
    plan p = { .bad_env = -1, .ends_at = 7 };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    outputs *out = malloc(sizeof *out);
    double rewards[N][T], pos[N * T * D], vel[N * T * D];
    tce_rollout_paths paths;

    ok(episode(rollout, N, 0, out));
    paths = TCE_INIT(tce_rollout_paths);
    paths.rewards = rewards[0];
    desired(N, pos, vel);
    ok(tce_rollout_reset(rollout, N, 0, NULL, NULL, NULL));
    ok(tce_rollout_run(rollout, N, T, pos, vel, &paths));
    ck_assert_mem_eq(rewards, out->rewards, sizeof rewards);

    /* and nothing for no environments */
    ok(tce_rollout_reset(rollout, 0, 0, NULL, NULL, NULL));
    ok(tce_rollout_run(rollout, 0, T, NULL, NULL, &paths));
    tce_rollout_free(rollout);
    free(out);
}
END_TEST

START_TEST(the_spec_is_a_copy)
{
    plan p = { .bad_env = -1 };
    tce_rollout *rollout = make(&p, 2, TCE_ROLLOUT_FAIL, NULL, NULL);
    const tce_env_spec *spec = tce_rollout_spec(rollout);

    ck_assert_int_eq(spec->n_obs, O);
    ck_assert_int_eq(spec->n_dof, D);
    ck_assert_int_eq(spec->n_action, A);
    ck_assert_int_eq(spec->n_steps, T);
    ck_assert_double_eq(spec->dt, 0.02);
    ck_assert_ptr_ne(spec->metric_names, METRIC_NAMES);
    ck_assert_ptr_ne(spec->metric_names[1], METRIC_NAMES[1]);
    ck_assert_str_eq(spec->metric_names[1], "distance");
    ck_assert_ptr_ne(spec->context, CONTEXT);
    ck_assert_int_eq(spec->context[0], O - 1);
    ck_assert_mem_eq(spec->action_low, LOW, sizeof LOW);
    ck_assert_mem_eq(spec->action_high, HIGH, sizeof HIGH);
    ck_assert_int_eq(((point *)tce_rollout_instance(rollout, 1))->index, 1);
    ck_assert_ptr_null(tce_rollout_instance(rollout, 2));
    tce_rollout_free(rollout);
}
END_TEST

START_TEST(raw_actions_step_each_environment_once)
{
    enum { N = 5 };
    plan p = { .bad_env = -1 };
    tce_pool *pool = test_pool(2);
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, pool, NULL);
    double start[N][O], obs[N][O], actions[N][A], metrics[N][M];
    tce_env_result results[N];

    ok(tce_rollout_reset(rollout, N, 0, start[0], NULL, NULL));
    for (int i = 0; i < N * A; i++)
        actions[i / A][i % A] = 0.1 * i;
    for (int t = 0; t < T; t++) {
        ok(tce_rollout_step(rollout, N, actions[0], obs[0], results));
        for (size_t i = 0; i < N; i++) {
            ck_assert_int_eq(results[i].truncated, t == T - 1);
            ck_assert_int_eq(results[i].terminated, 0);
            ck_assert_double_lt(results[i].reward, 0.0);
        }
    }
    for (size_t i = 0; i < N; i++)
        for (size_t d = 0; d < D; d++)
            ck_assert_double_eq_tol(obs[i][D + d], 0.02 * T * actions[i][d], 1e-12);
    ok(tce_rollout_metrics(rollout, N, metrics[0]));
    ck_assert_double_eq(metrics[4][0], 1.0);
    tce_rollout_free(rollout);
    tce_pool_free(pool);
}
END_TEST

/* Numbers of a row of states: the task's, and the rollout's own. */
enum { WORDS = 7, ROW = S + WORDS };

START_TEST(states_go_out_and_in)
{
    enum { N = 3 };
    plan p = { .bad_env = -1 }, q = { .bad_env = -1 };
    tce_rollout *one = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    tce_rollout *two = make(&q, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    double states[N][ROW], again[N][ROW], obs[N][O], shown[N][O];
    double actions[N][A] = { { 0.3, 0.1 } };
    tce_env_result results[N];

    ck_assert_uint_eq(tce_rollout_n_state(one), ROW);
    ok(tce_rollout_reset(one, N, 4, obs[0], NULL, NULL));
    ok(tce_rollout_step(one, N, actions[0], obs[0], results));
    ok(tce_rollout_get_states(one, N, states[0]));
    ck_assert_double_eq(states[2][0], 1.0);

    /* in the other handle they are the same; the first two only, when only those are set */
    ok(tce_rollout_reset(two, N, 9, shown[0], NULL, NULL));
    ok(tce_rollout_set_states(two, 2, states[0], shown[0]));
    ck_assert_mem_eq(shown, obs, 2 * sizeof obs[0]);
    ok(tce_rollout_get_states(two, N, again[0]));
    ck_assert_mem_eq(states, again, 2 * sizeof states[0]);
    ck_assert_double_eq(again[2][0], 0.0);

    /* of an environment without an episode too */
    ok(tce_rollout_set_states(two, 2, states[0], NULL));
    tce_rollout_free(one);
    one = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    ok(tce_rollout_get_states(one, N, states[0]));
    ok(tce_rollout_set_states(two, N, states[0], NULL));
    fails(tce_rollout_step(two, N, actions[0], obs[0], results), TCE_E_STATE, "environment 0");
    ok(tce_rollout_reset(two, N, 9, obs[0], NULL, NULL));
    ok(tce_rollout_step(two, N, actions[0], obs[0], results));
    tce_rollout_free(one);
    tce_rollout_free(two);
}
END_TEST

/* Steps of three environments in other handles, each resumed from the one before after _i steps. */
START_TEST(an_episode_that_is_resumed_anywhere_stays_the_same)
{
    enum { N = 3, LENGTH = T + 4 };
    plan p = { .bad_env = -1, .ends_at = _i % 2 ? 7 : 0 };
    tce_rollout *whole = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    tce_rollout *part = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    double obs[N][O], other[N][O], actions[N][A], states[N][ROW], metrics[N][M], others[N][M];
    tce_env_result results[N], changed[N];
    const uint64_t number = 0x1234567890abcdefu;

    ok(tce_rollout_reset(whole, N, number, obs[0], NULL, NULL));
    ok(tce_rollout_reset(part, N, number, other[0], NULL, NULL));
    for (int t = 0; t < LENGTH; t++) {
        if (t % (_i + 1) == _i) {
            ok(tce_rollout_get_states(part, N, states[0]));
            tce_rollout_free(part);
            part = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
            memset(other, 0, sizeof other);
            ok(tce_rollout_set_states(part, N, states[0], other[0]));
            ck_assert_mem_eq(other, obs, sizeof obs);
        }
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < A; k++)
                actions[i][k] = sin((double)(i * A + k) + 0.7 * t);
        ok(tce_rollout_step(whole, N, actions[0], obs[0], results));
        ok(tce_rollout_step(part, N, actions[0], other[0], changed));
        ck_assert_mem_eq(other, obs, sizeof obs);
        ck_assert_mem_eq(changed, results, sizeof results);
        ok(tce_rollout_metrics(whole, N, metrics[0]));
        ok(tce_rollout_metrics(part, N, others[0]));
        ck_assert_mem_eq(others, metrics, sizeof metrics);
        if (t == 5) /* one of them begins another episode */
            for (int k = 0; k < 2; k++)
                ok(reset_alone(k ? part : whole, 1, 8, k ? other[1] : obs[1], NULL, NULL));
    }
    ck_assert_int_eq(results[0].truncated || results[0].terminated, 1);
    tce_rollout_free(whole);
    tce_rollout_free(part);
}
END_TEST

START_TEST(a_path_goes_on_after_a_resume)
{
    enum { N = 2, BEFORE = 4 };
    plan p = { .bad_env = -1 };
    tce_rollout *whole = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    tce_rollout *part = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    outputs *want = malloc(sizeof *want), *out = malloc(sizeof *out);
    double pos[N * T * D], vel[N * T * D], obs[N][O], actions[N][A] = { { 0.1 } }, states[N][ROW];
    tce_env_result results[N];
    const tce_rollout_paths all = paths_of(want), rest = paths_of(out);

    desired(N, pos, vel);
    ok(tce_rollout_reset(whole, N, 3, NULL, NULL, NULL));
    for (int t = 0; t < BEFORE; t++)
        ok(tce_rollout_step(whole, N, actions[0], obs[0], results));
    ok(tce_rollout_get_states(whole, N, states[0]));
    ok(tce_rollout_set_states(part, N, states[0], NULL));
    memset(want, 0, sizeof *want);
    memset(out, 0, sizeof *out);
    ok(tce_rollout_run(whole, N, T, pos, vel, &all));
    ok(tce_rollout_run(part, N, T, pos, vel, &rest));
    ck_assert_mem_eq(out, want, sizeof *want);
    ck_assert_int_eq(out->lengths[1], T - BEFORE);
    tce_rollout_free(whole);
    tce_rollout_free(part);
    free(want);
    free(out);
}
END_TEST

START_TEST(a_lost_environment_waits_for_a_reset_after_a_resume)
{
    enum { N = 2 };
    plan p = { .bad_env = 1, .bad_step = 1, .kind = SAYS_SO };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_DROP, NULL, NULL);
    double obs[N][O], actions[N][A] = { { 0.1 } }, states[N][ROW];
    tce_env_result results[N];

    ok(tce_rollout_reset(rollout, N, 3, NULL, NULL, NULL));
    for (int t = 0; t < 2; t++)
        ok(tce_rollout_step(rollout, N, actions[0], obs[0], results));
    ck_assert_int_eq(tce_rollout_status(rollout, 1), TCE_E_UNSUPPORTED);
    ok(tce_rollout_get_states(rollout, N, states[0]));
    ok(tce_rollout_set_states(rollout, N, states[0], obs[0]));
    ok(tce_rollout_status(rollout, 1));
    ok(tce_rollout_step(rollout, 1, actions[0], obs[0], results));
    fails(tce_rollout_step(rollout, N, actions[0], obs[0], results), TCE_E_STATE, "environment 1");
    tce_rollout_free(rollout);
}
END_TEST

START_TEST(states_from_elsewhere_are_refused)
{
    enum { N = 2 };
    static const double BAD[] = { NAN, -1.0, 0.5, 1e300 };
    plan p = { .bad_env = -1 };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    double states[N][ROW], before[N][ROW], after[N][ROW];

    ok(tce_rollout_reset(rollout, N, 3, NULL, NULL, NULL));
    ok(tce_rollout_get_states(rollout, N, before[0]));
    for (size_t word = S; word < ROW; word++)
        for (size_t k = 0; k < sizeof BAD / sizeof BAD[0]; k++) {
            memcpy(states, before, sizeof states);
            states[1][word] = BAD[k];
            fails(tce_rollout_set_states(rollout, N, states[0], NULL), TCE_E_VALUE,
                  "states of environment 1");
        }
    ok(tce_rollout_get_states(rollout, N, after[0]));
    ck_assert_mem_eq(after, before, sizeof before);
    tce_rollout_free(rollout);
}
END_TEST

START_TEST(parts_of_the_environments_have_the_streams_of_the_whole)
{
    enum { N = 5, FIRST = 2 };
    plan p = { .bad_env = -1 }, q = { .bad_env = -1 };
    tce_rollout_options options = default_options(&q, N - FIRST);
    tce_rollout *whole = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL), *part;
    double obs[N][O], other[N][O];

    options.first_env = FIRST;
    ok(tce_rollout_create(&options, NULL, &part));
    ok(tce_rollout_reset(whole, N, 3, obs[0], NULL, NULL));
    ok(tce_rollout_reset(part, N - FIRST, 3, other[0], NULL, NULL));
    ck_assert_mem_eq(other, obs[FIRST], (N - FIRST) * sizeof obs[0]);
    q.bad_env = 1;
    q.kind = RESET_SAYS_SO;
    fails(tce_rollout_reset(part, N - FIRST, 3, other[0], NULL, NULL), TCE_E_ENV,
          "environment 3, reset of episode 3");
    tce_rollout_free(whole);
    tce_rollout_free(part);
}
END_TEST

/* A task that tracks no paths. */
static tce_status raw_spec(void *instance, tce_env_spec *out)
{
    const tce_status status = point_spec(instance, out);

    out->n_dof = 0;
    return status;
}

static tce_status raw_reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                            double *out_vel)
{
    double pos[D], vel[D];

    (void)out_pos;
    (void)out_vel;
    return point_reset(instance, random, out_obs, pos, vel);
}

START_TEST(a_task_for_raw_actions_needs_no_step_and_no_degrees_of_freedom)
{
    enum { N = 2 };
    plan p = { .bad_env = -1 }, q = { .bad_env = -1 };
    tce_env_vtable raw = POINT;
    tce_rollout_options options = default_options(&q, N);
    tce_rollout *both = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL), *rollout;
    double obs[N][O], other[N][O], actions[N][A] = { { 0.3, 0.1 } }, rewards[T];
    tce_env_result results[N], others[N];
    tce_rollout_paths paths = TCE_INIT(tce_rollout_paths);

    raw.step = NULL;
    raw.spec = raw_spec;
    raw.reset = raw_reset;
    options.vtable = &raw;
    ok(tce_rollout_create(&options, NULL, &rollout));
    ok(tce_rollout_reset(rollout, N, 3, other[0], NULL, NULL));
    ok(tce_rollout_reset(both, N, 3, obs[0], NULL, NULL));
    ck_assert_mem_eq(other, obs, sizeof obs);
    for (int t = 0; t < T; t++) {
        ok(tce_rollout_step(rollout, N, actions[0], other[0], others));
        ok(tce_rollout_step(both, N, actions[0], obs[0], results));
        ck_assert_mem_eq(other, obs, sizeof obs);
        ck_assert_mem_eq(others, results, sizeof results);
    }
    paths.rewards = rewards;
    ok(tce_rollout_reset(rollout, N, 4, NULL, NULL, NULL));
    fails(tce_rollout_run(rollout, 1, T, NULL, NULL, &paths), TCE_E_UNSUPPORTED,
          "tracks no desired paths");
    tce_rollout_free(rollout);
    tce_rollout_free(both);

    /* what it takes has to be said */
    raw.spec = POINT.spec;
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ARGUMENT, "the table has no step");
    raw.step_action = NULL;
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ARGUMENT, "are both NULL");
}
END_TEST

/* ---- errors: faults of the environments ------------------------------------------------------ */

static const struct {
    int kind;
    tce_status status;
    const char *part;
} FAULTS[] = {
    { SAYS_SO, TCE_E_UNSUPPORTED, "environment 1, step 5 of episode 8: the arm is stuck" },
    { SAYS_NOTHING, TCE_E_ENV, "environment 1, step 5 of episode 8: step returned TCE_E_ENV" },
    { POSITIVE, TCE_E_ENV, "environment 1, step 5 of episode 8: step returned 5" },
    { NAN_REWARD, TCE_E_ENV_NAN, "environment 1, step 5 of episode 8: reward = " },
    { INF_OBSERVATION, TCE_E_ENV_NAN, "environment 1, step 5 of episode 8: observation[3] = -inf" },
    { RESET_SAYS_SO, TCE_E_ENV, "environment 1, reset of episode 8: no ground to stand on" },
    { RESET_NAN, TCE_E_ENV_NAN, "environment 1, reset of episode 8: observation[1] = " },
    { RESET_NAN_POSITION, TCE_E_ENV_NAN, "environment 1, reset of episode 8: position[1] = " },
    { METRICS_SAY_SO, TCE_E_ENV, "environment 1, metrics of episode 8: the tape is torn" },
};

/* Environments 1 and 4 of 6 are lost, the others are as if nothing had happened. */
static void assert_only_the_bad_are_lost(const tce_rollout *rollout, int fault, const outputs *out,
                                         const outputs *good)
{
    for (size_t i = 0; i < 6; i++) {
        if (i != 1 && i != 4) {
            ck_assert_mem_eq(out->obs[i], good->obs[i], sizeof out->obs[i]);
            ck_assert_mem_eq(out->rewards[i], good->rewards[i], sizeof out->rewards[i]);
            ck_assert_mem_eq(out->metrics[i], good->metrics[i], sizeof out->metrics[i]);
            ck_assert_int_eq(out->lengths[i], T);
            ok(tce_rollout_status(rollout, i));
            ck_assert_str_eq(tce_rollout_message(rollout, i), "");
            continue;
        }
        ck_assert_int_eq(tce_rollout_status(rollout, i), FAULTS[fault].status);
        ck_assert_int_eq(out->lengths[i], 0);
        ck_assert_double_eq(out->metrics[i][1], 0.0);
        for (size_t t = 0; t < T; t++) {
            ck_assert_double_eq(out->rewards[i][t], 0.0);
            ck_assert_int_eq(out->terminated[i][t], 1);
            ck_assert_int_eq(out->truncated[i][t], 0);
            ck_assert_int_eq(out->events[i][t], 0);
            ck_assert_mem_eq(out->obs[i][t + 1], out->start_obs[i], sizeof out->start_obs[i]);
        }
    }
    ck_assert_ptr_nonnull(strstr(tce_rollout_message(rollout, 1), FAULTS[fault].part));
}

START_TEST(a_fault_is_reported_and_loses_nothing_else)
{
    const int fault = _i / 2;
    const int in_reset = FAULTS[fault].kind >= RESET_SAYS_SO &&
                         FAULTS[fault].kind <= RESET_NAN_POSITION;
    plan p = { .bad_env = -1 };
    tce_pool *pool = _i % 2 ? test_pool(3) : NULL;
    outputs *good = malloc(sizeof *good), *out = malloc(sizeof *out);

    /* what it would have been */
    tce_rollout *rollout = make(&p, 6, TCE_ROLLOUT_FAIL, pool, NULL);
    ok(episode(rollout, 6, 8, good));
    tce_rollout_free(rollout);

    for (int32_t on_fault = TCE_ROLLOUT_FAIL; on_fault <= TCE_ROLLOUT_DROP; on_fault++) {
        plan bad = { .bad_env = 1, .bad_step = in_reset ? 0 : 5, .kind = FAULTS[fault].kind };
        rollout = make(&bad, 6, on_fault, pool, NULL);
        tce_fail(TCE_E_IO, "something said before");
        const tce_status status = episode(rollout, 6, 8, out);
        if (on_fault == TCE_ROLLOUT_FAIL) {
            fails(status, FAULTS[fault].status, FAULTS[fault].part);
        } else {
            ok(status);
            ck_assert_str_eq(tce_error_message(), "something said before");
        }
        assert_only_the_bad_are_lost(rollout, fault, out, good);

        /* a lost environment is as good as new after a reset */
        bad.kind = FINE;
        ok(episode(rollout, 6, 8, out));
        ck_assert_mem_eq(out, good, sizeof *out);
        tce_rollout_free(rollout);
        ck_assert_int_eq(bad.n_alive, 0);
    }
    tce_pool_free(pool);
    free(good);
    free(out);
}
END_TEST

START_TEST(a_lost_environment_stays_lost_while_others_are_stepped)
{
    enum { N = 6 };
    plan p = { .bad_env = 1, .bad_step = 2, .kind = NAN_REWARD };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_DROP, NULL, NULL);
    double obs[N][O], before[O], actions[N * A] = { 0.0 }, metrics[N][M];
    tce_env_result results[N];

    ok(tce_rollout_reset(rollout, N, 0, obs[0], NULL, NULL));
    for (int t = 0; t < 5; t++) {
        if (t == 2)
            memcpy(before, obs[1], sizeof before);
        ok(tce_rollout_step(rollout, N, actions, obs[0], results));
        ck_assert_int_eq(tce_rollout_status(rollout, 1), t < 2 ? TCE_OK : TCE_E_ENV_NAN);
        ck_assert_int_eq(results[1].terminated, t >= 2);
        ck_assert_int_eq(results[0].terminated, 0);
        if (t >= 2) {
            ck_assert_mem_eq(obs[1], before, sizeof before);
            ck_assert_double_eq(results[1].reward, 0.0);
            ck_assert_ptr_nonnull(strstr(tce_rollout_message(rollout, 1), "environment 1"));
        }
    }
    ok(tce_rollout_metrics(rollout, N, metrics[0]));
    ck_assert_double_eq(metrics[1][1], 0.0);
    ck_assert_int_eq(tce_rollout_status(rollout, 1), TCE_E_ENV_NAN);

    /* reset alone, it continues */
    ok(reset_alone(rollout, 1, 1, obs[1], NULL, NULL));
    ok(tce_rollout_status(rollout, 1));
    p.kind = FINE;
    ok(tce_rollout_step(rollout, 2, actions, obs[0], results));
    ck_assert_int_eq(results[1].terminated, 0);
    tce_rollout_free(rollout);
}
END_TEST

START_TEST(a_step_that_fails_returns_the_lowest_index)
{
    enum { N = 6 };
    plan p = { .bad_env = 1, .bad_step = 0, .kind = SAYS_SO };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    double obs[N][O], actions[N * A] = { 0.0 }, metrics[N][M];
    tce_env_result results[N];

    ok(tce_rollout_reset(rollout, N, 3, obs[0], NULL, NULL));
    fails(tce_rollout_step(rollout, N, actions, obs[0], results), TCE_E_UNSUPPORTED,
          "environment 1, a step of episode 3");
    ck_assert_double_lt(results[5].reward, 0.0);
    ck_assert_int_eq(tce_rollout_status(rollout, 4), TCE_E_UNSUPPORTED);
    ok(tce_rollout_status(rollout, 5));
    p.kind = RESET_SAYS_SO;
    fails(reset_alone(rollout, 4, 6, obs[0], NULL, NULL), TCE_E_ENV,
          "environment 4, reset of episode 6");
    p.kind = METRICS_SAY_SO;
    ok(tce_rollout_reset(rollout, N, 3, obs[0], NULL, NULL));
    fails(tce_rollout_metrics(rollout, N, metrics[0]), TCE_E_ENV,
          "environment 1, metrics: the tape is torn");
    ck_assert_double_gt(metrics[5][1], 0.0);
    tce_rollout_free(rollout);
}
END_TEST

/* ---- errors: create and arguments ------------------------------------------------------------ */

START_TEST(a_failing_create_destroys_what_was_made)
{
    plan p = { .bad_env = -1 };
    tce_rollout_options options = default_options(&p, 6);
    tce_rollout *rollout = (tce_rollout *)&p;

    options.settings = "fail=3";
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ENV,
          "environment 3 of \"point\": the motor is off");
    ck_assert_ptr_null(rollout);
    ck_assert_int_eq(p.n_created, 3);
    ck_assert_int_eq(p.n_destroyed, 3);
    p.n_created = 0;
    options.settings = "null=2";
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ENV,
          "environment 2 of \"point\": create returned TCE_OK but no instance");
    ck_assert_int_eq(p.n_alive, 0);
}
END_TEST

static const struct {
    tce_status status;
    const char *part;
} ODD_SPECS[] = {
    { TCE_OK, "" },
    { TCE_E_VALUE, "n_obs" },
    { TCE_E_VALUE, "n_dof" },
    { TCE_E_VALUE, "n_steps" },
    { TCE_E_VALUE, "dt" },
    { TCE_E_VALUE, "dt" },
    { TCE_E_ARGUMENT, "metric_names" },
    { TCE_E_ARGUMENT, "metric_names[1]" },
    { TCE_E_VALUE, "context[0] = 5" },
    { TCE_E_ARGUMENT, "context" },
    { TCE_E_VALUE, "n_context" },
    { TCE_E_ARGUMENT, "action_low" },
    { TCE_E_VALUE, "action_low[1]" },
    { TCE_E_VALUE, "n_metrics" },
    { TCE_E_VALUE, "spec is out" },
    { TCE_E_ENV, "environment 2 of \"point\": n_obs = 6, environment 0 has 5" },
    { TCE_E_ENV, "spec returned 4" },
    { TCE_E_VALUE, "carries_state = 2" },
    { TCE_E_VALUE, "velocity_end" },
    { TCE_E_VALUE, "velocity_end" },
};

START_TEST(a_spec_that_makes_no_sense_is_refused)
{
    plan p = { .bad_env = -1, .odd_spec = _i };
    tce_rollout_options options = default_options(&p, 4);
    tce_rollout *rollout;

    fails(tce_rollout_create(&options, NULL, &rollout), ODD_SPECS[_i].status, ODD_SPECS[_i].part);
    fails(ODD_SPECS[_i].status, ODD_SPECS[_i].status, "of \"point\"");
    ck_assert_ptr_null(rollout);
    ck_assert_int_eq(p.n_alive, 0);
}
END_TEST

START_TEST(states_that_cannot_be_had_are_refused)
{
    enum { N = 4 };
    tce_env_vtable stateless = POINT;
    plan p = { .bad_env = 1, .kind = STATE_SAYS_SO };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    double states[MAX_ENVS][ROW] = { { SENTINEL } };

    fails(tce_rollout_get_states(rollout, N, states[0]), TCE_E_ENV,
          "environment 1, get_state: the encoder is off");
    memset(states, 0, sizeof states);
    fails(tce_rollout_set_states(rollout, N, states[0], NULL), TCE_E_ENV,
          "environment 1, set_state: set_state returned 3");
    fails(tce_rollout_get_states(rollout, N + 1, states[0]), TCE_E_SHAPE, "n = 5");
    fails(tce_rollout_get_states(rollout, N, NULL), TCE_E_ARGUMENT, "out");
    fails(tce_rollout_set_states(rollout, N, NULL, NULL), TCE_E_ARGUMENT, "states");
    fails(tce_rollout_get_states(NULL, N, states[0]), TCE_E_ARGUMENT, "rollout");
    ck_assert_uint_eq(tce_rollout_n_state(NULL), 0);
    tce_rollout_free(rollout);

    /* environments that do not agree about the size */
    p = (plan){ .bad_env = -1, .odd_spec = STATES_DIFFER };
    rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    fails(tce_rollout_get_states(rollout, N, states[0]), TCE_E_ENV, "environment 2 has 7 numbers");
    ok(tce_rollout_get_states(rollout, 2, states[0]));
    tce_rollout_free(rollout);

    /* a task that does not tell, and one that says it carries what it does not tell */
    stateless.n_state = NULL;
    stateless.get_state = NULL;
    stateless.set_state = NULL;
    p = (plan){ .bad_env = -1 };
    tce_rollout_options options = default_options(&p, 1);
    options.vtable = &stateless;
    ok(tce_rollout_create(&options, NULL, &rollout));
    ck_assert_uint_eq(tce_rollout_n_state(rollout), 0);
    fails(tce_rollout_get_states(rollout, 1, states[0]), TCE_E_UNSUPPORTED, "point");
    tce_rollout_free(rollout);
    p = (plan){ .bad_env = -1, .odd_spec = CARRIES };
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ARGUMENT, "carries_state");
}
END_TEST

START_TEST(bad_options_are_refused)
{
    plan p = { .bad_env = -1 };
    tce_rollout_options options = default_options(&p, 2);
    tce_env_vtable table = POINT;
    tce_rollout *rollout;

    fails(tce_rollout_create(NULL, NULL, &rollout), TCE_E_ARGUMENT, "tce_rollout_options");
    fails(tce_rollout_create(&options, NULL, NULL), TCE_E_ARGUMENT, "out");
    options.vtable = NULL;
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ARGUMENT, "vtable");
    options.vtable = &table;
    table.abi = 9;
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_VERSION, "TCE_ENV_ABI 9");
    table = POINT;
    table.metrics = NULL;
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ARGUMENT, "no metrics");
    table = POINT;
    table.step_action = NULL;
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ARGUMENT, "no step_action");
    options = default_options(&p, 0);
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_VALUE, "n_envs");
    options = default_options(&p, 2);
    options.on_fault = 2;
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ARGUMENT, "on_fault = 2");
    options.struct_size = 0;
    fails(tce_rollout_create(&options, NULL, &rollout), TCE_E_ARGUMENT, "tce_rollout_options_init");
    ck_assert_int_eq(p.n_alive, 0);
    ck_assert_ptr_null(rollout);
}
END_TEST

START_TEST(bad_arguments_touch_nothing)
{
    enum { N = 3 };
    plan p = { .bad_env = -1 };
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_FAIL, NULL, NULL);
    outputs *out = malloc(sizeof *out);
    double pos[N * T * D], vel[N * T * D], actions[N * A] = { 0.0 };
    tce_env_result results[N];
    tce_rollout_paths paths = paths_of(out);

    out->rewards[0][0] = SENTINEL;
    desired(N, pos, vel);
    fails(tce_rollout_run(rollout, N, T, pos, vel, &paths), TCE_E_STATE,
          "environment 0 has no episode");
    fails(tce_rollout_step(rollout, N, actions, out->obs[0][0], results), TCE_E_STATE,
          "environment 0 has no episode");
    fails(tce_rollout_reset(rollout, N + 1, 0, NULL, NULL, NULL), TCE_E_SHAPE, "n = 4");
    fails(tce_rollout_reset(NULL, 0, 0, NULL, NULL, NULL), TCE_E_ARGUMENT, "rollout");
    fails(reset_alone(rollout, N, 0, NULL, NULL, NULL), TCE_E_SHAPE, "which[0] = 3");
    ok(tce_rollout_reset(rollout, 2, 0, NULL, NULL, NULL));
    fails(tce_rollout_run(rollout, N, T, pos, vel, &paths), TCE_E_STATE,
          "environment 2 has no episode");
    ok(tce_rollout_reset(rollout, N, 0, NULL, NULL, NULL));
    fails(tce_rollout_run(rollout, N + 1, T, pos, vel, &paths), TCE_E_SHAPE, "n = 4");
    fails(tce_rollout_run(rollout, N, 0, pos, vel, &paths), TCE_E_SHAPE, "T = 0");
    fails(tce_rollout_run(rollout, N, SIZE_MAX / 2, pos, vel, &paths), TCE_E_SHAPE, "T = ");
    fails(tce_rollout_run(rollout, N, T, NULL, vel, &paths), TCE_E_ARGUMENT, "pos");
    fails(tce_rollout_run(rollout, N, T, pos, vel, NULL), TCE_E_ARGUMENT, "tce_rollout_paths");
    vel[5] = NAN;
    fails(tce_rollout_run(rollout, N, T, pos, vel, &paths), TCE_E_VALUE, "vel[5]");
    vel[5] = 0.0;
    paths.rewards = NULL;
    fails(tce_rollout_run(rollout, N, T, pos, vel, &paths), TCE_E_ARGUMENT, "rewards");
    paths.rewards = out->rewards[0];
    actions[3] = INFINITY;
    fails(tce_rollout_step(rollout, N, actions, out->obs[0][0], results), TCE_E_VALUE,
          "actions[3]");
    actions[3] = 0.0;
    fails(tce_rollout_step(rollout, N, actions, NULL, results), TCE_E_ARGUMENT, "out_obs");
    fails(tce_rollout_step(rollout, N, actions, out->obs[0][0], NULL), TCE_E_ARGUMENT,
          "out_results");
    fails(tce_rollout_metrics(rollout, N, NULL), TCE_E_ARGUMENT, "out");
    ck_assert_double_eq(out->rewards[0][0], SENTINEL);

    /* a run is for one reset */
    ok(tce_rollout_run(rollout, N, T, pos, vel, &paths));
    fails(tce_rollout_run(rollout, N, T, pos, vel, &paths), TCE_E_STATE, "tce_rollout_reset");
    ck_assert_int_eq(tce_rollout_status(rollout, N), TCE_E_ARGUMENT);
    ck_assert_str_eq(tce_rollout_message(rollout, N), "");
    ck_assert_ptr_null(tce_rollout_spec(NULL));
    tce_rollout_free(rollout);
    tce_rollout_free(NULL);
    free(out);
}
END_TEST

/* A task without actions and metrics. */
static tce_status plain_spec(void *instance, tce_env_spec *out)
{
    const tce_status status = point_spec(instance, out);

    out->n_action = 0;
    out->n_metrics = 0;
    out->n_context = 0;
    out->metric_names = NULL;
    return status;
}

START_TEST(a_task_without_actions_and_metrics_says_so)
{
    plan p = { .bad_env = -1 };
    tce_env_vtable table = POINT;
    tce_rollout_options options = default_options(&p, 1);
    tce_rollout *rollout;
    double x[O];
    tce_env_result result;

    table.spec = plain_spec;
    table.step_action = NULL;
    table.metrics = NULL;
    options.vtable = &table;
    ok(tce_rollout_create(&options, NULL, &rollout));
    ok(tce_rollout_reset(rollout, 1, 0, NULL, NULL, NULL));
    fails(tce_rollout_step(rollout, 1, x, x, &result), TCE_E_UNSUPPORTED,
          "\"point\" takes no raw actions");
    ok(tce_rollout_metrics(rollout, 1, NULL));
    tce_rollout_free(rollout);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(create_takes_one_block_or_fails_cleanly)
{
    test_memory memory = { .budget = 0 };
    tce_hooks hooks;
    plan p = { .bad_env = -1 };
    tce_rollout_options options = default_options(&p, 5);
    tce_rollout *rollout;

    test_hooks(&memory, &hooks);
    fails(tce_rollout_create(&options, &hooks, &rollout), TCE_E_NOMEM, "tce_rollout");
    ck_assert_ptr_null(rollout);
    ck_assert_int_eq(p.n_alive, 0);
    memory.budget = 1;
    ok(tce_rollout_create(&options, &hooks, &rollout));
    tce_rollout_free(rollout);
    ck_assert_uint_eq(memory.live, 0);
    ck_assert_int_eq(p.n_alive, 0);

    /* the block is given back when a later environment fails, too */
    p.n_created = 0;
    options.settings = "fail=3";
    memory.budget = 1;
    ck_assert_int_eq(tce_rollout_create(&options, &hooks, &rollout), TCE_E_ENV);
    ck_assert_uint_eq(memory.live, 0);
}
END_TEST

START_TEST(nothing_allocates_after_create)
{
    enum { N = 6 };
    test_memory memory = { .budget = SIZE_MAX };
    tce_hooks hooks;
    plan p = { .bad_env = 1, .bad_step = 3, .kind = SAYS_SO };
    tce_pool *pool = test_pool(2);
    outputs *out = malloc(sizeof *out);
    double obs[N * O], actions[N * A] = { 0.0 };
    tce_env_result results[N];

    test_hooks(&memory, &hooks);
    tce_rollout *rollout = make(&p, N, TCE_ROLLOUT_DROP, pool, &hooks);
    ck_assert_uint_eq(memory.n_alloc, 1);
    for (uint64_t number = 0; number < 20; number++) {
        ok(episode(rollout, N, number, out));
        ok(tce_rollout_reset(rollout, N, number, obs, NULL, NULL));
        ok(tce_rollout_step(rollout, N, actions, obs, results));
        ok(tce_rollout_metrics(rollout, N, out->metrics[0]));
        ok(reset_alone(rollout, 2, number, obs, NULL, NULL));
    }
    ck_assert_uint_eq(memory.n_alloc, 1);
    tce_rollout_free(rollout);
    ck_assert_uint_eq(memory.live, 0);
    tce_pool_free(pool);
    free(out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rollout");
    TCase *property = test_case(suite, "property", 60);
    TCase *errors = test_case(suite, "errors", 60);
    TCase *memory = test_case(suite, "memory", 0);
    const int n_faults = (int)(sizeof FAULTS / sizeof FAULTS[0]);
    const int n_odd_specs = (int)(sizeof ODD_SPECS / sizeof ODD_SPECS[0]);

    tcase_add_test(property, an_episode_is_what_the_environment_alone_would_do);
    tcase_add_test(property, one_two_and_five_threads_give_the_same_bytes);
    tcase_add_test(property, an_episode_depends_on_its_number_and_not_on_those_before);
    tcase_add_test(property, an_episode_from_a_stream_of_the_caller);
    tcase_add_test(property, after_an_early_end_nothing_more_happens);
    tcase_add_test(property, the_last_step_is_an_end_whatever_the_task_says);
    tcase_add_test(property, only_what_is_asked_for_is_written);
    tcase_add_test(property, the_spec_is_a_copy);
    tcase_add_test(property, raw_actions_step_each_environment_once);
    tcase_add_test(property, states_go_out_and_in);
    tcase_add_loop_test(property, an_episode_that_is_resumed_anywhere_stays_the_same, 0, T + 2);
    tcase_add_test(property, a_path_goes_on_after_a_resume);
    tcase_add_test(property, a_lost_environment_waits_for_a_reset_after_a_resume);
    tcase_add_test(property, parts_of_the_environments_have_the_streams_of_the_whole);
    tcase_add_test(property, a_task_for_raw_actions_needs_no_step_and_no_degrees_of_freedom);
    tcase_add_test(errors, states_from_elsewhere_are_refused);

    tcase_add_loop_test(errors, a_fault_is_reported_and_loses_nothing_else, 0, 2 * n_faults);
    tcase_add_test(errors, a_lost_environment_stays_lost_while_others_are_stepped);
    tcase_add_test(errors, a_step_that_fails_returns_the_lowest_index);
    tcase_add_test(errors, a_failing_create_destroys_what_was_made);
    tcase_add_loop_test(errors, a_spec_that_makes_no_sense_is_refused, 1, n_odd_specs);
    tcase_add_test(errors, states_that_cannot_be_had_are_refused);
    tcase_add_test(errors, bad_options_are_refused);
    tcase_add_test(errors, bad_arguments_touch_nothing);
    tcase_add_test(errors, a_task_without_actions_and_metrics_says_so);

    tcase_add_test(memory, create_takes_one_block_or_fails_cleanly);
    tcase_add_test(memory, nothing_allocates_after_create);

    return test_run(suite);
}
