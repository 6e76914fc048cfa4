/*
 * PPO, gSDE and step-based TRPL beside their cases: steps that are lost, a clip of width 0, runs
 * that are interrupted in mid-episode, threads, no allocation while they run.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/on_policy.h"
#include "requests.h"
#include "support.h"
#include "toy.h"

/* Seconds a test may take; sanitizers on a busy machine need more than Check's 4. */
#define TIMEOUT 120

enum { A = 2, O = 2 * A, N = 4, S = 14 };
TOY(cart, "raw=1 dof=2 steps=9 early=4")

/* ---- learners -------------------------------------------------------------------------------- */

static const method *const WAYS[] = { &METHOD_TABLE_PPO, &METHOD_TABLE_GSDE, &METHOD_TABLE_TRPL };
enum { N_WAYS = 3, MOST_COLUMNS = 32 };

static settings read_settings(const method *way, const char *task_options, const char *more)
{
    settings s;
    char method_word[32];
    char *words[] = { method_word,
                      "task.name=cart",
                      "collect.environments=4",
                      "collect.steps=14",
                      "collect.on_fault=drop",
                      "policy.hidden=[8, 8]",
                      "critic.hidden=[8, 8]",
                      "policy.epochs=2",
                      "update.minibatches=4",
                      (char *)(uintptr_t)more };
    snprintf(method_word, sizeof method_word, "run.method=%s", way->settings.name);
    ok(settings_read(&s, METHODS, NULL, more ? 10 : 9, words));
    snprintf(s.task.options, sizeof s.task.options, "%s", task_options);
    return s;
}

static on_policy *start(const method *way, const settings *s, tce_pool *pool)
{
    static const task from = { .vtable = &TOY_cart };
    const method_context context = { s, &from, pool };
    void *learner;
    ok(way->create(&context, &learner));
    return learner;
}

/* Iteration i; its columns in values [MOST_COLUMNS]. */
/* Returns how many steps were lost. */
static int64_t iterate(const method *way, on_policy *l, int64_t i, double *values)
{
    double seconds[8] = { 0.0 };
    ck_assert_uint_le(l->n_columns, MOST_COLUMNS);
    for (size_t k = 0; k < l->n_columns; k++)
        values[k] = NAN;
    progress made = { .values = values, .seconds = seconds };
    ok(way->iterate(l, i, &made));
    ck_assert_int_eq(made.env_steps, N * S);
    return made.dropped;
}

static double column(const on_policy *l, const double *values, const char *name)
{
    for (size_t k = 0; k < l->n_columns; k++)
        if (strcmp(l->columns[k], name) == 0)
            return values[k];
    ck_abort_msg("no column %s", name);
    return NAN;
}

/* Weights of policy, noise and value network, one after the other; malloc'ed. */
static double *weights_of(const on_policy *l, size_t *out_n)
{
    const size_t n_policy = tce_policy_n_weights(l->mean), n_critic = tce_net_n_weights(l->critic);
    const size_t n_noise = l->way.gsde ? l->noise.n : 0;
    double *all = malloc((n_policy + n_critic + n_noise) * sizeof *all);
    tce_policy_get_weights(l->mean, all);
    tce_net_get_weights(l->critic, all + n_policy);
    if (n_noise > 0)
        memcpy(all + n_policy + n_critic, l->noise.log_std, n_noise * sizeof *all);
    *out_n = n_policy + n_critic + n_noise;
    return all;
}

