/*
 * A whole run of soft actor-critic, by the trainer's own loop: environments that replay a tape,
 * whatever the actions, and all numbers that the run draws given.
 */
#include <stdlib.h>
#include <string.h>

#include "methods/off_policy.h"
#include "replay_sac.h"
#include "replay_tape.h"

enum { MOST_STEPS = 1 << 20 };

/* ---- what is drawn --------------------------------------------------------------------------- */

typedef struct given {
    replay_case *c;
    const replay_tape *t;
    const json_t *iterations;
    const double *warm_up, *noise; /* [steps, N, A] */
    int64_t n_warm_up, n_noise;
    int64_t per_iteration; /* gradient steps */
    size_t M;
} given;

static void warm_up(void *context, int64_t step, size_t n, double *out)
{
    const given *g = context;
    if (step >= g->n_warm_up)
        replay_fail(g->c, "step %lld is in the warm-up", (long long)step);
    for (size_t i = 0; i < n; i++) {
        const double low = g->t->low[i % g->t->A], high = g->t->high[i % g->t->A];
        out[i] = 2.0 * (g->warm_up[(size_t)step * n + i] - low) / (high - low) - 1.0;
    }
}

static void normals(void *context, int64_t step, size_t n, double *out)
{
    const given *g = context;
    if (step < g->n_warm_up || step - g->n_warm_up >= g->n_noise)
        replay_fail(g->c, "step %lld has no noise", (long long)step);
    memcpy(out, g->noise + (size_t)(step - g->n_warm_up) * n, n * sizeof *out);
}

static const json_t *update_at(const given *g, int64_t update)
{
    const json_t *iteration = json_array_get(g->iterations, (size_t)(update / g->per_iteration));
    const json_t *step = json_array_get(replay_list(g->c, iteration, "gradient_steps"),
                                        (size_t)(update % g->per_iteration));
    if (!step)
        replay_fail(g->c, "there is no gradient step %lld", (long long)update);
    return step;
}

static tce_status minibatch(void *context, int64_t update, off_policy *l, replay_place *out_places,
                            double *out_noise, double *out_next_noise)
{
    const given *g = context;
    const json_t *step = update_at(g, update);
    const size_t n = g->M * l->A;
    const int32_t *rows = replay_ints(g->c, step, "rows", g->M);
    const int32_t *envs = replay_ints(g->c, step, "environments", g->M);
    for (size_t i = 0; i < g->M; i++)
        out_places[i] = (replay_place){ (uint32_t)rows[i], (uint32_t)envs[i] };
    memcpy(out_noise, replay_array(g->c, step, "noise", n), n * sizeof *out_noise);
    memcpy(out_next_noise, replay_array(g->c, step, "next_noise", n), n * sizeof *out_next_noise);
    return TCE_OK;
}

/* ---- the case -------------------------------------------------------------------------------- */

static void free_run(void *l)
{
    off_policy_free(l);
}

/* Numbers first … of all records, [N, rows, n]: of the filled rows, or of all with zeros in others. */
static void compare_ring(replay_case *c, const off_policy *l, const char *key, size_t first,
                         size_t n)
{
    const json_t *buffer = replay_object(c, c->root, "buffer");
    const size_t N = l->N;
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, buffer, key, shape);
    const size_t rows = shape[1] == replay_filled(&l->replay) ? shape[1]
                                                              : (size_t)l->replay.rows.capacity;
    double *got = replay_zeros(c, N * rows * n);
    for (size_t i = 0; i < N; i++)
        for (size_t row = 0; row < rows; row++) {
            const replay_place place = { (uint32_t)row, (uint32_t)i };
            replay_gather(&l->replay, 1, &place, first, n, got + (i * rows + row) * n, n);
        }
    replay_compare_rivals(c, buffer, key, N * rows * n, got);
}

static void compare_buffer(replay_case *c, const off_policy *l)
{
    const json_t *buffer = replay_object(c, c->root, "buffer");
    const double position = (double)replay_position(&l->replay);
    const double full = replay_filled(&l->replay) == (size_t)l->replay.rows.capacity;
    const double rows = (double)l->replay.rows.capacity;
    replay_compare_rivals(c, c->root, "buffer_rows", 1, &rows);
    replay_compare_rivals(c, buffer, "position", 1, &position);
    replay_compare_rivals(c, buffer, "full", 1, &full);
    compare_ring(c, l, "observations", 0, l->O);
    compare_ring(c, l, "actions", l->O, l->A);
    compare_ring(c, l, "rewards", l->O + l->A, 1);
    compare_ring(c, l, "next_observations", l->O + l->A + 1, l->O);
    compare_ring(c, l, "stored_end", l->width - 1, 1);
}

