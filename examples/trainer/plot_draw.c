/*
 * Pictures: a Python with matplotlib draws the CSV files of a folder. Also the curve of one run, which training leaves in its folder.
 *
 * Python is $TCE_PYTHON, else deps/venv/bin/python of the source tree that the program was built in, else python3. The script is that tree's
 * bindings/python/tce/plot.py, run alone (it needs no libtce), else the installed module tce.plot.
 */
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "plot.h"

#define PATH_SIZE (2 * TEXT_SIZE)

/* How far above the program the source tree may begin: build/san/bin. */
#define MAX_PARENTS 4

/* How plot.py says that matplotlib is missing. */
#define EXIT_NO_MATPLOTLIB 3

extern char **environ;

/* Runs a file without putting its folder among the places of modules. */
static const char RUN_FILE[] = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')";

/* A file of the source tree around the program; 0 when there is none. */
static int find_in_tree(const char *name, char *out, size_t size)
{
    char folder[TEXT_SIZE];
    program_folder(folder, sizeof folder);
    for (int i = 0; i < MAX_PARENTS; i++) {
        char *slash = strrchr(folder, '/');
        if (!slash || slash == folder)
            return 0;
        *slash = '\0';
        snprintf(out, size, "%s/%s", folder, name);
        if (access(out, R_OK) == 0)
            return 1;
    }
    return 0;
}

static tce_status run_python(const char *python, char *const *arguments, int *out_exit)
{
    pid_t child;
    const int failed = posix_spawnp(&child, python, NULL, NULL, arguments, environ);
    if (failed)
        return tce_fail(TCE_E_UNSUPPORTED, "no pictures: cannot run %s: %s; install Python, or name one in TCE_PYTHON", python, strerror(failed));
    int state = 0;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return tce_fail(TCE_E_IO, "no pictures: lost %s: %s", python, strerror(errno));
    *out_exit = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return TCE_OK;
}

tce_status plot_draw(const char *folder, int quiet)
{
    char python[PATH_SIZE] = "python3", script[PATH_SIZE];
    const char *own = getenv("TCE_PYTHON");
    if (own && own[0])
        snprintf(python, sizeof python, "%s", own);
    else if (!find_in_tree("deps/venv/bin/python", python, sizeof python))
        snprintf(python, sizeof python, "python3");

    char *const say = quiet ? "--quiet" : NULL;
    char *const file[] = { python, "-c", (char *)RUN_FILE, script, (char *)folder, say, NULL };
    char *const module[] = { python, "-m", "tce.plot", (char *)folder, say, NULL };
    const int in_tree = find_in_tree("bindings/python/tce/plot.py", script, sizeof script);
    int code = 0;
    fflush(stdout);
    const tce_status status = run_python(python, in_tree ? file : module, &code);
    if (status != TCE_OK || code == 0)
        return status;
    if (code == EXIT_NO_MATPLOTLIB)
        return tce_fail(TCE_E_UNSUPPORTED, "no pictures: %s has no matplotlib; the numbers are in %s. Run `make deps-python`, or `pip install matplotlib`, "
                        "or name another Python in TCE_PYTHON", python, folder);
    return tce_fail(TCE_E_UNSUPPORTED, "no pictures: %s %s ended with status %d; the numbers are in %s", python, in_tree ? script : "-m tce.plot", code, folder);
}

/* ---- one run --------------------------------------------------------------------------------------- */

/* What its picture shows, as far as the run has it. */
static const char *const CURVE_COLUMNS[] = { "iteration", "env_steps", "success", "eval_success", "return", "eval_return", "entropy" };
enum { N_CURVE_COLUMNS = sizeof CURVE_COLUMNS / sizeof CURVE_COLUMNS[0] };

static void write_columns(FILE *file, const table *t)
{
    size_t columns[N_CURVE_COLUMNS], n = 0;
    for (size_t i = 0; i < N_CURVE_COLUMNS; i++) {
        const size_t c = table_column(t, CURVE_COLUMNS[i]);
        if (c < t->n_columns)
            columns[n++] = c;
    }
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%s%c", t->names[columns[i]], i + 1 < n ? ',' : '\n');
    for (size_t row = 0; row < t->n_rows; row++)
        for (size_t i = 0; i < n; i++) {
            const double value = t->values[row * t->n_columns + columns[i]];
            if (!isnan(value))
                fprintf(file, "%.17g", value);
            fputc(i + 1 < n ? ',' : '\n', file);
        }
}

tce_status plot_run(const char *folder)
{
    char path[PATH_SIZE];
    table t;
    FILE *file = NULL;
    snprintf(path, sizeof path, "%s/progress.csv", folder);
    tce_status status = table_read(path, &t);
    if (status != TCE_OK)
        return status;
    status = plot_open(folder, "curve.csv", &file);
    if (status == TCE_OK) {
        write_columns(file, &t);
        status = plot_close(folder, "curve.csv", file);
    }
    table_free(&t);
    return status == TCE_OK ? plot_draw(folder, 1) : status;
}
