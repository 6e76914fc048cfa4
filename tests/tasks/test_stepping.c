/*
 * Environments stepped by raw actions: what a learner is shown, streams, ends and faults; and that
 * a collection that is interrupted anywhere continues with the same bytes, in every task there is.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/stepping.h"
#include "methods/methods.h"
#include "support.h"
#include "task_suite.h"
#include "toy.h"

enum { N = 3, O = 2, A = 1, T = 6 };

/*
 * ---- tasks: the toy without states, in episodes that may end early, and one without raw actions
 * --
 */

TOY(counter, "raw=1 steps=6 early=3")
TOY(tracker, "steps=6")

static tce_env_vtable counter, tracker;

static void make_tables(void)
{
    counter = TOY_counter;
    counter.n_state = NULL;
    counter.get_state = NULL;
    counter.set_state = NULL;
    tracker = TOY_tracker;
    tracker.spec = toy_spec_of_tracker;
    tracker.step_action = NULL;
}

/* ---- a collection, and a learner that writes down what it sees ------------------------------- */

/* One step of one environment. */
typedef struct record {
    double obs[2], reached[2], next[2], action, reward;
    uint8_t terminated, truncated, lost;
} record;

typedef struct fixture {
    settings s;
    stepping st;
    memory arrays;
    size_t n;           /* steps seen */
    record seen[64][N]; /* of the counter */
    double sums[64];    /* of all that was seen in a step, for tasks of any size */
} fixture;

static void begin(fixture *f, const tce_env_vtable *vtable, const char *options, int32_t on_fault,
                  tce_pool *pool)
{
    const task t = { .vtable = vtable };
    const stepping_options stepping = { .n_envs = N, .purpose = PURPOSE_TRAIN_ENV };
    memset(f, 0, sizeof *f);
    ok(settings_init(&f->s, METHODS, NULL));
    f->s.collect.on_fault = on_fault;
    snprintf(f->s.task.options, sizeof f->s.task.options, "%s", options ? options : "");
    ok(stepping_create(&f->st, &t, &f->s, pool, &stepping));
    ok(stepping_allocate(&f->st, &f->arrays));
    ck_assert_double_eq(stepping_bytes(&f->st), f->arrays.bytes);
}

static void end(fixture *f)
{
    stepping_free(&f->st);
    memory_free(&f->arrays);
}

static tce_status choose(void *context, const stepping *st, const double *obs, double *out)
{
    (void)context;
    ck_assert_ptr_eq(obs, st->obs);
    stepping_white_noise(st, out);
    for (size_t k = 0; k < st->N * st->A; k++) {
        const double low = fmax(st->spec->action_low[k % st->A], -1.0);
        const double high = fmin(st->spec->action_high[k % st->A], 1.0);
        out[k] = low + 0.5 * (high - low) * (tanh(out[k]) + 1.0);
    }
    return TCE_OK;
}

static double sum_of(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += x[k] * (double)(k % 7 + 1);
    return sum;
}

static tce_status note(void *context, const stepping *st, const stepping_seen *what)
{
    fixture *f = context;
    double sum = sum_of(st->N * st->O, what->obs) + 3.0 * sum_of(st->N * st->O, what->reached) +
                 5.0 * sum_of(st->N * st->O, what->next) + sum_of(st->N, what->rewards);
    for (size_t i = 0; i < st->N; i++)
        sum += (double)(4 * what->terminated[i] + 2 * what->truncated[i] + what->lost[i]) *
               (double)(i + 1);
    f->sums[f->n % 64] = sum;
    for (size_t i = 0; st->vtable == &counter && f->n < 64 && i < N; i++) {
        record *r = &f->seen[f->n][i];
        memset(r, 0, sizeof *r);
        memcpy(r->obs, what->obs + i * O, sizeof r->obs);
        memcpy(r->reached, what->reached + i * O, sizeof r->reached);
        memcpy(r->next, what->next + i * O, sizeof r->next);
        r->action = what->actions[i];
        r->reward = what->rewards[i];
        r->terminated = what->terminated[i];
        r->truncated = what->truncated[i];
        r->lost = what->lost[i];
    }
    f->n++;
    return TCE_OK;
}

