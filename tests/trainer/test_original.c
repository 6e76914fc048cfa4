/*
 * The original's third iteration on Hopper Jump, made by the trainer itself.
 *
 * The method table creates the learner, loads the state after iteration 2 as it would a checkpoint,
 * and iterates, with all of its own code: policy, paths, normaliser, values, advantages,
 * likelihoods, both updates. Given are only what is random or simulated: a task plays recorded
 * observations, rewards and events back, the sampled parameters are the recording's, and a seed is
 * taken that draws its time points. Two numbers of the original are single precision, the bounds of
 * the trust region and the times of the path. golden/original_hopper.py has what is in the file.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "methods/episodic.h"
#include "support.h"

enum {
    E = 64,
    N = 32,
    T = 250,
    D = 3,
    P = 12,
    N_INPUTS = 17,
    ITERATION = 3,
    PATH_STRIDE = 25,
    MOMENT_STRIDE = 16,
    MAX_PATH = 1024
};

/*
 * of the largest entry: sums in another order over 50 updates give 1.1e-13; the bounds or the times
 * in double would give 2e-8 or more
 */
#define TOLERANCE 1e-12

/* ---- the recording --------------------------------------------------------------------------- */

static const char *golden_folder(void)
{
    const char *given = getenv("TCE_GOLDEN");
    return given ? given : "tests/golden";
}

static tce_store *load_recording(void)
{
    char path[MAX_PATH];
    snprintf(path, sizeof path, "%s/../trainer/golden/original_hopper_iteration_3.safetensors.gz",
             golden_folder());
    gzFile file = gzopen(path, "rb");
    ck_assert_msg(file != NULL, "%s cannot be read", path);
    char *bytes = NULL;
    size_t size = 0;
    for (int got = 1; got > 0; size += (size_t)got) {
        const unsigned step = 1 << 20;
        ck_assert_ptr_nonnull(bytes = realloc(bytes, size + step));
        got = gzread(file, bytes + size, step);
        ck_assert_int_ge(got, 0);
    }
    gzclose(file);
    tce_store *store = NULL;
    ok(tce_store_parse(bytes, size, NULL, &store));
    free(bytes);
    return store;
}

/* An array of bytes [8, n] or [8, rows, n / rows] as numbers, malloc'ed. */
static double *unpack(const tce_store_array *a, size_t *out_n)
{
    const uint8_t *const planes = a->data;
    const size_t row = a->rank == 3 ? a->shape[2] : 1;
    const size_t n = a->rank == 3 ? a->shape[1] * row : a->shape[1];
    double *const out = malloc(n * sizeof *out);
    uint64_t bits = 0;
    ck_assert_int_eq(a->type, TCE_STORE_U8);
    ck_assert_uint_eq(a->shape[0], sizeof bits);
    for (size_t i = 0; i < n; i++) {
        uint64_t word = 0;
        for (size_t k = 0; k < sizeof word; k++)
            word |= (uint64_t)planes[k * n + i] << (8 * k);
        bits = i % row == 0 ? word : bits + word;
        memcpy(&out[i], &bits, sizeof bits);
    }
    *out_n = n;
    return out;
}

/* "recorded.<name>", n numbers. */
static double *recorded(const tce_store *store, const char *name, size_t n)
{
    char full[MAX_PATH];
    tce_store_array a;
    size_t found;
    a = TCE_INIT(tce_store_array);
    snprintf(full, sizeof full, "recorded.%s", name);
    ok(tce_store_get(store, full, &a));
    double *out = unpack(&a, &found);
    ck_assert_uint_eq(found, n);
    return out;
}

/* ---- a task that plays it back --------------------------------------------------------------- */

static struct {
    double *obs;      /* [E, N_INPUTS, T + 1] */
    double *reward;   /* [E, T] */
    double *event_at; /* [E] step; T: never */
    double *desired;  /* [E, T / PATH_STRIDE, 2 D] */
    double off;       /* largest difference of the paths from it */
} tape;

typedef struct playback {
    size_t e, t;
} playback;

static tce_status create(void *user, const char *settings, void **out)
{
    (void)user;
    (void)settings;
    *out = calloc(1, sizeof(playback));
    return *out ? TCE_OK : TCE_E_NOMEM;
}

