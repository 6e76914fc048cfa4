/*
 * Two methods that the program has never heard of, each a row beside those of the registry, with a
 * policy of its own size, a setting of its own and a column of its own. The commands train,
 * checkpoint, resume, evaluate, plot and export them as they are. The first uses what episodic
 * methods share; the second uses nothing of it, and has a replay.
 */
/* before Check, which has a macro of the name of one of its functions */
#include "commands/commands.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "methods/episodic.h"
#include "methods/replay.h"
#include "support.h"
#include "tools/csv.h"

static void label(const settings *s, char *out, size_t size)
{
    snprintf(out, size, "%s", s->table->name);
}

/* ---- shrink: weights shrink, whatever the episodes bring ------------------------------------- */

typedef struct shrink_settings {
    double share; /* of the weights that stays in an iteration */
} shrink_settings;

static tce_status create_shrink(const method_context *c, void **out)
{
    static const char *const OWN_COLUMNS[] = { "largest_weight", NULL };
    learner *l = NULL;
    const tce_status status = episodic_create(c, &(episodic_options){ .columns = OWN_COLUMNS }, &l);
    if (status == TCE_OK)
        l->own = memory_doubles(&l->arrays, tce_policy_n_weights(l->agent.policy));
    *out = l;
    return status;
}

static tce_status iterate_shrink(void *self, int64_t i, progress *out)
{
    learner *l = self;
    const double share = ((const shrink_settings *)(const void *)l->s.own.bytes)->share;
    double *weights = l->own, largest = 0.0;
    const tce_status status = episodic_collect(l, i, NULL, out);
    if (status != TCE_OK)
        return status;
    tce_policy_get_weights(l->agent.policy, weights);
    for (size_t k = 0; k < tce_policy_n_weights(l->agent.policy); k++)
        largest = fmax(largest, fabs(weights[k] *= share));
    out->values[l->own_column] = largest;
    return tce_policy_set_weights(l->agent.policy, weights);
}

static const setting_row SHARE = { "shrink",
                                   "share",
                                   SETTING_REAL,
                                   SETTINGS_OWN(shrink_settings, share),
                                   "0.5",
                                   0,
                                   1,
                                   NULL,
                                   0,
                                   "of the weights that stays in an iteration" };
static const settings_group SHRINK_OWN = { 1, &SHARE, NULL };
static const settings_group *const SHRINK_GROUPS[] = {
    &SETTINGS_RUN,      &SETTINGS_TASK, &SETTINGS_COLLECT,
    &SETTINGS_EVALUATE, &SETTINGS_MP,   &SETTINGS_POLICY,
    &SETTINGS_CRITIC,   &SHRINK_OWN,    NULL
};
static const char *const SHRINK_DEFAULTS[] = { "mp.n_basis=2", "policy.hidden=[3]", NULL };
static const method SHRINK = { .settings = { "shrink", SHRINK_GROUPS, SHRINK_DEFAULTS, NULL },
                               EPISODIC_ROW,
                               .label = label,
                               .create = create_shrink,
                               .destroy = episodic_destroy,
                               .iterate = iterate_shrink };

/* ---- bare: the same without anything that methods share, and with a replay ------------------- */

typedef struct bare_settings {
    double share; /* of the weights that stays in an iteration */
} bare_settings;

enum { N_PAST = 3 };

typedef struct bare {
    double share;
    agent agent;
    episodes ep;
    memory arrays;
    const char **columns;
    double *weights;
    replay past; /* a return and a weight per iteration */
    uint64_t seed;
} bare;

static void destroy(void *learner)
{
    bare *l = learner;
    if (!l)
        return;
    episodes_free(&l->ep);
    agent_close(&l->agent);
    memory_free(&l->arrays);
    free(l);
}

