/*
 * Settings: the table, files, overrides, messages with line numbers and nearest keys, and the way
 * back to text.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "methods/methods.h"
#include "settings/suggest.h"
#include "support.h"

/* Writes text to a new file and returns its name. */
static const char *file_with(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/tce-settings-XXXXXX");
    const int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static tce_status load(settings *s, const char *text)
{
    ok(settings_init(s, METHODS, NULL));
    const char *path = file_with(text);
    const tce_status status = settings_read(s, METHODS, path, 0, NULL);
    remove(path);
    return status;
}

static void assert_refused(const char *text, tce_status status, const char *word, const char *line)
{
    settings s, before;
    ok(settings_init(&before, METHODS, NULL));
    ck_assert_msg(load(&s, text) == status, "%s: %s", text, tce_error_message());
    ck_assert_msg(strstr(tce_error_message(), word) != NULL, "\"%s\" lacks \"%s\"",
                  tce_error_message(), word);
    ck_assert_msg(strstr(tce_error_message(), line) != NULL, "\"%s\" lacks \"%s\"",
                  tce_error_message(), line);
    ck_assert_msg(memcmp(&s, &before, sizeof s) == 0, "a refused file changed the settings");
}

START_TEST(a_file_sets_its_keys_and_leaves_the_others)
{
    settings s;
    ok(load(&s,
            "run:\n  method: bbrl\n  seed: 18446744073709551615\npolicy:\n  hidden: [32, 64, 8]\n "
            " learning_rate: 5e-4\n"
            "mp:\n  weights_scale: [1, 2.5]\n  relative_goal: yes\ntask:\n  options: 'a=1 b=2'\n"));
    ck_assert_str_eq(s.table->name, "bbrl");
    ck_assert_uint_eq(s.run.seed, UINT64_MAX);
    ck_assert_int_eq(s.policy.hidden.n, 3);
    ck_assert_int_eq(s.policy.hidden.v[2], 8);
    ck_assert_double_eq(s.policy.adam.learning_rate, 5e-4);
    ck_assert_int_eq(s.mp_weights_scale.n, 2);
    ck_assert_double_eq(s.mp_weights_scale.v[1], 2.5);
    ck_assert_int_eq(s.mp.relative_goal, 1);
    ck_assert_str_eq(s.task.options, "a=1 b=2");
    ck_assert_int_eq(s.policy.epochs, 30);
}
END_TEST

START_TEST(an_empty_file_and_an_empty_section_change_nothing)
{
    settings s, defaults;
    ok(settings_init(&defaults, METHODS, NULL));
    ok(load(&s, ""));
    ok(load(&s, "# nothing\npolicy:\n"));
    ck_assert_int_eq(memcmp(&s, &defaults, sizeof s), 0);
}
END_TEST

START_TEST(mistakes_name_the_line_and_the_remedy)
{
    assert_refused("policy:\n  epochs: 3\n  learning_rat: 1\n", TCE_E_NOT_FOUND,
                   "policy.learning_rate?", ":3:");
    assert_refused("polcy:\n  epochs: 3\n", TCE_E_NOT_FOUND, "did you mean policy?", ":1:");
    assert_refused("critic:\n  mean_bound: 3\n", TCE_E_NOT_FOUND, "projection.mean_bound?", ":2:");
    assert_refused("policy:\n  epochs: 3\n  epochs: 4\n", TCE_E_VALUE, "twice", ":3:");
    assert_refused("policy:\n  epochs: 3\nrun:\n  seed: 1\npolicy:\n  epochs: 4\n", TCE_E_VALUE,
                   "twice", ":6:");
    assert_refused("policy:\n  epochs: -3\n", TCE_E_VALUE, "must be in 0", ":2:");
    assert_refused("mp:\n  tau: -1\n", TCE_E_VALUE, "mp.tau = -1, must be > 0", ":2:");
    assert_refused("mp:\n  tau: 0\n", TCE_E_VALUE, "mp.tau = 0, must be > 0", ":2:");
    assert_refused("mp:\n  delay: -1\n", TCE_E_VALUE, "mp.delay = -1, must be at least 0", ":2:");
    assert_refused("mp:\n  delay: 1e301\n", TCE_E_VALUE, "must be at most 1e+300", ":2:");
    assert_refused("policy:\n  epochs: 3.5\n", TCE_E_VALUE, "whole number", ":2:");
    assert_refused("policy:\n  epochs: many\n", TCE_E_VALUE, "a number", ":2:");
    assert_refused("policy:\n  min_std: nan\n", TCE_E_VALUE, "a number", ":2:");
    assert_refused("policy:\n  covariance: fulll\n", TCE_E_VALUE, "full|contextual|diagonal",
                   ":2:");
    assert_refused("policy:\n  set_variance: maybe\n", TCE_E_VALUE, "true or false", ":2:");
    assert_refused("run:\n  seed: -1\n", TCE_E_VALUE, "from 0 to 18446744073709551615", ":2:");
    assert_refused("policy:\n  hidden: [1, [2]]\n", TCE_E_VALUE, "plain text", ":2:");
    assert_refused("policy: 3\n", TCE_E_VALUE, "section with keys", ":1:");
    assert_refused("- a\n- b\n", TCE_E_VALUE, "starts with a section", ":1:");
    assert_refused("policy:\n  epochs: [3\nrun:\n", TCE_E_CORRUPT, "not YAML", ":3:");
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    settings s;
    ok(settings_init(&s, METHODS, NULL));
    ck_assert_int_eq(settings_read(&s, METHODS, "no/such.yaml", 0, NULL), TCE_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "no/such.yaml"));
}
END_TEST

