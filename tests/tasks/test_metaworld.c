/*
 * The Metaworld tasks: their formulas by themselves, rules that hold in every episode of every
 * task, what profile 2 carries from one episode to the next, states that go round, threads. The
 * numbers of the original are compared by `make replay` and `make check-oracle-metaworld`.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

#include "../../examples/tasks/metaworld/rewards.h"
#include "../../examples/tasks/metaworld/state.h"
#include "../../examples/tasks/shared/state_layout.h"
#include "support.h"
#include "task_suite.h"

/* Seconds a test may take: thirty-six models to compile where there is no cache yet. */
#define TIMEOUT 600

enum { N_TASKS = 50, MAX_STATE = 256, GOAL = 36 };

/* Episode number `episode` of an environment; pos [4] may be NULL. */
static void start(const tce_env_vtable *task, void *env, uint64_t episode, double *obs, double *pos)
{
    double own[MW_N_ACTION], vel[MW_N_ACTION];
    tce_random random;
    tce_random_start(&random, 7, 1, 2, episode);
    ck_assert_msg(task->reset(env, &random, obs, pos ? pos : own, vel) == TCE_OK, "%s: %s",
                  task->name, tce_error_message());
}

static tce_env_result act(const tce_env_vtable *task, void *env, size_t k, double *obs)
{
    const double action[MW_N_ACTION] = { sin(0.3 * (double)k), cos(0.2 * (double)k), -0.5, 1.2 };
    tce_env_result result = { 0 };
    ck_assert_msg(task->step_action(env, action, obs, &result) == TCE_OK, "%s: %s", task->name,
                  tce_error_message());
    return result;
}

static double success_of(const tce_env_vtable *task, void *env)
{
    double metrics[2];
    ok(task->metrics(env, metrics));
    return metrics[0];
}

/* ---- formulas -------------------------------------------------------------------------------- */

START_TEST(every_tolerance_is_one_inside_and_a_tenth_at_its_margin)
{
    const mw_sigmoid sigmoid = (mw_sigmoid)_i;
    ck_assert(mw_tolerance(sigmoid, 0.1, 0.1, 0.4, 0.2) == 1.0 &&
              mw_tolerance(sigmoid, 0.4, 0.1, 0.4, 0.2) == 1.0);
    ck_assert_double_eq_tol(mw_tolerance(sigmoid, 0.6, 0.1, 0.4, 0.2), 0.1, 1e-12);
    ck_assert_double_eq_tol(mw_tolerance(sigmoid, -0.1, 0.1, 0.4, 0.2), 0.1, 1e-12);
    ck_assert(mw_tolerance(sigmoid, 0.5, 0.1, 0.4, 0.0) == 0.0);
    ck_assert(isnan(mw_tolerance(sigmoid, 0.5, 0.1, 0.4, -0.1)) &&
              isnan(mw_tolerance(sigmoid, 0.5, 0.4, 0.1, 0.1)));
    double last = 1.0;
    for (double x = 0.4; x < 2.0; x += 0.01) {
        const double now = mw_tolerance(sigmoid, x, 0.1, 0.4, 0.2);
        ck_assert(now >= 0.0 && now <= last);
        last = now;
    }
}
END_TEST

START_TEST(the_hamacher_product_is_a_t_norm)
{
    for (double a = 0.0; a <= 1.0; a += 0.125) {
        ck_assert_double_eq_tol(mw_hamacher(a, 1.0), a, 1e-15);
        ck_assert(mw_hamacher(a, 0.0) == 0.0);
        for (double b = 0.0; b <= 1.0; b += 0.125)
            ck_assert(mw_hamacher(a, b) == mw_hamacher(b, a) &&
                      mw_hamacher(a, b) <= fmin(a, b) + 1e-15);
    }
    ck_assert(isnan(mw_hamacher(1.1, 0.5)) && isnan(mw_hamacher(0.5, -0.1)) &&
              isnan(mw_hamacher(NAN, 0.5)));
}
END_TEST

