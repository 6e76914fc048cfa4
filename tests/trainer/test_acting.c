/*
 * Agents that act at every step: what becomes of inputs and outputs, their file, and evaluations of
 * them, whose episodes are the same however many environments there are.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/methods.h"
#include "support.h"
#include "toy.h"

enum { A = 2, O = 2 * A, T = 8, E = 7 };

static const double LOW[A] = { -1.0, -0.5 }, HIGH[A] = { 1.0, 2.0 };

/* ---- a task: the toy by raw actions, which have to be in their range ------------------------- */

TOY(point, "raw=1 dof=2 steps=8 early=5 low=-1,-0.5 high=1,2")

static tce_status step_in_range(void *instance, const double *action, double *out_obs,
                                tce_env_result *out)
{
    for (int d = 0; d < A; d++)
        ck_assert(action[d] >= LOW[d] && action[d] <= HIGH[d]);
    return toy_step_action(instance, action, out_obs, out);
}

static tce_env_vtable point;

static void make_table(void)
{
    point = TOY_point;
    point.step_action = step_in_range;
}

/* Its description, which lasts as long as the instance that is returned. */
static void *describe(tce_env_spec *out)
{
    void *instance;
    *out = (tce_env_spec){ .struct_size = sizeof *out };
    ok(point.create(NULL, NULL, &instance));
    ok(point.spec(instance, out));
    return instance;
}

/* ---- an agent and its evaluation ------------------------------------------------------------- */

typedef struct fixture {
    settings s;
    agent agent;
    episodes ep;
    memory arrays;
} fixture;

/* With a normaliser that has seen something, and a policy with large outputs. */
static void make_agent(agent *a, const tce_env_spec *spec_, int32_t output)
{
    const int32_t hidden = 6;
    tce_policy_options policy;
    tce_normaliser_options normaliser;
    tce_random random;
    double seen[20 * O], *weights;
    agent_describe(a, spec_, "point", 0, 0);
    a->acts = 1;
    a->P = A;
    a->output = output;
    a->low = LOW;
    a->high = HIGH;
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = O;
    policy.n_dims = A;
    policy.form = TCE_POLICY_DIAGONAL_SHARED;
    policy.precision = TCE_NET_DOUBLE;
    policy.n_hidden = 1;
    policy.hidden = &hidden;
    ok(tce_policy_create(&policy, NULL, &a->policy));
    tce_random_start(&random, 1, PURPOSE_POLICY_START, 0, 0);
    ok(tce_policy_start(a->policy, &random));
    const size_t n_weights = tce_policy_n_weights(a->policy);
    weights = malloc(n_weights * sizeof *weights);
    ck_assert_ptr_nonnull(weights);
    tce_random_normals(&random, n_weights, weights);
    ok(tce_policy_set_weights(a->policy, weights));
    free(weights);

    tce_normaliser_options_init(&normaliser, sizeof normaliser);
    normaliser.n_columns = O;
    normaliser.clip = a->clip = 1.5;
    normaliser.epsilon = a->epsilon = 1e-8;
    ok(tce_normaliser_create(&normaliser, NULL, &a->normaliser));
    tce_random_normals(&random, 20 * O, seen);
    ok(tce_normaliser_update(a->normaliser, 20, seen, NULL));
}

static void begin(fixture *f, const char *task_options, int32_t n_envs, int32_t on_fault)
{
    const task t = { .vtable = &point };
    const episodes_options options = { E, n_envs, PURPOSE_EVAL_ENV, "eval_", NULL };
    memset(f, 0, sizeof *f);
    ok(settings_init(&f->s, METHODS, NULL));
    f->s.collect.on_fault = on_fault;
    snprintf(f->s.task.options, sizeof f->s.task.options, "%s", task_options);
    ok(episodes_create(&f->ep, &t, &f->s, NULL, &options));
    make_agent(&f->agent, f->ep.spec, AGENT_CLIP);
    ok(episodes_allocate(&f->ep, &f->agent, &f->arrays));
    ck_assert_double_eq_tol(f->arrays.bytes, episodes_bytes(f->ep.spec, &f->agent, E, n_envs),
                            4096.0);
}

