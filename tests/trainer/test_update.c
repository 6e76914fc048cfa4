/*
 * What an update of TCE and BBRL reports: losses are means over the epochs of an iteration. Their
 * iterations take no memory.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "methods/episodic.h"
#include "methods/schedules.h"
#include "requests.h"
#include "support.h"
#include "toy.h"

enum { E = 4, P = 3, O = 2, EPOCHS = 4 };

/* sums of a few numbers in another order */
#define EXACT 1e-12

static void small_settings(settings *s)
{
    ok(settings_init(s, METHODS, NULL));
    s->collect.episodes = E;
    s->policy.hidden.n = s->critic.hidden.n = 1;
    s->policy.hidden.v[0] = s->critic.hidden.v[0] = 5;
    s->policy.epochs = s->critic.epochs = EPOCHS;
    s->policy.options.precision = TCE_NET_DOUBLE;
    s->critic.minibatches = 2;
}

static void fill(size_t n, uint64_t stream, double *out)
{
    tce_random random;
    tce_random_start(&random, 3, 50, stream, 0);
    for (size_t i = 0; i < n; i++)
        out[i] = test_normal(&random);
}

/* ---- policy ---------------------------------------------------------------------------------- */

/*
 * A surrogate that says 1, 2, 3, … and pulls at the mean, and listens to what regression the epoch
 * will report.
 */
typedef struct witness {
    policy_update *update;
    double coefficient;
    int calls;
    double regression[EPOCHS];
} witness;

static tce_status speak(void *context, const double *mean, const double *L,
                        tce_returns_stats *stats, double *d_mean, double *d_L)
{
    witness *w = context;
    double unused_mean[E * P] = { 0 }, unused_L[P * P] = { 0 };
    (void)mean;
    (void)L;
    ok(tce_trpl_regression_add(w->update->trpl, E, w->update->mean, w->update->L, w->coefficient, 1,
                               &w->regression[w->calls], unused_mean, unused_L));
    stats->loss = ++w->calls;
    for (size_t i = 0; i < E * P; i++)
        d_mean[i] = 1.0 + (double)i;
    memset(d_L, 0, P * P * sizeof *d_L);
    return TCE_OK;
}

static double value_of(const double *values, const char *column)
{
    for (size_t i = 0; i < POLICY_COLUMNS; i++)
        if (strcmp(POLICY_COLUMN_NAMES[i], column) == 0)
            return values[i];
    ck_abort_msg("no column %s", column);
}

START_TEST(losses_of_the_policy_are_means_over_its_epochs)
{
    settings s;
    policy_learner pl;
    double inputs[E * O], old_mean[E * P], old_L[P * P];
    memory arrays = { 0 };
    double values[POLICY_COLUMNS];
    small_settings(&s);
    s.policy.adam.learning_rate = 0.5; /* far enough to leave the trust region */
    fill(E * O, 1, inputs);
    ok(policy_learner_create(&pl, &s, NULL, O, P, E, &arrays));
    ok(tce_policy_predict(pl.update.policy, E, inputs, old_mean, old_L));

    witness w = { &pl.update, s.projection.coefficient, 0, { 0 } };
    const policy_rows rows = { E, inputs, old_mean, old_L, speak, &w };
    ok(policy_learner_update(&pl, &s, 1, &rows, values));
    ck_assert_int_eq(w.calls, EPOCHS);
    ck_assert_double_eq_tol(value_of(values, "policy_loss"), (1.0 + 2.0 + 3.0 + 4.0) / EPOCHS,
                            EXACT);

    double sum = 0.0;
    for (int i = 0; i < EPOCHS; i++)
        sum += w.regression[i];
    ck_assert_double_eq_tol(value_of(values, "trust_region_loss"), sum / EPOCHS, EXACT * sum);
    /* which is not the last one's */
    ck_assert_double_gt(w.regression[EPOCHS - 1], 0.0);
    ck_assert_double_gt(fabs(sum / EPOCHS - w.regression[EPOCHS - 1]), 1e-3 * sum);
    policy_learner_free(&pl);
    memory_free(&arrays);
}
END_TEST

/* ---- critic ---------------------------------------------------------------------------------- */

static critic create_critic(const settings *s, memory *arrays)
{
    const critic_options options = { .n_inputs = O,
                                     .n_hidden = s->critic.hidden.n,
                                     .hidden = s->critic.hidden.v,
                                     .activation = TCE_NET_LEAKY_RELU,
                                     .precision = s->policy.options.precision,
                                     .max_rows = E };
    critic made;
    tce_random random;
    ok(critic_create(&made, &options, arrays));
    tce_random_start(&random, 1, PURPOSE_CRITIC_START, 0, 0);
    ok(tce_net_start(made.net, &random));
    return made;
}

