/*
 * pendulum and context, the tasks for step-based methods that need no simulator: costs against
 * formulas written down a second time, ends, starts of the grid, states, pictures. The pendulum's
 * steps are compared with Gymnasium's by `make replay`.
 *
 * The task library is the one that TCE_TASKS names.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

#include "support.h"
#include "task_suite.h"

#define PI 3.14159265358979323846
/* Sums in another order, and sines of sums. */
#define ROUNDING 1e-12

enum { ANGLE, SPEED, STEP, N_STATE };
enum { MAX_OBS = 3, MAX_ACTION = 4 };

static const tce_env_vtable *task;
static void *env;
static double obs[MAX_OBS], pos[MAX_ACTION], vel[MAX_ACTION];
static tce_env_result result;

static void make(const char *name, const char *settings)
{
    task = task_find(name);
    env = task_create(task, settings);
}

static void make_pendulum(void)
{
    make("pendulum", NULL);
}

static void make_context(void)
{
    make("context", NULL);
}

static void drop(void)
{
    task->destroy(env);
}

/* An episode of the stream with these counters. */
static void reset(uint64_t a, uint64_t b)
{
    tce_random random;
    tce_random_start(&random, 1, 2, a, b);
    memset(&result, 0, sizeof result);
    ok(task->reset(env, &random, obs, pos, vel));
}

static void act(const double *action)
{
    memset(&result, 0, sizeof result);
    ok(task->step_action(env, action, obs, &result));
}

/* ---- pendulum -------------------------------------------------------------------------------- */

static void put(double angle, double speed)
{
    const double state[N_STATE] = { angle, speed, 0.0 };
    ok(task->set_state(env, state, obs));
}

/* The angle between the rod and upright, whatever turns it has made: by its cosine. */
START_TEST(turns_do_not_count_in_the_cost_of_the_angle)
{
    const double still = 0.0;
    for (int turns = -3; turns <= 3; turns++)
        for (double angle = -3.1; angle < 3.1; angle += 0.2) {
            put(angle + 2.0 * PI * turns, 0.0);
            act(&still);
            ck_assert_double_eq_tol(sqrt(-result.reward), acos(cos(angle)), 1e-9);
        }
    /* hanging, from either side */
    put(PI, 0.0);
    act(&still);
    ck_assert_double_eq_tol(result.reward, -PI * PI, 1e-9);
    put(-PI, 0.0);
    act(&still);
    ck_assert_double_eq_tol(result.reward, -PI * PI, 1e-9);
}
END_TEST

START_TEST(an_observation_has_the_direction_and_the_speed)
{
    put(0.7, -1.5);
    ck_assert_double_eq_tol(obs[0], cos(0.7), ROUNDING);
    ck_assert_double_eq_tol(obs[1], sin(0.7), ROUNDING);
    ck_assert_double_eq(obs[2], -1.5);
}
END_TEST

START_TEST(a_pendulum_runs_two_hundred_steps_and_is_cut)
{
    const double push = 1.0;
    reset(0, 0);
    for (int t = 1; t <= 200; t++) {
        act(&push);
        ck_assert_int_eq(result.terminated, 0);
        ck_assert_int_eq(result.truncated, t == 200);
    }
    fails(task->step_action(env, &push, obs, &result), TCE_E_STATE, "reset it");
    reset(0, 1);
    act(&push);
}
END_TEST

START_TEST(starts_of_the_pendulum_are_spread_over_their_ranges)
{
    enum { N = 4000 };
    double state[N_STATE], sum[2] = { 0 }, sum2[2] = { 0 };
    for (int k = 0; k < N; k++) {
        reset((uint64_t)k % 16, (uint64_t)k / 16);
        ok(task->get_state(env, state));
        ck_assert(fabs(state[ANGLE]) <= PI && fabs(state[SPEED]) <= 1.0);
        for (int i = 0; i < 2; i++) {
            sum[i] += state[i] / N;
            sum2[i] += state[i] * state[i] / N;
        }
    }
    /* mean 0 and variance h^2 / 3 of a uniform number in +-h, to five standard errors */
    const double half[2] = { PI, 1.0 };
    for (int i = 0; i < 2; i++) {
        const double variance = half[i] * half[i] / 3.0;
        ck_assert_double_eq_tol(sum[i], 0.0, 5.0 * sqrt(variance / N));
        ck_assert_double_eq_tol(sum2[i], variance, 5.0 * variance * sqrt(0.8 / N));
    }
}
END_TEST

