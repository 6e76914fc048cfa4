/*
 * env: which tables can be used, and task libraries: good ones, broken ones, and what is said about
 * them. The libraries are built from tests/toys.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tce/env.h>

#include "support.h"
#include "toy.h"

TOY(point, "")

static char path[4096];

/* Where the build put tests/toys/<name>.c. */
static const char *library_path(const char *name)
{
    const char *build = getenv("TCE_TEST_BUILD");

    snprintf(path, sizeof path, "%s/toys/%s.so", build ? build : "build/tests", name);
    return path;
}

static void fails_to_open(const char *name, tce_status expected, const char *part)
{
    tce_env_library *library = (tce_env_library *)path;

    fails(tce_env_library_open(library_path(name), NULL, &library), expected, part);
    ck_assert_ptr_null(library);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), path));
}

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(a_complete_table_is_accepted)
{
    const tce_env_vtable point = TOY_point;

    ok(tce_env_check(&point));
}
END_TEST

START_TEST(a_longer_table_is_accepted)
{
    struct {
        tce_env_vtable table;
        void (*later)(void *);
    } longer = { .table = TOY_point, .later = free };

    longer.table.struct_size = sizeof longer;
    ok(tce_env_check(&longer.table));
}
END_TEST

START_TEST(tasks_of_a_library_are_listed_found_and_work)
{
    static const char *const NAMES[] = { "point", "reacher5", "box_pushing_dense" };
    tce_env_library *library;
    const tce_env_vtable *table;

    ok(tce_env_library_open(library_path("good"), NULL, &library));
    ck_assert_uint_eq(tce_env_library_n_tasks(library), 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(tce_env_library_at(library, i)->name, NAMES[i]);
        ok(tce_env_library_find(library, NAMES[i], &table));
        ck_assert_ptr_eq(table, tce_env_library_at(library, i));
    }
    ck_assert_ptr_null(tce_env_library_at(library, 3));

    void *instance;
    double obs[2], start, speed;
    const double pos = 2.0, vel = 0.0;
    tce_env_result result = { .reward = 0.0 };
    tce_random random;
    tce_random_start(&random, 1, 1, 0, 0);
    ok(table->create(NULL, "target=0.5", &instance));
    ok(table->reset(instance, &random, obs, &start, &speed));
    ok(table->step(instance, &pos, &vel, obs, &result));
    ck_assert_double_eq(obs[0], 2.0);
    ck_assert_double_eq(result.reward, -2.25);
    table->destroy(instance);
    tce_env_library_free(library);
}
END_TEST

START_TEST(a_library_may_be_opened_twice_at_a_time)
{
    tce_env_library *first, *second;

    ok(tce_env_library_open(library_path("good"), NULL, &first));
    ok(tce_env_library_open(library_path("good"), NULL, &second));
    tce_env_library_free(first);
    ck_assert_str_eq(tce_env_library_at(second, 0)->name, "point");
    tce_env_library_free(second);
}
END_TEST

START_TEST(a_task_that_is_not_there_is_named_in_part)
{
    static const char *const NAMES[] = { "nope", "", "x", "qqqqqqqqqqqq" };
    tce_env_library *library;
    const tce_env_vtable *table = NULL;
    char name[5000];

    ok(tce_env_library_open(library_path("good"), NULL, &library));
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        fails(tce_env_library_find(library, NAMES[i], &table), TCE_E_NOT_FOUND,
              "in the library, which has 3");
    }

    /* a very long name neither overflows nor fills the message */
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    fails(tce_env_library_find(library, name, &table), TCE_E_NOT_FOUND,
          "in the library, which has 3");
    ck_assert_uint_lt(strlen(tce_error_message()), 200);
    ck_assert_ptr_null(table);
    tce_env_library_free(library);
}
END_TEST

/* ---- inspection ------------------------------------------------------------------------------ */

/*
 * What tce_env_inspect should find in the tasks of tests/toys/broken.c: a part of the only
 * sentence, or NULL for none.
 */
