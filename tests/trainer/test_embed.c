/*
 * The trainer as a library: runs in one process one after the other and side by side, stopped and
 * resumed, and what is told of them. The task library is the one that TCE_TASKS names.
 */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "embed/train.h"
#include "support.h"
#include "tools/files.h"

#define ITERATIONS 4

static const char *const WORDS[] = {
    "task.name=point_via", "run.iterations=4",     "run.checkpoint_every=2",
    "run.threads=2",       "collect.episodes=8",   "collect.environments=4",
    "evaluate.every=2",    "evaluate.episodes=4",  "mp.n_basis=3",
    "policy.hidden=[8]",   "policy.epochs=2",      "critic.hidden=[8]",
    "critic.epochs=2",     "critic.minibatches=2", "objective.time_points=5"
};
#define N_WORDS (sizeof WORDS / sizeof WORDS[0])

static char folder[TEST_FOLDER];
static tce_env_library *library;
static tce_train_task task = { .struct_size = sizeof task };

static void open_task(void)
{
    ck_assert_msg(getenv("TCE_TASKS") != NULL, "TCE_TASKS is not set: run `make check-trainer`");
    test_make_folder("embed", folder);
    ok(tce_env_library_open(getenv("TCE_TASKS"), NULL, &library));
    ok(tce_env_library_find(library, "point_via", &task.vtable));
}

static void close_task(void)
{
    tce_env_library_free(library);
    test_remove_folder(folder);
}

static const char *in_folder(const char *run, const char *file, char out[FILE_PATH])
{
    snprintf(out, FILE_PATH, "%s/%s%s%s", folder, run, file[0] ? "/" : "", file);
    return out;
}

/* A run of these settings in a folder of the test's. */
static tce_train_options options_of(const char *path, int32_t start)
{
    return (tce_train_options){ .struct_size = sizeof(tce_train_options),
                                .task = &task,
                                .folder = path,
                                .start = start,
                                .has_config = 1,
                                .n_words = N_WORDS,
                                .words = WORDS };
}

/* Trains in a folder. Returns the status. */
static tce_status train(const char *run, int32_t start, tce_train_result *out)
{
    char path[FILE_PATH];
    tce_train *t = NULL;
    const tce_train_options options = options_of(in_folder(run, "", path), start);
    ok(tce_train_create(&options, &t));
    ck_assert_str_eq(tce_train_folder(t), path);
    const tce_status status = tce_train_run(t, NULL, out);
    tce_train_free(t);
    return status;
}

static void *train_aside(void *run)
{
    tce_train_result r;
    ok(train(run, TCE_TRAIN_NEW, &r));
    ck_assert_int_eq(r.iteration, ITERATIONS);
    return NULL;
}

static void check_files(const char *a, const char *b)
{
    char one[1 << 16], two[1 << 16];
    const char *const paths[] = { a, b };
    char *const texts[] = { one, two };
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        FILE *from = fopen(paths[i], "rb");
        ck_assert_msg(from != NULL, "no %s", paths[i]);
        n[i] = fread(texts[i], 1, sizeof one, from);
        fclose(from);
    }
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_msg(n[0] > 0 && n[0] < sizeof one && memcmp(one, two, n[0]) == 0, "%s is not %s", a,
                  b);
}

static void check_same(const char *a, const char *b, const char *file)
{
    char first[FILE_PATH], second[FILE_PATH];
    check_files(in_folder(a, file, first), in_folder(b, file, second));
}

/* ---- what a process may do ------------------------------------------------------------------- */