START_TEST(overrides_speak_the_same_language)
{
    settings s;
    ok(settings_init(&s, METHODS, NULL));
    ok(settings_override(&s, "run.iterations=1e6"));
    ck_assert_int_eq(s.run.iterations, 1000000);
    ok(settings_override(&s, "policy.hidden=16,16"));
    ck_assert_int_eq(s.policy.hidden.n, 2);
    ok(settings_override(&s, "policy.hidden=[]"));
    ck_assert_int_eq(s.policy.hidden.n, 0);
    ok(settings_override(&s, "task.options=x=1"));
    ck_assert_str_eq(s.task.options, "x=1");
    ck_assert_int_eq(settings_override(&s, "epochs=1"), TCE_E_VALUE);
    ck_assert_int_eq(settings_override(&s, "policy.epochs"), TCE_E_VALUE);
    ck_assert_int_eq(settings_override(&s, "policy.epoch=1"), TCE_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "policy.epochs?"));
}
END_TEST

/* A random value within the limits of a row, as text. */
static void random_text(const setting_row *row, tce_random *random, char *out, size_t size)
{
    const double least = fmax(row->least, -1e6), most = fmin(row->most, 1e6);
    const double real = least + (most - least) * tce_random_uniform(random);
    switch (row->type) {
    case SETTING_BOOL:
        snprintf(out, size, "%s", tce_random_below(random, 2) ? "true" : "false");
        break;
    case SETTING_REAL:
        snprintf(out, size, "%.17g", real);
        break;
    case SETTING_REALS:
        snprintf(out, size, "%.17g, %.17g", real, least);
        break;
    case SETTING_INTS:
        snprintf(out, size, "%.0f, %.0f", floor(real), least);
        break;
    case SETTING_TEXT:
        snprintf(out, size, "it's: \"%d\" # text", (int)tce_random_below(random, 1000));
        break;
    case SETTING_CHOICE:
        snprintf(out, size, "%s", row->choices[tce_random_below(random, 2)].word);
        break;
    case SETTING_METHOD:
        snprintf(out, size, "tce");
        break;
    default:
        snprintf(out, size, "%.0f", floor(real));
    }
}

START_TEST(a_dump_reads_back_to_the_same_settings)
{
    settings s, again;
    tce_random random;
    tce_random_start(&random, (uint64_t)_i, 5, 0, 0);
    ok(settings_init(&s, METHODS, NULL));
    const setting_row *row;
    for (size_t i = 0; (row = settings_row(s.table, i)) != NULL; i++) {
        char text[256];
        random_text(row, &random, text, sizeof text);
        ok(settings_set(&s, row->section, row->key, text, "test"));
    }
    char path[64];
    snprintf(path, sizeof path, "%s", file_with(""));
    FILE *file = fopen(path, "w");
    settings_dump(&s, file);
    fclose(file);
    ok(settings_init(&again, METHODS, NULL));
    ok(settings_read(&again, METHODS, path, 0, NULL));
    remove(path);
    for (size_t i = 0; (row = settings_row(s.table, i)) != NULL; i++) {
        char a[4096], b[4096];
        settings_text(&s, row, a, sizeof a);
        settings_text(&again, row, b, sizeof b);
        ck_assert_str_eq(a, b);
    }
}
END_TEST

