/*
 * Models shared by name; where their files are; compiling them, or taking the compiled form from
 * the cache.
 */
#define _GNU_SOURCE /* dladdr1 */

#include "cache.h"
#include "guard.h"
#include "model.h"

#include <dlfcn.h>
#ifndef __APPLE__
#include <link.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * models are looked for in this many folders above the library: build/bin/libtce_tasks.so is two
 * deep, lib/tce/libtce_tasks.so of an installation too
 */
enum { N_ABOVE = 3, ERROR_SIZE = 1000 };

#define PATH_SIZE 4096

/* What is known about a model while it is loaded. */
typedef struct model_job {
    const char *path, *blank;
    const char *const *drop; /* names of bodies, NULL after the last; NULL: none */
    char root[PATH_SIZE];    /* folder of models */
    char file[PATH_SIZE];    /* the model's file */
    char real[PATH_SIZE];    /* the same without links */
    /* a folder that has it, but is another user's; "" when there is none */
    char refused[PATH_SIZE];
    mjModel *model;
    unsigned char *bytes; /* the file, where it is changed before it is compiled */
    size_t n_bytes;
    char error[ERROR_SIZE];
} model_job;

/* ---- models in use --------------------------------------------------------------------------- */

/* One model in use, in a list of all of them. */
typedef struct shared_model {
    struct shared_model *next;
    char *name;
    mjModel *model;
    size_t users;
} shared_model;

static pthread_mutex_t models_lock = PTHREAD_MUTEX_INITIALIZER;
static shared_model *models;

/* "3.9.0" from 390, "3.10.0" from 3010000: MuJoCo changed its numbering after 3.9. */
static void version_text(int number, char *out, size_t size)
{
    const int base = number < 1000 ? 10 : 1000;
    snprintf(out, size, "%d.%d.%d", number / (base * base), number / base % base, number % base);
}

static tce_status check_version(void)
{
    if (mj_version() == mjVERSION_HEADER)
        return TCE_OK;
    char compiled[32];
    version_text(mjVERSION_HEADER, compiled, sizeof compiled);
    return tce_fail(
        TCE_E_VERSION,
        "the tasks were compiled for MuJoCo %s, but the library that was loaded is %s: build them "
        "again with `make clean && make program`, or check MUJOCO_DIR and LD_LIBRARY_PATH",
        compiled, mj_versionString());
}

typedef struct text_job {
    const char *name, *xml;
    mjModel *model;
    char error[ERROR_SIZE];
} text_job;

static void parse(void *context)
{
    text_job *job = context;
    mjVFS files;
    mj_defaultVFS(&files);
    if (mj_addBufferVFS(&files, job->name, job->xml, (int)strlen(job->xml)) == 0)
        job->model = mj_loadXML(job->name, &files, job->error, sizeof job->error);
    else
        snprintf(job->error, sizeof job->error, "the model does not fit into memory");
    mj_deleteVFS(&files);
}

static tce_status load_text(void *context, mjModel **out)
{
    text_job *job = context;
    const tce_status status = mujoco_try(parse, job);
    if (status != TCE_OK)
        return status;
    if (!job->model)
        return tce_fail(TCE_E_ENV, "MuJoCo refused the model %s: %s", job->name, job->error);
    *out = job->model;
    return TCE_OK;
}

/* Puts a model into a new entry, which owns it, and frees it when that fails; the lock is held. */
static tce_status add_model(const char *name, mjModel *model, shared_model **out)
{
    shared_model *entry = calloc(1, sizeof *entry);
    char *copy = strdup(name);
    if (!entry || !copy) {
        free(entry);
        free(copy);
        mj_deleteModel(model);
        return tce_fail(TCE_E_NOMEM, "no memory for the model %s", name);
    }
    entry->name = copy;
    entry->model = model;
    entry->next = models;
    models = entry;
    *out = entry;
    return TCE_OK;
}

static tce_status model_share(const char *name, tce_status (*load)(void *context, mjModel **out),
                              void *context, const mjModel **out)
{
    tce_status status = check_version();
    if (status != TCE_OK)
        return status;

    pthread_mutex_lock(&models_lock);
    guard_install();
    shared_model *entry = models;
    while (entry && strcmp(entry->name, name) != 0)
        entry = entry->next;
    if (!entry) {
        mjModel *model = NULL;
        status = load(context, &model);
        if (status == TCE_OK)
            status = add_model(name, model, &entry);
    }
    if (status == TCE_OK) {
        entry->users++;
        *out = entry->model;
    }
    pthread_mutex_unlock(&models_lock);
    return status;
}

tce_status model_open_text(const char *name, const char *xml, const mjModel **out)
{
    text_job job = { name, xml, NULL, "" };
    return model_share(name, load_text, &job, out);
}

