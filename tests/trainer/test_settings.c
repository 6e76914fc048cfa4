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

#include "settings/settings.h"
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
    settings_init(s);
    const char *path = file_with(text);
    const tce_status status = settings_load(s, path);
    remove(path);
    return status;
}

static void assert_refused(const char *text, tce_status status, const char *word, const char *line)
{
    settings s, before;
    settings_init(&before);
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
    ck_assert_int_eq(
        load(&s,
             "run:\n  method: bbrl\n  seed: 18446744073709551615\npolicy:\n  hidden: [32, 64, 8]\n "
             " learning_rate: 5e-4\n"
             "mp:\n  weights_scale: [1, 2.5]\n  relative_goal: yes\ntask:\n  options: 'a=1 b=2'\n"),
        TCE_OK);
    ck_assert_int_eq(s.run.method, METHOD_BBRL);
    ck_assert_uint_eq(s.run.seed, UINT64_MAX);
    ck_assert_int_eq(s.policy.hidden.n, 3);
    ck_assert_int_eq(s.policy.hidden.v[2], 8);
    ck_assert_double_eq(s.policy.learning_rate, 5e-4);
    ck_assert_int_eq(s.mp.weights_scale.n, 2);
    ck_assert_double_eq(s.mp.weights_scale.v[1], 2.5);
    ck_assert_int_eq(s.mp.relative_goal, 1);
    ck_assert_str_eq(s.task.options, "a=1 b=2");
    ck_assert_int_eq(s.policy.epochs, 50);
}
END_TEST

START_TEST(an_empty_file_and_an_empty_section_change_nothing)
{
    settings s, defaults;
    settings_init(&defaults);
    ck_assert_int_eq(load(&s, ""), TCE_OK);
    ck_assert_int_eq(load(&s, "# nothing\npolicy:\n"), TCE_OK);
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
    settings_init(&s);
    ck_assert_int_eq(settings_load(&s, "no/such.yaml"), TCE_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "no/such.yaml"));
}
END_TEST

START_TEST(overrides_speak_the_same_language)
{
    settings s;
    settings_init(&s);
    ck_assert_int_eq(settings_override(&s, "run.iterations=1e6"), TCE_OK);
    ck_assert_int_eq(s.run.iterations, 1000000);
    ck_assert_int_eq(settings_override(&s, "policy.hidden=16,16"), TCE_OK);
    ck_assert_int_eq(s.policy.hidden.n, 2);
    ck_assert_int_eq(settings_override(&s, "policy.hidden=[]"), TCE_OK);
    ck_assert_int_eq(s.policy.hidden.n, 0);
    ck_assert_int_eq(settings_override(&s, "task.options=x=1"), TCE_OK);
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
        snprintf(out, size, "%.*s", (int)strcspn(row->choices, "|"), row->choices);
        if (tce_random_below(random, 2))
            snprintf(out, size, "%s", strrchr(row->choices, '|') + 1);
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
    settings_init(&s);
    for (size_t i = 0; i < N_SETTING_ROWS; i++) {
        char text[256];
        random_text(&SETTING_ROWS[i], &random, text, sizeof text);
        ck_assert_msg(
            settings_set(&s, SETTING_ROWS[i].section, SETTING_ROWS[i].key, text, "test") == TCE_OK,
            "%s", tce_error_message());
    }
    char path[64];
    snprintf(path, sizeof path, "%s", file_with(""));
    FILE *file = fopen(path, "w");
    settings_dump(&s, file);
    fclose(file);
    settings_init(&again);
    ck_assert_msg(settings_load(&again, path) == TCE_OK, "%s", tce_error_message());
    remove(path);
    for (size_t i = 0; i < N_SETTING_ROWS; i++) {
        char a[4096], b[4096];
        settings_text(&s, &SETTING_ROWS[i], a, sizeof a);
        settings_text(&again, &SETTING_ROWS[i], b, sizeof b);
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
        settings_init(&s);
        settings_init(&again);
        ck_assert_int_eq(settings_set(&s, "task", "options", KEPT[i], "test"), TCE_OK);
        const char *path = file_with("");
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        settings_dump(&s, file);
        fclose(file);
        ck_assert_int_eq(settings_load(&again, path), TCE_OK);
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
        { "mp.tau=0", "mp.tau" },
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        settings s;
        settings_init(&s);
        ck_assert_int_eq(settings_check(&s), TCE_OK);
        ck_assert_int_eq(settings_override(&s, BAD[i][0]), TCE_OK);
        ck_assert_msg(settings_check(&s) < 0, "%s is accepted", BAD[i][0]);
        ck_assert_msg(strstr(tce_error_message(), BAD[i][1]) != NULL, "%s", tce_error_message());
    }
    settings s;
    settings_init(&s);
    s.policy.set_variance = 1;
    s.policy.covariance = TCE_POLICY_FULL_CONTEXTUAL;
    ck_assert_int_eq(settings_check(&s), TCE_E_UNSUPPORTED);
    settings_init(&s);
    s.projection.entropy = TCE_TRPL_ENTROPY_EQUAL;
    s.projection.entropy_schedule = TCE_TRPL_SCHEDULE_NONE;
    ck_assert_int_eq(settings_check(&s), TCE_E_UNSUPPORTED);
    settings_init(&s);
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

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *golden = test_case(suite, "golden", 0);
    tcase_add_test(golden, a_file_sets_its_keys_and_leaves_the_others);
    tcase_add_test(golden, an_empty_file_and_an_empty_section_change_nothing);
    tcase_add_test(golden, overrides_speak_the_same_language);
    TCase *property = test_case(suite, "property", 60);
    tcase_add_test(property, texts_come_back_from_a_file_or_are_refused_by_the_name_of_their_key);
    tcase_add_loop_test(property, a_dump_reads_back_to_the_same_settings, 0, 20);
    tcase_add_test(property, damaged_files_are_refused_not_believed);
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, mistakes_name_the_line_and_the_remedy);
    tcase_add_test(errors, a_missing_file_is_named);
    tcase_add_test(errors, combinations_without_meaning_are_refused);

    return test_run(suite);
}
