/*
 * Pictures: a Python with matplotlib draws the CSV files of a folder. Also the curve of one run,
 * which training leaves in its folder.
 *
 * Python is $TCE_PYTHON, else deps/venv/bin/python of the source tree around the program, else
 * python3. The script is that tree's bindings/python/tce/plot.py, else share/tce/plot.py that was
 * installed with the program, else the one of an installed package tce, run alone: it needs no
 * libtce. Where the working directory is does not matter.
 */
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/plot.h"
#include "run/run.h"
#include "tools/program.h"
#include "tools/temporary.h"

#define PATH_SIZE (2 * TEXT_SIZE)

/* How far above the program the source tree may begin: build/san/bin. */
#define MAX_PARENTS 4

/* How plot.py says that matplotlib is missing, and RUN_INSTALLED that there is no package tce. */
#define EXIT_NO_MATPLOTLIB 3
#define EXIT_NO_PACKAGE 4

extern char **environ;

/* Modules do not come from the working directory, where anybody's files may lie. */
#define NOT_FROM_HERE "import sys; sys.path[:] = [place for place in sys.path if place]\n"

/* Runs a file without putting its folder among the places of modules. */
static const char RUN_FILE[] = NOT_FROM_HERE "import runpy; sys.argv = sys.argv[1:]\n"
                                             "runpy.run_path(sys.argv[0], run_name='__main__')\n";

/* The same for plot.py of an installed package, which is not imported. */
static const char RUN_INSTALLED[] = NOT_FROM_HERE
    "import importlib.util, os, runpy\n"
    "found = importlib.util.find_spec('tce')\n"
    "places = list(found.submodule_search_locations or []) if found else []\n"
    "files = [p for p in (os.path.join(place, 'plot.py') for place in places) if "
    "os.path.exists(p)]\n"
    "sys.exit(4) if not files else runpy.run_path(files[0], run_name='__main__')\n";

/* Whether a file belongs to the user, to root, or to the owner of this program. */
static int is_trusted(const char *path)
{
    char program_path[PROGRAM_PATH];
    const char *self = program_file(program_path);
    struct stat file, program;
    if (lstat(path, &file) != 0)
        return 0;
    if (file.st_uid == geteuid() || file.st_uid == 0)
        return 1;
    return self && stat(self, &program) == 0 && file.st_uid == program.st_uid;
}

/* Path of a file in the source tree around the program; 0: missing, or another user's. */
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
        if (access(out, R_OK) == 0 && is_trusted(out))
            return 1;
    }
    return 0;
}

/* What it says on stderr goes into a file. */
static tce_status run_python(const char *python, char *const *arguments, FILE *said, int *out_exit)
{
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return tce_fail(TCE_E_NOMEM, "no pictures: no memory to run %s", python);
    int failed = posix_spawn_file_actions_adddup2(&actions, fileno(said), STDERR_FILENO);
    if (!failed)
        failed = posix_spawnp(&child, python, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "no pictures: cannot run %s: %s; install Python, or name one in TCE_PYTHON",
                        python, strerror(failed));
    int state = 0;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return tce_fail(TCE_E_IO, "no pictures: lost %s: %s", python, strerror(errno));
    *out_exit = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return TCE_OK;
}

/* The last line of what was said: of a Python error, the one that says what it is. */
static void last_line(FILE *said, char *out, size_t size)
{
    char line[512];
    out[0] = '\0';
    rewind(said);
    while (fgets(line, sizeof line, said)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0])
            snprintf(out, size, ": %s", line);
    }
}

/* One line with the remedy, whatever Python had to say. */
static tce_status fail_drawing(const char *python, int code, FILE *said, const char *folder)
{
    char why[600], script[PATH_SIZE];
    if (code == EXIT_NO_MATPLOTLIB)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "no pictures: %s has no matplotlib; the numbers are in %s. Run %s`pip "
                        "install matplotlib`, or name another Python in TCE_PYTHON",
                        python, folder,
                        find_in_tree("bindings/python/tce/plot.py", script, sizeof script)
                            ? "`make deps-python`, or "
                            : "");
    if (code == EXIT_NO_PACKAGE)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "no pictures: the program is not in its source tree and %s has no package "
                        "tce; the numbers are in %s. Install "
                        "bindings/python of the source tree with pip, or name a Python that has it "
                        "in TCE_PYTHON",
                        python, folder);
    last_line(said, why, sizeof why);
    return tce_fail(TCE_E_UNSUPPORTED,
                    "no pictures: %s ended with status %d%s; the numbers are in %s. Another Python "
                    "can be named in TCE_PYTHON",
                    python, code, why, folder);
}

void plot_find_python(char *python, char *package, size_t size)
{
    const char *own = getenv("TCE_PYTHON");
    if (own && own[0])
        snprintf(python, size, "%s", own);
    else if (!find_in_tree("deps/venv/bin/python", python, size))
        snprintf(python, size, "python3");
    if (!find_in_tree("bindings/python", package, size))
        package[0] = '\0';
}

tce_status plot_draw(const char *folder, int quiet)
{
    char python[PATH_SIZE], package[PATH_SIZE], script[PATH_SIZE];
    plot_find_python(python, package, sizeof python);

    char *const say = quiet ? "--quiet" : NULL;
    char *const file[] = { python, "-c", (char *)RUN_FILE, script, (char *)folder, say, NULL };
    char *const installed[] = { python, "-c", (char *)RUN_INSTALLED, (char *)folder, say, NULL };
    const int in_tree = find_in_tree("bindings/python/tce/plot.py", script, sizeof script) ||
                        find_in_tree("share/tce/plot.py", script, sizeof script);
    FILE *said = NULL;
    if (temporary_open(&said) != TCE_OK)
        return tce_fail(TCE_E_IO, "no pictures: %s", tce_error_message());
    int code = 0;
    tce_status status = run_python(python, in_tree ? file : installed, said, &code);
    if (status == TCE_OK && code != 0)
        status = fail_drawing(python, code, said, folder);
    fclose(said);
    return status;
}

/* ---- one run --------------------------------------------------------------------------------- */

/* What its picture shows, as far as the run has it. */
static const char *const CURVE_COLUMNS[] = { "iteration", "env_steps",   "success", "eval_success",
                                             "return",    "eval_return", "entropy" };
enum { N_CURVE_COLUMNS = sizeof CURVE_COLUMNS / sizeof CURVE_COLUMNS[0] };

static void write_columns(FILE *file, const void *content)
{
    const table *t = content;
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

/* The picture is written by Python, which would follow a link, or wait for a pipe. */
static void remove_unless_regular(const char *path)
{
    struct stat there;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        unlink(path);
}

tce_status plot_curve(const char *folder)
{
    char path[RUN_PATH];
    table t;
    tce_status status = run_path(folder, "progress.csv", path);
    if (status == TCE_OK)
        status = table_read(path, &t);
    if (status != TCE_OK)
        return status;
    status = run_replace(folder, "curve.csv", write_columns, &t);
    table_free(&t);
    if (status == TCE_OK)
        status = run_path(folder, "curve.png", path);
    if (status == TCE_OK)
        remove_unless_regular(path);
    return status;
}

tce_status plot_run(const char *folder)
{
    const tce_status status = plot_curve(folder);
    return status == TCE_OK ? plot_draw(folder, 1) : status;
}
