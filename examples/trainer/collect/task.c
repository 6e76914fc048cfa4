/*
 * Finding tasks: the library that the settings name, or the one beside the program, and what a list
 * of names means in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collect.h"
#include "settings/suggest.h"
#include "tools/program.h"
#include "tools/shell.h"
#include "tools/words.h"

#ifdef __APPLE__
#define TASKS_NAME "libtce_tasks.dylib"
#else
#define TASKS_NAME "libtce_tasks.so"
#endif

/* libtce_tasks.so beside the program, else where an installed program looks. */
static void default_library(char *out, size_t size)
{
    char folder[TEXT_SIZE];
    program_folder(folder, sizeof folder);
    const char *const places[] = { "%s/" TASKS_NAME, "%s/../lib/" TASKS_NAME,
                                   "%s/../lib/tce/" TASKS_NAME };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(out, size, places[i], folder);
        if (access(out, R_OK) == 0)
            return;
    }
    snprintf(out, size, places[0], folder);
}

const char *task_library_words(const settings *s, char *out, size_t size)
{
    char word[SHELL_WORD];
    snprintf(out, size, "%s%s", s->task.library[0] ? " --task-library " : "",
             s->task.library[0] ? shell_word(s->task.library, word, sizeof word) : "");
    return out;
}

tce_status task_library_check(const settings *s)
{
    if (s->task.python[0])
        return tce_fail(TCE_E_STATE,
                        "the task of this run is written in Python: %s. A run folder is data, but "
                        "a module is code, which is imported only when you name it: if you trust "
                        "the module, add --python %s to `tce train` or `tce eval`",
                        s->task.python, s->task.python);
    if (!s->task.library[0] || s->task.library_named)
        return TCE_OK;
    return tce_fail(TCE_E_STATE,
                    "this run used a task library of its own, %s. A run folder is data, but a "
                    "library is code, which is loaded only when you name it: if you trust the "
                    "library, add --task-library FILE with the path of your copy",
                    s->task.library);
}

tce_status task_library_open(const settings *s, task *out)
{
    char path[2 * TEXT_SIZE];
    memset(out, 0, sizeof *out);
    const tce_status status = task_library_check(s);
    if (status != TCE_OK)
        return status;
    if (s->task.library[0])
        snprintf(path, sizeof path, "%s", s->task.library);
    else
        default_library(path, sizeof path);

    return tce_env_library_open(path, NULL, &out->library);
}

tce_status task_lookup(const settings *s, const task *t, const char *name,
                       const tce_env_vtable **out)
{
    char words[SHELL_WORD + 32], near[TEXT_SIZE];
    nearest names;
    const tce_status status = tce_env_library_find(t->library, name, out);
    if (status != TCE_E_NOT_FOUND)
        return status;
    nearest_start(&names, name);
    for (size_t i = 0; i < tce_env_library_n_tasks(t->library); i++)
        nearest_try(&names, tce_env_library_at(t->library, i)->name);
    return tce_fail(
        status, "no task \"%.60s\" in the library, which has %zu%s; `tce tasks%s` lists them", name,
        tce_env_library_n_tasks(t->library), nearest_words(&names, near, sizeof near),
        task_library_words(s, words, sizeof words));
}

tce_status task_open(const settings *s, task *out)
{
    tce_status status = task_library_open(s, out);
    if (status == TCE_OK)
        status = task_lookup(s, out, s->task.name, &out->vtable);
    if (status != TCE_OK)
        task_close(out);
    return status;
}

void task_close(task *t)
{
    tce_env_library_free(t->library);
    memset(t, 0, sizeof *t);
}

tce_status task_read_spec(const task *t, const settings *s, tce_env_spec *out)
{
    void *instance = NULL;
    *out = TCE_INIT(tce_env_spec);
    tce_status status = t->vtable->create(t->user, s->task.options, &instance);
    if (status == TCE_OK)
        status = t->vtable->spec(instance, out);
    if (status == TCE_OK && (out->n_steps < 1 || !(out->dt > 0.0)))
        status = tce_fail(TCE_E_ENV,
                          "%s: %d steps of %g s, both must be above 0; `tce tasks --check` says "
                          "more",
                          s->task.name, (int)out->n_steps, out->dt);
    if (instance)
        t->vtable->destroy(instance);
    out->metric_names = NULL;
    out->context = NULL;
    out->action_low = out->action_high = NULL;
    return status;
}