static void end(fixture *f)
{
    episodes_free(&f->ep);
    agent_close(&f->agent);
    memory_free(&f->arrays);
}

/* The action of one state, written out. */
static void act_by_hand(const agent *a, const double *obs, double *out)
{
    double mean[O], variance[O], inputs[O], scale[A];
    tce_normaliser_statistics(a->normaliser, mean, variance, NULL);
    for (int k = 0; k < O; k++) {
        inputs[k] = (obs[k] - mean[k]) / sqrt(variance[k] + a->epsilon);
        inputs[k] = fmin(fmax(inputs[k], -a->clip), a->clip);
    }
    ok(tce_policy_predict(a->policy, 1, inputs, out, scale));
    for (int d = 0; d < A; d++)
        out[d] = a->output == AGENT_CLIP ? fmin(fmax(out[d], LOW[d]), HIGH[d])
                                         : LOW[d] + (tanh(out[d]) + 1.0) / 2.0 * (HIGH[d] - LOW[d]);
}

START_TEST(inputs_are_normalised_and_outputs_kept_in_their_range)
{
    enum { N = 9 };
    const int32_t forms[] = { AGENT_CLIP, AGENT_TANH };
    tce_env_spec of_task;
    void *instance = describe(&of_task);
    for (int k = 0; k < 2; k++) {
        agent a;
        double obs[N * O], out[N * A], want[A];
        int n_bounded = 0;
        make_agent(&a, &of_task, forms[k]);
        for (int i = 0; i < N * O; i++)
            obs[i] = 2.0 * sin(3.0 * i);
        double *work = malloc(agent_work(&a, N) * sizeof *work);
        ck_assert_ptr_nonnull(work);
        ok(agent_act(&a, N, obs, 0.3, work, out));
        for (int i = 0; i < N; i++) {
            act_by_hand(&a, obs + i * O, want);
            for (int d = 0; d < A; d++) {
                ck_assert_double_eq_tol(out[i * A + d], want[d], 1e-12);
                n_bounded += want[d] == LOW[d] || want[d] == HIGH[d];
            }
        }
        ck_assert_int_eq(n_bounded > 0 && n_bounded < N * A, forms[k] == AGENT_CLIP);
        free(work);
        agent_close(&a);
    }
    point.destroy(instance);
}
END_TEST

START_TEST(an_evaluation_is_what_the_agent_does_in_each_episode)
{
    fixture f;
    void *twin;
    double means[4], sum = 0.0;
    ok(point.create(NULL, NULL, &twin));
    begin(&f, "", 3, TCE_ROLLOUT_FAIL);
    for (uint64_t number = 4; number < 6; number++) {
        ok(episodes_collect(&f.ep, number, 0, NULL, NULL));
        sum = 0.0;
        for (size_t e = 0; e < E; e++) {
            double obs[O], action[A], metrics[2], total = 0.0;
            tce_random random;
            int over = 0;
            int32_t n = 0;
            tce_random_start(&random, f.s.run.seed, PURPOSE_EVAL_ENV, e, number);
            ok(point.reset(twin, &random, obs, NULL, NULL));
            for (size_t t = 0; t < T; t++) {
                const double *row = f.ep.obs + (e * (T + 1) + t) * O;
                for (int k = 0; k < O; k++)
                    ck_assert_double_eq_tol(row[k], obs[k], 1e-12);
                tce_env_result result = { 0 };
                if (!over) {
                    act_by_hand(&f.agent, obs, action);
                    ok(point.step_action(twin, action, obs, &result));
                    over = result.terminated || t == T - 1;
                    total += result.reward;
                    n++;
                }
                ck_assert_double_eq_tol(f.ep.rewards[e * T + t], result.reward, 1e-12);
                ck_assert_int_eq(f.ep.dones[e * T + t], over);
            }
            ck_assert_int_eq(f.ep.lengths[e], n);
            ck_assert_double_eq_tol(f.ep.returns[e], total, 1e-12);
            ok(point.metrics(twin, metrics));
            for (int m = 0; m < 2; m++)
                ck_assert_double_eq_tol(f.ep.results[2 * e + m], metrics[m], 1e-12);
            sum += total;
        }
        episodes_report(&f.ep, means);
        ck_assert_double_eq_tol(means[0], sum / E, 1e-12);
    }
    double velocity[T];
    ck_assert_int_eq(episodes_desired_velocity(&f.ep, 0, velocity), 0);
    ck_assert_int_eq(episodes_measured_velocity(&f.ep, 0, velocity), 0);
    point.destroy(twin);
    end(&f);
}
END_TEST