START_TEST(a_prism_counts_inside_of_its_box_only)
{
    const double zero[3] = { 1.0, 0.0, -1.0 }, one[3] = { 0.0, 2.0, 1.0 };
    ck_assert_double_eq_tol(mw_prism((const double[3]){ 0.5, 1.0, 0.0 }, zero, one), 0.125, 1e-15);
    ck_assert(mw_prism(zero, zero, one) == 0.0 && mw_prism(one, zero, one) == 1.0);
    ck_assert(mw_prism((const double[3]){ 1.1, 1.0, 0.0 }, zero, one) == 1.0);
    ck_assert(mw_funnel(0.1, 0.1, 0.5, 2.0) == 0.0);
    ck_assert_double_eq_tol(mw_funnel(0.1 + exp(1.0), 0.1, 0.5, 2.0), 2.5, 1e-12);
}
END_TEST

/* Quaternions of turns about an axis, all four branches of the formula. */
START_TEST(a_matrix_gives_the_quaternion_of_its_turn)
{
    for (int axis = 0; axis < 3; axis++)
        for (double angle = -3.0; angle <= 3.0; angle += 0.25) {
            const int j = (axis + 1) % 3, k = (axis + 2) % 3;
            double m[9] = { 0 }, q[4], size = 0.0;
            m[4 * axis] = 1.0;
            m[4 * j] = m[4 * k] = cos(angle);
            m[3 * k + j] = sin(angle);
            m[3 * j + k] = -sin(angle);
            mw_quaternion_xyzw(m, q);
            const double sign = q[3] * cos(angle / 2.0) + q[axis] * sin(angle / 2.0) < 0.0 ? -1.0
                                                                                           : 1.0;
            ck_assert_double_eq_tol(sign * q[axis], sin(angle / 2.0), 1e-12);
            ck_assert_double_eq_tol(sign * q[3], cos(angle / 2.0), 1e-12);
            for (int i = 0; i < 4; i++)
                size += q[i] * q[i];
            ck_assert_double_eq_tol(size, 1.0, 1e-12);
        }
}
END_TEST

/* A hand around an object, closing: as good as it gets; away from it, or open: less. */
START_TEST(a_cage_is_best_around_the_object_with_the_gripper_closing)
{
    const double object[3] = { 0.1, 0.6, 0.02 }, c0[3] = { 0.0, 0.6, 0.2 },
                 far[3] = { 0.3, 0.7, 0.2 };
    const double left[3] = { 0.1, 0.6 + 0.03, 0.02 }, right[3] = { 0.1, 0.6 - 0.03, 0.02 };
    const mw_cage_numbers plain = { 0.015, 0.05, 0.01, 0.005, 1.0, MW_PLAIN };
    mw_cage_numbers high = plain, medium = plain;
    mw_scene s = { .h = object,
                   .p = object,
                   .q = object,
                   .p2 = object,
                   .grip = 1.0,
                   .left = left,
                   .right = right,
                   .c0 = c0,
                   .o0 = object,
                   .T = far };
    memcpy(s.c, object, sizeof s.c);
    high.density = MW_HIGH;
    medium.density = MW_MEDIUM;
    ck_assert_double_eq_tol(mw_cage(&s, &plain, object, object), 1.0, 1e-12);
    ck_assert_double_eq_tol(mw_cage(&s, &high, object, object), 1.0, 1e-12);
    ck_assert_double_eq_tol(mw_cage(&s, &medium, object, object), 1.0, 1e-12);
    ck_assert_double_eq_tol(mw_cage_pick(&s, object), 1.0, 1e-12);
    ck_assert_double_eq_tol(mw_cage_push(&s, object, 0.02, 0.01, 0.005), 1.0, 1e-12);

    /* an open gripper holds nothing */
    s.grip = -1.0;
    ck_assert(mw_cage(&s, &plain, object, object) == 0.0);
    ck_assert_double_eq_tol(mw_cage(&s, &high, object, object), 0.5, 1e-12);
    ck_assert_double_eq_tol(mw_cage_pick(&s, object), 0.5, 1e-12);

    /* nor does one that is elsewhere */
    memcpy(s.c, far, sizeof s.c);
    s.grip = 1.0;
    ck_assert(mw_cage(&s, &high, object, object) < 0.1 && mw_cage_pick(&s, object) < 0.1);
}
END_TEST