static stepping_learner learner_of(fixture *f)
{
    return (stepping_learner){ f, choose, note };
}

/* The twin of environment i at the start of its episode k. */
static void twin_begins(const fixture *f, void *twin, size_t i, uint64_t k, double *out_obs)
{
    tce_random random;
    tce_random_start(&random, f->s.run.seed, PURPOSE_TRAIN_ENV, i, k);
    ok(counter.reset(twin, &random, out_obs, NULL, NULL));
}

/* ---- what is seen ---------------------------------------------------------------------------- */

START_TEST(what_is_seen_is_what_the_environments_did)
{
    fixture *f = malloc(sizeof *f);
    const stepping_learner learner = learner_of(f);
    double out[4], returns = 0.0, lengths = 0.0, successes = 0.0, distances = 0.0;
    int n_ended = 0, n_terminated = 0, fresh;

    begin(f, &counter, NULL, TCE_ROLLOUT_FAIL, NULL);
    ok(stepping_begin(&f->st, &fresh));
    ck_assert_int_eq(fresh, 1);
    ok(stepping_begin(&f->st, &fresh));
    ck_assert_int_eq(fresh, 0);
    ok(stepping_run(&f->st, 25, &learner));
    ok(stepping_run(&f->st, 15, &learner));
    ck_assert_uint_eq(f->n, 40);
    for (size_t i = 0; i < N; i++) {
        double obs[O], metrics[2], total = 0.0;
        uint64_t k = 0;
        int step = 0;
        void *twin;
        ok(counter.create(NULL, NULL, &twin));
        twin_begins(f, twin, i, 0, obs);
        for (size_t t = 0; t < f->n; t++) {
            const record *r = &f->seen[t][i];
            tce_env_result result = { 0 };
            ck_assert_mem_eq(r->obs, obs, sizeof obs);
            ok(counter.step_action(twin, &r->action, obs, &result));
            total += result.reward;
            step++;
            ck_assert_double_eq(r->reward, result.reward);
            ck_assert_mem_eq(r->reached, obs, sizeof obs);
            ck_assert_int_eq(r->terminated, result.terminated);
            ck_assert_int_eq(r->truncated, step == T);
            ck_assert_int_eq(r->lost, 0);
            n_terminated += r->terminated;
            if (r->terminated || r->truncated) {
                ok(counter.metrics(twin, metrics));
                n_ended++;
                returns += total;
                lengths += step;
                successes += metrics[0];
                distances += metrics[1];
                total = 0.0;
                step = 0;
                twin_begins(f, twin, i, ++k, obs);
            }
            ck_assert_mem_eq(r->next, obs, sizeof obs);
        }
        counter.destroy(twin);
    }
    ck_assert_int_gt(n_terminated, 0);
    ck_assert_int_lt(n_terminated, n_ended);

    /* the report, once */
    ck_assert_int_eq(f->st.n_steps, 40 * N);
    ck_assert_int_eq(f->st.n_ended, n_ended);
    ck_assert_str_eq(f->st.names[0], "return");
    ck_assert_str_eq(f->st.names[1], "success");
    ck_assert_str_eq(f->st.names[2], "distance");
    ck_assert_str_eq(f->st.names[3], "length");
    stepping_report(&f->st, out);
    ck_assert_double_eq_tol(out[0], returns / n_ended, 1e-12);
    ck_assert_double_eq_tol(out[1], successes / n_ended, 1e-12);
    ck_assert_double_eq_tol(out[2], distances / n_ended, 1e-12);
    ck_assert_double_eq_tol(out[3], lengths / n_ended, 1e-12);
    stepping_report(&f->st, out);
    ck_assert(isnan(out[0]) && isnan(out[1]) && isnan(out[2]) && isnan(out[3]));
    ck_assert_int_eq(f->st.n_steps, 0);
    end(f);
    free(f);
}
END_TEST