START_TEST(the_number_of_environments_does_not_show)
{
    fixture one, many;
    begin(&one, "", 1, TCE_ROLLOUT_FAIL);
    ok(episodes_collect(&one.ep, 2, 0, NULL, NULL));
    for (int32_t n_envs = 2; n_envs <= E; n_envs++) {
        begin(&many, "", n_envs, TCE_ROLLOUT_FAIL);
        ok(episodes_collect(&many.ep, 2, 0, NULL, NULL));
        for (size_t e = 0; e < E; e++) {
            ck_assert_mem_eq(one.ep.obs + e * (T + 1) * O, many.ep.obs + e * (T + 1) * O,
                             O * sizeof(double));
            ck_assert_double_eq_tol(one.ep.returns[e], many.ep.returns[e], 1e-12);
            ck_assert_int_eq(one.ep.lengths[e], many.ep.lengths[e]);
        }
        end(&many);
    }
    end(&one);
}
END_TEST

START_TEST(an_agent_that_acts_is_evaluated_in_more_environments_than_it_was_trained_in)
{
    settings s = { .collect = { .environments = 1 } };
    const agent acts = { .acts = 1 }, plans = { .acts = 0 };
    ck_assert_int_eq(evaluation_environments(&s, &acts), 16);
    ck_assert_int_eq(evaluation_environments(&s, &plans), 1);
    s.collect.environments = 38;
    ck_assert_int_eq(evaluation_environments(&s, &acts), 38);
    ck_assert_int_eq(evaluation_environments(&s, &plans), 38);
}
END_TEST

typedef struct viewer {
    size_t n;
    double sum;
} viewer;

static tce_status look(void *context, void *instance, size_t t, double reward)
{
    viewer *v = context;
    ck_assert_int_eq(((const toy *)instance)->step, (int)t);
    v->n++;
    v->sum += reward;
    return TCE_OK;
}

START_TEST(a_replayed_episode_is_the_one_that_was_evaluated)
{
    fixture f;
    double work[O + 1];
    void *instance = NULL;
    begin(&f, "", 3, TCE_ROLLOUT_FAIL);
    ok(point.create(NULL, NULL, &instance));
    ok(episodes_collect(&f.ep, 2, 0, NULL, NULL));
    for (size_t e = 0; e < E; e++) {
        viewer v = { 0 };
        ok(collect_replay(&f.ep, e, instance, work, look, &v));
        ck_assert_uint_eq(v.n, (size_t)f.ep.lengths[e] + 1);
        ck_assert_double_eq_tol(v.sum, f.ep.returns[e], 1e-12);
    }
    point.destroy(instance);
    end(&f);
}
END_TEST

