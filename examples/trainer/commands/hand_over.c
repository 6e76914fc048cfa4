/*
 * Python with the package of this source tree, or an installed one, and the libraries of this
 * program: both then compute the same bytes.
 */
#define _GNU_SOURCE /* dladdr */

#include "commands/hand_over.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tce/tce.h>

#include "report/plot.h"
#include "tools/program.h"

#ifdef __APPLE__
#define SUFFIX "dylib"
#else
#define SUFFIX "so"
#endif

#define PATH_SIZE (2 * TEXT_SIZE)

int asks_for_python(int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--python") == 0 || strncmp(argv[i], "--python=", 9) == 0)
            return 1;
    return 0;
}

/* The file that a function of libtce was loaded from, unless the environment names one. */
static void name_library(void)
{
    Dl_info found;
    tce_status (*function)(const char *, const tce_hooks *, tce_store **) = tce_store_load;
    void *address;
    memcpy(&address, &function, sizeof address);
    if (dladdr(address, &found) != 0 && found.dli_fname)
        setenv("TCE_LIBRARY", found.dli_fname, 0);
}

/* What lies beside the program, unless the environment names another. */
static void name_beside(const char *variable, const char *name)
{
    char folder[TEXT_SIZE], path[PATH_SIZE];
    program_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, R_OK) == 0)
        setenv(variable, path, 0);
}

int hand_over(int argc, char *const *argv)
{
    char python[PATH_SIZE], package[PATH_SIZE], places[2 * PATH_SIZE];
    const char *before = getenv("PYTHONPATH");
    char **words = calloc((size_t)argc + 4, sizeof *words);
    if (!words) {
        fprintf(stderr, "tce: no memory for the arguments\n");
        return EXIT_FAILED;
    }
    plot_find_python(python, package, sizeof python);
    if (package[0]) {
        snprintf(places, sizeof places, "%s%s%s", package, before && before[0] ? ":" : "",
                 before ? before : "");
        setenv("PYTHONPATH", places, 1);
        name_library();
        name_beside("TCE_TRAIN", "libtce_train." SUFFIX);
        name_beside("TCE_TASKS", "libtce_tasks." SUFFIX);
        name_beside("TCE_PROGRAM", "tce");
    }
    words[0] = python;
    words[1] = "-m";
    words[2] = "tce";
    memcpy(words + 3, argv + 1, (size_t)(argc - 1) * sizeof *words);
    execvp(python, words);
    fprintf(stderr, "tce: cannot run %s: %s; install Python, or name one in TCE_PYTHON\n", python,
            strerror(errno));
    free(words);
    return EXIT_FAILED;
}