START_TEST(texts_come_back_from_a_file_or_are_refused_by_the_name_of_their_key)
{
    static const char *const KEPT[] = { "plain",
                                        " spaced out ",
                                        "it's \"quoted\" # not a comment",
                                        "caf\xc3\xa9",
                                        "\xe2\x82\xac \xf0\x9f\x99\x82",
                                        "a: b",
                                        "\\n",
                                        "'" };
    static const char *const REFUSED[] = { "a\nb",
                                           "a\rb",
                                           "\t",
                                           "\x1b[0m",
                                           "\x7f",
                                           "\xff",
                                           "caf\xe9",
                                           "\xc3",
                                           "\xc0\xaf",
                                           "\xed\xa0\x80",
                                           "\xf5\x80\x80\x80",
                                           "\xc2\x85",
                                           "\xe2\x80\xa8",
                                           "\xef\xbb\xbf" };
    settings s, again;
    for (size_t i = 0; i < sizeof KEPT / sizeof KEPT[0]; i++) {
        ok(settings_init(&s, METHODS, NULL));
        ok(settings_init(&again, METHODS, NULL));
        ok(settings_set(&s, "task", "options", KEPT[i], "test"));
        const char *path = file_with("");
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        settings_dump(&s, file);
        fclose(file);
        ok(settings_read(&again, METHODS, path, 0, NULL));
        remove(path);
        ck_assert_str_eq(again.task.options, KEPT[i]);
    }
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        fails(settings_set(&s, "task", "options", REFUSED[i], "test"), TCE_E_VALUE, "task.options");
        ck_assert_str_eq(s.task.options, KEPT[sizeof KEPT / sizeof KEPT[0] - 1]);
    }
}
END_TEST

START_TEST(combinations_without_meaning_are_refused)
{
    static const char *const BAD[][2] = {
        { "mp.kind=dmp", "prodmp" },
        { "mp.learn_tau=true", "mp.tau" },
        { "projection.ratio_clip=0.2", "kind none" },
        { "projection.kind=none", "ratio_clip" },
        { "projection.mean_bound=0", "> 0" },
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        settings s;
        ok(settings_init(&s, METHODS, NULL));
        ok(settings_check(&s));
        ok(settings_override(&s, BAD[i][0]));
        ck_assert_msg(settings_check(&s) < 0, "%s is accepted", BAD[i][0]);
        ck_assert_msg(strstr(tce_error_message(), BAD[i][1]) != NULL, "%s", tce_error_message());
    }
    settings s;
    ok(settings_init(&s, METHODS, NULL));
    s.policy.set_variance = 1;
    s.policy.options.form = TCE_POLICY_FULL_CONTEXTUAL;
    ck_assert_int_eq(settings_check(&s), TCE_E_UNSUPPORTED);
    ok(settings_init(&s, METHODS, NULL));
    s.projection.options.entropy = TCE_TRPL_ENTROPY_EQUAL;
    s.projection.entropy_schedule = ENTROPY_NONE;
    ck_assert_int_eq(settings_check(&s), TCE_E_UNSUPPORTED);
    ok(settings_init(&s, METHODS, NULL));
    s.mp.disable_goal = s.mp.disable_weights = 1;
    ck_assert_int_eq(settings_check(&s), TCE_E_UNSUPPORTED);
}
END_TEST

START_TEST(damaged_files_are_refused_not_believed)
{
    /*
     * random bytes changed in a good file: never a crash, and an accepted file gives values within
     * the limits
     */
    static const char GOOD[] = "run:\n  method: tce\n  seed: 3\npolicy:\n  hidden: [32, 64]\n  "
                               "covariance: full\nmp:\n  weights_scale: 0.3\n  tau: 2\n";
    tce_random random;
    tce_random_start(&random, 11, 6, 0, 0);
    for (int round = 0; round < 3000; round++) {
        char text[sizeof GOOD];
        settings s;
        memcpy(text, GOOD, sizeof GOOD);
        for (uint64_t k = 1 + tce_random_below(&random, 4); k > 0; k--)
            text[tce_random_below(&random, sizeof GOOD - 1)] = (char)(1 + tce_random_below(&random,
                                                                                           255));
        if (load(&s, text) == TCE_OK)
            ck_assert_int_le(s.policy.hidden.n, MAX_LIST);
        else
            ck_assert_uint_gt(strlen(tce_error_message()), 10);
    }
}
END_TEST