tce_status task_suggest(const task *t, settings *s)
{
    tce_env_spec spec;
    if (!settings_need_task(s))
        return TCE_OK;
    const tce_status status = task_read_spec(t, s, &spec);
    return status == TCE_OK ? settings_suggest(s, &spec) : status;
}

/* ---- lists of tasks -------------------------------------------------------------------------- */

void task_list_free(task_list *list)
{
    free(list->names);
    memset(list, 0, sizeof *list);
}

static tce_status add_task(task_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->names[i], name) == 0)
            return tce_fail(TCE_E_VALUE, "--task has %s twice", name);
    if (strlen(name) >= TASK_NAME)
        return tce_fail(TCE_E_VALUE, "--task: a name of %zu characters is too long", strlen(name));
    char(*more)[TASK_NAME] = realloc(list->names, (list->n + 1) * sizeof *more);
    if (!more)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu tasks", list->n + 1);
    list->names = more;
    memset(more[list->n], 0, sizeof *more);
    memcpy(more[list->n++], name, strlen(name));
    return TCE_OK;
}

static int has_prefix(const char *name, const char *prefix)
{
    return prefix[0] && strncmp(name, prefix, strlen(prefix)) == 0;
}

static tce_status add_all(task_list *list, const settings *s, const tce_env_library *library,
                          const char *prefix)
{
    char words[SHELL_WORD + 32];
    const size_t before = list->n;
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < tce_env_library_n_tasks(library); i++) {
        const char *name = tce_env_library_at(library, i)->name;
        if (has_prefix(name, prefix))
            status = add_task(list, name);
    }
    if (status == TCE_OK && list->n == before)
        return tce_fail(TCE_E_NOT_FOUND,
                        "--task all means the tasks whose names begin with the folder of the "
                        "settings file, and none begins with "
                        "\"%s\": name the tasks (`tce tasks%s` lists them)",
                        prefix, task_library_words(s, words, sizeof words));
    return status;
}

/* The nearest of all names, long and short. */
static tce_status fail_unknown_task(const settings *s, const tce_env_library *library,
                                    const char *prefix, const char *asked, const char *plain)
{
    char words[SHELL_WORD + 32];
    nearest names;
    nearest_start(&names, plain);
    for (size_t i = 0; i < tce_env_library_n_tasks(library); i++) {
        const char *name = tce_env_library_at(library, i)->name;
        nearest_try(&names, name);
        if (has_prefix(name, prefix))
            nearest_try(&names, name + strlen(prefix));
    }
    const char *near = nearest_found(&names);
    return tce_fail(TCE_E_NOT_FOUND, "--task %s: no such task%s%s%s `tce tasks%s` lists them",
                    asked, near ? ", did you mean " : "", near ? near : "", near ? "?" : ";",
                    task_library_words(s, words, sizeof words));
}

static tce_status add_named(task_list *list, const settings *s, const tce_env_library *library,
                            const char *prefix, const char *asked)
{
    char plain[TEXT_SIZE], full[2 * TEXT_SIZE];
    snprintf(plain, sizeof plain, "%s", asked);
    for (char *c = plain; *c; c++)
        if (*c == '-')
            *c = '_';
    snprintf(full, sizeof full, "%s%s", prefix, plain);
    const char *const forms[] = { asked, full, plain };
    for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++)
        for (size_t i = 0; i < tce_env_library_n_tasks(library); i++)
            if (strcmp(tce_env_library_at(library, i)->name, forms[k]) == 0)
                return add_task(list, forms[k]);
    return fail_unknown_task(s, library, prefix, asked, plain);
}

tce_status task_list_parse(task_list *out, const settings *s, const char *prefix, const char *text)
{
    task t;
    memset(out, 0, sizeof *out);
    tce_status status = task_library_open(s, &t);
    for (const char *at = text; status == TCE_OK; at++) {
        char asked[TEXT_SIZE];
        const size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof asked) {
            status = tce_fail(TCE_E_VALUE,
                              "--task %s: must be task names separated by commas, or all", text);
            break;
        }
        snprintf(asked, sizeof asked, "%.*s", (int)length, at);
        status = strcmp(asked, "all") == 0 ? add_all(out, s, t.library, prefix)
                                           : add_named(out, s, t.library, prefix, asked);
        at += length;
        if (*at == '\0')
            break;
    }
    task_close(&t);
    if (status != TCE_OK)
        task_list_free(out);
    return status;
}