START_TEST(runs_in_two_threads_and_one_after_the_other_leave_the_same_bytes)
{
    static char names[][8] = { "a", "b", "c" };
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, train_aside, names[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    train_aside(names[2]);
    for (int i = 1; i < 3; i++) {
        check_same("a", names[i], "progress.csv");
        check_same("a", names[i], "policy.safetensors");
        check_same("a", names[i], "checkpoints/ckpt-00000004.safetensors");
    }
}
END_TEST

/* What an observer was told, and when it wants to stop. */
typedef struct listener {
    tce_train *train;
    int64_t stop_after;
    int32_t wish;
    int calls, notes, evaluations;
    double last_return;
} listener;

static void note(void *context, const char *sentence)
{
    listener *l = context;
    ck_assert_uint_gt(strlen(sentence), 0);
    l->notes++;
}

static void advance(void *context, const tce_train_standing *now)
{
    listener *l = context;
    l->calls++;
    l->evaluations += now->evaluated;
    ck_assert_int_eq(now->iterations, ITERATIONS);
    ck_assert_str_eq(now->names[0], "return");
    ck_assert_str_eq(now->phases[0], "simulation");
    l->last_return = now->values[0];
    ck_assert_int_eq(isnan(now->values[now->n_values - 1]), !now->evaluated);
    if (now->iteration == l->stop_after)
        tce_train_stop(l->train, l->wish);
}

static tce_status train_and_stop(const char *run, int32_t start, listener *l, tce_train_result *out)
{
    char path[FILE_PATH];
    tce_train_options options = options_of(in_folder(run, "", path), start);
    options.context = l;
    options.note = note;
    options.advance = advance;
    ok(tce_train_create(&options, &l->train));
    const tce_status status = tce_train_run(l->train, NULL, out);
    tce_train_free(l->train);
    return status;
}

START_TEST(a_run_that_is_stopped_and_resumed_has_the_bytes_of_one_that_was_not)
{
    tce_train_result r;
    listener l = { .stop_after = 3, .wish = TCE_TRAIN_STOP };
    train_aside("whole");
    ok(train_and_stop("parts", TCE_TRAIN_NEW, &l, &r));
    ck_assert_int_eq(r.interrupted, 1);
    ck_assert_int_eq(r.saved, 3);
    ck_assert_int_eq(l.calls, 3);
    ck_assert_int_eq(l.evaluations, 1);
    ck_assert_int_eq(l.notes, 1);

    l = (listener){ .stop_after = -1 };
    ok(train_and_stop("parts", TCE_TRAIN_RESUME, &l, &r));
    ck_assert_int_eq(r.interrupted, 0);
    ck_assert_int_eq(l.calls, 1);
    check_same("whole", "parts", "progress.csv");
    check_same("whole", "parts", "policy.safetensors");
    check_same("whole", "parts", "checkpoints/ckpt-00000004.safetensors");
}
END_TEST

START_TEST(an_abandoned_run_goes_on_from_its_last_checkpoint)
{
    tce_train_result r;
    listener l = { .stop_after = 3, .wish = TCE_TRAIN_ABANDON };
    train_aside("whole");
    fails(train_and_stop("parts", TCE_TRAIN_NEW, &l, &r), TCE_E_STATE, "abandoned");
    ck_assert_int_eq(r.saved, 2);
    ok(train("parts", TCE_TRAIN_RESUME, &r));
    check_same("whole", "parts", "progress.csv");
}
END_TEST

START_TEST(a_second_run_in_a_folder_is_refused)
{
    tce_train_result r;
    ok(train("one", TCE_TRAIN_NEW, &r));
    fails(train("one", TCE_TRAIN_NEW, &r), TCE_E_STATE, "has a run already");
    ok(train("one", TCE_TRAIN_RESTART, &r));
    ck_assert_int_eq(r.iteration, ITERATIONS);
}
END_TEST

START_TEST(settings_come_over_what_the_task_suggests)
{
    char path[FILE_PATH];
    tce_train *t = NULL;
    tce_train_options options = options_of(in_folder("any", "", path), TCE_TRAIN_NEW);
    ok(tce_train_create(&options, &t));
    ck_assert_ptr_nonnull(strstr(tce_train_settings(t), "  iterations: 4 "));
    ck_assert_ptr_nonnull(strstr(tce_train_settings(t), "  tau: 1 "));
    tce_train_free(t);

    /* a wrong one is named, with the place where the caller has it */
    const char *const wrong = "mp.tua=1";
    options.n_words = 1;
    options.words = &wrong;
    fails(tce_train_create(&options, &t), TCE_E_NOT_FOUND, "config: mp.tua: no such key");
    ck_assert_ptr_null(t);
}
END_TEST

START_TEST(a_method_tells_whether_it_plans_whole_paths)
{
    static const struct {
        const char *word;
        int32_t plans;
    } EXPECTED[] = { { "run.method=tce", 1 }, { "run.method=bbrl", 1 }, { "run.method=sac_mp", 1 },
                     { "run.method=ppo", 0 }, { "run.method=gsde", 0 }, { "run.method=trpl", 0 },
                     { "run.method=sac", 0 }, { "run.method=pink", 0 } };
    tce_train_options options = { .struct_size = sizeof options, .has_config = 1, .n_words = 1 };
    int32_t plans = -1;
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++) {
        options.words = &EXPECTED[i].word;
        ok(tce_train_plans(&options, &plans));
        ck_assert_int_eq(plans, EXPECTED[i].plans);
    }

    /* where no method is named it is the first; one that there is not is refused */
    options.n_words = 0;
    ok(tce_train_plans(&options, &plans));
    ck_assert_int_eq(plans, 1);
    const char *const wrong = "run.method=pqo";
    options.n_words = 1;
    options.words = &wrong;
    fails(tce_train_plans(&options, &plans), TCE_E_VALUE, "run.method = \"pqo\"");
}
END_TEST