START_TEST(a_lost_episode_is_left_out_or_an_error)
{
    fixture f;
    size_t n_lost = 0;
    begin(&f, "slips=3", 3, TCE_ROLLOUT_DROP);
    ok(episodes_collect(&f.ep, 2, 0, NULL, NULL));
    for (size_t e = 0; e < E; e++) {
        const double *obs = f.ep.obs + e * (T + 1) * O;
        const int lost = obs[A] < 0.4; /* the goal */
        ck_assert_int_eq(f.ep.lengths[e] == 0, lost);
        for (size_t t = 0; lost && t < T; t++) {
            ck_assert_double_eq(f.ep.rewards[e * T + t], 0.0);
            ck_assert_mem_eq(obs + (t + 1) * O, obs, O * sizeof *obs);
        }
        n_lost += (size_t)lost;
    }
    ck_assert_uint_gt(n_lost, 0);
    ck_assert_uint_lt(n_lost, E);
    ck_assert_uint_eq(f.ep.n_dropped, n_lost);
    end(&f);
    begin(&f, "slips=3", 3, TCE_ROLLOUT_FAIL);
    fails(episodes_collect(&f.ep, 2, 0, NULL, NULL), TCE_E_ENV, "environment ");
    end(&f);
}
END_TEST

/* ---- its file -------------------------------------------------------------------------------- */

static tce_store *store_of(const agent *a)
{
    tce_store *store;
    ok(tce_store_create(NULL, &store));
    ok(agent_save(a, store));
    return store;
}

/* What opening the file says when an array of it is another one. */
static void refused(const agent *a, const char *name, int32_t type, size_t n, const void *data,
                    tce_status status, const char *part)
{
    agent back;
    tce_store *store = store_of(a);
    ok(tce_store_put(store, name, type, n > 1 ? 1 : 0, &n, data));
    fails(agent_open(&back, store, 1, NULL), status, part);
    agent_close(&back);
    tce_store_free(store);
}

START_TEST(an_agent_that_acts_comes_back_from_its_file)
{
    static const int32_t FORM = 7;
    static const double NUMBERS[] = { 0.0, 0.0, 0.0 }, HIGH_TOO_LOW[] = { 1.0, -0.5 },
                        INFINITE[] = { -1.0, -INFINITY };
    tce_env_spec of_task;
    void *instance = describe(&of_task);
    for (int32_t form = AGENT_CLIP; form <= AGENT_TANH; form++) {
        agent a, back;
        double obs[O] = { 0.3, -2.0, 0.7, 0.1 }, out[2][A], work[64];
        make_agent(&a, &of_task, form);
        ck_assert_uint_le(agent_work(&a, 1), 64);
        tce_store *store = store_of(&a);
        ok(agent_open(&back, store, 1, NULL));
        ok(agent_check_task(&back, &of_task, "point"));
        ck_assert_int_eq(back.acts, 1);
        ok(agent_act(&a, 1, obs, 0.0, work, out[0]));
        ok(agent_act(&back, 1, obs, 0.0, work, out[1]));
        ck_assert_mem_eq(out[0], out[1], sizeof out[0]);

        /* the task has changed since */
        tce_env_spec other = of_task;
        other.n_action = A + 1;
        fails(agent_check_task(&back, &other, "point"), TCE_E_SHAPE, "2 numbers in an action");
        agent_close(&back);
        tce_store_free(store);
        agent_close(&a);
    }

    /* parts that do not fit each other */
    agent a;
    make_agent(&a, &of_task, AGENT_CLIP);
    refused(&a, "output.form", TCE_STORE_I32, 1, &FORM, TCE_E_VALUE, "output.form = 7");
    refused(&a, "output.low", TCE_STORE_F64, 3, NUMBERS, TCE_E_SHAPE, "output.low");
    refused(&a, "output.high", TCE_STORE_F64, 2, HIGH_TOO_LOW, TCE_E_VALUE, "output.low[1] = -0.5");
    refused(&a, "output.low", TCE_STORE_F64, 2, INFINITE, TCE_E_VALUE, "output.low[1] = -inf");
    refused(&a, "input.normaliser.mean", TCE_STORE_F64, 2, NUMBERS, TCE_E_SHAPE, "mean");
    refused(&a, "input.clip", TCE_STORE_F64, 1, &INFINITE[0], TCE_E_VALUE, "clip");
    agent_close(&a);
    point.destroy(instance);
}
END_TEST

