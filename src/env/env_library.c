/*
 * Task libraries: shared objects that export "tce_tasks", which lists tables of tasks. Opening one
 * checks all of them, so that what can be found in it can also be used.
 */
#include <tce/env.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/internal.h"

/* What a task library exports. */
#define SYMBOL "tce_tasks"

/* How much of an unknown name a message quotes. */
#define MAX_NAME 63

struct tce_env_library {
    tce_hooks hooks;
    void *object;                        /* from dlopen */
    const tce_env_vtable *const *tables; /* [n], inside the object */
    size_t n;
};

/* ---- opening --------------------------------------------------------------------------------- */

/* The shared object; a path without a slash is searched for as the dynamic loader does. */
static tce_status load_object(const char *path, void **out)
{
    const int has_slash = strchr(path, '/') != NULL;

    if (has_slash && access(path, F_OK) != 0)
        return tce_fail(TCE_E_NOT_FOUND, "no task library \"%s\"; check the path, or build it",
                        path);
    (void)dlerror();
    *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*out)
        return TCE_OK;
    const char *reason = dlerror();
    const char *remedy =
        has_slash ? "it must be a shared library for this machine, with what it needs (see ldd)"
                  : "without a slash only the system's folders are searched, write ./ for this one";
    return tce_fail(TCE_E_LIBRARY, "cannot load the task library \"%s\": %s; %s", path,
                    reason ? reason : "no reason", remedy);
}

/* The list of tables in the object. */
static tce_status read_tables(const char *path, void *object, const tce_env_vtable *const **out,
                              size_t *out_n)
{
    tce_tasks_function list_tasks;
    int32_t abi = 0;
    size_t n = 0;

    (void)dlerror();
    void *symbol = dlsym(object, SYMBOL);
    if (!symbol)
        return tce_fail(TCE_E_LIBRARY,
                        "\"%s\" is not a task library: it does not export the function " SYMBOL,
                        path);

    /* POSIX lets an object pointer carry a function's address, ISO C has no cast for it */
    memcpy(&list_tasks, &symbol, sizeof list_tasks);
    const tce_env_vtable *const *tables = list_tasks(&abi, &n);
    if (abi != TCE_ENV_ABI)
        return tce_fail(TCE_E_VERSION,
                        "\"%s\" was compiled for TCE_ENV_ABI %d, libtce %s has %d: recompile it",
                        path, (int)abi, tce_version_string(), TCE_ENV_ABI);
    if (!tables || n == 0)
        return tce_fail(TCE_E_LIBRARY, "\"%s\" lists no tasks", path);
    *out = tables;
    *out_n = n;
    return TCE_OK;
}

/* Every table can be used, and no name is there twice. */
static tce_status check_tables(const char *path, const tce_env_vtable *const *tables, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const tce_status status = tce_env_check(tables[i]);
        if (status != TCE_OK)
            return tce_fail(status, "\"%s\", task %zu: %s", path, i, tce_error_message());
        for (size_t k = 0; k < i; k++)
            if (strcmp(tables[k]->name, tables[i]->name) == 0)
                return tce_fail(TCE_E_LIBRARY, "\"%s\" has the task \"%s\" twice", path,
                                tables[i]->name);
    }
    return TCE_OK;
}

tce_status tce_env_library_open(const char *path, const tce_hooks *hooks, tce_env_library **out)
{
    tce_env_library library = { .n = 0 };
    tce__arena arena = { NULL, 0 };
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;
    status = tce__check_pointer("path", path);
    if (status != TCE_OK)
        return status;
    if (path[0] == '\0')
        return tce_fail(TCE_E_ARGUMENT, "path is empty, must name a task library");

    /* load, read, check; on any failure the object is closed again */
    status = load_object(path, &library.object);
    if (status != TCE_OK)
        return status;
    (void)tce__arena_take(&arena, 1, sizeof library);
    status = read_tables(path, library.object, &library.tables, &library.n);
    if (status == TCE_OK)
        status = check_tables(path, library.tables, library.n);
    if (status == TCE_OK)
        status = tce__block_create(hooks, "tce_env_library", &arena, &library.hooks);
    if (status != TCE_OK) {
        (void)dlclose(library.object);
        return status;
    }
    *out = tce__arena_take(&arena, 1, sizeof library);
    **out = library;
    return TCE_OK;
}

void tce_env_library_free(tce_env_library *library)
{
    if (!library)
        return;
    (void)dlclose(library->object);
    tce__block_free(&library->hooks, library);
}

/* ---- finding --------------------------------------------------------------------------------- */

size_t tce_env_library_n_tasks(const tce_env_library *library)
{
    return library ? library->n : 0;
}

const tce_env_vtable *tce_env_library_at(const tce_env_library *library, size_t i)
{
    return library && i < library->n ? library->tables[i] : NULL;
}

tce_status tce_env_library_find(const tce_env_library *library, const char *name,
                                const tce_env_vtable **out)
{
    tce_status status = tce__check_pointer("library", library);
    if (status == TCE_OK)
        status = tce__check_pointer("name", name);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    for (size_t i = 0; i < library->n; i++)
        if (strcmp(library->tables[i]->name, name) == 0) {
            *out = library->tables[i];
            return TCE_OK;
        }
    return tce_fail(
        TCE_E_NOT_FOUND,
        "no task \"%.*s\" in the library, which has %zu: tce_env_library_at gives their "
        "names",
        MAX_NAME, name, library->n);
}