/* The time is one of the observed numbers here, since that of the paths is another. */
static tce_status spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    out->n_obs = N_INPUTS;
    out->n_dof = D;
    out->n_steps = T;
    out->dt = 0.008;
    return TCE_OK;
}

static void observe(const playback *p, double *out)
{
    for (size_t k = 0; k < N_INPUTS; k++)
        out[k] = tape.obs[(p->e * N_INPUTS + k) * (T + 1) + p->t];
}

/*
 * The streams of resets are keyed by environment and episode, of which an iteration has two rounds.
 */
static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    playback *p = instance;
    p->e = (size_t)(random->counter[1] + N * (random->counter[2] % 2));
    p->t = 0;
    observe(p, out_obs);
    for (size_t d = 0; d < D; d++) {
        out_pos[d] = out_obs[3 + d];
        out_vel[d] = 0.0;
    }
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    playback *p = instance;
    out->reward = tape.reward[p->e * T + p->t];
    out->event = (double)p->t >= tape.event_at[p->e];
    p->t++;
    out->truncated = p->t == T;
    observe(p, out_obs);
    if (p->t % PATH_STRIDE == 0) {
        const double *want = tape.desired +
                             (p->e * (T / PATH_STRIDE) + p->t / PATH_STRIDE - 1) * 2 * D;
        tape.off = fmax(tape.off,
                        fmax(test_difference(D, pos, want), test_difference(D, vel, want + D)));
    }
    return TCE_OK;
}

static const tce_env_vtable PLAYBACK = { .struct_size = sizeof(tce_env_vtable),
                                         .abi = TCE_ENV_ABI,
                                         .name = "playback",
                                         .description = "a recording",
                                         .create = create,
                                         .destroy = free,
                                         .spec = spec,
                                         .reset = reset,
                                         .step = step };

/* ---- the learner ----------------------------------------------------------------------------- */

/* The preset, in double, with the bounds as the original rounds them. */
static void original_settings(const tce_store *store, settings *s)
{
    char path[MAX_PATH];
    double *bounds = recorded(store, "bounds", 2);
    ok(settings_init(s, METHODS, NULL));
    snprintf(path, sizeof path, "%s/../../examples/configs/hopper_jump/tce.yaml", golden_folder());
    ok(settings_read(s, METHODS, path, 0, NULL));
    ok(settings_override(s, "policy.precision=double"));
    ok(settings_override(s, "collect.time_input=false"));
    ok(settings_override(s, "evaluate.episodes=1"));
    s->projection.bounds.mean = bounds[0];
    s->projection.bounds.cov = bounds[1];
    free(bounds);

    /* a seed whose stream has the recorded first time point */
    double *first = recorded(store, "first_time_point", 1);
    const size_t K = (size_t)s->objective.time_points;
    int32_t *pairs = malloc(2 * tce_segment_max_pairs(T, K) * sizeof *pairs);
    do {
        tce_random random;
        size_t J;
        tce_random_start(&random, ++s->run.seed, PURPOSE_TIME_POINTS, ITERATION, 0);
        ok(tce_segment_choose_pairs(s->objective.selection, T, K, 0, &random, pairs, &J));
    } while (pairs[0] != (int32_t)*first);
    free(first);
    free(pairs);
}

/* Arrays "before.<name>" over those of a checkpoint of this learner. */
static void load_state(const tce_store *store, const method *way, void *l)
{
    tce_store *checkpoint = NULL;
    tce_store_array a, own;
    a = TCE_INIT(tce_store_array);
    own = TCE_INIT(tce_store_array);
    ok(tce_store_create(NULL, &checkpoint));
    ok(way->save(l, checkpoint));
    for (size_t i = 0; tce_store_at(store, i, &a) == TCE_OK; i++) {
        if (strncmp(a.name, "before.", 7) != 0)
            continue;
        size_t n, count = 1;
        double *x = unpack(&a, &n);
        ok(tce_store_get(checkpoint, a.name + 7, &own));
        for (int32_t k = 0; k < own.rank; k++)
            count *= own.shape[k];
        ck_assert_uint_eq(n, count);
        const uint64_t steps = (uint64_t)x[0];
        ok(tce_store_put(checkpoint, a.name + 7, own.type, own.rank, own.shape,
                         own.type == TCE_STORE_U64 ? (const void *)&steps : x));
        free(x);
    }
    ok(way->load(l, checkpoint));
    tce_store_free(checkpoint);
}