/* A primitive of two basis functions, and three hidden units: nothing of it is in the settings. */
static tce_status create(const method_context *c, void **out)
{
    const settings *s = c->s;
    const episodes_options options = { s->collect.episodes, s->collect.environments,
                                       PURPOSE_TRAIN_ENV, "", NULL };
    const int32_t hidden = 3;
    tce_mp_options mp;
    tce_policy_options policy;
    tce_random random;
    bare *l = *out = calloc(1, sizeof *l);
    ck_assert_ptr_nonnull(l);
    l->share = ((const bare_settings *)(const void *)s->own.bytes)->share;
    ok(episodes_create(&l->ep, c->t, s, c->pool, &options));
    agent_describe(&l->agent, l->ep.spec, s->task.name, 1, 0);
    tce_mp_options_init(&mp, sizeof mp);
    mp.n_dof = l->ep.spec->n_dof;
    mp.n_basis = 2;
    mp.dt = l->ep.spec->dt;
    mp.relative_goal = 1;
    ok(tce_mp_create(&mp, NULL, &l->agent.mp));
    l->agent.P = tce_mp_n_params(l->agent.mp);

    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = (int32_t)l->agent.O_net;
    policy.n_dims = (int32_t)l->agent.P;
    policy.form = TCE_POLICY_DIAGONAL_SHARED;
    policy.n_hidden = 1;
    policy.hidden = &hidden;
    policy.max_batch = s->collect.environments;
    ok(tce_policy_create(&policy, NULL, &l->agent.policy));
    tce_random_start(&random, s->run.seed, PURPOSE_POLICY_START, 0, 0);
    ok(tce_policy_start(l->agent.policy, &random));
    ok(episodes_allocate(&l->ep, &l->agent, &l->arrays));
    l->columns = memory_take(&l->arrays, l->ep.M + 4, sizeof *l->columns);
    memcpy(l->columns, l->ep.names, (l->ep.M + 2) * sizeof *l->columns);
    l->columns[l->ep.M + 2] = "drawn";
    l->columns[l->ep.M + 3] = "largest_weight";
    l->seed = s->run.seed;
    ok(replay_create(&l->past, &(replay_options){ 1, N_PAST, 2, TCE_NET_FLOAT }, &l->arrays));
    l->weights = memory_doubles(&l->arrays, tce_policy_n_weights(l->agent.policy));
    ck_assert(!l->arrays.failed);
    return TCE_OK;
}

static size_t columns(const void *learner, const char *const **names)
{
    const bare *l = learner;
    *names = l->columns;
    return l->ep.M + 4;
}

static const agent *agent_of(const void *learner)
{
    return &((const bare *)learner)->agent;
}

/* What it keeps of the past, and the mean of eight draws from it. */
static double draw_past(bare *l, int64_t i, double result, double weight)
{
    replay_place places[8];
    double values[8], sum = 0.0;
    tce_random random;
    replay_write(&l->past, (const double[]){ result, weight }, NULL);
    tce_random_start(&random, l->seed, 99, (uint64_t)i, 0);
    ok(replay_sample(&l->past, &random, 8, places));
    replay_gather(&l->past, 8, places, 0, 1, values, 1);
    for (int k = 0; k < 8; k++)
        sum += values[k] / 8.0;
    return sum;
}

static journal_rows *rows_of(void *learner)
{
    return &((bare *)learner)->past.rows;
}

static tce_status iterate(void *learner, int64_t i, progress *out)
{
    bare *l = learner;
    const size_t n = tce_policy_n_weights(l->agent.policy);
    double largest = 0.0;
    const tce_status status = episodes_collect(&l->ep, (uint64_t)i, 1, NULL, NULL);
    if (status != TCE_OK)
        return status;
    tce_policy_get_weights(l->agent.policy, l->weights);
    for (size_t k = 0; k < n; k++) {
        l->weights[k] *= l->share;
        largest = fmax(largest, fabs(l->weights[k]));
    }
    out->env_steps = l->ep.n_steps;
    out->seconds[0] = 0.25;
    episodes_report(&l->ep, out->values);
    out->values[l->ep.M + 2] = draw_past(l, i, out->values[0], largest);
    out->values[l->ep.M + 3] = largest;
    return tce_policy_set_weights(l->agent.policy, l->weights);
}

static tce_status save(const void *learner, tce_store *store)
{
    return tce_policy_save(agent_of(learner)->policy, store, "bare");
}

static tce_status load(void *learner, const tce_store *store)
{
    return tce_policy_load(agent_of(learner)->policy, store, "bare");
}

static const char *const PHASES[] = { "waiting", NULL };
static const setting_row ROWS[] = { { "bare", "share", SETTING_REAL,
                                      SETTINGS_OWN(bare_settings, share), "0.5", 0, 1, NULL, 0,
                                      "of the weights that stays in an iteration" } };
static const settings_group OWN = { 1, ROWS, NULL };
static const settings_group *const GROUPS[] = {
    &SETTINGS_RUN, &SETTINGS_TASK, &SETTINGS_COLLECT, &SETTINGS_EVALUATE, &OWN, NULL
};
static const method BARE = { .settings = { "bare", GROUPS, NULL, NULL },
                             .phases = PHASES,
                             .label = label,
                             .create = create,
                             .destroy = destroy,
                             .columns = columns,
                             .agent = agent_of,
                             .iterate = iterate,
                             .rows = rows_of,
                             .save = save,
                             .load = load };

/* Instead of the program's. */
const settings_table *const METHODS[] = { &METHOD_TABLE_TCE.settings, &METHOD_TABLE_BBRL.settings,
                                          &SHRINK.settings, &BARE.settings, NULL };

/* ---- the commands ---------------------------------------------------------------------------- */

static char folder[TEST_FOLDER];

