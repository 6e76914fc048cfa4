/*
 * tce tasks: what a task library offers, with dimensions. An instance of each is created to ask it.
 * With --check: whether its tasks keep their contract.
 */
#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collect.h"
#include "commands/check_task.h"
#include "commands/commands.h"
#include "methods/methods.h"

/* Seconds that the check of one task may take. */
enum { LIMIT = 300, MAX_LIMIT = 86400 };

static const char OPTIONS[] =
    "  --task-library FILE  task library; default: libtce_tasks.so beside the program\n"
    "  --check              run a few episodes of each task, or of TASK, and say what breaks the "
    "contract of a task;\n"
    "                       TASK may be a pattern, for instance ':metaworld_*'; "
    "task.options=\"key=value key=value\"\n"
    "                       for the options of the tasks; exit status 1 when there is a fault\n"
    "  --limit SECONDS      time that the check of one task may take (default 300)\n"
    "  --help               print this\n";

/* Why a task cannot be used; many may have the reason of the one before, said: [size]. */
static void print_unavailable(const char *name, int width, char *said, size_t size)
{
    const char *reason = tce_error_message();
    const int same = strcmp(reason, said) == 0;
    printf("%-*s not available%s%s\n", width, name, same ? ", as above" : ": ", same ? "" : reason);
    snprintf(said, size, "%s", reason);
}

/* width: of the longest name; said: the last reason why a task is not available, [size] */
static void print_task(const tce_env_vtable *vtable, int width, char *said, size_t size)
{
    void *instance = NULL;
    tce_env_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.struct_size = sizeof spec;
    tce_status status = vtable->create(NULL, NULL, &instance);
    if (status == TCE_OK)
        status = vtable->spec(instance, &spec);
    if (status != TCE_OK) {
        print_unavailable(vtable->name, width, said, size);
    } else {
        printf("%-*s %5d %4d %7d %6d %8g  %s\n", width, vtable->name, (int)spec.n_obs,
               (int)spec.n_dof, (int)spec.n_action, (int)spec.n_steps, spec.dt,
               vtable->description);
        printf("%-*s metrics:", width, "");
        for (int32_t i = 0; i < spec.n_metrics; i++)
            printf(" %s", spec.metric_names[i]);
        printf("\n");
    }
    if (instance)
        vtable->destroy(instance);
}

/* ---- checking -------------------------------------------------------------------------------- */

/*
 * "LIBRARY:TASK", each of them may be missing, and "section.key=value" into the settings;
 * task_name: a name or a pattern, "" for all.
 */
static tce_status read_target(settings *s, int n, char *const *words, char *task_name, size_t size)
{
    int first = 0;
    tce_status status = TCE_OK;
    task_name[0] = '\0';
    if (n > 0 && is_config(words[0])) {
        char library[TEXT_SIZE];
        const char *colon = access(words[0], F_OK) == 0 ? NULL : strrchr(words[0], ':');
        const size_t length = colon ? (size_t)(colon - words[0]) : strlen(words[0]);
        if (length >= sizeof library)
            return tce_fail(TCE_E_VALUE,
                            "the path of a task library has %zu characters, must have at most %zu",
                            length, sizeof library - 1);
        snprintf(library, sizeof library, "%.*s", (int)length, words[0]);
        if (length > 0)
            status = settings_name_library(s, library);
        if (colon)
            snprintf(task_name, size, "%s", colon + 1);
        first = 1;
    }
    for (int i = first; status == TCE_OK && i < n; i++)
        status = settings_override(s, words[i]);
    return status;
}

/* All tasks whose names match, "": all there are. */
static tce_status check_matching(const task *t, const char *pattern, const char *options, int limit,
                                 int *n_faults)
{
    size_t n = 0;
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < tce_env_library_n_tasks(t->library); i++) {
        const tce_env_vtable *vtable = tce_env_library_at(t->library, i);
        if (pattern[0] && fnmatch(pattern, vtable->name, 0) != 0)
            continue;
        n++;
        status = check_task(vtable, options, limit, n_faults);
    }
    if (status == TCE_OK && n == 0)
        return tce_fail(TCE_E_NOT_FOUND, "no task matches \"%.100s\"; `tce tasks` lists them",
                        pattern);
    return status;
}

static int check_tasks(const settings *s, const char *task_name, int limit)
{
    task t;
    const tce_env_vtable *vtable;
    int n_faults = 0;
    if (task_library_open(s, &t) != TCE_OK)
        return fail();
    /* a plain name that is wrong gets suggestions */
    tce_status status = TCE_OK;
    if (task_name[0] && !strpbrk(task_name, "*?["))
        status = task_lookup(s, &t, task_name, &vtable);
    if (status == TCE_OK)
        status = check_matching(&t, task_name, s->task.options, limit, &n_faults);
    task_close(&t);
    if (status != TCE_OK)
        return fail();
    return n_faults > 0 ? EXIT_FAILED : EXIT_FINE;
}

/* Whole seconds, 1 to a day. */
static int read_limit(const char *text, int *out)
{
    char *end;
    const long n = strtol(text, &end, 10);
    *out = (int)n;
    return end != text && *end == '\0' && n >= 1 && n <= MAX_LIMIT;
}

int cmd_tasks(int argc, char **argv)
{
    static const struct option LONG[] = { { "help", no_argument, NULL, 'h' },
                                          { "task-library", required_argument, NULL, 'l' },
                                          { "check", no_argument, NULL, 'c' },
                                          { "limit", required_argument, NULL, 'm' },
                                          { 0 } };
    settings s;
    int c, check = 0, limit = LIMIT;
    if (settings_init(&s, METHODS, NULL) != TCE_OK)
        return fail();
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", LONG, NULL)) != -1) {
        if (c == 'h')
            return print_help("tasks", OPTIONS, 0);
        if (c != 'l' && c != 'c' && c != 'm')
            return fail_option("tasks", argv, LONG, 0);
        check |= c == 'c';
        if (c == 'm' && !read_limit(optarg, &limit))
            return fail_usage("tasks", "--limit %s, must be a whole number of seconds, 1 to %d",
                              optarg, MAX_LIMIT);
        if (c == 'l' && settings_name_library(&s, optarg) != TCE_OK)
            return fail();
    }
    if (check) {
        char task_name[TEXT_SIZE];
        if (read_target(&s, argc - optind, argv + optind, task_name, sizeof task_name) != TCE_OK)
            return fail();
        return check_tasks(&s, task_name, limit);
    }
    if (optind < argc)
        return fail_usage("tasks", "%s: takes no arguments without --check", argv[optind]);

    task t;
    if (task_library_open(&s, &t) != TCE_OK)
        return fail();
    int width = 0;
    for (size_t i = 0; i < tce_env_library_n_tasks(t.library); i++) {
        const int length = (int)strlen(tce_env_library_at(t.library, i)->name);
        width = length > width ? length : width;
    }
    printf("%-*s %5s %4s %7s %6s %8s  %s\n", width, "task", "obs", "dof", "action", "steps", "dt",
           "description");
    char said[TEXT_SIZE] = "";
    for (size_t i = 0; i < tce_env_library_n_tasks(t.library); i++)
        print_task(tce_env_library_at(t.library, i), width, said, sizeof said);
    task_close(&t);
    return EXIT_FINE;
}