START_TEST(the_mocap_body_follows_by_a_centimetre_at_most_and_stays_in_its_box)
{
    const double low[3] = { -0.5, 0.4, 0.05 }, high[3] = { 0.5, 1.0, 0.5 },
                 desired[4] = { 0.004, 0.9, -1.0, 3.0 };
    double mocap[3] = { 0.0, 0.6, 0.055 }, action[MW_N_ACTION];
    mw_follow(desired, mocap, action);
    ck_assert_double_eq_tol(action[0], 0.4, 1e-12);
    ck_assert(action[1] == 1.0 && action[2] == -1.0 && action[3] == 1.0);
    mw_move_mocap(action, low, high, mocap);
    ck_assert_double_eq_tol(mocap[0], 0.004, 1e-12);
    ck_assert_double_eq_tol(mocap[1], 0.61, 1e-12);
    ck_assert(mocap[2] == 0.05);
}
END_TEST

/* ---- property -------------------------------------------------------------------------------- */

static void check_spec(const tce_env_vtable *task, void *env, int profile)
{
    tce_env_spec spec = { .struct_size = sizeof spec };
    ok(task->spec(env, &spec));
    ck_assert_int_eq(spec.n_obs, MW_N_OBS);
    ck_assert_int_eq(spec.n_dof, MW_N_ACTION);
    ck_assert_int_eq(spec.n_steps, MW_N_STEPS);
    ck_assert(spec.dt == 0.0125);
    ck_assert(spec.n_context == 3 || spec.n_context == 6);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(spec.context[spec.n_context - 3 + i], GOAL + i);
    ck_assert(profile == 2 || spec.carries_state == 0);

    /* a caller with the struct as it was before carries_state */
    tce_env_spec old = { .struct_size = offsetof(tce_env_spec, carries_state),
                         .carries_state = 77 };
    ok(task->spec(env, &old));
    ck_assert_int_eq(old.carries_state, 77);
}

START_TEST(all_fifty_tasks_start_and_step_in_both_profiles)
{
    size_t n = 0;
    for (size_t i = 0; i < tce_env_library_n_tasks(task_library); i++) {
        const tce_env_vtable *task = tce_env_library_at(task_library, i);
        if (strncmp(task->name, "metaworld_", 10) != 0)
            continue;
        n++;
        for (int profile = 2; profile <= 3; profile++) {
            void *env = task_create(task, profile == 2 ? "profile=2" : "profile=3");
            double obs[MW_N_OBS], pos[MW_N_ACTION];
            check_spec(task, env, profile);
            start(task, env, 1, obs, pos);
            ck_assert(fabs(pos[3]) < 1e-3);
            ck_assert_mem_eq(obs, obs + MW_N_FRAME, MW_N_FRAME * sizeof *obs);
            for (size_t k = 0; k < 3; k++) {
                const tce_env_result result = act(task, env, k, obs);
                ck_assert_msg(result.reward >= 0.0 && result.reward <= 10.0, "%s: reward %g",
                              task->name, result.reward);
                ck_assert(!result.terminated && !result.truncated);
                for (int j = 0; j < MW_N_OBS; j++)
                    ck_assert(isfinite(obs[j]));
            }
            task->destroy(env);
        }
    }
    ck_assert_uint_eq(n, N_TASKS);
}
END_TEST