static const struct {
    const char *task;
    int32_t severity;
    const char *part;
} BROKEN[] = {
    { "sound", TCE_ENV_FAULT, NULL },
    { "carries_state", TCE_ENV_FAULT, NULL },
    { "one_start", TCE_ENV_REMARK, "all episodes start alike" },
    { "constant_context", TCE_ENV_REMARK, "list what differs in context" },
    { "tracks_no_path", TCE_ENV_REMARK, "the task can be stepped by raw actions only" },
    { "ignores_the_path", TCE_ENV_REMARK, "step does not depend on the desired position" },
    { "no_steps", TCE_ENV_FAULT, "an environment cannot be made: n_steps = 0" },
    { "same_names", TCE_ENV_FAULT,
      "metric_names[0] and [1] are both \"distance\": give each metric a name of its own" },
    { "comma_in_a_name", TCE_ENV_FAULT, "metric_names[1] = \"distance, m\" has a comma" },
    { "reserved_name", TCE_ENV_FAULT,
      "metric_names[1] = \"return\" is a name that the program reserves for its own numbers: "
      "rename "
      "the metric in the task" },
    { "eval_name", TCE_ENV_FAULT,
      "metric_names[1] = \"eval_distance\" is a name that the program" },
    { "latin_1_name", TCE_ENV_FAULT,
      "metric_names[1] is not a printable UTF-8 text of at most 255 bytes: choose another name" },
    { "writes_beyond", TCE_ENV_FAULT,
      "reset writes beyond its observation: room is for n_obs = 2 numbers" },
    { "writes_before", TCE_ENV_FAULT,
      "reset writes before its observation: room is for n_obs = 2 numbers; give the right n_obs in "
      "spec, or begin at index 0" },
    { "keeps_its_observation", TCE_ENV_FAULT,
      "step writes to the observation that an earlier call of reset was given: do not keep "
      "pointers" },
    { "keeps_its_position", TCE_ENV_FAULT,
      "step writes to the position that an earlier call of reset was given: do not keep pointers" },
    { "keeps_the_last_step", TCE_ENV_FAULT,
      "step writes to the observation that an earlier call of step was given: do not keep "
      "pointers" },
    { "changes_its_spec", TCE_ENV_FAULT,
      "spec changes from call to call, it gives n_obs = 3 after 2: let it depend on the settings "
      "alone" },
    { "dt_is_nan", TCE_ENV_FAULT, "dt = nan, must be finite and > 0: have spec set it" },
    { "no_action_low", TCE_ENV_FAULT, "action_low is NULL: have spec set it" },
    { "does_not_write", TCE_ENV_FAULT,
      "observation[1] = nan after reset: it is not finite or was not written" },
    { "draws_elsewhere", TCE_ENV_FAULT,
      "a second environment gives another episode for the same stream: observation[1] at the "
      "start" },
    { "leaves_something", TCE_ENV_FAULT,
      "a used environment gives another episode for the same stream than a new one: metric[1] "
      "after step 20" },
    { "shares_memory", TCE_ENV_FAULT,
      "two environments stepped in turns disturb each other: observation[0] after step" },
    { "draws_in_a_step", TCE_ENV_FAULT, "step draws from the stream of reset" },
    { "fails_midway", TCE_ENV_FAULT, "step fails at step 4 of an episode" },
    { "infinite_reward", TCE_ENV_FAULT, "the reward of step 20 is -inf" },
    { "odd_flags", TCE_ENV_FAULT,
      "step 20 has terminated = 7, truncated = 1, event = 1: each is 0 or 1" },
    { "forgets_its_event", TCE_ENV_FAULT, "event is set before step 4 and not after it" },
    { "steps_after_the_end", TCE_ENV_FAULT,
      "step accepts a step after the end of the episode: return tce_fail(TCE_E_STATE, ...)" },
    { "steps_before_a_reset", TCE_ENV_FAULT,
      "step accepts a step before the first reset: return tce_fail(TCE_E_STATE, ...)" },
    { "starts_elsewhere", TCE_ENV_FAULT,
      "the first step moves observation[0] from 0.7 to 0, and there is no such jump after it: have "
      "reset give" },
    { "starts_faster", TCE_ENV_FAULT,
      "the first step moves observation[0] from 0 to 3, and there is no such jump after it: have "
      "reset give the position and velocity" },
    { "shows_another_velocity", TCE_ENV_FAULT,
      "reset gives velocity[0] = 3, but its observation[0], which velocity_end says is this "
      "velocity, is 0: have reset give" },
    { "half_a_success", TCE_ENV_FAULT, "metric \"success\" is 0.5: it is 0 or 1" },
    { "metric_is_nan", TCE_ENV_FAULT, "metric \"distance\" is nan at the end of an episode" },
    { "state_lacks_something", TCE_ENV_FAULT,
      "continue in another environment differs: metric[1] after step 20" },
    { "goal_is_not_set", TCE_ENV_FAULT,
      "set_state gives another observation than there was when get_state was called: "
      "observation[1]" },
};