/* ---- a method that the program does not have ------------------------------------------------- */

typedef struct search_settings {
    int32_t candidates, order;
    double share;
} search_settings;

static const setting_choice ORDERS[] = { { "worst_first", 7 }, { "best_first", -2 }, { NULL, 0 } };

static const setting_row SEARCH_ROWS[] = {
    { "search", "candidates", SETTING_INT, SETTINGS_OWN(search_settings, candidates), "8", 1, 1000,
      NULL, 0, "policies that are tried in an iteration" },
    { "search", "share", SETTING_REAL, SETTINGS_OWN(search_settings, share), "0.25", 0, 1, NULL,
      SETTING_FREE, "of them that are kept" },
    { "search", "order", SETTING_CHOICE, SETTINGS_OWN(search_settings, order), "best_first", 0, 0,
      ORDERS, 0, "in which they are tried" },
};

static const search_settings *search_of(const settings *s)
{
    return (const search_settings *)(const void *)s->own.bytes;
}

static tce_status check_search(const settings *s)
{
    return search_of(s)->share > 0.0 ? TCE_OK : tce_fail(TCE_E_VALUE, "search.share keeps nothing");
}

static const settings_group SEARCH_GROUP = { 3, SEARCH_ROWS, check_search };
static const settings_group *const SEARCH_GROUPS[] = { &SETTINGS_RUN, &SETTINGS_TASK,
                                                       &SETTINGS_POLICY, &SEARCH_GROUP, NULL };
static const char *const SEARCH_DEFAULTS[] = { "policy.epochs=7", "run.iterations=12", NULL };
static const settings_table SEARCH = { "search", SEARCH_GROUPS, SEARCH_DEFAULTS, NULL };
static const settings_table *const WITH_SEARCH[] = { &METHOD_TABLE_TCE.settings, &SEARCH, NULL };

/* As load, with the table above beside that of TCE, and words of a command line behind the file. */
static tce_status load_search(settings *s, const char *text, size_t n, char *const *words)
{
    const char *path = file_with(text);
    const tce_status status = settings_read(s, WITH_SEARCH, path, n, words);
    remove(path);
    return status;
}

START_TEST(a_method_brings_its_own_keys_and_defaults)
{
    settings s, again;
    ok(load_search(&s, "search:\n  candidates: 20\nrun:\n  seed: 3\n  method: search\n", 0, NULL));
    ck_assert_str_eq(s.table->name, "search");
    ck_assert_int_eq(search_of(&s)->candidates, 20);
    ck_assert_double_eq(search_of(&s)->share, 0.25);
    ck_assert_int_eq(search_of(&s)->order, -2);
    ck_assert_int_eq(s.policy.epochs, 7);
    ck_assert_int_eq(s.run.iterations, 12);
    ck_assert_uint_eq(s.run.seed, 3);
    ok(settings_check(&s));
    ok(settings_override(&s, "search.order=worst_first"));
    ck_assert_int_eq(search_of(&s)->order, 7);

    /* a record of it holds its keys and no others */
    char path[64], text[1 << 14] = "";
    snprintf(path, sizeof path, "%s", file_with(""));
    FILE *file = fopen(path, "w+");
    ck_assert_ptr_nonnull(file);
    settings_dump(&s, file);
    rewind(file);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    fclose(file);
    ck_assert_ptr_nonnull(strstr(text, "search:\n  candidates: 20"));
    ck_assert_ptr_nonnull(strstr(text, "order: worst_first"));
    ck_assert_ptr_null(strstr(text, "objective:"));
    ok(settings_read_record(&again, WITH_SEARCH, path));
    remove(path);
    memcpy(again.origin, s.origin, sizeof s.origin); /* a file gives every key */
    ck_assert_int_eq(memcmp(&s, &again, sizeof s), 0);
}
END_TEST