/* Which of the n starts this is; each may be met once. */
static void tick_off(size_t n, const double starts[][2], double x, double y, int *seen)
{
    for (size_t k = 0; k < n; k++)
        if (fabs(starts[k][0] - x) < 1e-9 && fabs(starts[k][1] - y) < 1e-9) {
            ck_assert_int_eq(seen[k], 0);
            seen[k] = 1;
            return;
        }
    ck_abort_msg("(%g, %g) is not a start of the grid", x, y);
}

START_TEST(an_evaluation_of_fifty_episodes_is_the_grid_of_starts)
{
    double starts[50][2], state[N_STATE];
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 5; j++) {
            starts[5 * i + j][0] = -PI + (i + 0.5) * PI / 5.0;
            starts[5 * i + j][1] = 0.4 * (j - 2);
        }
    drop();
    make("pendulum", "grid=1");
    for (uint64_t evaluation = 0; evaluation < 3; evaluation++) {
        int seen[50] = { 0 };
        for (uint64_t e = 0; e < 50; e++) {
            reset(e, evaluation);
            ok(task->get_state(env, state));
            tick_off(50, (const double(*)[2])starts, state[ANGLE], state[SPEED], seen);
        }
    }
    reset(0, 0);
    ok(task->get_state(env, state));
    ck_assert_double_eq_tol(state[ANGLE], -PI + PI / 10.0, ROUNDING);
    ck_assert_double_eq_tol(state[SPEED], -0.8, ROUNDING);
}
END_TEST

enum { WIDTH = 96, HEIGHT = 96 };

/* Where the rod's blue is in a picture, in pixels from the middle: x to the right, y up. */
static void blue(const uint8_t *rgb, double *x, double *y)
{
    double n = 0.0;
    *x = *y = 0.0;
    for (int i = 0; i < WIDTH * HEIGHT; i++, rgb += 3)
        if (rgb[2] > 2 * rgb[0]) {
            *x += i % WIDTH - 0.5 * (WIDTH - 1);
            *y -= i / WIDTH - 0.5 * (HEIGHT - 1);
            n += 1.0;
        }
    ck_assert_double_gt(n, 100.0);
    *x /= n;
    *y /= n;
}

START_TEST(a_picture_of_the_pendulum_shows_its_angle)
{
    static uint8_t rgb[WIDTH * HEIGHT * 3];
    double x, y;
    for (double angle = -3.0; angle <= 3.0; angle += 0.5) {
        put(angle, 0.0);
        ok(task->render(env, WIDTH, HEIGHT, rgb));
        blue(rgb, &x, &y);
        ck_assert_double_eq_tol(remainder(atan2(-x, y) - angle, 2.0 * PI), 0.0, 0.05);
    }
}
END_TEST

/* ---- context --------------------------------------------------------------------------------- */

START_TEST(the_best_action_of_a_context_loses_nothing_and_ends_the_episode)
{
    for (uint64_t episode = 0; episode < 100; episode++) {
        reset(0, episode);
        const double c[2] = { obs[0], obs[1] };
        ck_assert(fabs(c[0]) <= 1.0 && fabs(c[1]) <= 1.0);
        const double best[4] = { 2.0 * c[0], 2.0 * c[1], 2.0 * c[0] * c[1], 1.0 - c[0] * c[0] };
        double action[4];
        for (int i = 0; i < 4; i++)
            action[i] = best[i] / 3.0;
        act(action);
        ck_assert_double_eq_tol(result.reward, 0.0, ROUNDING);
        ck_assert_int_eq(result.terminated, 1);
        fails(task->step_action(env, action, obs, &result), TCE_E_STATE, "reset it");

        /* and another one the square of what it misses */
        reset(0, episode);
        const double shift[4] = { 0.1, -0.2, 0.3, 0.05 };
        double want = 0.0;
        for (int i = 0; i < 4; i++) {
            action[i] += shift[i];
            const double w = 3.0 * fmin(fmax(action[i], -1.0), 1.0);
            want -= (w - best[i]) * (w - best[i]);
        }
        act(action);
        ck_assert_double_eq_tol(result.reward, want, ROUNDING);
    }
}
END_TEST

