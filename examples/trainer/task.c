/*
 * Finding a task: the library that the settings name, or the one beside the program.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "trainer.h"

/* "." when the system does not tell. */
void program_folder(char *out, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", out, size - 1);
    if (n <= 0) {
        snprintf(out, size, ".");
        return;
    }
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

/* libtce_tasks.so beside the program, else where an installed program looks. */
static void default_library(char *out, size_t size)
{
    char folder[TEXT_SIZE];
    program_folder(folder, sizeof folder);
    const char *const places[] = { "%s/libtce_tasks.so", "%s/../lib/libtce_tasks.so", "%s/../lib/tce/libtce_tasks.so" };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(out, size, places[i], folder);
        if (access(out, R_OK) == 0)
            return;
    }
    snprintf(out, size, places[0], folder);
}

tce_status task_library_open(const settings *s, task *out)
{
    char path[2 * TEXT_SIZE];
    memset(out, 0, sizeof *out);
    if (s->task.library[0])
        snprintf(path, sizeof path, "%s", s->task.library);
    else
        default_library(path, sizeof path);

    return tce_env_library_open(path, NULL, &out->library);
}

tce_status task_open(const settings *s, task *out)
{
    tce_status status = task_library_open(s, out);
    if (status == TCE_OK)
        status = tce_env_library_find(out->library, s->task.name, &out->vtable);
    if (status != TCE_OK)
        task_close(out);
    return status;
}

void task_close(task *t)
{
    tce_env_library_free(t->library);
    memset(t, 0, sizeof *t);
}

const method *method_of(const settings *s)
{
    return s->run.method == METHOD_BBRL ? &METHOD_TABLE_BBRL : &METHOD_TABLE_TCE;
}