START_TEST(a_lost_step_is_no_transition_and_its_environment_begins_again)
{
    fixture *f = malloc(sizeof *f);
    const stepping_learner learner = learner_of(f);
    int n_lost = 0;

    const char *const faults = "lost=11 stuck=4";
    begin(f, &counter, faults, TCE_ROLLOUT_DROP, NULL);
    ok(stepping_run(&f->st, 40, &learner));
    for (size_t i = 0; i < N; i++) {
        int lost = 0;
        for (size_t t = 0; t + 1 < f->n; t++) {
            const record *r = &f->seen[t][i];
            ck_assert_mem_eq(r->next, f->seen[t + 1][i].obs, sizeof r->next);
            if (!r->lost)
                continue;
            lost++;
            ck_assert_double_eq(r->reward, 0.0);
            ck_assert(r->terminated && !r->truncated);
            ck_assert_mem_eq(r->reached, r->obs, sizeof r->obs);
        }
        /* every eleventh of its life, and one where its fourth episode could not begin */
        ck_assert_int_eq(lost, (40 + (int)i) / 11 + 1);
        n_lost += lost;
    }
    ck_assert_int_eq(f->st.n_dropped, n_lost);
    end(f);

    /* the third environment is the oldest */
    begin(f, &counter, faults, TCE_ROLLOUT_FAIL, NULL);
    const stepping_learner again = learner_of(f);
    fails(stepping_run(&f->st, 40, &again), TCE_E_ENV, "environment 2");
    end(f);

    /* when none is left there is an end */
    begin(f, &counter, "fault=never_begins", TCE_ROLLOUT_DROP, NULL);
    fails(stepping_run(&f->st, 1, &again), TCE_E_ENV, "environment ");
    end(f);
    free(f);
}
END_TEST

START_TEST(threads_do_not_show)
{
    fixture *one = malloc(sizeof *one), *many = malloc(sizeof *many);
    const stepping_learner first = learner_of(one), second = learner_of(many);

    tce_pool *pool = test_pool(3);
    begin(one, &counter, NULL, TCE_ROLLOUT_FAIL, NULL);
    begin(many, &counter, NULL, TCE_ROLLOUT_FAIL, pool);
    ok(stepping_run(&one->st, 60, &first));
    ok(stepping_run(&many->st, 60, &second));
    ck_assert_mem_eq(one->seen, many->seen, 60 * sizeof one->seen[0]);
    end(one);
    end(many);
    tce_pool_free(pool);
    free(one);
    free(many);
}
END_TEST

START_TEST(a_task_without_raw_actions_is_refused)
{
    const task t = { .vtable = &tracker };
    const stepping_options options = { N, PURPOSE_TRAIN_ENV };
    fixture *f = calloc(1, sizeof *f);

    ok(settings_init(&f->s, METHODS, NULL));
    fails(stepping_create(&f->st, &t, &f->s, NULL, &options), TCE_E_UNSUPPORTED,
          "takes no raw actions");
    stepping_free(&f->st);
    free(f);
}
END_TEST

/* ---- interruptions --------------------------------------------------------------------------- */

/* A checkpoint of one collection, into another one. */
static void hand_over(const fixture *from, fixture *to)
{
    tce_store *store;
    ok(tce_store_create(NULL, &store));
    ok(stepping_save(&from->st, store, "collect"));
    ok(stepping_load(&to->st, store, "collect"));
    tce_store_free(store);
    to->n = from->n;
}

/* n_steps steps as a whole, and interrupted after steps that are drawn, `often` of them. */
static void compare_interrupted(const tce_env_vtable *vtable, const char *options, int32_t on_fault,
                                int64_t n_steps, int often, uint64_t seed)
{
    fixture *whole = malloc(sizeof *whole), *part = malloc(sizeof *part),
            *other = malloc(sizeof *other);
    tce_random random;
    int64_t done = 0;

    tce_random_start(&random, seed, 2, 0, 0);
    begin(whole, vtable, options, on_fault, NULL);
    begin(part, vtable, options, on_fault, NULL);
    for (int k = 0; k <= often; k++) {
        const int64_t rest = n_steps - done;
        const int64_t n = k == often ? rest
                                     : (int64_t)tce_random_below(&random, (uint64_t)rest + 1);
        const stepping_learner a = learner_of(whole), b = learner_of(part);
        for (int64_t t = 0; t < n; t++) {
            ok(stepping_run(&whole->st, 1, &a));
            ok(stepping_run(&part->st, 1, &b));
            ck_assert_msg(memcmp(&whole->sums[(whole->n - 1) % 64], &part->sums[(part->n - 1) % 64],
                                 sizeof(double)) == 0,
                          "%s %s: step %d differs", vtable->name, options ? options : "",
                          (int)(done + t));
        }
        done += n;

        /* a new one continues from the checkpoint */
        begin(other, vtable, options, on_fault, NULL);
        hand_over(part, other);
        ck_assert_mem_eq(other->st.obs, part->st.obs, N * part->st.O * sizeof(double));
        ck_assert_mem_eq(other->st.returns, part->st.returns, N * sizeof(double));
        end(part);
        fixture *old = part;
        part = other;
        other = old;
    }
    ck_assert_mem_eq(whole->st.numbers, part->st.numbers, N * sizeof(uint64_t));
    ck_assert_mem_eq(whole->st.returns, part->st.returns, N * sizeof(double));
    end(whole);
    end(part);
    free(whole);
    free(part);
    free(other);
}

