/*
 * Collections of episodes: what an agent sees of an observation, what is told of an episode, and
 * episodes that are run again.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/methods.h"
#include "support.h"
#include "toy.h"

enum { D = 2, O = 3 * D, T = 6, E = 5, N = 2 };

/* A task whose resets depend on the episodes before; some end two steps early. */
TOY(walker, "dof=2 steps=6 velocity=1 early=4 fault=carries_state")

/* ---- a collection ---------------------------------------------------------------------------- */

typedef struct fixture {
    settings s;
    agent agent;
    episodes ep;
    memory arrays;
} fixture;

/* Environments, an agent with an untrained policy, and arrays. */
static void begin(fixture *f, int mask_context, int time_input)
{
    const task t = { .vtable = &TOY_walker };
    const episodes_options options = { E, N, PURPOSE_EVAL_ENV, "eval_", NULL };
    const int32_t hidden = 4;
    tce_mp_options mp;
    tce_policy_options policy;
    tce_random random;
    memset(f, 0, sizeof *f);
    ok(settings_init(&f->s, METHODS, NULL));
    ok(episodes_create(&f->ep, &t, &f->s, NULL, &options));
    agent_describe(&f->agent, f->ep.spec, "walker", mask_context, time_input);
    tce_mp_options_init(&mp, sizeof mp);
    mp.n_dof = D;
    mp.dt = f->ep.spec->dt;
    ok(tce_mp_create(&mp, NULL, &f->agent.mp));
    f->agent.P = tce_mp_n_params(f->agent.mp);
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = (int32_t)f->agent.O_net;
    policy.n_dims = (int32_t)f->agent.P;
    policy.n_hidden = 1;
    policy.hidden = &hidden;
    policy.max_batch = N;
    ok(tce_policy_create(&policy, NULL, &f->agent.policy));
    tce_random_start(&random, 1, PURPOSE_POLICY_START, 0, 0);
    ok(tce_policy_start(f->agent.policy, &random));
    ok(episodes_allocate(&f->ep, &f->agent, &f->arrays));
}

static void end(fixture *f)
{
    episodes_free(&f->ep);
    agent_close(&f->agent);
    memory_free(&f->arrays);
}

START_TEST(an_agent_sees_the_context_or_all_and_the_time)
{
    static const int32_t CONTEXT[] = { 4, 0 };
    const double obs[O] = { 1.0, 2.0, 3.0, 4.0, 5.0, 6.0 };
    double in[O + 1];
    fixture f;
    agent masked;
    begin(&f, 1, 1); /* a masked context has no time */
    tce_env_spec spec = *f.ep.spec;
    spec.context = CONTEXT;
    agent_describe(&masked, &spec, "walker", 1, 1);
    ck_assert_uint_eq(masked.O_net, 2);
    agent_input(&masked, obs, 0.5, in);
    ck_assert_double_eq(in[0], 5.0);
    ck_assert_double_eq(in[1], 1.0);
    end(&f);

    begin(&f, 0, 1);
    ck_assert_uint_eq(f.agent.O_net, O + 1);
    agent_input(&f.agent, obs, 0.5, in);
    ck_assert_mem_eq(in, obs, sizeof obs);
    ck_assert_double_eq(in[O], 0.5);
    end(&f);

    begin(&f, 0, 0);
    ck_assert_uint_eq(f.agent.O_net, O);
    end(&f);
}
END_TEST

