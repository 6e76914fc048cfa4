/*
 * hopper_jump and table_tennis from the task library: rules that hold in every episode, states that
 * go round, threads, refusals. The numbers of the originals are compared by `make replay`.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

#include "../../examples/tasks/hopper_jump.h"
#include "../../examples/tasks/shared/state_layout.h"
#include "../../examples/tasks/table_tennis.h"
#include "support.h"
#include "task_suite.h"

enum { MAX_OBS = 32, MAX_DOF = 7, MAX_STATE = 128, N_METRICS = 6 };

static const tce_env_vtable *hopper, *tennis;

static void find_tasks(void)
{
    hopper = task_find("hopper_jump");
    tennis = task_find("table_tennis");
}

/* An environment, its sizes, where it stands. */
typedef struct player {
    const tce_env_vtable *task;
    void *env;
    tce_env_spec spec;
    double obs[MAX_OBS], pos[MAX_DOF], vel[MAX_DOF];
} player;

static player open_player(const tce_env_vtable *task, const char *settings, uint64_t episode)
{
    player p = { .task = task,
                 .env = task_create(task, settings),
                 .spec = { .struct_size = sizeof p.spec } };
    tce_random random;
    ok(task->spec(p.env, &p.spec));
    tce_random_start(&random, 7, 1, 2, episode);
    ok(task->reset(p.env, &random, p.obs, p.pos, p.vel));
    return p;
}

static void close_player(player *p)
{
    p->task->destroy(p->env);
}

/* Torques that move things a good deal, the same for the same k. */
static tce_env_result act(player *p, size_t k)
{
    double action[MAX_DOF];
    tce_env_result result = { 0 };
    for (int i = 0; i < MAX_DOF; i++)
        action[i] = 0.6 * sin(0.13 * (double)k + 1.7 * i);
    ok(p->task->step_action(p->env, action, p->obs, &result));
    return result;
}

/* A step along the start position, the first joint moved by `shift`. */
static tce_env_result track(player *p, double shift)
{
    double pos[MAX_DOF];
    const double still[MAX_DOF] = { 0 };
    tce_env_result result = { 0 };
    memcpy(pos, p->pos, sizeof pos);
    pos[0] += shift;
    ok(p->task->step(p->env, pos, still, p->obs, &result));
    return result;
}

static void read_state(const player *p, double *out)
{
    ck_assert_uint_le(p->task->n_state(p->env), MAX_STATE);
    ok(p->task->get_state(p->env, out));
}

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(starts_lie_where_the_tasks_say)
{
    static const double LOW[] = { -2.6, -2.0, -2.8, -0.9, -4.8, -1.6, -2.2 },
                        HIGH[] = { 2.6, 2.0, 2.8, 3.1, 1.3, 1.6, 2.2 };
    for (uint64_t episode = 0; episode < 50; episode++) {
        player h = open_player(hopper, NULL, episode);
        ck_assert(h.obs[0] == 0.0 && h.obs[1] == 1.5 && h.obs[2] == 0.0);
        ck_assert(h.obs[3] >= -0.5 && h.obs[3] < 0.0 && h.obs[4] >= -0.2 && h.obs[4] < 0.0 &&
                  h.obs[5] >= 0.0 && h.obs[5] < 0.785);
        ck_assert(h.obs[15] >= 0.3 && h.obs[15] < 1.35);
        ck_assert_mem_eq(h.pos, h.obs + 3, 3 * sizeof *h.pos);
        close_player(&h);

        player t = open_player(tennis, NULL, episode);
        ck_assert(t.obs[14] >= -1.0 && t.obs[14] <= -0.2074 && fabs(t.obs[15]) <= 0.6 &&
                  t.obs[16] == 1.75);
        ck_assert(t.obs[17] >= -1.0 && t.obs[17] < -0.2 && fabs(t.obs[18]) <= 0.65);
        for (int j = 0; j < MAX_DOF; j++)
            ck_assert(t.pos[j] == t.obs[j] && t.pos[j] >= LOW[j] && t.pos[j] <= HIGH[j] &&
                      t.obs[7 + j] == 0.0);
        close_player(&t);
    }
}
END_TEST