START_TEST(objects_and_goals_are_drawn_from_their_boxes_and_apart)
{
    const tce_env_vtable *reach = task_find("metaworld_reach"),
                         *sweep = task_find("metaworld_sweep_into");
    void *env = task_create(reach, NULL);
    double obs[MW_N_OBS];
    for (uint64_t episode = 0; episode < 30; episode++) {
        start(reach, env, episode, obs, NULL);
        const double *object = obs + 4, *goal = obs + GOAL;
        ck_assert(fabs(object[0]) <= 0.1 && object[1] >= 0.6 && object[1] <= 0.7 &&
                  fabs(object[2] - 0.02) < 1e-12);
        ck_assert(fabs(goal[0]) <= 0.1 && goal[1] >= 0.8 && goal[1] <= 0.9 && goal[2] >= 0.05 &&
                  goal[2] <= 0.3);
        ck_assert(mw_distance_xy(object, goal) >= 0.15);
    }
    reach->destroy(env);

    /* here the second part of the vector does not count, the hole does */
    const double hole[3] = { 0.0, 0.84, 0.02 };
    env = task_create(sweep, "profile=2");
    for (uint64_t episode = 0; episode < 10; episode++) {
        start(sweep, env, episode, obs, NULL);
        ck_assert(mw_distance_xy(obs + 4, hole) >= 0.15);
        ck_assert_mem_eq(obs + GOAL, hole, sizeof hole);
    }
    sweep->destroy(env);
}
END_TEST

/* The hand goes to the goal and, in a second episode, away from it again before the end. */
START_TEST(success_is_that_of_the_last_step)
{
    const tce_env_vtable *reach = task_find("metaworld_reach");
    void *env = task_create(reach, "profile=2");
    for (int leaves = 0; leaves < 2; leaves++) {
        double obs[MW_N_OBS], pos[MW_N_ACTION], path[MW_N_ACTION], middle = 0.0, sum = 0.0;
        const double still[MW_N_ACTION] = { 0.0 };
        tce_env_result result = { 0 };
        start(reach, env, 3, obs, pos);
        const double goal[3] = { obs[GOAL], obs[GOAL + 1], obs[GOAL + 2] };
        for (int k = 0; k < MW_N_STEPS; k++) {
            ck_assert_int_eq(result.truncated, 0);
            /* the tool hangs 5 cm below the mocap body */
            const int away = leaves && k > 300;
            for (int i = 0; i < 3; i++)
                path[i] = away ? pos[i] : goal[i] + (i == 2 ? 0.05 : 0.0);
            path[3] = -1.0;
            ok(reach->step(env, path, still, obs, &result));
            middle = k == 300 ? success_of(reach, env) : middle;
            sum += result.reward;
        }
        ck_assert(middle == 1.0 && sum > 2000.0);
        ck_assert(success_of(reach, env) == (leaves ? 0.0 : 1.0));
        ck_assert_int_eq(result.truncated, 1);
        ck_assert_int_eq(result.terminated, 0);

        /* and nothing comes after it */
        ck_assert_int_eq(reach->step(env, path, still, obs, &result), TCE_E_STATE);
        ck_assert_ptr_nonnull(strstr(tce_error_message(), "reset it"));
    }
    reach->destroy(env);
}
END_TEST

/*
 * Two environments with different pasts have the same episode: in profile 3, and in profile 2 not.
 */
