/*
 * Box Pushing from the task library: rules that hold in every episode, states that go round,
 * threads, models that are missing or damaged. The numbers of the original are compared by `make
 * replay`.
 */
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tce/tce.h>

#include "../../examples/tasks/box_pushing.h"
#include "../../examples/tasks/shared/state_layout.h"
#include "support.h"
#include "task_suite.h"

/* where a state has positions and velocities, and its size */
enum {
    BOX_QPOS = STATE_QPOS(box_pushing_state),
    BOX_QVEL = BOX_QPOS + BOX_NQ,
    BOX_N_STATE = BOX_QVEL + 2 * BOX_NV + BOX_NU + 1,
    SEARCH = STATE_AT(box_pushing_state, search_rounds),
    N_SEARCH = 3
};

enum { N_OBS = 28, N_JOINTS = 7, N_STEPS = 100, N_METRICS = 4, MAX_PATH = 4096 };

static const tce_env_vtable *dense, *sparse;

static void find_tasks(void)
{
    dense = task_find("box_pushing_dense");
    sparse = task_find("box_pushing_sparse");
}

static void start(const tce_env_vtable *task, void *env, uint64_t episode, double *obs)
{
    double pos[N_JOINTS], vel[N_JOINTS];
    tce_random random;
    tce_random_start(&random, 7, 1, 2, episode);
    ok(task->reset(env, &random, obs, pos, vel));
    for (int i = 0; i < N_JOINTS; i++) {
        ck_assert(pos[i] == obs[i]);
        ck_assert(vel[i] == 0.0 && obs[N_JOINTS + i] == 0.0);
    }
}

/* Torques that move the arm a good deal, the same for the same k. */
static void torques(size_t k, double *out)
{
    for (int i = 0; i < N_JOINTS; i++)
        out[i] = 0.6 * sin(0.13 * (double)k + 1.7 * i);
}

static tce_env_result act(const tce_env_vtable *task, void *env, size_t k, double *obs)
{
    double action[N_JOINTS];
    tce_env_result result = { 0 };
    torques(k, action);
    ok(task->step_action(env, action, obs, &result));
    return result;
}

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(starts_lie_where_the_task_says)
{
    void *env = task_create(dense, NULL);
    double obs[N_OBS], state[BOX_N_STATE];
    for (uint64_t episode = 0; episode < 20; episode++) {
        start(dense, env, episode, obs);
        const double *box = obs + 14, *target = obs + 21;
        ck_assert(box[0] >= 0.3 && box[0] < 0.6 && target[0] >= 0.3 && target[0] < 0.6);
        ck_assert(fabs(box[1]) <= 0.45 && fabs(target[1]) <= 0.45);
        ck_assert(hypot(box[0] - target[0], box[1] - target[1]) >= 0.3);
        ck_assert(fabs(hypot(box[3], box[6]) - 1.0) < 1e-12 && box[4] == 0.0 && box[5] == 0.0);

        /*
         * the arm search found the box: the squared error is below 1e-5, far from its limit of
         * rounds
         */
        ok(dense->get_state(env, state));
        ck_assert(state[STATE_AT(box_pushing_state, search_error)] < 1e-5 &&
                  state[STATE_AT(box_pushing_state, search_rounds)] < 1000.0);
    }
    dense->destroy(env);
}
END_TEST

START_TEST(a_fixed_start_has_the_box_in_one_place)
{
    void *env = task_create(dense, "random_start=0");
    double obs[N_OBS];
    for (uint64_t episode = 0; episode < 3; episode++) {
        start(dense, env, episode, obs);
        ck_assert(obs[14] == 0.4 && obs[15] == 0.3 && obs[16] == -0.01 && obs[20] == 1.0);
    }
    dense->destroy(env);
}
END_TEST

