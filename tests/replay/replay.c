/*
 * Replays case files through libtce:  replay a.json b.json.gz …
 *
 * A file is a JSON list of cases or one case, plain or compressed by gzip. One line per case:
 * file:index kind note, largest difference (as the tolerance measures it), tolerance, ok or FAIL
 * with the field or the reason; last line "N passed, N failed". Exit status 1 when anything failed,
 * 2 without files. An unknown kind fails. Case formats: docs/inside/replay.md.
 */
#include "replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { MAX_NAME = 256, READ_STEP = 1 << 16 };

#ifndef TASK_RUNS
#error \
    "TASK_RUNS is the MuJoCo that make deps fetches: of a task's runs with several the one that is replayed"
#endif

/* Which function replays which kind. A new family of files is a new block of rows. */
static const struct {
    const char *kind;
    replay_function function;
} kinds[] = {
    /* movement primitives */
    { "prodmp", replay_trajectory_prodmp },
    { "prodmp_acceleration", replay_trajectory_prodmp },
    { "promp", replay_trajectory_promp },
    { "dmp", replay_trajectory_dmp },
    { "prodmp_fit", replay_fit_prodmp },
    { "promp_fit", replay_fit_promp },
    { "dmp_fit", replay_fit_dmp },
    { "trajectory_covariance", replay_trajectory_covariance },
    { "phases", replay_phases },

    /* projections */
    { "projection", replay_projection },
    { "kl_cov", replay_kl_cov },
    { "kl_mean", replay_kl_mean },
    { "frobenius_cov", replay_frobenius_cov },
    { "w2_cov", replay_w2_cov },
    { "entropy_control", replay_entropy_control },
    { "entropy_schedule", replay_entropy_schedule },

    /* squashed Gaussians */
    { "squashed_gaussian", replay_squashed_gaussian },
    { "squashed_clipped", replay_squashed_clipped },

    /* networks */
    { "mlp_adam", replay_mlp_adam },

    /* objective */
    { "time_points", replay_time_points },
    { "returns", replay_returns },
    { "segment_advantages", replay_segment_advantages },
    { "objective", replay_objective },
    { "objective_contextual", replay_objective },
    { "objective_clip", replay_objective },

    /* whole updates */
    { "policy_update", replay_policy_update },
    { "policy_update_options", replay_policy_update },

    /* tasks */
    { "box_pushing", replay_box_pushing },
    { "box_draw", replay_box_draw },
    { "arm_pose", replay_arm_pose },
    { "hopper_jump", replay_hopper_jump },
    { "hopper_draw", replay_hopper_draw },
    { "table_tennis", replay_table_tennis },
    { "tennis_draw", replay_tennis_draw },

    /* Metaworld */
    { "waves", replay_metaworld },
    { "expert", replay_metaworld },
    { "again", replay_metaworld },
    { "metaworld_helpers", replay_metaworld_helpers },

    /* what is reported about runs */
    { "gae", replay_gae },
    { "iqm_bootstrap", replay_iqm_bootstrap },
    { "jerk", replay_jerk },
    { "correlation", replay_correlation },

    /* the step-based methods */
    { "pendulum", replay_pendulum },
    { "coloured_exact", replay_coloured_exact },
    { "coloured_statistics", replay_coloured_statistics },
    { "coloured_theory", replay_coloured_theory },
    { "pink_stream", replay_pink_stream },
    { "replay_buffer", replay_replay_buffer },
    { "sac_updates", replay_sac_updates },
    { "sac_target", replay_sac_target },
    { "sac_run", replay_sac_run },
    { "entropy_coefficient", replay_entropy_coefficient },
    { "sac_mp_updates", replay_sac_mp_updates },
    { "ppo_updates", replay_ppo_updates },
    { "ppo_minibatch_updates", replay_ppo_minibatch_updates },
    { "clip_surrogate", replay_clip_surrogate },
    { "schedule", replay_schedule },
    { "schedule_iterations", replay_schedule_iterations },
    { "gsde_distribution", replay_gsde_distribution },
    { "gsde_updates", replay_gsde_updates },
    { "gsde_minibatch_updates", replay_gsde_minibatch_updates },
    { "ppo_run", replay_ppo_run },
    { "gsde_run", replay_gsde_run },
    { "trpl_step_updates", replay_trpl_step_updates },
    { "trpl_step_minibatches", replay_trpl_step_minibatches },
    { "bbrl_clip_updates", replay_bbrl_clip_updates },
    { "policy_action", replay_policy_action },
    { "vecnormalize", replay_vecnormalize },
    { "vecnormalize_frozen", replay_vecnormalize_frozen },
};