/* Rows [N, A] of a list that may be empty. */
static const double *read_rows(replay_case *c, const char *key, size_t n, int64_t *out_rows)
{
    const size_t rows = json_array_size(replay_list(c, c->root, key));
    *out_rows = (int64_t)rows;
    return replay_array(c, c->root, key, rows * n);
}

void replay_sac_run(replay_case *c)
{
    const size_t N = (size_t)replay_int(c, c->root, "n_env", 1, MOST_STEPS);
    const size_t M = (size_t)replay_int(c, c->root, "batch_size", 1, MOST_STEPS);
    const settings_table table = { .name = "sac" };
    settings *s = replay_block(c, 1, sizeof *s);
    off_policy *l = replay_block(c, 1, sizeof *l);
    replay_tape *t = replay_block(c, 1, sizeof *t);
    given *g = replay_block(c, 1, sizeof *g);
    off_policy_options o;
    memset(&o, 0, sizeof o);
    replay_sac_options(c, M, N, 1, &o.sac);
    replay_sac_rates(c, &o.rates);
    replay_read_tape(c, (size_t)o.sac.n_actions, t);
    if (t->N != N)
        replay_fail(c, "the tape has %zu environments, n_env is %zu", t->N, N);
    o.steps = replay_int(c, c->root, "number_samples", 1, MOST_STEPS) / (int32_t)N;
    o.gradient_steps = replay_int(c, c->root, "gradient_steps", 1, MOST_STEPS);
    o.time_limit_ends = !replay_bootstraps(c);
    o.learning_starts = replay_int(c, c->root, "learning_starts", 0, MOST_STEPS);
    o.replay_size = (size_t)replay_int(c, c->root, "buffer_size", 1, MOST_STEPS);

    /* the learner, with the case's weights and numbers */
    const task from = { .vtable = &REPLAY_TAPE, .user = t };
    const stepping_options envs = { (int32_t)N, PURPOSE_TRAIN_ENV };
    s->table = &table;
    replay_keep(c, l, free_run);
    replay_ok(c, stepping_create(&l->env, &from, s, NULL, &envs));
    replay_ok(c, off_policy_create(l, &o));
    replay_sac_weights(c, &l->sac);
    const size_t n = N * l->A;
    *g = (given){ .c = c,
                  .t = t,
                  .iterations = replay_list(c, c->root, "iterations"),
                  .per_iteration = o.gradient_steps,
                  .M = M };
    g->warm_up = read_rows(c, "warm_up_actions", n, &g->n_warm_up);
    g->noise = read_rows(c, "acting_noise", n, &g->n_noise);
    l->draws = (off_policy_draws){ g, warm_up, normals, minibatch };

    /* rounds, of which an entry of "iterations" is one that learns */
    const int64_t total = replay_int(c, c->root, "total_steps", 1, MOST_STEPS);
    size_t learnt = 0;
    while (l->steps * (int64_t)N < total) {
        off_policy_sum sum = { 0 };
        const int64_t before = l->updates;
        replay_ok(c, off_policy_collect(l, &sum));
        const double steps = (double)(l->steps * (int64_t)N);
        if (!off_policy_learns(l))
            continue;
        replay_compare_rivals(c, json_array_get(g->iterations, learnt++), "environment_steps", 1,
                              &steps);
        for (int64_t k = before; k < before + o.gradient_steps; k++) {
            sac_report report;
            replay_ok(c, off_policy_learn(l, &report));
            replay_sac_report(c, update_at(g, k), &l->sac, &report);
        }
    }
    if (learnt != json_array_size(g->iterations))
        replay_fail(c, "%zu iterations learnt, not %zu", learnt, json_array_size(g->iterations));
    replay_compare_rivals(c, c->root, "actions_sent", (size_t)l->steps * n, t->sent);
    compare_buffer(c, l);
    replay_sac_final(c, &l->sac);
}
