/*
 * off_policy: transitions that are lost, what draws come from, no allocation while it runs.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/off_policy.h"
#include "methods/off_policy_settings.h"
#include "requests.h"
#include "support.h"
#include "toy.h"

/* Seconds a test may take; sanitizers on a busy machine need more than Check's 4. */
#define TIMEOUT 120

/* A motor that burns out in every seventh step of its life. */
enum { O = 2, A = 1, N = 3, BAD = 7 };
TOY(motor, "raw=1 steps=9 lost=7 low=-2 high=4")
/* For SAC on primitives: an episode of one action, and one along a path. */
TOY(motor_once, "raw=1 steps=1 lost=7 low=-2 high=4")
TOY(motor_path, "steps=9 lost=29")

/* ---- a run ----------------------------------------------------------------------------------- */

static const int32_t HIDDEN[] = { 8, 8 };
static const settings_table TABLE = { .name = "sac" };

static off_policy_options options_of(int coloured)
{
    off_policy_options o = { .seed = 3,
                             .steps = 2,
                             .gradient_steps = 2,
                             .learning_starts = 30,
                             .coloured = coloured,
                             .replay_size = 90,
                             .sac = { .n_hidden = 2,
                                      .n_critic_hidden = 2,
                                      .hidden = HIDDEN,
                                      .critic_hidden = HIDDEN,
                                      .precision = TCE_NET_FLOAT,
                                      .start = TCE_NET_FAN_IN,
                                      .log_std_low = -20.0,
                                      .log_std_high = 2.0,
                                      .batch_size = 16 },
                             .rates = { .gamma = 0.9, .polyak = 0.01, .target_entropy = -1.0 },
                             .noise = { .beta = 1.0, .chunk = 12, .max_period = 12 } };
    tce_adam_options_init(&o.rates.actor, sizeof o.rates.actor);
    o.rates.critic = o.rates.actor;
    return o;
}

static void start(off_policy *l, int coloured, tce_pool *pool)
{
    static settings s;
    const task from = { .vtable = &TOY_motor };
    const stepping_options envs = { N, PURPOSE_TRAIN_ENV };
    const off_policy_options o = options_of(coloured);
    memset(l, 0, sizeof *l);
    memset(&s, 0, sizeof s);
    s.table = &TABLE;
    s.run.seed = 3;
    s.collect.on_fault = TCE_ROLLOUT_DROP;
    ok(stepping_create(&l->env, &from, &s, pool, &envs));
    ok(off_policy_create(l, &o));
}

/* every record of the ring, where it is marked as lost */
static size_t count_lost(const off_policy *l)
{
    size_t n = 0;
    for (uint32_t row = 0; row < replay_filled(&l->replay); row++)
        for (uint32_t i = 0; i < N; i++) {
            const replay_place place = { row, i };
            double record[2 * O + A + 3];
            replay_gather(&l->replay, 1, &place, 0, l->width + 1, record, l->width + 1);
            n += record[l->width] == 0.0;
            ck_assert_double_ne(record[O + A], TOY_LOST_REWARD);
        }
    return n;
}

START_TEST(a_lost_transition_keeps_its_place_and_is_never_drawn)
{
    off_policy l;
    off_policy_sum sum = { 0 };
    start(&l, 0, NULL);
    for (int k = 0; k < 100; k++) {
        ok(off_policy_round(&l, &sum));
        for (size_t i = 0; i < l.sac.M && off_policy_learns(&l); i++) {
            double mark;
            replay_gather(&l.replay, 1, &l.places[i], l.width, 1, &mark, 1);
            ck_assert_double_eq(mark, 1.0);
        }
    }
    /* one of seven steps of each motor, in the 30 rows that are left */
    const size_t lost = count_lost(&l);
    ck_assert_uint_ge(lost, 30 * N / BAD - N);
    ck_assert_uint_le(lost, 30 * N / BAD + N);
    ck_assert_int_eq(l.replay.rows.written, 200);
    /* motor i has been used i times before */
    ck_assert_int_eq(l.env.n_dropped, 200 / BAD + 201 / BAD + 202 / BAD);
    ck_assert_int_eq(l.updates, sum.n);
    off_policy_free(&l);
}
END_TEST