START_TEST(a_policy_says_how_it_explored)
{
    enum { F = 6 };
    static const double STD[F * A] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8 };
    static const double BETA = 11.0;
    static const int32_t NUMBERS[2] = { 0, 4 };
    static const int64_t CHUNK = 1;
    const size_t shapes[2][2] = { { F, A + 1 }, { F - 1, A } };
    const exploration held = { .form = EXPLORATION_HELD, .every = 3, .n_features = F, .std = STD };
    const exploration coloured = {
        .form = EXPLORATION_COLOURED, .beta = 0.5, .chunk = 20, .max_period = 7
    };
    tce_env_spec of_task;
    void *instance = describe(&of_task);
    agent a, back;
    make_agent(&a, &of_task, AGENT_CLIP);

    a.exploration = held;
    tce_store *store = store_of(&a);
    ok(agent_open(&back, store, 1, NULL));
    ck_assert_int_eq(back.exploration.form, EXPLORATION_HELD);
    ck_assert_int_eq(back.exploration.every, 3);
    ck_assert_uint_eq(back.exploration.n_features, F);
    ck_assert_mem_eq(back.exploration.std, STD, sizeof STD);
    agent_close(&back);
    for (int k = 0; k < 2; k++) {
        const double numbers[F * (A + 1)] = { 0.0 };
        ok(tce_store_put(store, "exploration.std", TCE_STORE_F64, 2, shapes[k], numbers));
        fails(agent_open(&back, store, 1, NULL), TCE_E_SHAPE, "matrix of 6 times 2 numbers");
        agent_close(&back);
    }
    tce_store_free(store);
    refused(&a, "exploration.every", TCE_STORE_I32, 1, &NUMBERS[0], TCE_E_VALUE, "every = 0");
    refused(&a, "exploration.form", TCE_STORE_I32, 1, &NUMBERS[1], TCE_E_VALUE, "form = 4");

    a.exploration = coloured;
    store = store_of(&a);
    ok(agent_open(&back, store, 1, NULL));
    ck_assert_int_eq(back.exploration.form, EXPLORATION_COLOURED);
    ck_assert_double_eq(back.exploration.beta, 0.5);
    ck_assert_int_eq(back.exploration.chunk, 20);
    ck_assert_int_eq(back.exploration.max_period, 7);
    agent_close(&back);
    tce_store_free(store);
    refused(&a, "exploration.beta", TCE_STORE_F64, 1, &BETA, TCE_E_VALUE, "beta = 11");
    refused(&a, "exploration.chunk", TCE_STORE_I64, 1, &CHUNK, TCE_E_VALUE, "chunk = 1");
    agent_close(&a);
    point.destroy(instance);
}
END_TEST

int main(void)
{
    make_table();
    Suite *suite = suite_create("acting");
    TCase *property = test_case(suite, "property", 0);
    tcase_add_test(property, inputs_are_normalised_and_outputs_kept_in_their_range);
    tcase_add_test(property, an_evaluation_is_what_the_agent_does_in_each_episode);
    tcase_add_test(property, the_number_of_environments_does_not_show);
    tcase_add_test(property,
                   an_agent_that_acts_is_evaluated_in_more_environments_than_it_was_trained_in);
    tcase_add_test(property, a_replayed_episode_is_the_one_that_was_evaluated);
    tcase_add_test(property, an_agent_that_acts_comes_back_from_its_file);
    tcase_add_test(property, a_policy_says_how_it_explored);
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, a_lost_episode_is_left_out_or_an_error);

    return test_run(suite);
}