typedef struct findings {
    int32_t n, severity;
    char message[1000]; /* the last one */
} findings;

static void remember(void *context, int32_t severity, const char *message)
{
    findings *found = context;

    found->n++;
    found->severity = severity;
    snprintf(found->message, sizeof found->message, "%s", message);
}

static const char *const RESERVED[] = { "length", "return", "eval_*" };

START_TEST(a_broken_task_is_found_out_and_a_sound_one_passes)
{
    tce_env_inspect_options options;
    tce_env_library *library;
    findings found = { .n = 0 };
    int32_t n_faults = -1;

    ok(tce_env_library_open(library_path("broken"), NULL, &library));
    ck_assert_uint_eq(tce_env_library_n_tasks(library), sizeof BROKEN / sizeof BROKEN[0]);
    tce_env_inspect_options_init(&options, sizeof options);
    ok(tce_env_library_find(library, BROKEN[_i].task, &options.vtable));
    options.report = remember;
    options.context = &found;
    options.reserved = RESERVED;
    options.n_reserved = sizeof RESERVED / sizeof RESERVED[0];
    tce_fail(TCE_E_IO, "something said before");
    ok(tce_env_inspect(&options, NULL, &n_faults));
    ck_assert_str_eq(tce_error_message(), "something said before");
    if (BROKEN[_i].part) {
        ck_assert_msg(found.n == 1, "%s: %d findings, the last: %s", BROKEN[_i].task, (int)found.n,
                      found.message);
        ck_assert_msg(strstr(found.message, BROKEN[_i].part) != NULL, "%s: %s", BROKEN[_i].task,
                      found.message);
        ck_assert_int_eq(found.severity, BROKEN[_i].severity);
    } else {
        ck_assert_msg(found.n == 0, "%s: %s", BROKEN[_i].task, found.message);
    }
    ck_assert_int_eq(n_faults, found.n == 1 && BROKEN[_i].severity == TCE_ENV_FAULT);

    /* without a listener they are counted all the same */
    options.report = NULL;
    ok(tce_env_inspect(&options, NULL, &n_faults));
    ck_assert_int_eq(n_faults, found.n == 1 && BROKEN[_i].severity == TCE_ENV_FAULT);
    ok(tce_env_inspect(&options, NULL, NULL));
    tce_env_library_free(library);
}
END_TEST

typedef struct calls {
    char first[4][16], last[16];
    int32_t n, longest; /* the largest number of a step */
} calls;

static void note(void *context, const char *call, int32_t step)
{
    calls *made = context;

    if (made->n < 4)
        snprintf(made->first[made->n], sizeof made->first[0], "%s", call);
    snprintf(made->last, sizeof made->last, "%s", call);
    made->n++;
    made->longest = step > made->longest ? step : made->longest;
    ck_assert_int_eq(step > 0, strncmp(call, "step", 4) == 0);
}