START_TEST(an_evaluation_of_forty_nine_episodes_is_the_grid_of_contexts)
{
    double starts[49][2];
    int seen[49] = { 0 };
    for (int k = 0; k < 49; k++) {
        starts[k][0] = 0.3 * (k / 7 - 3);
        starts[k][1] = 0.3 * (k % 7 - 3);
    }
    drop();
    make("context", "grid=1");
    for (uint64_t e = 0; e < 49; e++) {
        reset(e, 5);
        tick_off(49, (const double(*)[2])starts, obs[0], obs[1], seen);
    }
}
END_TEST

/* ---- both ------------------------------------------------------------------------------------ */

static const char *const NAMES[] = { "pendulum", "context" };

START_TEST(a_reset_depends_on_its_stream_alone)
{
    const double action[MAX_ACTION] = { 0.5, 0.5, 0.5, 0.5 };
    double first[MAX_OBS] = { 0 };
    make(NAMES[_i], NULL);
    memset(obs, 0, sizeof obs);
    reset(3, 11);
    memcpy(first, obs, sizeof first);
    act(action);
    reset(3, 12);
    ck_assert_mem_ne(first, obs, sizeof first);
    reset(3, 11);
    ck_assert_mem_eq(first, obs, sizeof first);
    drop();
}
END_TEST

START_TEST(a_state_put_back_goes_on_with_the_same_bytes)
{
    const double action[MAX_ACTION] = { 0.3, -0.2, 0.9, 0.1 };
    double kept[N_STATE], want[N_STATE], got[N_STATE], seen[MAX_OBS] = { 0 };
    make(NAMES[_i], NULL);
    ck_assert_uint_eq(task->n_state(env), N_STATE);
    memset(obs, 0, sizeof obs);
    reset(0, 1);
    ok(task->get_state(env, kept));
    memcpy(seen, obs, sizeof seen);
    act(action);
    const double reward = result.reward;
    ok(task->get_state(env, want));
    reset(0, 2);
    ok(task->set_state(env, kept, obs));
    ck_assert_mem_eq(obs, seen, sizeof seen);
    act(action);
    ok(task->get_state(env, got));
    ck_assert_mem_eq(got, want, sizeof want);
    ck_assert_double_eq(result.reward, reward);
    drop();
}
END_TEST

START_TEST(bad_options_are_refused_with_what_there_is)
{
    task_refuses(task_find(NAMES[_i]), "gird=1", TCE_E_VALUE, "there are: grid");
    task_refuses(task_find(NAMES[_i]), "grid=2", TCE_E_VALUE, "must be 0 or 1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step_tasks");

    TCase *pendulum = task_case(suite, "pendulum", 0);
    tcase_add_checked_fixture(pendulum, make_pendulum, drop);
    tcase_add_test(pendulum, turns_do_not_count_in_the_cost_of_the_angle);
    tcase_add_test(pendulum, an_observation_has_the_direction_and_the_speed);
    tcase_add_test(pendulum, a_pendulum_runs_two_hundred_steps_and_is_cut);
    tcase_add_test(pendulum, starts_of_the_pendulum_are_spread_over_their_ranges);
    tcase_add_test(pendulum, an_evaluation_of_fifty_episodes_is_the_grid_of_starts);
    tcase_add_test(pendulum, a_picture_of_the_pendulum_shows_its_angle);

    TCase *context = task_case(suite, "context", 0);
    tcase_add_checked_fixture(context, make_context, drop);
    tcase_add_test(context, the_best_action_of_a_context_loses_nothing_and_ends_the_episode);
    tcase_add_test(context, an_evaluation_of_forty_nine_episodes_is_the_grid_of_contexts);

    TCase *property = task_case(suite, "property", 60);
    tcase_add_loop_test(property, a_reset_depends_on_its_stream_alone, 0, 2);
    tcase_add_loop_test(property, a_state_put_back_goes_on_with_the_same_bytes, 0, 2);
    tcase_add_loop_test(property, bad_options_are_refused_with_what_there_is, 0, 2);

    return test_run(suite);
}