START_TEST(profile_2_carries_the_fixture_into_the_next_episode)
{
    const tce_env_vtable *dial = task_find("metaworld_dial_turn");
    for (int profile = 2; profile <= 3; profile++) {
        const char *settings = profile == 2 ? "profile=2" : "profile=3";
        void *a = task_create(dial, settings), *b = task_create(dial, settings);
        double obs[2][MW_N_OBS], state[2][MAX_STATE];
        tce_env_spec spec = { .struct_size = sizeof spec };
        start(dial, a, 1, obs[0], NULL);
        start(dial, b, 2, obs[1], NULL);
        start(dial, a, 9, obs[0], NULL);
        start(dial, b, 9, obs[1], NULL);
        ok(dial->get_state(a, state[0]));
        ok(dial->get_state(b, state[1]));
        const int same = memcmp(state[0] + STATE_AT(mw_state, extra),
                                state[1] + STATE_AT(mw_state, extra), 3 * sizeof(double)) == 0;
        ck_assert_int_eq(same, profile == 3);
        ck_assert_mem_eq(obs[0] + GOAL, obs[1] + GOAL, 3 * sizeof(double));
        ok(dial->spec(a, &spec));
        ck_assert_int_eq(spec.carries_state, profile == 2);

        /* with the state of a before it, b has a's next episode */
        ok(dial->set_state(b, state[0], obs[1]));
        start(dial, a, 4, obs[0], NULL);
        start(dial, b, 4, obs[1], NULL);
        ok(dial->get_state(a, state[0]));
        ok(dial->get_state(b, state[1]));
        ck_assert_mem_eq(state[0], state[1], dial->n_state(a) * sizeof(double));
        dial->destroy(a);
        dial->destroy(b);
    }
}
END_TEST

START_TEST(a_state_taken_and_put_back_goes_on_to_the_same_bytes)
{
    static const char *const NAMES[] = { "metaworld_door_open", "metaworld_bin_picking",
                                         "metaworld_coffee_push", "metaworld_window_close" };
    enum { BEFORE = 20, AFTER = 20 };
    for (size_t i = 0; i < 2 * sizeof NAMES / sizeof NAMES[0]; i++) {
        const tce_env_vtable *task = task_find(NAMES[i / 2]);
        const char *settings = i % 2 ? "profile=2" : NULL;
        void *a = task_create(task, settings), *b = task_create(task, settings);
        double obs[MW_N_OBS], other[MW_N_OBS], state[MAX_STATE], again[MAX_STATE];
        const size_t n = task->n_state(a);
        ck_assert_uint_le(n, MAX_STATE);
        start(task, a, 5, obs, NULL);
        start(task, b, 6, other, NULL);
        for (size_t k = 0; k < BEFORE + AFTER; k++) {
            /* at the start, and in the middle */
            if (k == 0 || k == BEFORE) {
                ok(task->get_state(a, state));
                ok(task->set_state(b, state, other));
                ck_assert_mem_eq(obs, other, sizeof obs);
                ok(task->get_state(b, again));
                ck_assert_mem_eq(state, again, n * sizeof *state);
                ck_assert(success_of(task, a) == success_of(task, b));
            }
            const tce_env_result one = act(task, a, k, obs), two = act(task, b, k, other);
            ck_assert_msg(memcmp(obs, other, sizeof obs) == 0, "%s, step %zu", task->name, k);
            ck_assert(one.reward == two.reward);
        }
        task->destroy(a);
        task->destroy(b);
    }
}
END_TEST

START_TEST(a_hidden_goal_is_zero_and_the_reward_sees_it)
{
    const tce_env_vtable *reach = task_find("metaworld_reach");
    void *seen = task_create(reach, NULL), *hidden = task_create(reach, "hidden_goal=1");
    double obs[MW_N_OBS], other[MW_N_OBS];
    start(reach, seen, 1, obs, NULL);
    start(reach, hidden, 1, other, NULL);
    for (size_t k = 0; k < 3; k++) {
        ck_assert_mem_eq(obs, other, GOAL * sizeof *obs);
        ck_assert(other[GOAL] == 0.0 && other[GOAL + 1] == 0.0 && other[GOAL + 2] == 0.0 &&
                  obs[GOAL + 1] > 0.0);
        ck_assert(act(reach, seen, k, obs).reward == act(reach, hidden, k, other).reward);
    }
    reach->destroy(seen);
    reach->destroy(hidden);
}
END_TEST