START_TEST(an_inspection_tells_which_call_comes_next)
{
    tce_env_inspect_options options;
    tce_env_library *library;
    calls made = { .n = 0 };

    ok(tce_env_library_open(library_path("broken"), NULL, &library));
    tce_env_inspect_options_init(&options, sizeof options);
    ok(tce_env_library_find(library, "sound", &options.vtable));
    options.trace = note;
    options.context = &made;
    ok(tce_env_inspect(&options, NULL, NULL));
    ck_assert_str_eq(made.first[0], "create");
    ck_assert_str_eq(made.first[1], "spec");
    ck_assert_str_eq(made.first[2], "n_state");
    ck_assert_str_eq(made.first[3], "reset");
    ck_assert_str_eq(made.last, "destroy");
    ck_assert_int_eq(made.longest, 21); /* one after the end, which is refused */
    tce_env_library_free(library);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(an_inspection_needs_options_and_a_table)
{
    tce_env_vtable table = TOY_point;
    tce_env_inspect_options options;
    findings found = { .n = 0 };
    int32_t n_faults = 77;

    fails(tce_env_inspect(NULL, NULL, &n_faults), TCE_E_ARGUMENT, "tce_env_inspect_options");
    tce_env_inspect_options_init(&options, sizeof options);
    fails(tce_env_inspect(&options, NULL, &n_faults), TCE_E_ARGUMENT, "options.vtable");
    ck_assert_int_eq(n_faults, 77);

    /* a table that cannot be used is a finding */
    table.step = NULL;
    table.step_action = NULL;
    options.vtable = &table;
    options.report = remember;
    options.context = &found;
    ok(tce_env_inspect(&options, NULL, &n_faults));
    ck_assert_int_eq(n_faults, 1);
    ck_assert_ptr_nonnull(
        strstr(found.message,
               "the table cannot be used: task \"point\": step and step_action are both NULL"));
}
END_TEST

START_TEST(a_table_without_a_required_entry_is_refused)
{
    const tce_env_vtable point = TOY_point;
    tce_env_vtable table;

    fails(tce_env_check(NULL), TCE_E_ARGUMENT, "vtable");
    table = point;
    table.struct_size = 16;
    fails(tce_env_check(&table), TCE_E_VERSION, "struct_size 16");
    table = point;
    table.abi = 2;
    fails(tce_env_check(&table), TCE_E_VERSION, "TCE_ENV_ABI 2");
    table = point;
    table.name = NULL;
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "name");
    table.name = "";
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "name");
    table.name = "a/b";
    fails(tce_env_check(&table), TCE_E_ARGUMENT,
          "task \"a/b\": a name consists of English letters");
    table.name = "..";
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "begins with neither . nor -: rename the task");
    table.name = "-x";
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "task \"-x\"");
    table.name = "gr\xc3\xb6\xc3\x9f"
                 "e";
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "English letters");
    table.name = "Point_2.5-v0";
    ok(tce_env_check(&table));
    table = point;
    table.description = NULL;
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "description");
    table = point;
    table.create = NULL;
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "create");
    table = point;
    table.destroy = NULL;
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "destroy");
    table = point;
    table.spec = NULL;
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "spec");
    table = point;
    table.reset = NULL;
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "reset");
    table = point;
    table.step = NULL;
    ok(tce_env_check(&table));
    table.step_action = NULL;
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "\"point\": step");
}
END_TEST

static size_t no_state(void *instance)
{
    (void)instance;
    return 0;
}

START_TEST(half_a_state_is_refused)
{
    tce_env_vtable table = TOY_point;

    table.n_state = no_state;
    table.get_state = NULL;
    fails(tce_env_check(&table), TCE_E_ARGUMENT, "get_state");
}
END_TEST

START_TEST(a_library_that_is_not_there_is_not_found)
{
    tce_env_library *library;

    fails_to_open("missing", TCE_E_NOT_FOUND, "check the path");
    fails(tce_env_library_open("libtce_test_missing.so", NULL, &library), TCE_E_LIBRARY,
          "write ./");
    fails(tce_env_library_open("", NULL, &library), TCE_E_ARGUMENT, "path");
    fails(tce_env_library_open(NULL, NULL, &library), TCE_E_ARGUMENT, "path");
    fails(tce_env_library_open("x", NULL, NULL), TCE_E_ARGUMENT, "out");
}
END_TEST

START_TEST(a_file_that_is_no_library_is_refused_with_the_loaders_words)
{
    char name[] = "/tmp/tce-test-env-XXXXXX";
    const int file = mkstemp(name);
    tce_env_library *library;

    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, "hello", 5), 5);
    close(file);
    fails(tce_env_library_open(name, NULL, &library), TCE_E_LIBRARY, "file too short");
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "ldd"));
    unlink(name);
    fails(tce_env_library_open("/tmp/", NULL, &library), TCE_E_LIBRARY, "/tmp/");
}
END_TEST

START_TEST(a_broken_library_is_refused_with_the_reason)
{
    fails_to_open("no_symbol", TCE_E_LIBRARY, "tce_tasks");
    fails_to_open("wrong_abi", TCE_E_VERSION, "recompile");
    fails_to_open("empty", TCE_E_LIBRARY, "no tasks");
    fails_to_open("twice", TCE_E_LIBRARY, "\"point\" twice");
    fails_to_open("incomplete", TCE_E_ARGUMENT, "task 1: task \"statue\": step");
    fails_to_open("unresolved", TCE_E_LIBRARY, "tce_test_function_that_nobody_has");
}
END_TEST