START_TEST(without_states_the_actions_lead_back)
{
    compare_interrupted(&counter, NULL, TCE_ROLLOUT_FAIL, 50, 8, (uint64_t)_i);
}
END_TEST

START_TEST(a_task_that_does_not_continue_is_refused)
{
    fixture *f = malloc(sizeof *f), *g = malloc(sizeof *g);
    const stepping_learner learner = learner_of(f);
    tce_store *store;

    begin(f, &counter, NULL, TCE_ROLLOUT_FAIL, NULL);
    ok(stepping_run(&f->st, 4, &learner));
    ok(tce_store_create(NULL, &store));
    ok(stepping_save(&f->st, store, "collect"));

    /* goals lie elsewhere now */
    begin(g, &counter, "target=0.5", TCE_ROLLOUT_FAIL, NULL);
    fails(stepping_load(&g->st, store, "collect"), TCE_E_STATE, "does not continue where it was");
    ck_assert_int_eq(g->st.begun, 0);
    end(g);

    /* damaged numbers are refused before anything is done */
    const int32_t lengths[N] = { 1, T, 1 };
    const size_t shape[1] = { N };
    ok(tce_store_put(store, "collect.lengths", TCE_STORE_I32, 1, shape, lengths));
    begin(g, &counter, NULL, TCE_ROLLOUT_FAIL, NULL);
    ck_assert_int_eq(stepping_load(&g->st, store, "collect"), TCE_E_CORRUPT);
    end(g);
    end(f);
    tce_store_free(store);
    free(f);
    free(g);
}
END_TEST

START_TEST(every_task_continues_where_it_was)
{
    const int quick = getenv("TCE_TEST_QUICK") != NULL;
    const tce_env_vtable *vtable = tce_env_library_at(task_library, (size_t)_i);
    if (!vtable || !vtable->step_action)
        return;
    const int is_metaworld = strncmp(vtable->name, "metaworld_", 10) == 0;
    const char *const options[] = { is_metaworld ? "profile=2" : NULL, "profile=3" };
    for (int k = 0; k < (is_metaworld ? 2 : 1); k++) {
        void *instance = task_create(vtable, options[k]);
        tce_env_spec out = { .struct_size = sizeof out };
        ok(vtable->spec(instance, &out));
        const int64_t n_steps = quick ? 8 : out.n_steps + out.n_steps / 3;
        vtable->destroy(instance);
        if (out.n_action > 0)
            compare_interrupted(vtable, options[k], TCE_ROLLOUT_FAIL, n_steps, 3, (uint64_t)_i);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stepping");
    TCase *property = task_case(suite, "property", 300);

    make_tables();
    tcase_add_test(property, what_is_seen_is_what_the_environments_did);
    tcase_add_test(property, a_lost_step_is_no_transition_and_its_environment_begins_again);
    tcase_add_test(property, threads_do_not_show);
    tcase_add_test(property, a_task_without_raw_actions_is_refused);
    tcase_add_loop_test(property, without_states_the_actions_lead_back, 0, 20);
    tcase_add_test(property, a_task_that_does_not_continue_is_refused);
    tcase_add_loop_test(property, every_task_continues_where_it_was, 0, 70);

    return test_run(suite);
}