/* ---- a trained policy ------------------------------------------------------------------------ */

START_TEST(a_trained_policy_is_asked_and_played)
{
    char path[FILE_PATH], run[FILE_PATH];
    tce_train_agent *agent = NULL;
    tce_train_player *player = NULL;
    tce_train_sizes sizes;
    train_aside("run");
    ok(tce_train_agent_open(in_folder("run", "policy.safetensors", path), 2, &agent));
    tce_train_agent_sizes(agent, &sizes);
    ck_assert_str_eq(sizes.task, "point_via");
    ck_assert_int_eq(sizes.n_params, sizes.n_dof * 4);
    ck_assert_int_eq(sizes.acts, 0);
    double obs[2 * 64] = { 0 }, params[2 * 64], one[64];
    ck_assert_int_le(sizes.n_obs, 64);
    for (int32_t i = 0; i < sizes.n_obs; i++)
        obs[sizes.n_obs + i] = 0.1 * i;
    ok(tce_train_agent_act(agent, 2, obs, 0.0, params));
    ok(tce_train_agent_act(agent, 1, obs + sizes.n_obs, 0.0, one));
    for (int32_t i = 0; i < sizes.n_params; i++)
        ck_assert_double_eq_tol(one[i], params[sizes.n_params + i], 1e-5);
    fails(tce_train_agent_act(agent, 3, obs, 0.0, params), TCE_E_SHAPE, "3 observations");
    ok(tce_train_agent_save(agent, in_folder("run", "copy.safetensors", path)));
    tce_train_agent_free(agent);
    check_files(in_folder("run", "copy.safetensors", path),
                in_folder("run", "policy.safetensors", run));

    const tce_train_player_options options = { .struct_size = sizeof options,
                                               .task = &task,
                                               .folder = in_folder("run", "", run),
                                               .n_episodes = 6,
                                               .n_threads = 1 };
    double returns[6], metrics[6 * 8];
    int32_t lengths[6];
    ok(tce_train_player_create(&options, &player));
    ck_assert_uint_le(tce_train_player_n_metrics(player), 8);
    ck_assert_str_eq(tce_train_player_metric(player, 0), "success");
    ok(tce_train_player_run(player, returns, lengths, metrics));
    tce_train_player_free(player);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(lengths[i], sizes.n_steps);
        ck_assert(isfinite(returns[i]));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("embed");
    TCase *property = test_case(suite, "property", 60);
    tcase_add_checked_fixture(property, open_task, close_task);
    tcase_add_test(property, runs_in_two_threads_and_one_after_the_other_leave_the_same_bytes);
    tcase_add_test(property, a_run_that_is_stopped_and_resumed_has_the_bytes_of_one_that_was_not);
    tcase_add_test(property, an_abandoned_run_goes_on_from_its_last_checkpoint);
    tcase_add_test(property, settings_come_over_what_the_task_suggests);
    tcase_add_test(property, a_method_tells_whether_it_plans_whole_paths);
    tcase_add_test(property, a_trained_policy_is_asked_and_played);

    TCase *errors = test_case(suite, "errors", 60);
    tcase_add_checked_fixture(errors, open_task, close_task);
    tcase_add_test(errors, a_second_run_in_a_folder_is_refused);
    return test_run(suite);
}
