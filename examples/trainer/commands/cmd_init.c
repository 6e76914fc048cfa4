/*
 * tce init: settings for a task to begin with, as YAML: what its spec suggests, with the reason,
 * and the keys that are worth trying first when it does not learn.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/collect.h"
#include "commands/commands.h"
#include "methods/methods.h"
#include "settings/suggest.h"

static const char OPTIONS[] =
    "  --method NAME  run.method [tce]\n"
    "  --help         print this\n"
    "\n"
    "LIBRARY is the file of a task library of your own; without one, TASK is a task that comes "
    "with "
    "the program. Redirect the\n"
    "output into a file, adapt it, and train:  tce init ./libmine.so reach > reach.yaml && "
    "tce train reach.yaml\n";

/* Keys beside those that the task suggests, and what to say of them in place of their help. */
static const struct {
    const char *name, *comment;
} SHOWN[] = {
    { "run.method", NULL },
    { "run.seed", NULL },
    { "run.iterations", NULL },
    { "run.stop_success", NULL },
    { "task.name", NULL },
    { "task.library", NULL },
    { "task.options", NULL },
    { "evaluate.every", NULL },
    { "evaluate.episodes", NULL },
    { "mp.n_basis", "basis functions per degree of freedom: more of them allow quicker turns" },
    { "mp.weights_scale",
      "how far the first episodes bend away from a straight path, in the units of positions" },
    { "mp.goal_scale",
      "how far from their start the first episodes end, in the units of positions" },
    { "mp.relative_goal", NULL },
    { "policy.learning_rate", "learning rate of Adam; lower it when kl_mean stays at its bound" },
    { "policy.epochs", NULL },
    { "policy.initial_std", "1: exploration as wide as mp.weights_scale and mp.goal_scale say" },
    { "critic.learning_rate", NULL },
    { "critic.epochs", NULL },
    { "projection.mean_bound", "larger: learning is faster, but less reliable" },
    { "projection.cov_bound", "larger: exploration narrows sooner" },
    { "objective.gamma", NULL },
    { "update.batch_size", NULL },
    { "update.minibatches", NULL },
    { "update.gradient_steps", NULL },
};

typedef struct init_options {
    const char *library, *task, *method;
    int n;
    char **words; /* [n] section.key=value */
} init_options;

/* What to say of a row; NULL: it is not shown. */
static const char *comment_on(const settings *s, const setting_row *row)
{
    char name[160];
    const char *reason = settings_reason(s, row);
    if (reason)
        return reason;
    snprintf(name, sizeof name, "%s.%s", row->section, row->key);
    for (size_t i = 0; i < sizeof SHOWN / sizeof SHOWN[0]; i++)
        if (strcmp(SHOWN[i].name, name) == 0)
            return SHOWN[i].comment ? SHOWN[i].comment : row->help;
    return s->origin[settings_row_index(s->table, row)] == ORIGIN_GIVEN ? row->help : NULL;
}

static void print_settings(const settings *s)
{
    const char *section = "";
    const setting_row *row;
    for (size_t i = 0; (row = settings_row(s->table, i)) != NULL; i++) {
        char text[4 * TEXT_SIZE];
        const char *comment = comment_on(s, row);
        settings_text(s, row, text, sizeof text);
        if (!comment || (row->type == SETTING_TEXT && !text[0]))
            continue;
        if (strcmp(row->section, section) != 0)
            printf("%s:\n", section = row->section);
        settings_put(row, text, comment, stdout);
    }
}

/* Settings for the task, which is opened to ask it. */
static tce_status read_settings(settings *s, const init_options *o, tce_env_spec *spec)
{
    task t;
    tce_status status = settings_init(s, METHODS, o->method);
    if (status == TCE_OK)
        status = settings_set(s, "task", "name", o->task, "TASK");
    for (int i = 0; status == TCE_OK && i < o->n; i++)
        status = settings_override(s, o->words[i]);
    if (status == TCE_OK && o->library)
        status = settings_name_library(s, o->library);
    if (status == TCE_OK)
        status = settings_check(s);
    if (status != TCE_OK || (status = task_open(s, &t)) != TCE_OK)
        return status;
    status = task_read_spec(&t, s, spec);
    if (status == TCE_OK)
        status = settings_suggest(s, spec);
    task_close(&t);
    return status;
}

/* LIBRARY TASK or TASK, then words. Returns -1, or the exit status. */
static int read_arguments(int argc, char **argv, init_options *o)
{
    const int two = optind + 1 < argc && !strchr(argv[optind + 1], '=');
    if (optind == argc)
        return fail_usage(
            "init", "name a task; if it is in a library of your own, name the library before it");
    o->library = two ? argv[optind] : NULL;
    o->task = argv[optind + two];
    o->words = argv + optind + two + 1;
    o->n = argc - optind - two - 1;
    return -1;
}

int cmd_init(int argc, char **argv)
{
    static const struct option LONG[] = { { "method", required_argument, NULL, 'm' },
                                          { "help", no_argument, NULL, 'h' },
                                          { 0 } };
    init_options o = { 0 };
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", LONG, NULL)) != -1) {
        if (c == 'h')
            return print_help("init", OPTIONS, 0);
        if (c != 'm')
            return fail_option("init", argv, LONG, 1);
        o.method = optarg;
    }
    const int code = read_arguments(argc, argv, &o);
    if (code >= 0)
        return code;
    settings s;
    tce_env_spec spec;
    if (read_settings(&s, &o, &spec) != TCE_OK)
        return fail();
    printf("# %s: episodes of %d steps of %g s, %d numbers in an observation, %d degrees of "
           "freedom.\n# Made by `tce init`. `tce config FILE` prints all other keys, with their "
           "defaults.\n",
           s.task.name, (int)spec.n_steps, spec.dt, (int)spec.n_obs, (int)spec.n_dof);
    print_settings(&s);
    return EXIT_FINE;
}