START_TEST(the_hopper_falls_for_250_steps_and_pays_at_the_end)
{
    player sparse = open_player(hopper, NULL, 3), dense = open_player(hopper, "dense=1", 3);
    double metrics[N_METRICS], least = HUGE_VAL;
    for (size_t k = 0; k < 250; k++) {
        const tce_env_result one = act(&sparse, k), two = act(&dense, k);
        ck_assert_mem_eq(sparse.obs, dense.obs, 16 * sizeof *sparse.obs);
        ck_assert(one.terminated == 0 && one.truncated == (k == 249) &&
                  two.truncated == (k == 249));
        ck_assert(k == 249 || (one.reward <= 0.0 && one.reward > -0.0011));
        least = fmin(least, sparse.obs[1]);
    }
    ok(hopper->metrics(sparse.env, metrics));
    ck_assert(metrics[0] > 1.49 && metrics[0] == metrics[2] && metrics[1] > 0.0 && least < 1.3);
    close_player(&sparse);
    close_player(&dense);
}
END_TEST

/*
 * Episodes of both lengths; a ball that nobody hits reaches the floor, where the terminal variant
 * ends for raw actions.
 */
START_TEST(tennis_ends_after_300_steps_and_the_terminal_variant_when_the_ball_is_down)
{
    player usual = open_player(tennis, NULL, 1), terminal = open_player(tennis, "terminal=1", 1);
    const double still[MAX_DOF] = { 0 };
    ck_assert_int_eq(usual.spec.n_steps, 300);
    ck_assert_int_eq(usual.spec.n_context, 11);
    ck_assert_int_eq(terminal.spec.n_steps, 350);
    ck_assert_int_eq(terminal.spec.n_context, 4);
    ck_assert_int_eq(terminal.spec.context[0], 14);
    for (size_t k = 0; k < 300; k++)
        ck_assert_int_eq(act(&usual, k).terminated, k == 299);

    tce_env_result result = { 0 };
    size_t n = 0;
    double earned = 0.0;
    for (; n < 350 && !result.terminated; n++) {
        ok(tennis->step_action(terminal.env, still, terminal.obs, &result));
        earned += result.reward;
    }
    ck_assert(result.terminated && n < 350 && result.reward == earned);
    ck_assert(result.event || (earned >= 0.0 && earned < 0.2));
    close_player(&usual);
    close_player(&terminal);
}
END_TEST

/*
 * The first joint's limit is 2.6: 0.7 beyond it costs 0.7 / 7 in this step, and steps back inside
 * cost nothing but earn nothing.
 */
START_TEST(a_path_outside_of_the_limits_pays_for_each_step_from_there)
{
    player p = open_player(tennis, NULL, 2);
    ck_assert(track(&p, 0.0).reward > 0.0);
    ck_assert_double_eq_tol(track(&p, 3.3 - p.pos[0]).reward, -0.1, 1e-12);
    ck_assert(track(&p, 0.0).reward == 0.0);
    close_player(&p);
}
END_TEST

START_TEST(a_path_refused_as_a_whole_returns_its_mean_excess)
{
    static const char *const SETTINGS[] = { "whole_path=1", "terminal=1" };
    for (int variant = 0; variant < 2; variant++) {
        player p = open_player(tennis, SETTINGS[variant], 2);
        const int n = p.spec.n_steps;
        double sum = 0.0, metrics[N_METRICS];
        for (int k = 0; k < n; k++) {
            /* outside for the last ten steps, long after the ball is down */
            const tce_env_result result = track(&p, k >= n - 10 ? 3.3 - p.pos[0] : 0.0);
            ck_assert_int_eq(result.terminated, k == n - 1);
            sum += result.reward;
        }
        ck_assert_double_eq_tol(sum, -0.1 * 10.0 / n, 1e-12);
        ok(tennis->metrics(p.env, metrics));
        ck_assert(metrics[0] == 0.0 && metrics[1] == 0.0 && metrics[2] == 0.0 &&
                  metrics[3] == 10.0 && metrics[4] == 1.0);
        close_player(&p);
    }
}
END_TEST