START_TEST(an_agent_comes_back_from_its_store)
{
    fixture f;
    tce_store *store = NULL;
    agent back;
    double mean[2][64], factor[64 * 64];
    const double in[2] = { 0.5, -1.0 };
    begin(&f, 1, 0);
    ok(tce_store_create(NULL, &store));
    ok(agent_save(&f.agent, store));
    ok(agent_open(&back, store, 1, NULL));
    ok(agent_check_task(&back, f.ep.spec, "walker"));
    ck_assert_uint_le(back.P, 64);
    ok(tce_policy_predict(f.agent.policy, 1, in, mean[0], factor));
    ok(tce_policy_predict(back.policy, 1, in, mean[1], factor));
    ck_assert_mem_eq(mean[0], mean[1], back.P * sizeof(double));

    /* another task, other steps, other entries */
    tce_env_spec other = *f.ep.spec;
    fails(agent_check_task(&back, &other, "runner"), TCE_E_VALUE, "runner");
    other.n_steps++;
    fails(agent_check_task(&back, &other, "walker"), TCE_E_SHAPE, "6 steps");
    other = *f.ep.spec;
    other.dt = 0.2;
    fails(agent_check_task(&back, &other, "walker"), TCE_E_VALUE, "0.2 s");
    other = *f.ep.spec;
    other.n_context = 1;
    fails(agent_check_task(&back, &other, "walker"), TCE_E_SHAPE, "context");
    agent_close(&back);
    tce_store_free(store);
    end(&f);
}
END_TEST

START_TEST(a_collection_tells_of_its_episodes)
{
    fixture f;
    double means[4], velocity[T * D], sum = 0.0, lengths = 0.0;
    begin(&f, 0, 0);
    ok(episodes_collect(&f.ep, 3, 0, NULL, NULL));
    episodes_report(&f.ep, means);
    ck_assert_str_eq(f.ep.names[0], "eval_return");
    ck_assert_str_eq(f.ep.names[1], "eval_success");
    ck_assert_str_eq(f.ep.names[2], "eval_distance");
    ck_assert_str_eq(f.ep.names[3], "eval_length");
    for (size_t e = 0; e < E; e++) {
        const double goal = f.ep.obs[e * (T + 1) * O + 2 * D];
        ck_assert_int_eq(f.ep.lengths[e], goal > 0.6 ? T - 2 : T);
        sum += f.ep.returns[e];
        lengths += f.ep.lengths[e];
    }
    ck_assert(lengths > E * (T - 2) && lengths < E * T);
    ck_assert_double_eq_tol(means[0], sum / E, 1e-12);
    ck_assert_double_eq_tol(means[3], lengths / E, 1e-12);

    /* the walker does what it is told: a step later, what is measured is what was desired */
    double measured[T * D];
    episodes_desired_velocity(&f.ep, 0, velocity);
    ck_assert_int_eq(episodes_measured_velocity(&f.ep, 0, measured), 1);
    ck_assert_mem_eq(measured, velocity, (size_t)f.ep.lengths[0] * D * sizeof *measured);
    end(&f);
}
END_TEST

/* Parameter k of episode e, before it is squashed. */
static double drawn_parameter(size_t e, size_t k)
{
    return sin(1.0 + (double)e) + 0.1 * (double)k;
}

static tce_status draw(void *context, episodes *ep, size_t first, size_t n)
{
    *(size_t *)context += n;
    for (size_t e = first; e < first + n; e++)
        for (size_t k = 0; k < ep->P; k++)
            ep->params[e * ep->P + k] = drawn_parameter(e, k);
    return TCE_OK;
}

START_TEST(a_method_may_draw_parameters_itself)
{
    static double low[64], high[64];
    fixture f;
    size_t n_drawn = 0;
    begin(&f, 0, 0);
    for (size_t k = 0; k < f.agent.P; k++) {
        low[k] = -3.0;
        high[k] = 3.0;
    }
    f.agent.output = AGENT_TANH;
    f.agent.low = low;
    f.agent.high = high;
    f.ep.draw = draw;
    f.ep.draw_context = &n_drawn;
    ok(episodes_collect(&f.ep, 0, 1, NULL, NULL));
    ck_assert_uint_eq(n_drawn, E);
    for (size_t e = 0; e < E; e++)
        for (size_t k = 0; k < f.agent.P; k++)
            ck_assert_double_eq_tol(f.ep.params[e * f.agent.P + k],
                                    3.0 * tanh(drawn_parameter(e, k)), 1e-12);

    /* the mean is the policy's */
    ok(episodes_collect(&f.ep, 0, 0, NULL, NULL));
    ck_assert_uint_eq(n_drawn, E);
    for (size_t k = 0; k < E * f.agent.P; k++)
        ck_assert_double_eq_tol(f.ep.params[k], 3.0 * tanh(f.ep.mean[k]), 1e-12);
    end(&f);
}
END_TEST