/* ---- one case -------------------------------------------------------------------------------- */

static replay_function find_kind(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            return kinds[i].function;
    return NULL;
}

/* Runs the case up to its end, wherever that is; reason tells a failure. */
static void run(replay_case *c)
{
    if (setjmp(c->end) != 0)
        return;
    const char *kind = replay_text(c, c->root, "kind");
    if (kind == NULL)
        replay_fail(c, "the case has no \"kind\"");
    const replay_function function = find_kind(kind);
    if (function == NULL)
        replay_fail(c, "unknown kind");
    function(c);
    if (c->n_compared == 0)
        replay_fail(c, "there is nothing to compare");
}

/* A case with "error" passes when libtce refuses it, with that status when the field names one. */
static void judge_error(replay_case *c, const json_t *error)
{
    const char *name = json_string_value(error);
    const char *came = tce_status_name(c->status);

    if (c->status == TCE_OK && c->reason[0] == '\0')
        snprintf(c->reason, sizeof c->reason, "an error was expected, none came");
    else if (c->status != TCE_OK && name != NULL && strncmp(name, "TCE_E_", 6) == 0 &&
             strcmp(name, came) != 0)
        snprintf(c->reason, sizeof c->reason, "%s was expected, %s came", name, came);
    else if (c->status != TCE_OK)
        c->reason[0] = '\0';
}

/* Appends " text" as far as there is room. */
static void append(char *name, size_t size, const char *text)
{
    const size_t length = strlen(name);

    if (text != NULL)
        snprintf(name + length, size - length, " %s", text);
}

/*
 * Numbers in the case that no one looked at, named after an ok, so that it does not promise too
 * much.
 */
static void print_unseen(const replay_case *c)
{
    const char *key;
    json_t *value;
    int n = 0;

    json_object_foreach((json_t *)c->root, key, value)
    {
        if (!json_is_string(value) && !json_is_null(value) && !replay_was_read(c, key))
            printf("%s%s", n++ == 0 ? "  (not compared: " : ", ", key);
    }
    if (n > 0)
        printf(")");
}