/*
 * A ball put at the bat. With markov=1 the step in which they part runs to the end; by then the
 * ball lies somewhere.
 */
START_TEST(the_markov_variant_pays_for_the_flight_at_once)
{
    static const double QPOS[TENNIS_NQ] = { 0, 0, 0, 1.5, 0, 0, 1.5, 1.5, 0.06, 0.92 };
    player p = open_player(tennis, "markov=1", 1);
    double state[MAX_STATE], metrics[N_METRICS];
    read_state(&p, state);
    state[STATE_DERIVE] = 1.0;
    memcpy(state + STATE_QPOS(table_tennis_state), QPOS, sizeof QPOS);
    memset(state + STATE_QPOS(table_tennis_state) + TENNIS_NQ, 0, TENNIS_NQ * sizeof *state);
    state[STATE_QPOS(table_tennis_state) + TENNIS_NQ + 8] = -3.0;
    ok(tennis->set_state(p.env, state, p.obs));
    tce_env_result result = { 0 };
    size_t n = 0;
    while (n < 300 && !result.truncated) {
        result = act(&p, n);
        n++;
    }
    ck_assert_uint_lt(n, 20);
    ck_assert(result.event && result.terminated && result.reward >= 2.0);
    ck_assert(p.obs[15] > 0.0 && p.obs[15] < 0.06);
    ok(tennis->metrics(p.env, metrics));
    ck_assert(metrics[1] == 1.0 && metrics[4] == 300.0);
    close_player(&p);
}
END_TEST

/* Beside the plain task, which is given no torque from the step on that leaves the floor. */
START_TEST(the_markov_hopper_flies_within_the_step_in_which_it_leaves_the_floor)
{
    static const double NO_TORQUE[HOPPER_NU] = { 0.0 };
    player plain = open_player(hopper, NULL, 3), markov = open_player(hopper, "markov=1", 3);
    tce_env_result one = { 0 }, two = { 0 };
    size_t n = 0;
    while (n < 250 && !two.terminated) {
        one = act(&plain, n);
        two = act(&markov, n);
        n++;
        ck_assert_int_eq(one.event, two.event);
        ck_assert_int_eq(two.terminated, two.event);
        if (!two.terminated)
            ck_assert(one.reward == two.reward);
    }
    ck_assert_uint_lt(n, 249);
    const double cost = one.reward;
    double metrics[2][N_METRICS];
    ck_assert_mem_eq(plain.obs, markov.obs, (size_t)plain.spec.n_obs * sizeof *plain.obs);
    for (; n < 250; n++) {
        tce_env_result result = { 0 };
        ok(hopper->step_action(plain.env, NO_TORQUE, plain.obs, &result));
        one = result;
    }
    ck_assert_double_eq_tol(two.reward, cost + one.reward, 1e-12);
    ok(hopper->metrics(plain.env, metrics[0]));
    ok(hopper->metrics(markov.env, metrics[1]));
    ck_assert_mem_eq(metrics[0], metrics[1], (size_t)plain.spec.n_metrics * sizeof(double));
    close_player(&plain);
    close_player(&markov);
}
END_TEST

static void goes_round(const tce_env_vtable *task, size_t before)
{
    player a = open_player(task, NULL, 5), b = open_player(task, NULL, 6);
    double state[MAX_STATE], again[MAX_STATE];
    const size_t n = task->n_state(a.env), n_obs = (size_t)a.spec.n_obs;
    for (size_t k = 0; k < before; k++)
        act(&a, k);
    read_state(&a, state);
    ok(task->set_state(b.env, state, b.obs));
    ck_assert_mem_eq(a.obs, b.obs, n_obs * sizeof *a.obs);
    read_state(&b, again);
    ck_assert_mem_eq(state, again, n * sizeof *state);
    for (size_t k = before; k < before + 60; k++) {
        const tce_env_result one = act(&a, k), two = act(&b, k);
        ck_assert_mem_eq(a.obs, b.obs, n_obs * sizeof *a.obs);
        ck_assert(one.reward == two.reward && one.event == two.event);
    }
    close_player(&a);
    close_player(&b);
}

