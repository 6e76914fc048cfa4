/*
 * tce fit: a policy from demonstrations in a CSV file, for a run to start from.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/demos.h"
#include "run/imitate.h"
#include "run/run.h"
#include "tools/blas.h"
#include "tools/shell.h"

static const char OPTIONS[] =
    "  --out DIR            the folder to write; default runs/<task>__<method>__<seed>__<time>\n"
    "  --task-library FILE  task.library: a library of your own tasks\n"
    "  --help               print this, and every setting\n"
    "\n"
    "DEMOS has a header and one row per time: episode,time,pos_1,…,pos_D and, if the policy is to "
    "depend on the\n"
    "context, obs_1,…,obs_O. The first row of an episode is its start position, and its "
    "observation "
    "is the context.\n"
    "`tce eval RUN --paths FILE` writes such a file. `tce train CONFIG --init-from DIR` starts a "
    "run from the folder.\n";

static int report(const char *folder, const demos *d, const imitation *done)
{
    char word[SHELL_WORD];
    printf("%zu demonstrations, %s contexts\n", d->given.n, d->given.obs ? "with" : "without");
    printf("  error of the fitted paths     %.3g\n", done->path_error);
    printf("  error of left-out parameters  %.3g\n", done->parameter_error);
    printf("  standard deviation            %.3g\n", done->std);
    printf("%s    (tce train CONFIG --init-from %s)\n", folder,
           shell_word(folder, word, sizeof word));
    return EXIT_FINE;
}

static int fit(const char *path, const char *out, settings *s)
{
    char folder[RUN_PATH];
    task t;
    demos d;
    imitation done;
    if (out)
        snprintf(folder, sizeof folder, "%s", out);
    else
        run_folder_name(s, "runs", folder, sizeof folder);
    if (demos_read(&d, path) != TCE_OK)
        return fail();
    tce_status status = task_open(s, &t);
    if (status == TCE_OK) {
        status = run_imitate(folder, s, &t, &d.given, &done);
        task_close(&t);
    }
    const int code = status == TCE_OK ? report(folder, &d, &done) : fail();
    demos_free(&d);
    return code;
}

int cmd_fit(int argc, char **argv)
{
    static const struct option LONG[] = { { "out", required_argument, NULL, 'o' },
                                          { "task-library", required_argument, NULL, 'L' },
                                          { "help", no_argument, NULL, 'h' },
                                          { 0 } };
    const char *out = NULL, *library = NULL;
    settings s;
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "ho:", LONG, NULL)) != -1) {
        if (c == 'h')
            return print_help("fit", OPTIONS, 1);
        if (c != 'o' && c != 'L')
            return fail_option("fit", argv, LONG, 1);
        *(c == 'o' ? &out : &library) = optarg;
    }
    if (argc - optind < 2)
        return fail_usage("fit", "name a file of demonstrations, then a CONFIG or task.name=...");
    tce_status status = settings_from_arguments(&s, argc - optind - 1, argv + optind + 1);
    if (status == TCE_OK && library)
        status = settings_name_library(&s, library);
    if (status == TCE_OK)
        status = settings_for_task(&s);
    if (status == TCE_OK)
        status = blas_begin();
    return status == TCE_OK ? fit(argv[optind], out, &s) : fail();
}