START_TEST(the_loss_of_the_critic_is_the_mean_over_its_epochs)
{
    learner l;
    double inputs[E * O], targets[E], sum = 0.0, loss = 0.0;
    double value = 0.0;
    progress made = { .values = &value };
    memory arrays = { 0 };
    memset(&l, 0, sizeof l);
    small_settings(&l.s);
    fill(E * O, 1, inputs);
    fill(E, 2, targets);
    l.critic = create_critic(&l.s, &arrays);
    ok(episodic_train_critic(&l, 7, E, inputs, targets, &made));

    /* the same epochs one by one */
    critic other = create_critic(&l.s, &arrays);
    critic_fit fit = { .n_minibatches = 2, .clip_norm = l.s.critic.clip_norm };
    tce_random random;
    tce_adam_options_init(&fit.adam, sizeof fit.adam);
    fit.adam.learning_rate = l.s.critic.adam.learning_rate *
                             linear_schedule(6, (uint64_t)l.s.schedule.learning_rate_iterations,
                                             l.s.schedule.learning_rate_last);
    fit.adam.l2 = l.s.critic.adam.l2;
    tce_random_start(&random, l.s.run.seed, PURPOSE_MINIBATCH, 7, 0);
    for (int i = 0; i < EPOCHS; i++) {
        ok(critic_fit_epoch(&other, &fit, E, inputs, targets, &random, &loss));
        sum += loss;
    }
    ck_assert_double_eq_tol(value, sum / EPOCHS, EXACT * sum);
    ck_assert_double_lt(loss, sum / EPOCHS);
    critic_free(&other);
    critic_free(&l.critic);
    memory_free(&arrays);
}
END_TEST

START_TEST(without_epochs_there_is_no_loss)
{
    learner l;
    double inputs[E * O], targets[E];
    double value = 0.0;
    progress made = { .values = &value };
    memory arrays = { 0 };
    memset(&l, 0, sizeof l);
    small_settings(&l.s);
    l.s.critic.epochs = 0;
    fill(E * O, 1, inputs);
    fill(E, 2, targets);
    l.critic = create_critic(&l.s, &arrays);
    ok(episodic_train_critic(&l, 1, E, inputs, targets, &made));
    ck_assert(isnan(value));
    critic_free(&l.critic);
    memory_free(&arrays);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

#ifdef COUNTS_REQUESTS
/* Episodes of 12 steps, of which some end after 8 and every 29th step is lost. */
TOY(walker, "dof=2 steps=12 velocity=1 early=8 lost=29")

/* What takes a way of its own through an iteration. */
static const char *const WAYS[][4] = {
    { "run.method=tce", "objective.selection=random" },
    { "run.method=tce", "policy.covariance=contextual", "critic.minibatches=3" },
    { "run.method=tce", "policy.covariance=diagonal", "objective.advantage=sum" },
    { "run.method=tce", "projection.kind=w2", "objective.advantage=reward" },
    { "run.method=tce", "projection.kind=frobenius", "critic.target=monte_carlo" },
    { "run.method=tce", "projection.kind=none", "projection.ratio_clip=0.1" },
    { "run.method=tce", "projection.entropy=at_least", "projection.entropy_schedule=linear" },
    { "run.method=bbrl", "policy.set_variance=true" },
    { "run.method=bbrl", "policy.covariance=diagonal", "critic.minibatches=3" },
    { "run.method=bbrl", "projection.kind=none", "projection.ratio_clip=0.1",
      "critic.value_clip=0.2" },
};
enum { N_WAYS = sizeof WAYS / sizeof WAYS[0], MOST_COLUMNS = 32 };

static void read_way(size_t way, settings *s)
{
    char *words[] = { (char *)(uintptr_t)WAYS[way][0],
                      "collect.episodes=7",
                      "collect.environments=3",
                      "collect.on_fault=drop",
                      "mp.n_basis=2",
                      "mp.tau=0.9",
                      "policy.hidden=[8, 8]",
                      "critic.hidden=[8]",
                      "policy.epochs=3",
                      "critic.epochs=3" };
    ok(settings_read(s, METHODS, NULL, sizeof words / sizeof words[0], words));
    for (size_t k = 1; k < 4; k++)
        if (WAYS[way][k])
            ok(settings_override(s, WAYS[way][k]));
}

START_TEST(iterations_take_no_memory)
{
    static settings s;
    const task from = { .vtable = &TOY_walker };
    double values[MOST_COLUMNS], seconds[8];
    const char *const *names;
    progress made = { .values = values, .seconds = seconds };
    tce_pool *pool = test_pool(2);
    void *l;
    read_way((size_t)_i, &s);
    const method_context context = { &s, &from, pool };
    const method *way = method_of(&s);
    ok(way->create(&context, &l));
    ck_assert_uint_le(way->columns(l, &names), MOST_COLUMNS);
    ok(way->iterate(l, 1, &made));
    iterations_without_requests(way, l, 2, 6, &made);
    way->destroy(l);
    tce_pool_free(pool);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("update");
    TCase *reports = test_case(suite, "golden", 0);
    tcase_add_test(reports, losses_of_the_policy_are_means_over_its_epochs);
    tcase_add_test(reports, the_loss_of_the_critic_is_the_mean_over_its_epochs);
    tcase_add_test(reports, without_epochs_there_is_no_loss);
#ifdef COUNTS_REQUESTS
    TCase *memory = test_case(suite, "memory", 120);
    tcase_add_loop_test(memory, iterations_take_no_memory, 0, N_WAYS);
#endif

    return test_run(suite);
}