/* From the start, in flight, and where things touch. */
START_TEST(a_state_taken_and_put_back_goes_on_to_the_same_bytes)
{
    for (size_t before = 0; before <= 80; before += 20) {
        goes_round(hopper, before);
        goes_round(tennis, before);
    }
}
END_TEST

START_TEST(one_thread_and_three_give_the_same_bytes)
{
    enum { T = 120 };
    double rewards[TASK_N_ENVS * T];
    for (int i = 0; i < 2; i++) {
        task_check_threads(i == 0 ? hopper : tennis, NULL, 1, T, 0.0, rewards);
        ck_assert(rewards[T - 1] != 0.0);
    }
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(a_wrong_option_is_named)
{
    task_refuses(hopper, "dense=0.5", TCE_E_VALUE, "must be 0 or 1");
    task_refuses(hopper, "sparse=1", TCE_E_VALUE, "dense");
    task_refuses(hopper, "dense=2", TCE_E_VALUE, "dense");
    task_refuses(tennis, "variant=1", TCE_E_VALUE, "terminal");
    task_refuses(tennis, "terminal=1 markov=1", TCE_E_VALUE, "markov");
    task_refuses(hopper, "dense=1 markov=1", TCE_E_VALUE, "markov");
}
END_TEST

START_TEST(a_missing_model_comes_with_the_remedy)
{
    setenv("TCE_MODELS", "/nowhere", 1);
    task_refuses(hopper, NULL, TCE_E_NOT_FOUND, "make deps");
    task_refuses(tennis, NULL, TCE_E_NOT_FOUND, "make deps");
}
END_TEST

START_TEST(what_is_not_finite_is_refused)
{
    for (int i = 0; i < 2; i++) {
        player p = open_player(i == 0 ? hopper : tennis, NULL, 1);
        double state[MAX_STATE], bad[MAX_DOF] = { 0.0, NAN };
        const double still[MAX_DOF] = { 0 };
        tce_env_result result = { 0 };
        ck_assert_int_eq(p.task->step_action(p.env, bad, p.obs, &result), TCE_E_VALUE);
        ck_assert_ptr_nonnull(strstr(tce_error_message(), "action[1]"));
        ck_assert_int_eq(p.task->step(p.env, bad, still, p.obs, &result), TCE_E_VALUE);
        ck_assert_int_eq(p.task->step(p.env, still, bad, p.obs, &result), TCE_E_VALUE);
        read_state(&p, state);
        state[2] = INFINITY;
        ck_assert_int_eq(p.task->set_state(p.env, state, p.obs), TCE_E_VALUE);
        ck_assert_ptr_nonnull(strstr(tce_error_message(), "state[2]"));
        close_player(&p);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hopper_and_tennis");
    TCase *property = task_case(suite, "property", 120);
    tcase_add_checked_fixture(property, find_tasks, NULL);
    tcase_add_test(property, starts_lie_where_the_tasks_say);
    tcase_add_test(property, the_hopper_falls_for_250_steps_and_pays_at_the_end);
    tcase_add_test(property,
                   tennis_ends_after_300_steps_and_the_terminal_variant_when_the_ball_is_down);
    tcase_add_test(property, a_path_outside_of_the_limits_pays_for_each_step_from_there);
    tcase_add_test(property, a_path_refused_as_a_whole_returns_its_mean_excess);
    tcase_add_test(property, the_markov_variant_pays_for_the_flight_at_once);
    tcase_add_test(property, the_markov_hopper_flies_within_the_step_in_which_it_leaves_the_floor);
    tcase_add_test(property, a_state_taken_and_put_back_goes_on_to_the_same_bytes);
    tcase_add_test(property, one_thread_and_three_give_the_same_bytes);

    TCase *errors = task_case(suite, "errors", 120);
    tcase_add_checked_fixture(errors, find_tasks, NULL);
    tcase_add_test(errors, a_wrong_option_is_named);
    tcase_add_test(errors, a_missing_model_comes_with_the_remedy);
    tcase_add_test(errors, what_is_not_finite_is_refused);

    return test_run(suite);
}