START_TEST(an_episode_ends_at_step_100_and_both_rewards_see_one_physics)
{
    void *a = task_create(dense, NULL), *b = task_create(sparse, NULL);
    double obs_a[N_OBS], obs_b[N_OBS], metrics[N_METRICS];
    double energy = 0.0;
    start(dense, a, 3, obs_a);
    start(sparse, b, 3, obs_b);
    for (size_t k = 0; k < N_STEPS; k++) {
        const tce_env_result one = act(dense, a, k, obs_a), two = act(sparse, b, k, obs_b);
        double action[N_JOINTS];
        torques(k, action);
        for (int i = 0; i < N_JOINTS; i++)
            energy += 100.0 * action[i] * action[i];
        ck_assert_mem_eq(obs_a, obs_b, sizeof obs_a);
        ck_assert_int_eq(one.terminated + one.truncated, k == N_STEPS - 1);
        ck_assert_int_eq(two.terminated + two.truncated, k == N_STEPS - 1);
        ck_assert_int_eq(one.event, 0);
    }
    ok(dense->metrics(a, metrics));
    ck_assert(metrics[0] == 0.0 && metrics[1] > 0.0);
    ck_assert_double_eq_tol(metrics[3], energy, 1e-9 * energy);
    dense->destroy(a);
    sparse->destroy(b);
}
END_TEST

/*
 * A box that lies on its target, with the arm still: success, and the sparse reward's end terms
 * nearly vanish.
 */
START_TEST(a_box_on_its_target_is_a_success)
{
    void *env = task_create(sparse, NULL);
    double obs[N_OBS], state[BOX_N_STATE], metrics[N_METRICS];
    const double still[N_JOINTS] = { 0 };
    tce_env_result result = { 0 };
    start(sparse, env, 1, obs);
    ok(sparse->get_state(env, state));
    memcpy(state + STATE_AT(box_pushing_state, target), state + BOX_QPOS + 9, 7 * sizeof *state);
    state[STATE_STEP] = N_STEPS - 1;
    state[STATE_DERIVE] = 1.0;
    ok(sparse->set_state(env, state, obs));
    ok(sparse->step_action(env, still, obs, &result));
    ck_assert_int_eq(result.terminated, 1);
    ck_assert_int_eq(result.truncated, 0);
    ok(sparse->metrics(env, metrics));
    ck_assert(metrics[0] == 1.0 && metrics[1] < 0.01 && metrics[2] < 0.01);
    ck_assert(result.reward > -10.0 && result.reward < 0.0);
    sparse->destroy(env);
}
END_TEST

START_TEST(a_state_taken_and_put_back_goes_on_to_the_same_bytes)
{
    enum { BEFORE = 30, AFTER = 20 };
    void *a = task_create(dense, NULL), *b = task_create(dense, NULL);
    double obs[N_OBS], other[N_OBS], state[BOX_N_STATE], again[BOX_N_STATE];
    start(dense, a, 5, obs);
    start(dense, b, 6, other);
    ck_assert_uint_eq(dense->n_state(a), BOX_N_STATE);
    for (size_t k = 0; k < BEFORE; k++)
        act(dense, a, k, obs);
    ok(dense->get_state(a, state));
    ok(dense->set_state(b, state, other));
    ck_assert_mem_eq(obs, other, sizeof obs);
    ok(dense->get_state(b, again));
    ck_assert_mem_eq(state, again, sizeof state);
    for (size_t k = BEFORE; k < BEFORE + AFTER; k++) {
        const tce_env_result one = act(dense, a, k, obs), two = act(dense, b, k, other);
        ck_assert_mem_eq(obs, other, sizeof obs);
        ck_assert(one.reward == two.reward);
    }
    dense->destroy(a);
    dense->destroy(b);
}
END_TEST

START_TEST(one_thread_and_three_give_the_same_bytes)
{
    enum { T = 40 };
    double rewards[TASK_N_ENVS * T];
    task_check_threads(dense, NULL, 1, T, 0.01, rewards);
    ck_assert(rewards[0] < 0.0);
}
END_TEST

/* How the arm and the box are thrown about in this episode: changes a state after a start. */
static void throw_about(uint64_t episode, double *state)
{
    double *qpos = state + BOX_QPOS, *qvel = state + BOX_QVEL;
    if (episode % 4 == 1) {
        /* the box falls past the front of the table, onto beams and floor */
        qpos[9] = 0.73;
        qpos[10] = 0.1 * (double)episode;
    } else if (episode % 4 == 2) {
        /* over the side */
        qpos[10] = 0.97;
        qvel[10] = 1.0;
    } else if (episode % 4 == 3) {
        /* the arm is stretched to the side and up, against the posts and the roof */
        const double reach[N_JOINTS] = {
            1.6, 1.2 - 0.1 * (double)episode, 0.0, -0.1, 0.0, 1.5, 0.0
        };
        memcpy(qpos, reach, sizeof reach);
        qvel[1] = -4.0;
    }
}