static void assert_same_weights(const on_policy *a, const on_policy *b)
{
    size_t n, m;
    double *x = weights_of(a, &n), *y = weights_of(b, &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(x, y, n * sizeof *x);
    free(x);
    free(y);
}

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(a_lost_step_is_no_sample_and_what_led_to_it_is_bootstrapped)
{
    const method *way = WAYS[_i];
    double values[MOST_COLUMNS];
    const settings s = read_settings(way, "lost=6", "update.normalise_advantages=none");
    on_policy *l = start(way, &s, NULL);
    const step_rollout *r = &l->rollout;
    const double gamma = s.objective.gamma;
    for (int64_t i = 1; i <= 3; i++) {
        size_t n_lost = 0, n_checked = 0, n_valid = 0;
        const int64_t dropped = iterate(way, l, i, values);
        for (size_t k = 0; k < N * S; k++) {
            n_lost += r->lost[k];
            ck_assert(isfinite(r->advantages[k]) && fabs(r->rewards[k]) < 1e3);
            if (!r->lost[k] || k % S == 0 || r->ends[k - 1])
                continue;
            const double want = r->rewards[k - 1] + gamma * r->values[k] - r->values[k - 1];
            ck_assert_double_eq_tol(r->advantages[k - 1], want, 1e-12 * fmax(1.0, fabs(want)));
            n_checked++;
        }
        for (size_t k = 0; k < r->n_valid; k++)
            n_valid += !r->lost[r->valid[k]];
        ck_assert_uint_gt(n_lost, 0);
        ck_assert_uint_gt(n_checked, 0);
        ck_assert_uint_eq(n_valid, N * S - n_lost);
        ck_assert_uint_eq(r->n_valid, n_valid);
        ck_assert_int_eq(dropped, (int64_t)n_lost);
    }
    way->destroy(l);
}
END_TEST

START_TEST(a_clip_of_width_0_makes_no_update)
{
    const method *way = WAYS[_i];
    double values[MOST_COLUMNS];
    size_t n;
    settings s = read_settings(way, "", "update.clip_schedule=linear");
    s.run.iterations = 2;
    on_policy *l = start(way, &s, NULL);
    double *first = weights_of(l, &n);
    iterate(way, l, 1, values);
    ck_assert_double_eq_tol(column(l, values, "ratio_clip"), 0.1, 1e-15);
    double *second = weights_of(l, &n);
    ck_assert_mem_ne(first, second, n * sizeof *first);

    /* the whole run is over: width 0 */
    iterate(way, l, 2, values);
    double *third = weights_of(l, &n);
    ck_assert_mem_eq(second, third, n * sizeof *first);
    ck_assert_double_eq(column(l, values, "ratio_clip"), 0.0);
    ck_assert(isnan(column(l, values, "policy_loss")));
    free(first);
    free(second);
    free(third);
    way->destroy(l);
}
END_TEST

START_TEST(an_interrupted_run_continues_as_if_it_had_not_been)
{
    const method *way = WAYS[_i];
    double values[2][MOST_COLUMNS];
    tce_store *store;
    settings s = read_settings(way, "", "normalise.rewards=true");
    on_policy *l = start(way, &s, NULL);
    iterate(way, l, 1, values[0]);
    iterate(way, l, 2, values[0]);
    ok(tce_store_create(NULL, &store));
    ok(way->save(l, store));

    /* another length of the run leaves the schedules as they were begun */
    s.run.iterations *= 2;
    on_policy *again = start(way, &s, NULL);
    ok(way->load(again, store));
    ck_assert_int_eq(again->total_steps, l->total_steps);
    ck_assert(again->env.lengths[0] > 0);
    iterate(way, l, 3, values[0]);
    iterate(way, again, 3, values[1]);
    assert_same_weights(l, again);
    ck_assert_mem_eq(values[0], values[1], l->n_columns * sizeof(double));
    tce_store_free(store);
    way->destroy(l);
    way->destroy(again);
}
END_TEST

START_TEST(three_threads_give_the_bytes_of_one_and_nothing_is_allocated)
{
    const method *way = WAYS[_i];
    double values[MOST_COLUMNS];
    const settings s = read_settings(way, "", NULL);
    tce_pool *pool = test_pool(3);
    on_policy *one = start(way, &s, NULL), *three = start(way, &s, pool);
    for (int64_t i = 1; i <= 2; i++) {
        iterate(way, one, i, values);
        iterate(way, three, i, values);
    }
    assert_same_weights(one, three);
#ifdef COUNTS_REQUESTS
    double seconds[8] = { 0.0 };
    progress made = { .values = values, .seconds = seconds };
    iterations_without_requests(way, three, 3, 3, &made);
#endif
    way->destroy(one);
    way->destroy(three);
    tce_pool_free(pool);
}
END_TEST

START_TEST(minibatches_are_cut_as_they_are_asked_for)
{
    const minibatches parts = minibatches_of(11, 4, 0), sizes = minibatches_of(11, 4, 5);
    const size_t want_parts[] = { 0, 3, 6, 9, 11 }, want_sizes[] = { 0, 5, 10, 11 };
    ck_assert_uint_eq(parts.count, 4);
    ck_assert_uint_eq(sizes.count, 3);
    for (size_t k = 0; k <= 4; k++)
        ck_assert_uint_eq(minibatch_begin(&parts, k), want_parts[k]);
    for (size_t k = 0; k <= 3; k++)
        ck_assert_uint_eq(minibatch_begin(&sizes, k), want_sizes[k]);
    ck_assert_uint_eq(minibatches_of(3, 5, 0).count, 3);
}
END_TEST

/* A learner of a method after its first iteration with settings, up to three words. */
static on_policy *iterated(const method *way, const char *const words[3])
{
    double values[MOST_COLUMNS];
    settings s = read_settings(way, "", NULL);
    for (int k = 0; k < 3; k++)
        if (words[k])
            ok(settings_override(&s, words[k]));
    on_policy *l = start(way, &s, NULL);
    iterate(way, l, 1, values);
    return l;
}

START_TEST(a_time_limit_is_an_end_where_gamma_is_1_unless_it_is_asked_for)
{
    static const char *const GAMMAS[] = { "objective.gamma=0.9", "objective.gamma=1" };
    static const char *const LIMITS[] = { "collect.time_limit=bootstrap",
                                          "collect.time_limit=terminal", "collect.time_limit=auto",
                                          NULL };
    for (int g = 0; g < 2; g++) {
        on_policy *l[4];
        for (int k = 0; k < 4; k++)
            l[k] = iterated(&METHOD_TABLE_PPO, (const char *const[]){ GAMMAS[g], LIMITS[k], NULL });
        for (int k = 2; k < 4; k++) {
            const size_t size = N * S * sizeof(double);
            ck_assert_mem_eq(l[k]->rollout.rewards, l[g]->rollout.rewards, size);
            ck_assert_mem_ne(l[k]->rollout.rewards, l[1 - g]->rollout.rewards, size);
        }
        for (int k = 0; k < 4; k++)
            METHOD_TABLE_PPO.destroy(l[k]);
    }
}
END_TEST

START_TEST(returns_that_normalise_rewards_have_a_discount_of_their_own)
{
    static const char *const WORDS[3][3] = {
        { "objective.gamma=0.9" },
        { "objective.gamma=0.5" },
        { "objective.gamma=0.9", "normalise.return_discount=0.5" },
    };
    double variance[3];
    for (int k = 0; k < 3; k++) {
        double mean, count;
        on_policy *l = iterated(&METHOD_TABLE_PPO, WORDS[k]);
        tce_normaliser_statistics(l->seen_returns, &mean, &variance[k], &count);
        METHOD_TABLE_PPO.destroy(l);
    }
    ck_assert(variance[2] == variance[1] && variance[2] != variance[0]);
}
END_TEST

/* Adam divides a gradient by its own size plus epsilon, and such a bound is below epsilon. */
START_TEST(the_norm_of_trpls_gradient_may_be_bounded)
{
    static const char *const WORDS[2][3] = { { NULL }, { "update.clip_norm=1e-12" } };
    on_policy *l[2];
    size_t n;
    double *weights[2], moved[2] = { 0.0 };
    settings s = read_settings(&METHOD_TABLE_TRPL, "", NULL);
    on_policy *first = start(&METHOD_TABLE_TRPL, &s, NULL);
    double *before = weights_of(first, &n);
    for (int k = 0; k < 2; k++) {
        l[k] = iterated(&METHOD_TABLE_TRPL, WORDS[k]);
        weights[k] = weights_of(l[k], &n);
        for (size_t i = 0; i < tce_policy_n_weights(l[k]->mean); i++)
            moved[k] += fabs(weights[k][i] - before[i]);
        METHOD_TABLE_TRPL.destroy(l[k]);
        free(weights[k]);
    }
    ck_assert_double_gt(moved[0], 0.0);
    ck_assert_double_lt(moved[1], 0.01 * moved[0]);
    free(before);
    METHOD_TABLE_TRPL.destroy(first);
}
END_TEST

/* Lost steps make minibatches smaller, never larger. */
START_TEST(networks_have_room_for_the_largest_minibatch_and_no_more)
{
    const method *way = WAYS[_i];
    double obs[(N * S + 1) * O] = { 0.0 }, *mean = calloc((N * S + 1) * A, sizeof *mean), std[A];
    static const struct {
        const char *word;
        size_t rows;
    } CUTS[] = { { "update.minibatches=5", 12 },
                 { "update.minibatches=50", N },
                 { "update.batch_size=20", 20 },
                 { "update.batch_size=1000", N * S } };
    for (size_t k = 0; k < sizeof CUTS / sizeof CUTS[0]; k++) {
        const settings s = read_settings(way, "", CUTS[k].word);
        on_policy *l = start(way, &s, NULL);
        ok(tce_policy_predict(l->mean, CUTS[k].rows, obs, mean, std));
        fails(tce_policy_predict(l->mean, CUTS[k].rows + 1, obs, mean, std), TCE_E_SHAPE,
              "max_batch");
        way->destroy(l);
    }
    free(mean);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(a_fault_ends_the_iteration_where_that_is_asked_for)
{
    const method *way = WAYS[_i];
    double values[MOST_COLUMNS], seconds[8] = { 0.0 };
    size_t n;
    const settings s = read_settings(way, "lost=6", "collect.on_fault=fail");
    on_policy *l = start(way, &s, NULL);
    progress made = { .values = values, .seconds = seconds };
    double *before = weights_of(l, &n);
    fails(way->iterate(l, 1, &made), TCE_E_ENV, "environment ");
    double *after = weights_of(l, &n);
    ck_assert_mem_eq(before, after, n * sizeof *before);
    free(before);
    free(after);
    way->destroy(l);
}
END_TEST

START_TEST(deviations_of_trpl_start_above_their_floor)
{
    settings s;
    char *words[] = { "run.method=trpl", "task.name=cart", "policy.initial_std=0.1",
                      "policy.min_std=0.1" };
    ok(settings_read(&s, METHODS, NULL, 4, words));
    fails(settings_check(&s), TCE_E_VALUE,
          "policy.initial_std = 0.1 must be above policy.min_std = 0.1");
    ok(settings_override(&s, "policy.min_std=0.09"));
    ok(settings_check(&s));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("on_policy");
    TCase *property = test_case(suite, "property", TIMEOUT);
    TCase *errors = test_case(suite, "errors", TIMEOUT);

    tcase_add_loop_test(property, a_lost_step_is_no_sample_and_what_led_to_it_is_bootstrapped, 0,
                        N_WAYS);
    tcase_add_loop_test(property, a_clip_of_width_0_makes_no_update, 0, 2);
    tcase_add_loop_test(property, an_interrupted_run_continues_as_if_it_had_not_been, 0, N_WAYS);
    tcase_add_loop_test(property, three_threads_give_the_bytes_of_one_and_nothing_is_allocated, 0,
                        N_WAYS);
    tcase_add_test(property, minibatches_are_cut_as_they_are_asked_for);
    tcase_add_test(property, a_time_limit_is_an_end_where_gamma_is_1_unless_it_is_asked_for);
    tcase_add_test(property, returns_that_normalise_rewards_have_a_discount_of_their_own);
    tcase_add_test(property, the_norm_of_trpls_gradient_may_be_bounded);
    tcase_add_loop_test(property, networks_have_room_for_the_largest_minibatch_and_no_more, 0,
                        N_WAYS);

    tcase_add_loop_test(errors, a_fault_ends_the_iteration_where_that_is_asked_for, 0, N_WAYS);

    tcase_add_test(errors, deviations_of_trpl_start_above_their_floor);

    return test_run(suite);
}