START_TEST(a_task_suggests_what_nobody_has_set)
{
    tce_env_spec spec = TCE_INIT(tce_env_spec);
    settings s;
    spec.n_obs = 40;
    spec.n_dof = 7;
    spec.n_steps = 1000;
    spec.dt = 0.002;
    ok(load(&s, "mp:\n  delay: 0.5\n  n_basis: 10\ncritic:\n  hidden: [9]\n"));
    ck_assert_int_eq(settings_need_task(&s), 1);
    ok(settings_suggest(&s, &spec));
    ck_assert_int_eq(settings_need_task(&s), 0);
    ck_assert_double_eq(s.mp.tau, 1.5);
    ck_assert_int_eq(s.collect.episodes, 160); /* twice 77 parameters, in rounds of 32 */
    ck_assert_int_eq(s.collect.environments, 32);
    ck_assert_int_eq(s.critic.minibatches, 64);
    ck_assert_int_eq(s.objective.time_points, 10);
    ck_assert_int_eq(s.policy.hidden.v[1], 128);
    ck_assert_int_eq(s.critic.hidden.n, 1);
    const setting_row *tau = settings_find_row(s.table, "mp", "tau");
    ck_assert_ptr_nonnull(strstr(settings_reason(&s, tau), "the whole episode"));
    ck_assert_ptr_null(settings_reason(&s, settings_find_row(s.table, "mp", "n_basis")));

    /* a short task; keys that hang together */
    spec.n_steps = 4;
    ok(load(&s, "run:\n  method: bbrl\ncollect:\n  episodes: 50\nmp:\n  tau: 3\n"));
    ok(settings_suggest(&s, &spec));
    ck_assert_double_eq(s.mp.tau, 3.0);
    ck_assert_int_eq(s.collect.environments, 25);
    ck_assert_int_eq(s.critic.minibatches, 1);

    /* methods of steps have other keys */
    ok(load(&s, "run:\n  method: ppo\n"));
    const int32_t environments = s.collect.environments;
    ok(settings_suggest(&s, &spec));
    ck_assert_int_eq(s.collect.environments, environments);
}
END_TEST

START_TEST(settings_for_several_tasks_leave_open_what_each_suggests)
{
    settings s;
    char text[1 << 14] = "";
    ok(load(&s, "collect:\n  episodes: 48\n"));
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    settings_dump_shared(&s, file);
    rewind(file);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    fclose(file);
    ck_assert_ptr_nonnull(strstr(text, "\n  episodes: 48"));
    ck_assert_ptr_nonnull(strstr(text, "\n  # tau: by the task"));
    ck_assert_ptr_null(strstr(text, "\n  tau:"));
    const char *path = file_with(text);
    ok(settings_read_record(&s, METHODS, path));
    remove(path);
    ck_assert_int_eq(settings_need_task(&s), 1);
}
END_TEST

START_TEST(the_method_of_the_command_line_is_known_before_the_file_is_read)
{
    settings s;
    char *words[] = { "run.method=search", "search.share=0.5", "search.share=0.75" };
    ok(load_search(&s, "run:\n  method: tce\npolicy:\n  epochs: 3\n", 3, words));
    ck_assert_str_eq(s.table->name, "search");
    ck_assert_double_eq(search_of(&s)->share, 0.75);
    ck_assert_int_eq(s.policy.epochs, 3);
    fails(load_search(&s, "run:\n  method: tce\nobjective:\n  time_points: 3\n", 3, words),
          TCE_E_NOT_FOUND, ":4: search has no objective.time_points: it belongs to tce");
    fails(settings_override(&s, "run.method=tce"), TCE_E_VALUE, "can no longer change");
    ck_assert_str_eq(s.table->name, "search");
}
END_TEST

START_TEST(keys_of_other_methods_are_named_as_such)
{
    settings s;
    fails(load_search(&s, "search:\n  candidates: 2\n", 0, NULL), TCE_E_NOT_FOUND,
          ":2: tce has no search.candidates: it belongs to search");
    fails(load(&s, "run:\n  method: bbrl\ncritic:\n  target: gae\n"), TCE_E_NOT_FOUND,
          ":4: bbrl has no critic.target: it belongs to tce");
    fails(load(&s, "run:\n  method: serach\n"), TCE_E_VALUE, "must be one of tce, bbrl");
    ok(load(&s, "run:\n  method: bbrl\nobjective:\n"));
    fails(settings_set(&s, "objective", "gamma", "1", "test"), TCE_E_NOT_FOUND, "belongs to tce");
}
END_TEST