/* what is stored is in [-1, 1], what is sent in the task's range; truncated steps are not ends */
START_TEST(records_are_what_the_step_was)
{
    off_policy l;
    off_policy_sum sum = { 0 };
    start(&l, 0, NULL);
    ok(off_policy_round(&l, &sum));
    for (uint32_t i = 0; i < N; i++) {
        const replay_place place = { 1, i };
        double r[2 * O + A + 3];
        replay_gather(&l.replay, 1, &place, 0, l.width, r, l.width);
        const double sent = -2.0 + 0.5 * (r[O] + 1.0) * 6.0;
        ck_assert_double_le(fabs(r[O]), 1.0);
        /* position and goal, action, reward, the next position and goal */
        const double *next = r + O + A + 1, far = next[0] - r[1];
        ck_assert_double_eq_tol(next[0], r[0] + 0.01 * sent, 1e-6);
        ck_assert_double_eq_tol(r[O + A], -far * far, 1e-6);
        ck_assert_double_eq(r[l.width - 1], 0.0);
    }
    off_policy_free(&l);
}
END_TEST

/* ---- methods --------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 32 };

static const struct {
    const method *way;
    const tce_env_vtable *table;
    const char *words[3];
} RUNS[] = {
    { &METHOD_TABLE_SAC, &TOY_motor, { "collect.number_samples=6" } },
    { &METHOD_TABLE_PINK, &TOY_motor, { "collect.number_samples=6", "noise.chunk=20" } },
    { &METHOD_TABLE_SAC_MP, &TOY_motor_once, { "collect.episodes=6" } },
    { &METHOD_TABLE_SAC_MP,
      &TOY_motor_path,
      { "collect.episodes=6", "mp.n_basis=2", "mp.tau=0.9" } },
};
enum { N_RUNS = sizeof RUNS / sizeof RUNS[0], FIRST_ON_EPISODES = 2 };

/* A learner of RUNS[i], in rounds of six steps or episodes, four of which are an iteration. */
static void *learner_of(int i, const char *on_fault, tce_pool *pool)
{
    static settings s;
    char method_word[32];
    char *words[] = { method_word,
                      "collect.environments=3",
                      "collect.rounds=4",
                      "collect.learning_starts=12",
                      "policy.hidden=[8, 8]",
                      "critic.hidden=[8, 8]",
                      "update.gradient_steps=2",
                      "update.batch_size=8",
                      "update.replay_size=60" };
    const task from = { .vtable = RUNS[i].table };
    const method_context context = { &s, &from, pool };
    void *learner;
    snprintf(method_word, sizeof method_word, "run.method=%s", RUNS[i].way->settings.name);
    ok(settings_read(&s, METHODS, NULL, sizeof words / sizeof words[0], words));
    for (int k = 0; k < 3; k++)
        if (RUNS[i].words[k])
            ok(settings_override(&s, RUNS[i].words[k]));
    ok(settings_override(&s, on_fault));
    ok(RUNS[i].way->create(&context, &learner));
    return learner;
}

START_TEST(a_fault_ends_the_iteration_where_that_is_asked_for)
{
    const method *way = RUNS[_i].way;
    double values[MOST_COLUMNS], seconds[8] = { 0.0 };
    void *l = learner_of(_i, "collect.on_fault=fail", NULL);
    progress made = { .values = values, .seconds = seconds };
    fails(way->iterate(l, 1, &made), TCE_E_ENV, "environment ");
    way->destroy(l);
}
END_TEST

