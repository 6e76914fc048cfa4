/*
 * tce tasks: what a task library offers, with dimensions. An instance of each is created to ask it.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "trainer.h"

static const char OPTIONS[] = "  --task-library FILE  task library; default: libtce_tasks.so beside the program\n"
                              "  --help               this\n";

/* width: of the longest name */
static void print_task(const tce_env_vtable *vtable, int width)
{
    void *instance = NULL;
    tce_env_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.struct_size = sizeof spec;
    tce_status status = vtable->create(NULL, NULL, &instance);
    if (status == TCE_OK)
        status = vtable->spec(instance, &spec);
    if (status != TCE_OK) {
        printf("%-*s not available: %s\n", width, vtable->name, tce_error_message());
    } else {
        printf("%-*s %5d %4d %7d %6d %8g  %s\n", width, vtable->name, (int)spec.n_obs, (int)spec.n_dof, (int)spec.n_action, (int)spec.n_steps, spec.dt,
               vtable->description);
        printf("%-*s metrics:", width, "");
        for (int32_t i = 0; i < spec.n_metrics; i++)
            printf(" %s", spec.metric_names[i]);
        printf("\n");
    }
    if (instance)
        vtable->destroy(instance);
}

int cmd_tasks(int argc, char **argv)
{
    static const struct option LONG[] = { { "help", no_argument, NULL, 'h' }, { "task-library", required_argument, NULL, 'l' }, { 0 } };
    settings s;
    settings_init(&s);
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", LONG, NULL)) != -1) {
        if (c == 'h')
            return print_help("tasks", OPTIONS, 0);
        if (c != 'l')
            return fail_option("tasks", argv, LONG, 0);
        if (settings_name_library(&s, optarg) != TCE_OK)
            return fail();
    }

    task t;
    if (task_library_open(&s, &t) != TCE_OK)
        return fail();
    int width = 0;
    for (size_t i = 0; i < tce_env_library_count(t.library); i++) {
        const int length = (int)strlen(tce_env_library_at(t.library, i)->name);
        width = length > width ? length : width;
    }
    printf("%-*s %5s %4s %7s %6s %8s  %s\n", width, "task", "obs", "dof", "action", "steps", "dt", "description");
    for (size_t i = 0; i < tce_env_library_count(t.library); i++)
        print_task(tce_env_library_at(t.library, i), width);
    task_close(&t);
    return EXIT_FINE;
}