START_TEST(an_evaluation_depends_on_its_number_and_on_none_before)
{
    fixture f;
    double *obs[2];
    const size_t n = E * (T + 1) * O;
    begin(&f, 0, 0);
    for (int k = 0; k < 2; k++) {
        ok(episodes_collect(&f.ep, 3, 0, NULL, NULL));
        obs[k] = malloc(n * sizeof(double));
        ck_assert_ptr_nonnull(obs[k]);
        memcpy(obs[k], f.ep.obs, n * sizeof(double));
        ok(episodes_collect(&f.ep, 8, 0, NULL, NULL));
        ck_assert_int_ne(memcmp(f.ep.obs, obs[k], n * sizeof(double)), 0);
    }
    ck_assert_mem_eq(obs[0], obs[1], n * sizeof(double));

    /* the first episode of the second environment, which adds 0.001 to its goal */
    tce_random random;
    tce_random_start(&random, f.s.run.seed, PURPOSE_EVAL_ENV, 1, 3);
    ck_assert_double_eq_tol(obs[0][(T + 1) * O + 2 * D], toy_draw(&random, 0) + 0.001, 1e-15);
    free(obs[0]);
    free(obs[1]);
    end(&f);
}
END_TEST

/* ---- replay ---------------------------------------------------------------------------------- */

typedef struct viewer {
    size_t n_seen;
    double sum;
} viewer;

static tce_status look(void *context, void *instance, size_t t, double reward)
{
    viewer *v = context;
    ck_assert_int_eq(((const toy *)instance)->step, (int)t);
    ck_assert_uint_eq(v->n_seen++, t);
    v->sum += reward;
    return TCE_OK;
}

START_TEST(a_replayed_episode_is_the_one_that_was_collected)
{
    fixture f;
    double work[O + 2 * D];
    void *instance = NULL;
    begin(&f, 0, 0);
    ok(TOY_walker.create(NULL, NULL, &instance));
    for (uint64_t number = 0; number < 2; number++) {
        ok(episodes_collect(&f.ep, number, 0, NULL, NULL));
        /* in any order: each begins with the state before the collection */
        for (size_t k = 0; k < E; k++) {
            const size_t e = 3 * k % E;
            viewer v = { 0 };
            ok(collect_replay(&f.ep, e, instance, work, look, &v));
            ck_assert_uint_eq(v.n_seen, (size_t)f.ep.lengths[e] + 1);
            ck_assert_double_eq(v.sum, f.ep.returns[e]);
        }
    }
    TOY_walker.destroy(instance);
    end(&f);
}
END_TEST

static tce_status refuse(void *context, void *instance, size_t t, double reward)
{
    (void)context, (void)instance, (void)reward;
    return t == 2 ? tce_fail(TCE_E_IO, "no more film") : TCE_OK;
}

START_TEST(a_viewer_that_fails_ends_the_replay)
{
    fixture f;
    double work[O + 2 * D];
    void *instance = NULL;
    begin(&f, 0, 0);
    ok(TOY_walker.create(NULL, NULL, &instance));
    ok(episodes_collect(&f.ep, 0, 0, NULL, NULL));
    fails(collect_replay(&f.ep, 0, instance, work, refuse, NULL), TCE_E_IO, "no more film");
    TOY_walker.destroy(instance);
    end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collect");
    TCase *property = test_case(suite, "property", 0);
    tcase_add_test(property, an_agent_sees_the_context_or_all_and_the_time);
    tcase_add_test(property, an_agent_comes_back_from_its_store);
    tcase_add_test(property, a_collection_tells_of_its_episodes);
    tcase_add_test(property, a_method_may_draw_parameters_itself);
    tcase_add_test(property, an_evaluation_depends_on_its_number_and_on_none_before);
    tcase_add_test(property, a_replayed_episode_is_the_one_that_was_collected);
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, a_viewer_that_fails_ends_the_replay);

    return test_run(suite);
}