/* Two rounds, as profile 2 carries the fixture from one to the next. */
START_TEST(one_thread_and_three_give_the_same_bytes)
{
    enum { T = 30 };
    double rewards[TASK_N_ENVS * T];
    task_check_threads(task_find("metaworld_button_press"), "profile=2", 2, T, 0.0, rewards);
    ck_assert(rewards[T - 1] > 0.0);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(a_wrong_option_is_named)
{
    const tce_env_vtable *push = task_find("metaworld_push");
    task_refuses(push, "version=2", TCE_E_VALUE, "profile");
    task_refuses(push, "profile=4", TCE_E_VALUE, "2 ... 3");
    task_refuses(push, "profile=2.5", TCE_E_VALUE, "2 or 3");
    task_refuses(push, "profile", TCE_E_VALUE, "key=value");
}
END_TEST

START_TEST(a_missing_model_comes_with_the_remedy)
{
    const tce_env_vtable *push = task_find("metaworld_push");
    setenv("TCE_MODELS", "/nowhere", 1);
    task_refuses(push, NULL, TCE_E_NOT_FOUND, "make deps");
    task_refuses(push, NULL, TCE_E_NOT_FOUND, "metaworld/assets");
}
END_TEST

START_TEST(what_is_not_finite_is_refused)
{
    const tce_env_vtable *push = task_find("metaworld_push");
    void *env = task_create(push, NULL);
    double obs[MW_N_OBS], state[MAX_STATE], action[MW_N_ACTION] = { 0.0, 0.0, NAN, 0.0 };
    tce_env_result result = { 0 };
    start(push, env, 1, obs, NULL);
    ck_assert_int_eq(push->step_action(env, action, obs, &result), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "action[2]"));
    ck_assert_int_eq(push->step(env, action, action, obs, &result), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "desired position[2]"));
    ok(push->get_state(env, state));
    state[3] = INFINITY;
    ck_assert_int_eq(push->set_state(env, state, obs), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "state[3]"));
    state[3] = 0.0;
    state[STATE_STEP] = 501.0;
    ck_assert_int_eq(push->set_state(env, state, obs), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "0 ... 500"));
    push->destroy(env);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metaworld");
    TCase *formulas = task_case(suite, "formulas", TIMEOUT);
    tcase_add_test(formulas, the_hamacher_product_is_a_t_norm);
    tcase_add_test(formulas, a_prism_counts_inside_of_its_box_only);
    tcase_add_test(formulas, a_matrix_gives_the_quaternion_of_its_turn);
    tcase_add_test(formulas, a_cage_is_best_around_the_object_with_the_gripper_closing);
    tcase_add_test(formulas, the_mocap_body_follows_by_a_centimetre_at_most_and_stays_in_its_box);
    tcase_add_loop_test(formulas, every_tolerance_is_one_inside_and_a_tenth_at_its_margin,
                        MW_LONG_TAIL, MW_TANH_SQUARED + 1);

    TCase *property = task_case(suite, "property", TIMEOUT);
    tcase_add_test(property, all_fifty_tasks_start_and_step_in_both_profiles);
    tcase_add_test(property, objects_and_goals_are_drawn_from_their_boxes_and_apart);
    tcase_add_test(property, success_is_that_of_the_last_step);
    tcase_add_test(property, profile_2_carries_the_fixture_into_the_next_episode);
    tcase_add_test(property, a_state_taken_and_put_back_goes_on_to_the_same_bytes);
    tcase_add_test(property, a_hidden_goal_is_zero_and_the_reward_sees_it);
    tcase_add_test(property, one_thread_and_three_give_the_same_bytes);

    TCase *errors = task_case(suite, "errors", TIMEOUT);
    tcase_add_test(errors, a_wrong_option_is_named);
    tcase_add_test(errors, a_missing_model_comes_with_the_remedy);
    tcase_add_test(errors, what_is_not_finite_is_refused);

    return test_run(suite);
}