static void make_folder(void)
{
    test_make_folder("method", folder);
    ck_assert_int_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
    test_remove_folder(folder);
}

enum { MAX_WORDS = 24, MAX_TEXT = 1 << 16 };

/* A command with its words, up to NULL; what it prints is in `printed`. */
static int run(int (*command)(int argc, char **argv), const char *const *words)
{
    char *argv[MAX_WORDS + 1] = { 0 };
    int argc = 0;
    fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    ck_assert_ptr_nonnull(freopen("printed", "w", stdout));
    for (; words[argc]; argc++) {
        ck_assert_int_lt(argc, MAX_WORDS);
        argv[argc] = strdup(words[argc]);
    }
    const int code = command(argc, argv);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return code;
}

static const char *text_of(const char *path)
{
    static char text[MAX_TEXT];
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "no %s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void check_same_bytes(const char *path, const char *other)
{
    FILE *a = fopen(path, "rb"), *b = fopen(other, "rb");
    ck_assert(a && b);
    for (int x = 0, y = 0; x != EOF; x = fgetc(a), y = fgetc(b))
        ck_assert_int_eq(x, y);
    fclose(a);
    fclose(b);
}

/* The methods under test; loops of tests count through them. */
static const char *const NAMES[] = { "shrink", "bare" };
enum { N_NAMES = sizeof NAMES / sizeof *NAMES };

/*
 * Trains a method into a folder for some iterations; the task library is the one that TCE_TASKS
 * names.
 */
static void train(const char *name, const char *out, const char *iterations)
{
    char method_word[64], share_word[64];
    snprintf(method_word, sizeof method_word, "run.method=%s", name);
    snprintf(share_word, sizeof share_word, "%s.share=0.25", name);
    const char *const words[] = { "train",
                                  method_word,
                                  share_word,
                                  "task.name=point_via",
                                  "collect.episodes=5",
                                  "collect.environments=3",
                                  "evaluate.every=1",
                                  "evaluate.episodes=2",
                                  "run.checkpoint_every=1",
                                  iterations,
                                  "--task-library",
                                  getenv("TCE_TASKS"),
                                  "--out",
                                  out,
                                  NULL };
    ck_assert_msg(getenv("TCE_TASKS") != NULL, "TCE_TASKS is not set: run `make check-trainer`");
    ck_assert_int_eq(run(cmd_train, words), EXIT_FINE);
}

static void resume(const char *in, const char *iterations)
{
    const char *const words[] = { "train",          "--resume",          in,  iterations,
                                  "--task-library", getenv("TCE_TASKS"), NULL };
    ck_assert_int_eq(run(cmd_train, words), EXIT_FINE);
}

/* The last number of each row but row 0 of the column that is the method's own. */
static void check_column(const char *path)
{
    char text[MAX_TEXT], *names[64], *fields[64];
    double before = NAN;
    snprintf(text, sizeof text, "%s", text_of(path));
    char *line = strtok(text, "\n");
    const size_t n = csv_split(line, 64, names);
    size_t own = 0;
    int rows = 0;
    while (own < n && strcmp(names[own], "largest_weight") != 0)
        own++;
    ck_assert_uint_lt(own, n);
    for (char *next; (next = strtok(NULL, "\n")) != NULL; rows++) {
        ck_assert_uint_eq(csv_split(next, 64, fields), n);
        if (rows == 0) {
            ck_assert_str_eq(fields[own], ""); /* the evaluation before the first iteration */
            continue;
        }
        const double largest = strtod(fields[own], NULL);
        if (rows > 1) /* the weights are floats */
            ck_assert_double_eq_tol(largest, 0.25 * before, 1e-6 * before);
        before = largest;
    }
    ck_assert_int_eq(rows, 4);
}

START_TEST(a_new_method_trains_and_resumes_to_the_same_bytes)
{
    static const char *const TIMINGS[] = {
        "iteration,simulation,critic,policy,evaluation,total\n1,",
        "iteration,waiting,evaluation,total\n1,0.250000,"
    };
    static char whole[MAX_TEXT];
    train(NAMES[_i], "one", "run.iterations=3");
    check_column("one/progress.csv");
    ck_assert_ptr_nonnull(strstr(text_of("one/config.yaml"), "  share: 0.25"));
    ck_assert_int_eq(strncmp(text_of("one/timing.csv"), TIMINGS[_i], strlen(TIMINGS[_i])), 0);

    train(NAMES[_i], "two", "run.iterations=2");
    resume("two", "run.iterations=3");
    snprintf(whole, sizeof whole, "%s", text_of("one/progress.csv"));
    ck_assert_str_eq(text_of("two/progress.csv"), whole);
    check_same_bytes("one/policy.safetensors", "two/policy.safetensors");
}
END_TEST

/* The ring is full after three iterations, and each file of its journal has one row. */
START_TEST(a_method_with_a_replay_resumes_to_the_same_bytes)
{
    static char whole[MAX_TEXT];
    static const char CHECKPOINT[] = "checkpoints/ckpt-00000009.safetensors";
    char one[100], two[100];
    train("bare", "one", "run.iterations=9");
    train("bare", "two", "run.iterations=2");
    resume("two", "run.iterations=5");
    resume("two", "run.iterations=6");
    resume("two", "run.iterations=9");
    snprintf(whole, sizeof whole, "%s", text_of("one/progress.csv"));
    ck_assert_str_eq(text_of("two/progress.csv"), whole);
    snprintf(one, sizeof one, "one/%s", CHECKPOINT);
    snprintf(two, sizeof two, "two/%s", CHECKPOINT);
    check_same_bytes(one, two);
    check_same_bytes("one/checkpoints/rows-000000000008.bin",
                     "two/checkpoints/rows-000000000008.bin");
    /* rows 5, 6 and 7 belong to the checkpoint before the last one */
    ck_assert_int_eq(access("one/checkpoints/rows-000000000005.bin", F_OK), 0);
    ck_assert_int_ne(access("one/checkpoints/rows-000000000004.bin", F_OK), 0);

    /* without its last row, the last checkpoint is none, and the one before is */
    ck_assert_int_eq(unlink("two/checkpoints/rows-000000000008.bin"), 0);
    resume("two", "run.iterations=9");
    ck_assert_str_eq(text_of("two/progress.csv"), whole);
    check_same_bytes(one, two);
}
END_TEST

START_TEST(a_new_method_is_evaluated_plotted_and_exported)
{
    const char *library = getenv("TCE_TASKS");
    char method_word[64], evaluation[64], row[64];
    snprintf(method_word, sizeof method_word, "run.method=%s", NAMES[_i]);
    snprintf(evaluation, sizeof evaluation, "point_via, %s, seed", NAMES[_i]);
    snprintf(row, sizeof row, "point_via,%s,1,2,", NAMES[_i]);
    const char *const evaluated[] = { "eval",           "one",   "--episodes", "4",
                                      "--task-library", library, NULL };
    const char *const plotted[] = { "plot",       "one", "--out",         "plots",
                                    "--episodes", "2",   "--no-pictures", "--task-library",
                                    library,      NULL };
    const char *const exported[] = { "export", "one", NULL };
    const char *const timed[] = { "bench",
                                  method_word,
                                  "task.name=point_via",
                                  "collect.episodes=4",
                                  "collect.environments=2",
                                  "--iterations",
                                  "1",
                                  "--json",
                                  "--task-library",
                                  library,
                                  NULL };
    train(NAMES[_i], "one", "run.iterations=1");
    ck_assert_int_eq(run(cmd_eval, evaluated), EXIT_FINE);
    ck_assert_ptr_nonnull(strstr(text_of("printed"), evaluation));
    ck_assert_ptr_nonnull(strstr(text_of("printed"), "smoothness, measured velocities"));
    ck_assert_int_eq(run(cmd_plot, plotted), EXIT_FINE);
    ck_assert_ptr_nonnull(strstr(text_of("plots/smoothness.csv"), row));
    ck_assert_int_eq(run(cmd_export, exported), EXIT_FINE);
    ck_assert_ptr_nonnull(strstr(text_of("one/export/policy.c"), "task point_via"));
    ck_assert_int_eq(run(cmd_bench, timed), EXIT_FINE);
    ck_assert_ptr_nonnull(
        strstr(text_of("printed"), _i == 0 ? "\"simulation\": " : "\"waiting\": 0.25,"));
    ck_assert_ptr_nonnull(strstr(text_of("printed"), "\"replay_same\": true"));
}
END_TEST

START_TEST(a_setting_of_a_new_method_is_no_other_methods)
{
    settings s;
    ok(settings_init(&s, METHODS, "tce"));
    fails(settings_override(&s, "shrink.share=0.5"), TCE_E_NOT_FOUND, "it belongs to shrink");
    ok(settings_init(&s, METHODS, "shrink"));
    ok(settings_override(&s, "shrink.share=0.5"));
    fails(settings_override(&s, "shrink.share=1.5"), TCE_E_VALUE, "shrink.share");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("method");
    TCase *property = test_case(suite, "property", 120);
    tcase_add_checked_fixture(property, make_folder, remove_folder);
    tcase_add_loop_test(property, a_new_method_trains_and_resumes_to_the_same_bytes, 0, N_NAMES);
    tcase_add_test(property, a_method_with_a_replay_resumes_to_the_same_bytes);
    tcase_add_loop_test(property, a_new_method_is_evaluated_plotted_and_exported, 0, N_NAMES);
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, a_setting_of_a_new_method_is_no_other_methods);

    return test_run(suite);
}