START_TEST(questions_to_nothing_are_answered)
{
    const tce_env_vtable *table = NULL;
    tce_env_library *library;

    ck_assert_uint_eq(tce_env_library_n_tasks(NULL), 0);
    ck_assert_ptr_null(tce_env_library_at(NULL, 0));
    fails(tce_env_library_find(NULL, "point", &table), TCE_E_ARGUMENT, "library");
    ok(tce_env_library_open(library_path("good"), NULL, &library));
    fails(tce_env_library_find(library, NULL, &table), TCE_E_ARGUMENT, "name");
    fails(tce_env_library_find(library, "point", NULL), TCE_E_ARGUMENT, "out");
    tce_env_library_free(library);
    tce_env_library_free(NULL);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(opening_takes_one_block_and_gives_it_back)
{
    test_memory memory = { .budget = 0 };
    tce_hooks hooks;
    tce_env_library *library;
    const tce_env_vtable *table;

    test_hooks(&memory, &hooks);
    fails(tce_env_library_open(library_path("good"), &hooks, &library), TCE_E_NOMEM,
          "tce_env_library");
    ck_assert_ptr_null(library);
    memory.budget = SIZE_MAX;
    ok(tce_env_library_open(library_path("good"), &hooks, &library));
    ck_assert_int_eq(tce_env_library_find(library, "nobody", &table), TCE_E_NOT_FOUND);
    ok(tce_env_library_find(library, "point", &table));
    ck_assert_uint_eq(memory.n_alloc, 1);
    tce_env_library_free(library);
    ck_assert_uint_eq(memory.live, 0);
}
END_TEST

START_TEST(an_inspection_gives_its_block_back)
{
    test_memory memory = { .budget = 0 };
    tce_hooks hooks;
    tce_env_inspect_options options;
    tce_env_library *library;
    int32_t n_faults;

    ok(tce_env_library_open(library_path("broken"), NULL, &library));
    tce_env_inspect_options_init(&options, sizeof options);
    ok(tce_env_library_find(library, "sound", &options.vtable));
    test_hooks(&memory, &hooks);
    fails(tce_env_inspect(&options, &hooks, &n_faults), TCE_E_NOMEM, "tce_env_inspect");
    memory.budget = SIZE_MAX;
    ok(tce_env_inspect(&options, &hooks, &n_faults));
    ck_assert_uint_eq(memory.n_alloc, 1);
    ck_assert_uint_eq(memory.live, 0);
    tce_env_library_free(library);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("env");
    TCase *property = test_case(suite, "property", 0);
    TCase *errors = test_case(suite, "errors", 0);
    TCase *memory = test_case(suite, "memory", 0);

    tcase_add_test(property, a_complete_table_is_accepted);
    tcase_add_test(property, a_longer_table_is_accepted);
    tcase_add_test(property, tasks_of_a_library_are_listed_found_and_work);
    tcase_add_test(property, a_library_may_be_opened_twice_at_a_time);
    tcase_add_test(property, a_task_that_is_not_there_is_named_in_part);

    tcase_add_loop_test(property, a_broken_task_is_found_out_and_a_sound_one_passes, 0,
                        sizeof BROKEN / sizeof BROKEN[0]);

    tcase_add_test(property, an_inspection_tells_which_call_comes_next);
    tcase_add_test(errors, an_inspection_needs_options_and_a_table);
    tcase_add_test(errors, a_table_without_a_required_entry_is_refused);
    tcase_add_test(errors, half_a_state_is_refused);
    tcase_add_test(errors, a_library_that_is_not_there_is_not_found);
    tcase_add_test(errors, a_file_that_is_no_library_is_refused_with_the_loaders_words);
    tcase_add_test(errors, a_broken_library_is_refused_with_the_reason);
    tcase_add_test(errors, questions_to_nothing_are_answered);

    tcase_add_test(memory, opening_takes_one_block_and_gives_it_back);
    tcase_add_test(memory, an_inspection_gives_its_block_back);

    return test_run(suite);
}