/* With the last model the handlers go too: the task library may be unloaded next. */
void model_close(const mjModel *model)
{
    pthread_mutex_lock(&models_lock);
    shared_model **link = &models;
    while (*link && (*link)->model != model)
        link = &(*link)->next;
    shared_model *entry = *link;
    if (entry && --entry->users == 0) {
        *link = entry->next;
        mj_deleteModel(entry->model);
        free(entry->name);
        free(entry);
    }
    if (!models) {
        guard_remove();
        /*
         * MuJoCo keeps the last parsed file, for its own saving; unloaded with us, nobody could
         * free it
         */
        mj_freeLastXML();
    }
    pthread_mutex_unlock(&models_lock);
}

tce_status model_find(const mjModel *model, int type, const char *name, int *out)
{
    *out = mj_name2id(model, type, name);
    return *out >= 0 ? TCE_OK
                     : tce_fail(TCE_E_ENV, "the model has no %s \"%s\"", mju_type2Str(type), name);
}

tce_status model_check_sizes(const mjModel *model, const char *task, int nq, int nv, int nu)
{
    if (model->nq == nq && model->nv == nv && model->nu == nu)
        return TCE_OK;
    return tce_fail(TCE_E_ENV,
                    "%s: the model has %d positions, %d velocities and %d motors, not %d, %d and "
                    "%d: another file than `make deps` fetches",
                    task, (int)model->nq, (int)model->nv, (int)model->nu, nq, nv, nu);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* out = folder/name; 1 when it fits. */
static int join(char *out, const char *folder, const char *name)
{
    const int n = snprintf(out, PATH_SIZE, "%s/%s", folder, name);
    return n > 0 && n < PATH_SIZE;
}

/* Takes folder as the root when the model's file is in it. */
static int try_root(model_job *job, const char *folder)
{
    if (!join(job->file, folder, job->path) || access(job->file, R_OK) != 0)
        return 0;
    return snprintf(job->root, sizeof job->root, "%s", folder) < PATH_SIZE;
}

/* Cuts the last part of a path; 0 when there is none. */
static int cut(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    *slash = '\0';
    return 1;
}

static const char HERE[] = "";

/* Path of the library that this code is in, without links; 0 when it cannot be told. */
#ifdef __APPLE__
static int library_path(char *out)
{
    Dl_info self;
    return dladdr(HERE, &self) && self.dli_fname && realpath(self.dli_fname, out) != NULL;
}
#else
static int library_path(char *out)
{
    Dl_info self;
    struct link_map *map = NULL;
    char origin[PATH_SIZE], path[PATH_SIZE];
    if (!dladdr1(HERE, &self, (void **)&map, RTLD_DL_LINKMAP) || !self.dli_fname)
        return 0;

    /* its name may be relative to a working directory that has changed since; its folder is not */
    if (dlinfo(map, RTLD_DI_ORIGIN, origin) != 0)
        return 0;
    const char *base = strrchr(self.dli_fname, '/');
    return join(path, origin, base ? base + 1 : self.dli_fname) && realpath(path, out) != NULL;
}
#endif

/*
 * Takes a folder that nobody named when the model's file is in it and it belongs to whom this
 * process trusts already: the user, root, or the owner of the library.
 */
static int try_found(model_job *job, const char *folder, uid_t library_owner)
{
    struct stat about;
    if (!try_root(job, folder))
        return 0;
    if (stat(folder, &about) == 0 &&
        (about.st_uid == geteuid() || about.st_uid == 0 || about.st_uid == library_owner))
        return 1;
    snprintf(job->refused, sizeof job->refused, "%s", folder);
    return 0;
}

/*
 * $XDG_DATA_HOME/tce/models, by default ~/.local/share/tce/models; 0 when there is no such folder.
 */
static int user_models(char *out)
{
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    char folder[PATH_SIZE];
    if (data && data[0] == '/')
        return join(out, data, "tce/models");
    return home && home[0] == '/' && join(folder, home, ".local/share") &&
           join(out, folder, "tce/models");
}

/* Never in the working directory: whoever can write there would choose the model. */
static tce_status find_file(model_job *job)
{
    static const char REMEDY[] =
        "fetch the models with `make deps` in a checkout or `tce models` of "
        "the Python package, or set TCE_MODELS to a folder that has them";
    const char *given = getenv("TCE_MODELS");
    if (given && *given) {
        if (try_root(job, given))
            return TCE_OK;
        return tce_fail(TCE_E_NOT_FOUND, "TCE_MODELS = \"%s\" has no %s; %s", given, job->path,
                        REMEDY);
    }

    /* in a folder above the library: of a checkout, or of an installation */
    char place[PATH_SIZE], models[PATH_SIZE];
    struct stat about;
    uid_t owner = geteuid();
    if (library_path(place)) {
        if (stat(place, &about) == 0)
            owner = about.st_uid;
        for (int i = 0; i < N_ABOVE && cut(place); i++)
            if ((join(models, place, "deps") && try_found(job, models, owner)) ||
                (join(models, place, "share/tce/models") && try_found(job, models, owner)))
                return TCE_OK;
    }

    /* the user's own; and of a copy of the library, the checkout that it was built in */
    if ((user_models(models) && try_found(job, models, owner)) ||
        (TASKS_DEPS[0] && try_found(job, TASKS_DEPS, owner)))
        return TCE_OK;
    if (job->refused[0])
        return tce_fail(TCE_E_NOT_FOUND,
                        "the models in %s belong to another user: set TCE_MODELS to "
                        "this folder if you trust them, or run `make deps`",
                        job->refused);
    return tce_fail(TCE_E_NOT_FOUND, "the model %s is missing: %s", job->path, REMEDY);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Which compiled form is wanted; 0 when the file cannot be told. */
static int find_key(model_job *job, model_key *out)
{
    if (!realpath(job->file, job->real))
        return 0;
    out->root = job->root;
    out->file = job->real;
    out->sources = model_sources(job->real);
    out->variant = job->blank ? model_hash(0, job->blank, strlen(job->blank)) : 0;
    for (size_t i = 0; job->drop && job->drop[i]; i++)
        out->variant = model_hash(out->variant, job->drop[i], strlen(job->drop[i]));
    return 1;
}

/* This has had several forms; with a version whose form was not tried nothing is taken out. */
static void take_out(mjSpec *spec, const char *name)
{
    mjsBody *body = mjs_findBody(spec, name);
    if (!body)
        return;
#if mjVERSION_HEADER >= 3010000
    mjs_delete(spec, body->element);
#elif mjVERSION_HEADER == COMPARED_MUJOCO
    mjs_detachBody(spec, body);
#endif
}

/* The model of the file without some bodies. */
static mjModel *compile_without(model_job *job, const mjVFS *files)
{
    mjSpec *spec = mj_parseXML(job->file, files, job->error, sizeof job->error);
    if (!spec)
        return NULL;
    for (size_t i = 0; job->drop[i]; i++)
        take_out(spec, job->drop[i]);
    mjModel *model = mj_compile(spec, files);
    if (!model)
        snprintf(job->error, sizeof job->error, "%s", mjs_getError(spec));
    mj_deleteSpec(spec);
    return model;
}

/*
 * Parses the file; the text with its blanks goes before the one on disk, while what it includes
 * still comes from its folder.
 */
static void compile(void *context)
{
    model_job *job = context;
    const char *base = strrchr(job->file, '/') + 1;
    mjVFS files;
    mj_defaultVFS(&files);
    if (!job->blank || mj_addBufferVFS(&files, base, job->bytes, (int)job->n_bytes) == 0)
        job->model = job->drop ? compile_without(job, &files)
                               : mj_loadXML(job->file, &files, job->error, sizeof job->error);
    else
        snprintf(job->error, sizeof job->error, "it does not fit into memory");
    mj_deleteVFS(&files);
}

static tce_status compile_file(model_job *job)
{
    if (job->blank) {
        job->bytes = read_whole(job->file, &job->n_bytes);
        if (!job->bytes)
            return tce_fail(TCE_E_ENV, "the model %s cannot be read", job->file);
        const size_t n = strlen(job->blank);
        for (size_t i = 0; i + n <= job->n_bytes; i++)
            if (memcmp(job->bytes + i, job->blank, n) == 0)
                memset(job->bytes + i, ' ', n);
    }
    const tce_status status = mujoco_try(compile, job);
    if (status != TCE_OK)
        return status;
    return job->model
               ? TCE_OK
               : tce_fail(TCE_E_ENV, "MuJoCo refused the model %s: %s", job->file, job->error);
}

static tce_status load(void *context, mjModel **out)
{
    model_job *job = context;
    model_key key;
    tce_status status = TCE_OK;
    const int known = find_key(job, &key);
    job->model = known ? model_cache_load(&key) : NULL;
    if (!job->model) {
        status = compile_file(job);
        if (status == TCE_OK && known)
            model_cache_save(&key, job->model);
    }
    *out = job->model;
    return status;
}

tce_status model_open(const char *path, const char *blank, const char *const *drop,
                      const mjModel **out)
{
    model_job *job = calloc(1, sizeof *job);
    if (!job)
        return tce_fail(TCE_E_NOMEM, "no memory for the model %s", path);
    job->path = path;
    job->blank = blank;
    job->drop = drop;
    tce_status status = find_file(job);
    if (status == TCE_OK) {
        char name[PATH_SIZE + 16];
        snprintf(name, sizeof name, "%s%s", job->file, drop ? ", smaller" : "");
        status = model_share(name, load, job, out);
    }
    free(job->bytes);
    free(job);
    return status;
}