/* Learnt, their reward of 1e6 would be a loss of 1e7 and more. */
START_TEST(lost_episodes_are_counted_and_never_learnt)
{
    const method *way = RUNS[_i].way;
    const char *const *names;
    void *l = learner_of(_i, "collect.on_fault=drop", NULL);
    const size_t n = way->columns(l, &names);
    int64_t n_dropped = 0;
    ck_assert_uint_le(n, MOST_COLUMNS);
    for (int64_t i = 1; i <= 6; i++) {
        double values[MOST_COLUMNS], seconds[8] = { 0.0 };
        progress made = { .values = values, .seconds = seconds };
        for (size_t k = 0; k < n; k++)
            values[k] = NAN;
        ok(way->iterate(l, i, &made));
        n_dropped += made.dropped;
        for (size_t k = 0; k < n; k++) {
            if (strcmp(names[k], "dropped") == 0)
                ck_assert_double_eq(values[k], (double)made.dropped);
            if (strcmp(names[k], "critic_loss") == 0 && i > 1)
                ck_assert(values[k] >= 0.0 && values[k] < 1e4);
        }
    }
    ck_assert_int_gt(n_dropped, 0);
    way->destroy(l);
}
END_TEST

/* ---- settings -------------------------------------------------------------------------------- */

static settings read_settings(const char *word)
{
    settings s;
    char *words[] = { "run.method=sac", "run.iterations=5", "collect.rounds=3",
                      "collect.number_samples=4", (char *)(uintptr_t)word };
    ok(settings_read(&s, METHODS, NULL, word ? 5 : 4, words));
    return s;
}

START_TEST(a_target_entropy_of_0_can_be_asked_for)
{
    settings s = read_settings(NULL);
    ck_assert_double_eq(off_policy_rates(&s, 7).target_entropy, -7.0);
    s = read_settings("update.target_entropy=-2");
    ck_assert_double_eq(off_policy_rates(&s, 7).target_entropy, -2.0);
    s = read_settings("update.target_entropy_auto=false");
    ck_assert_double_eq(off_policy_rates(&s, 7).target_entropy, 0.0);
}
END_TEST

START_TEST(a_temperature_starts_where_it_is_told_and_may_stay_there)
{
    const char *const words[] = { "update.entropy_coefficient=auto",
                                  "update.entropy_coefficient=fixed" };
    for (int fixed = 0; fixed < 2; fixed++) {
        off_policy l;
        off_policy_sum sum = { 0 };
        settings s = read_settings(words[fixed]);
        ok(settings_override(&s, "update.alpha=0.2"));
        start(&l, 0, NULL);
        const sac_options networks = off_policy_networks(&s);
        ck_assert_double_eq(networks.first_log_alpha, log(0.2));
        l.sac.log_alpha = networks.first_log_alpha;
        l.o.rates.fixed_alpha = off_policy_rates(&s, 1).fixed_alpha;
        while (sum.n == 0)
            ok(off_policy_round(&l, &sum));
        ck_assert_double_eq_tol(sum.report.alpha / (double)sum.n, 0.2, 1e-3);
        ck_assert_int_eq(l.sac.log_alpha == log(0.2), fixed);
        off_policy_free(&l);
    }
}
END_TEST

START_TEST(rates_fall_to_0_over_the_run_that_was_begun)
{
    settings s = read_settings("update.rate_schedule=linear");
    const sac_rates first = off_policy_rates(&s, 1);
    int64_t length = off_policy_schedule(&s, 3 * 4);
    ck_assert_int_eq(length, 5 * 3 * 4);
    ck_assert_double_eq(off_policy_rates_at(&first, 15, length).actor.learning_rate,
                        0.75 * first.actor.learning_rate);
    ck_assert_double_eq(off_policy_rates_at(&first, 15, length).critic.learning_rate,
                        0.75 * first.critic.learning_rate);
    ck_assert_double_eq(off_policy_rates_at(&first, 90, length).actor.learning_rate, 0.0);

    /* a checkpoint keeps the length, whatever the run has become */
    tce_store *store;
    ok(tce_store_create(NULL, &store));
    ok(off_policy_save_schedule(store, length));
    length = 1000;
    ok(off_policy_load_schedule(store, &length));
    ck_assert_int_eq(length, 60);
    tce_store_free(store);

    ok(settings_override(&s, "update.schedule_steps=7"));
    ck_assert_int_eq(off_policy_schedule(&s, 12), 7);
    s = read_settings(NULL);
    ck_assert_int_eq(off_policy_schedule(&s, 12), 0);
    ck_assert_double_eq(off_policy_rates_at(&first, 15, 0).actor.learning_rate,
                        first.actor.learning_rate);
}
END_TEST