/* Replays one case and prints its line; 1 when it passed. */
static int replay_one(const char *file, size_t index, const json_t *root)
{
    static const char *const notes[] = { "kind",       "task",       "profile", "variant",
                                         "projection", "activation", "note",    "schedule" };
    replay_case *c = calloc(1, sizeof *c);
    char name[MAX_NAME];

    /* its name: where it is and what it says about itself */
    snprintf(name, sizeof name, "%s:%zu", file, index);
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        append(name, sizeof name, json_string_value(json_object_get(root, notes[i])));
    if (c == NULL) {
        printf("%s  FAIL out of memory\n", name);
        return 0;
    }

    c->root = root;
    run(c);
    replay_release(c);
    const json_t *error = json_object_get(root, "error");
    const int expects_error = error != NULL && !json_is_null(error) && !json_is_false(error);
    if (expects_error)
        judge_error(c, error);

    /* its verdict; a NaN difference does not pass */
    const int compared = c->n_compared > 0;
    const int passed = c->reason[0] == '\0' &&
                       (expects_error || (compared && c->difference <= c->tolerance));
    if (compared)
        printf("%s  %.2e  %.0e  ", name, c->difference, c->tolerance);
    else
        printf("%s  -  -  ", name);
    if (passed) {
        printf("ok");
        if (!expects_error)
            print_unseen(c);
    } else {
        printf("FAIL %s", c->reason[0] != '\0' ? c->reason : c->field);
    }
    printf("\n");
    free(c);
    return passed;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The whole file, decompressed where it is compressed; malloc'ed, NULL when it cannot be read. */
static char *read_whole(const char *path, size_t *size)
{
    gzFile file = gzopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    int got = 0;

    *size = 0;
    if (file == NULL)
        return NULL;
    do {
        *size += (size_t)got;
        if (room - *size < READ_STEP) {
            room = 2 * room + READ_STEP;
            char *larger = realloc(text, room);
            if (larger == NULL) {
                got = -1;
                break;
            }
            text = larger;
        }
        got = gzread(file, text + *size, READ_STEP);
    } while (got > 0);

    /* gzclose tells a file that was cut short */
    const int closed = gzclose(file);
    if (got < 0 || closed != Z_OK) {
        free(text);
        return NULL;
    }
    return text;
}

/*
 * Cases of tasks come as {"cases": [given], "runs": {MuJoCo version: {name: results}}}. One of them
 * as a case of its own: the kind is the task, or the name without its number.
 */
static json_t *task_case(const json_t *given, const json_t *runs)
{
    const char *name = json_string_value(json_object_get(given, "name"));
    const char *task = json_string_value(json_object_get(given, "task"));
    json_t *run = name != NULL ? json_object_get(runs, name) : NULL;
    char kind[MAX_NAME];

    snprintf(kind, sizeof kind, "%s", task != NULL ? task : name != NULL ? name : "");
    char *number = strrchr(kind, '_');
    if (task == NULL && number != NULL)
        *number = '\0';
    return json_pack("{s:s, s:s*, s:O, s:O*}", "kind", kind, "note", name, "case", given, "run",
                     run);
}

static int same_text(const json_t *a, const json_t *b, const char *key)
{
    const char *x = json_string_value(json_object_get(a, key));
    const char *y = json_string_value(json_object_get(b, key));

    return x != NULL && y != NULL && strcmp(x, y) == 0;
}

/*
 * Cases of Metaworld: episodes of one environment may follow each other. A case gets the random
 * vectors of those before it, the last first.
 */
static void link_episodes(const json_t *list)
{
    for (size_t i = 1; i < json_array_size(list); i++) {
        json_t *next = json_array_get(list, i);
        json_t *earlier = json_array();

        for (size_t k = i; k-- > 0;) {
            const json_t *before = json_array_get(list, k);
            json_t *vector = json_object_get(before, "rand_vec");
            if (vector != NULL && same_text(before, next, "task") &&
                same_text(before, next, "profile"))
                json_array_append(earlier, vector);
        }
        if (json_array_size(earlier) > 0)
            json_object_set(next, "before", earlier);
        json_decref(earlier);
    }
}

/* A note on the file among its cases. */
static int is_note(const json_t *entry)
{
    const char *kind = json_string_value(json_object_get(entry, "kind"));

    return kind != NULL && strcmp(kind, "about") == 0;
}

/* The same file as a list of cases; a new reference. NULL when it is none of these. */
static json_t *as_list(json_t *root)
{
    json_t *cases = json_object_get(root, "cases");
    const json_t *runs = json_object_get(root, "runs");

    /* one case, or formulas by themselves, is a list of one */
    if (json_object_get(root, "tolerance") != NULL && json_object_get(root, "hamacher") != NULL)
        json_object_set_new(root, "kind", json_string("metaworld_helpers"));
    if (json_object_get(root, "kind") != NULL)
        return json_pack("[O]", root);

    json_t *list = json_is_array(root) ? root : cases;
    if (!json_is_array(list))
        return NULL;
    if (json_is_array(root) || runs == NULL) {
        link_episodes(list);
        return json_incref(list);
    }
    list = json_array();
    for (size_t i = 0; i < json_array_size(cases); i++)
        json_array_append_new(
            list, task_case(json_array_get(cases, i), json_object_get(runs, TASK_RUNS)));
    return list;
}

/* Replays every case of a file; one that cannot be read is one failure. */
static void replay_file(const char *path, size_t *n_passed, size_t *n_failed)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    json_error_t error = { 0 };
    size_t size;

    char *text = read_whole(path, &size);
    json_t *root = text != NULL ? json_loadb(text, size, 0, &error) : NULL;
    free(text);
    if (root == NULL) {
        printf("%s  -  -  FAIL %s\n", path, error.text[0] != '\0' ? error.text : "cannot be read");
        ++*n_failed;
        return;
    }
    json_t *list = as_list(root);
    if (json_array_size(list) == 0) {
        printf("%s  -  -  FAIL not a list of cases\n", path);
        ++*n_failed;
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!is_note(json_array_get(list, i)))
            ++*(replay_one(file, i, json_array_get(list, i)) ? n_passed : n_failed);
    json_decref(list);
    json_decref(root);
}

int main(int argc, char **argv)
{
    size_t n_passed = 0;
    size_t n_failed = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: replay FILE.json[.gz] ...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    tce_blas_set_threads(1);
    for (int i = 1; i < argc; i++)
        replay_file(argv[i], &n_passed, &n_failed);
    printf("%zu passed, %zu failed\n", n_passed, n_failed);
    return n_failed > 0;
}