/* Every array "after.<name>" against the learner's own. */
static void compare_state(const tce_store *store, const method *way, const void *l)
{
    tce_store *checkpoint = NULL;
    tce_store_array a, own;
    size_t n_compared = 0;
    a = TCE_INIT(tce_store_array);
    own = TCE_INIT(tce_store_array);
    ok(tce_store_create(NULL, &checkpoint));
    ok(way->save(l, checkpoint));
    for (size_t i = 0; tce_store_at(store, i, &a) == TCE_OK; i++) {
        if (strncmp(a.name, "after.", 6) != 0)
            continue;
        size_t n;
        double *want = unpack(&a, &n);
        ok(tce_store_get(checkpoint, a.name + 6, &own));
        const size_t stride = strstr(a.name, "moment") || strstr(a.name, "square") ? MOMENT_STRIDE
                                                                                   : 1;
        double *got = malloc(n * sizeof *got);
        for (size_t k = 0; k < n; k++)
            got[k] = own.type == TCE_STORE_U64 ? (double)((const uint64_t *)own.data)[k]
                                               : ((const double *)own.data)[k * stride];
        const double off = test_difference(n, got, want) / test_largest(n, want);
        ck_assert_msg(off <= TOLERANCE, "%s is off by %.1e of its largest entry", a.name + 6, off);
        n_compared++;
        free(want);
        free(got);
    }
    tce_store_free(checkpoint);
    ck_assert_uint_eq(n_compared, 25);
}

static void compare_losses(const tce_store *store, const method *way, const void *l,
                           const double *values)
{
    static const char *const NAMES[] = { "critic_loss", "policy_loss", "trust_region_loss" };
    const char *const *columns;
    const size_t n = way->columns(l, &columns);
    double *want = recorded(store, "losses", 3);
    for (size_t k = 0; k < 3; k++) {
        size_t i = 0;
        while (i < n && strcmp(columns[i], NAMES[k]) != 0)
            i++;
        ck_assert_uint_lt(i, n);
        ck_assert_double_eq_tol(values[i], want[k], TOLERANCE * fmax(1.0, fabs(want[k])));
    }
    free(want);
}

/* The task has no metrics, so every column is one that no task may have. */
static void all_columns_are_reserved(size_t n, const char *const *columns)
{
    const char *reserved[64];
    const size_t n_reserved = methods_reserved(METHODS, 64, reserved);
    ck_assert_uint_le(n_reserved, 64);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < n_reserved && strcmp(reserved[k], columns[i]) != 0)
            k++;
        ck_assert_msg(k < n_reserved, "%s", columns[i]);
    }
}

START_TEST(the_trainer_makes_the_originals_third_iteration)
{
    settings s;
    void *created = NULL;
    double values[64], seconds[3];
    progress made = { .values = values, .seconds = seconds };
    const char *const *columns;
    const task t = { .vtable = &PLAYBACK };
    const method *const way = &METHOD_TABLE_TCE;
    tce_store *store = load_recording();
    tce_blas_set_threads(1);
    original_settings(store, &s);
    tape.obs = recorded(store, "obs", E * N_INPUTS * (T + 1));
    tape.reward = recorded(store, "reward", E * T);
    tape.event_at = recorded(store, "event_at", E);
    tape.desired = recorded(store, "desired", E * (T / PATH_STRIDE) * 2 * D);

    ok(way->create(&(method_context){ &s, &t, NULL }, &created));
    learner *l = created;
    const size_t n_columns = way->columns(l, &columns);
    ck_assert_uint_le(n_columns, 64);
    all_columns_are_reserved(n_columns, columns);
    load_state(store, way, l);
    double *times = recorded(store, "times", T);
    double *params = recorded(store, "params", E * P);
    memcpy(l->train.times, times, T * sizeof *times);
    l->train.given_params = params;

    ok(way->iterate(l, ITERATION, &made));
    ck_assert_int_eq(made.env_steps, E * T);
    ck_assert_double_lt(tape.off, TOLERANCE);
    compare_losses(store, way, l, values);
    compare_state(store, way, l);

    way->destroy(l);
    tce_store_free(store);
    double *const arrays[] = { times, params, tape.obs, tape.reward, tape.event_at, tape.desired };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("original");
    TCase *golden = test_case(suite, "golden", 120);
    tcase_add_test(golden, the_trainer_makes_the_originals_third_iteration);

    return test_run(suite);
}