START_TEST(what_is_left_out_of_the_physics_is_never_missed)
{
    void *a = task_create(dense, NULL), *b = task_create(dense, "whole=1");
    double obs_a[N_OBS], obs_b[N_OBS], state_a[BOX_N_STATE], state_b[BOX_N_STATE];
    double lowest = 1.0;
    for (uint64_t episode = 0; episode < 16; episode++) {
        start(dense, a, episode, obs_a);
        ok(dense->get_state(a, state_a));
        throw_about(episode, state_a);
        state_a[STATE_DERIVE] = 1.0;
        ok(dense->set_state(a, state_a, obs_a));
        ok(dense->set_state(b, state_a, obs_b));
        for (size_t k = 0; k < N_STEPS; k++) {
            const tce_env_result one = act(dense, a, k + 31 * episode, obs_a),
                                 two = act(dense, b, k + 31 * episode, obs_b);
            ck_assert_mem_eq(&one, &two, sizeof one);
            ck_assert_mem_eq(obs_a, obs_b, sizeof obs_a);
            lowest = fmin(lowest, obs_a[16]);
        }
        ok(dense->get_state(a, state_a));
        ok(dense->get_state(b, state_b));
        /* except for the search, which one of them has not made */
        memset(state_a + SEARCH, 0, N_SEARCH * sizeof *state_a);
        memset(state_b + SEARCH, 0, N_SEARCH * sizeof *state_b);
        ck_assert_mem_eq(state_a, state_b, sizeof state_a);
    }
    /* one box did reach the floor, 0.94 m down */
    ck_assert_msg(lowest < -0.9 && lowest > -1.0, "lowest box at %g m", lowest);
    dense->destroy(a);
    dense->destroy(b);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(a_wrong_option_is_named)
{
    task_refuses(dense, "random=1", TCE_E_VALUE, "random_start");
    task_refuses(dense, "random_start=2", TCE_E_VALUE, "random_start");
    task_refuses(dense, "random_start", TCE_E_VALUE, "key=value");
}
END_TEST

START_TEST(a_missing_model_comes_with_the_remedy)
{
    setenv("TCE_MODELS", "/nowhere", 1);
    task_refuses(dense, NULL, TCE_E_NOT_FOUND, "make deps");
    task_refuses(dense, NULL, TCE_E_NOT_FOUND, "/nowhere");
}
END_TEST

START_TEST(what_is_not_finite_is_refused)
{
    void *env = task_create(dense, NULL);
    double obs[N_OBS], state[BOX_N_STATE], action[N_JOINTS] = { 0 };
    tce_env_result result = { 0 };
    start(dense, env, 1, obs);
    action[3] = NAN;
    ck_assert_int_eq(dense->step_action(env, action, obs, &result), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "action[3]"));
    ok(dense->get_state(env, state));
    state[2] = INFINITY;
    ck_assert_int_eq(dense->set_state(env, state, obs), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "state[2]"));
    dense->destroy(env);
}
END_TEST

/* ---- cache ----------------------------------------------------------------------------------- */

/* A folder that shows the real models but has a cache of its own. */
static void make_models(char *folder)
{
    char here[MAX_PATH], real[3 * MAX_PATH], link[128];
    const char *given = getenv("TCE_MODELS");
    test_make_folder("models", folder);
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    if (given != NULL)
        snprintf(real, sizeof real, "%s%s%s/fancy_gym", given[0] == '/' ? "" : here,
                 given[0] == '/' ? "" : "/", given);
    else
        snprintf(real, sizeof real, "%s/deps/fancy_gym", here);
    snprintf(link, sizeof link, "%s/fancy_gym", folder);
    ck_assert_int_eq(symlink(real, link), 0);
    setenv("TCE_MODELS", folder, 1);
}