START_TEST(a_table_that_contradicts_itself_is_an_error)
{
    static const char *const BAD[][2] = {
        { "policy.epochs=-1", "default of bad: policy.epochs = -1, must be in" },
        { "policy.epoch=1", "did you mean policy.epochs?" },
        { "epochs", "is not section.key=value" },
    };
    settings s;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        const char *const defaults[] = { BAD[i][0], NULL };
        const settings_table bad = { "bad", SEARCH_GROUPS, defaults, NULL };
        const settings_table *const methods[] = { &bad, NULL };
        ck_assert_int_lt(settings_init(&s, methods, NULL), 0);
        ck_assert_msg(strstr(tce_error_message(), BAD[i][1]) != NULL, "%s", tce_error_message());
    }

    /* a value that would lie behind the settings */
    const setting_row beyond = {
        "search", "share", SETTING_REAL, sizeof(settings) - 4, "1", 0, 1, NULL, 0, ""
    };
    const settings_group group = { 1, &beyond, NULL };
    const settings_group *const groups[] = { &SETTINGS_RUN, &group, NULL };
    const settings_table bad = { "bad", groups, NULL, NULL };
    const settings_table *const methods[] = { &bad, NULL };
    fails(settings_init(&s, methods, "bad"), TCE_E_VALUE, "search.share lies beyond");
    fails(settings_init(&s, METHODS, "bad"), TCE_E_VALUE, "must be one of tce, bbrl");
}
END_TEST

START_TEST(a_table_may_have_any_number_of_keys)
{
    enum { N = 700 };
    static setting_row rows[N];
    static char keys[N][16], text[32 * N];
    size_t used = (size_t)snprintf(text, sizeof text, "many:\n");
    for (size_t i = 0; i < N; i++) {
        snprintf(keys[i], sizeof keys[i], "key_%zu", i);
        rows[i] = (setting_row){ "many", keys[i], SETTING_INT, offsetof(settings, own) + 4 * i,
                                 "0",    0,       1e6,         NULL,
                                 0,      "" };
        used += (size_t)snprintf(text + used, sizeof text - used, "  key_%zu: %zu\n", i, i);
    }
    const settings_group group = { N, rows, NULL };
    const settings_group *const groups[] = { &SETTINGS_RUN, &group, NULL };
    const settings_table table = { "many", groups, NULL, NULL };
    const settings_table *const methods[] = { &table, NULL };
    settings s;
    const char *path = file_with(text);
    ok(settings_read(&s, methods, path, 0, NULL));
    remove(path);
    for (int32_t i = 0; i < N; i++)
        ck_assert_int_eq(((const int32_t *)(const void *)s.own.bytes)[i], i);
    snprintf(text + used, sizeof text - used, "  key_%d: 1\n", N - 1);
    file_with(text);
    fails(settings_read(&s, methods, path, 0, NULL), TCE_E_VALUE, "many.key_699 is set twice");
    remove(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *golden = test_case(suite, "golden", 0);
    tcase_add_test(golden, a_file_sets_its_keys_and_leaves_the_others);
    tcase_add_test(golden, an_empty_file_and_an_empty_section_change_nothing);
    tcase_add_test(golden, overrides_speak_the_same_language);
    tcase_add_test(golden, a_method_brings_its_own_keys_and_defaults);
    tcase_add_test(golden, the_method_of_the_command_line_is_known_before_the_file_is_read);
    tcase_add_test(golden, a_table_may_have_any_number_of_keys);
    tcase_add_test(golden, a_task_suggests_what_nobody_has_set);
    tcase_add_test(golden, settings_for_several_tasks_leave_open_what_each_suggests);
    TCase *property = test_case(suite, "property", 60);
    tcase_add_test(property, texts_come_back_from_a_file_or_are_refused_by_the_name_of_their_key);
    tcase_add_loop_test(property, a_dump_reads_back_to_the_same_settings, 0, 20);
    tcase_add_test(property, damaged_files_are_refused_not_believed);
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, mistakes_name_the_line_and_the_remedy);
    tcase_add_test(errors, a_missing_file_is_named);
    tcase_add_test(errors, keys_of_other_methods_are_named_as_such);
    tcase_add_test(errors, a_table_that_contradicts_itself_is_an_error);
    tcase_add_test(errors, combinations_without_meaning_are_refused);

    return test_run(suite);
}