START_TEST(a_run_at_the_end_of_its_rates_learns_no_more)
{
    off_policy l;
    off_policy_sum sum = { 0 };
    start(&l, 0, NULL);
    l.o.schedule_steps = 60;
    while ((int64_t)l.N * l.steps < 60)
        ok(off_policy_round(&l, &sum));
    const size_t n = tce_policy_n_weights(l.sac.actor);
    double *before = malloc(n * sizeof *before), *after = malloc(n * sizeof *after);
    tce_policy_get_weights(l.sac.actor, before);
    ok(off_policy_round(&l, &sum));
    tce_policy_get_weights(l.sac.actor, after);
    ck_assert_mem_eq(before, after, n * sizeof *before);
    free(before);
    free(after);
    off_policy_free(&l);
}
END_TEST

#ifdef COUNTS_REQUESTS
START_TEST(rounds_take_no_memory)
{
    for (int coloured = 0; coloured < 2; coloured++) {
        off_policy l;
        off_policy_sum sum = { 0 };
        tce_pool *pool = test_pool(2);
        start(&l, coloured, pool);
        for (int k = 0; k < 20; k++)
            ok(off_policy_round(&l, &sum));
        const size_t before = n_requests();
        tce_status status = TCE_OK;
        for (int k = 0; status == TCE_OK && k < 50; k++)
            status = off_policy_round(&l, &sum);
        const size_t after = n_requests();
        ok(status);
        ck_assert_uint_eq(after, before);
        off_policy_free(&l);
        tce_pool_free(pool);
    }
}
END_TEST

START_TEST(iterations_on_whole_episodes_take_no_memory)
{
    const method *way = RUNS[_i].way;
    double values[MOST_COLUMNS], seconds[8];
    progress made = { .values = values, .seconds = seconds };
    tce_pool *pool = test_pool(2);
    void *l = learner_of(_i, "collect.on_fault=drop", pool);
    ok(way->iterate(l, 1, &made));
    iterations_without_requests(way, l, 2, 8, &made);
    way->destroy(l);
    tce_pool_free(pool);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("off_policy");
    TCase *property = test_case(suite, "property", TIMEOUT);

    tcase_add_test(property, a_lost_transition_keeps_its_place_and_is_never_drawn);
    tcase_add_test(property, records_are_what_the_step_was);
    tcase_add_loop_test(property, lost_episodes_are_counted_and_never_learnt, 0, N_RUNS);
    tcase_add_test(property, a_target_entropy_of_0_can_be_asked_for);
    tcase_add_test(property, a_temperature_starts_where_it_is_told_and_may_stay_there);
    tcase_add_test(property, rates_fall_to_0_over_the_run_that_was_begun);
    tcase_add_test(property, a_run_at_the_end_of_its_rates_learns_no_more);
#ifdef COUNTS_REQUESTS
    TCase *memory = test_case(suite, "memory", TIMEOUT);
    tcase_add_test(memory, rounds_take_no_memory);
    tcase_add_loop_test(memory, iterations_on_whole_episodes_take_no_memory, FIRST_ON_EPISODES,
                        N_RUNS);
#endif
    TCase *errors = test_case(suite, "errors", TIMEOUT);
    tcase_add_loop_test(errors, a_fault_ends_the_iteration_where_that_is_asked_for, 0, N_RUNS);
    return test_run(suite);
}