/* How many compiled models are in the cache, and the last of them. */
static int cached_file(const char *folder, char *out)
{
    char cache[128];
    int n = 0;
    snprintf(cache, sizeof cache, "%s/cache", folder);
    DIR *entries = opendir(cache);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (entry->d_name[0] != '.') {
            snprintf(out, MAX_PATH, "%s/%.300s", cache, entry->d_name);
            n++;
        }
    if (entries)
        closedir(entries);
    return n;
}

/*
 * The reward of a step, from a new environment that is gone again, so that the next one loads its
 * model again.
 */
static double one_step(void)
{
    double obs[N_OBS];
    void *env = task_create(dense, NULL);
    start(dense, env, 2, obs);
    const double reward = act(dense, env, 9, obs).reward;
    dense->destroy(env);
    return reward;
}

START_TEST(a_compiled_model_is_kept_and_a_damaged_one_replaced)
{
    char folder[TEST_FOLDER], path[MAX_PATH];
    struct stat about;
    make_models(folder);
    setenv("TCE_MODEL_CACHE", "0", 1);
    const double compiled = one_step();
    ck_assert_int_eq(cached_file(folder, path), 0);
    unsetenv("TCE_MODEL_CACHE");
    ck_assert(one_step() == compiled);
    /* the whole one, and the one that is stepped */
    ck_assert_int_eq(cached_file(folder, path), 2);
    ck_assert(one_step() == compiled);

    /* one byte in the middle changed, then cut short: the same numbers, from a new file */
    ck_assert_int_eq(stat(path, &about), 0);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, about.st_size / 2, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, about.st_size / 2, SEEK_SET);
    fputc(byte ^ 0x55, file);
    fclose(file);
    ck_assert(one_step() == compiled);
    file = fopen(path, "rb");
    fseek(file, about.st_size / 2, SEEK_SET);
    ck_assert_int_eq(fgetc(file), byte);
    fclose(file);
    ck_assert_int_eq(truncate(path, 1000), 0);
    ck_assert(one_step() == compiled);
    test_remove_folder(folder);
}
END_TEST

START_TEST(a_model_in_the_working_directory_is_not_taken)
{
    char folder[TEST_FOLDER], command[512];
    unsetenv("TCE_MODELS");
    const double before = one_step();
    test_make_folder("planted", folder);
    snprintf(command, sizeof command,
             "cd %s && mkdir -p deps/fancy_gym/envs/mujoco/box_pushing/assets && "
             "echo '<mujoco/>' >deps/fancy_gym/envs/mujoco/box_pushing/assets/box_pushing.xml",
             folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert(one_step() == before);
    ck_assert_int_eq(chdir("/"), 0);
    test_remove_folder(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("box_pushing");
    TCase *property = task_case(suite, "property", 120);
    tcase_add_checked_fixture(property, find_tasks, NULL);
    tcase_add_test(property, starts_lie_where_the_task_says);
    tcase_add_test(property, a_fixed_start_has_the_box_in_one_place);
    tcase_add_test(property, an_episode_ends_at_step_100_and_both_rewards_see_one_physics);
    tcase_add_test(property, a_box_on_its_target_is_a_success);
    tcase_add_test(property, a_state_taken_and_put_back_goes_on_to_the_same_bytes);
    tcase_add_test(property, one_thread_and_three_give_the_same_bytes);
    tcase_add_test(property, what_is_left_out_of_the_physics_is_never_missed);

    TCase *errors = task_case(suite, "errors", 120);
    tcase_add_checked_fixture(errors, find_tasks, NULL);
    tcase_add_test(errors, a_wrong_option_is_named);
    tcase_add_test(errors, a_missing_model_comes_with_the_remedy);
    tcase_add_test(errors, what_is_not_finite_is_refused);

    TCase *cache = task_case(suite, "cache", 120);
    tcase_add_checked_fixture(cache, find_tasks, NULL);
    tcase_add_test(cache, a_compiled_model_is_kept_and_a_damaged_one_replaced);
    tcase_add_test(cache, a_model_in_the_working_directory_is_not_taken);

    return test_run(suite);
}
