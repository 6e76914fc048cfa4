/*
 * What libtce_tasks.so exports: the list of all tasks. Those on MuJoCo are in a library of their
 * own beside it. Where that one does not load, as it needs MuJoCo, the others work all the same,
 * and tables under the names of the rest say what is missing.
 */
#define _GNU_SOURCE /* dladdr */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "metaworld/list.h"
#include "tasks.h"

#ifdef __APPLE__
#define MUJOCO_TASKS "libtce_tasks_mujoco.dylib"
#else
#define MUJOCO_TASKS "libtce_tasks_mujoco.so"
#endif

enum { PATH_SIZE = 4096 };

/* ---- tasks that are not there ---------------------------------------------------------------- */

/* Why the library of the tasks on MuJoCo is not loaded. */
static char reason[PATH_SIZE];

static tce_status say_reason(void)
{
    return tce_fail(TCE_E_LIBRARY,
                    "tasks on MuJoCo cannot be used: %s. Install MuJoCo for this package with "
                    "`pip install 'libtce[tasks]'`, or build the tasks with `make deps && make "
                    "program` in a checkout",
                    reason);
}

static tce_status create(void *user, const char *settings, void **out)
{
    (void)user;
    (void)settings;
    *out = NULL;
    return say_reason();
}

/* There are no instances, so the other entries of a table are never called. */
static void destroy(void *instance)
{
    (void)instance;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    (void)out;
    return say_reason();
}

static tce_status reset(void *instance, tce_random *random, double *obs, double *pos, double *vel)
{
    (void)instance;
    (void)random;
    (void)obs;
    (void)pos;
    (void)vel;
    return say_reason();
}

static tce_status step(void *instance, const double *pos, const double *vel, double *obs,
                       tce_env_result *out)
{
    (void)instance;
    (void)pos;
    (void)vel;
    (void)obs;
    (void)out;
    return say_reason();
}

static tce_status step_action(void *instance, const double *action, double *obs,
                              tce_env_result *out)
{
    (void)instance;
    (void)action;
    (void)obs;
    (void)out;
    return say_reason();
}

#define MISSING(NAME)                                  \
    { .struct_size = sizeof(tce_env_vtable),           \
      .abi = TCE_ENV_ABI,                              \
      .name = #NAME,                                   \
      .description = "needs MuJoCo, which is missing", \
      .create = create,                                \
      .destroy = destroy,                              \
      .spec = spec,                                    \
      .reset = reset,                                  \
      .step = step,                                    \
      .step_action = step_action },
#define METAWORLD_MISSING(NAME, WHAT) MISSING(metaworld_##NAME)

static const tce_env_vtable MISSING_TASKS[] = { TASKS_MUJOCO(MISSING) /* */
                                                METAWORLD_TASKS(METAWORLD_MISSING) };

/* ---- the list -------------------------------------------------------------------------------- */

#define ADDRESS(NAME) &TASK_##NAME,

static const tce_env_vtable *const PLAIN_TASKS[] = { TASKS_PLAIN(ADDRESS) };

enum {
    N_PLAIN = sizeof PLAIN_TASKS / sizeof PLAIN_TASKS[0],
    N_MUJOCO = sizeof MISSING_TASKS / sizeof MISSING_TASKS[0]
};

static const tce_env_vtable *all_tasks[N_PLAIN + N_MUJOCO];
static pthread_once_t listed = PTHREAD_ONCE_INIT;

/* The library beside this one, which stays loaded; NULL, with the reason, when it does not load. */
static void *load_mujoco_tasks(void)
{
    char path[PATH_SIZE];
    Dl_info self;
    const char *file = dladdr(reason, &self) && self.dli_fname ? self.dli_fname : "";
    const char *slash = strrchr(file, '/');
    const int folder = slash ? (int)(slash + 1 - file) : 0;
    const int length = snprintf(path, sizeof path, "%.*s" MUJOCO_TASKS, folder, file);
    if (length < 0 || (size_t)length >= sizeof path) {
        snprintf(reason, sizeof reason, "the path of " MUJOCO_TASKS " is too long");
        return NULL;
    }
    (void)dlerror();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *said = library ? NULL : dlerror();
    if (!library)
        snprintf(reason, sizeof reason, "%s", said ? said : MUJOCO_TASKS " does not load");
    return library;
}

/* The tables of a library that was built with this one; NULL, with the reason, for another one. */
static const tce_env_vtable *const *tables_of(void *library)
{
    int32_t abi = 0;
    size_t n = 0;
    const tce_env_vtable *const *(*list)(int32_t *, size_t *) = NULL;
    *(void **)&list = dlsym(library, "tce_tasks");
    const tce_env_vtable *const *tables = list ? list(&abi, &n) : NULL;
    if (tables && abi == TCE_ENV_ABI && n == N_MUJOCO)
        return tables;
    snprintf(reason, sizeof reason, MUJOCO_TASKS " is of another version of libtce");
    return NULL;
}

static void list_tasks(void)
{
    void *library = load_mujoco_tasks();
    const tce_env_vtable *const *tables = library ? tables_of(library) : NULL;
    for (size_t i = 0; i < N_PLAIN; i++)
        all_tasks[i] = PLAIN_TASKS[i];
    for (size_t i = 0; i < N_MUJOCO; i++)
        all_tasks[N_PLAIN + i] = tables ? tables[i] : &MISSING_TASKS[i];
}

__attribute__((visibility("default"))) const tce_env_vtable *const *tce_tasks(int32_t *abi,
                                                                              size_t *n)
{
    (void)pthread_once(&listed, list_tasks);
    *abi = TCE_ENV_ABI;
    *n = N_PLAIN + N_MUJOCO;
    return all_tasks;
}
