/*
 * Finds a model's file, compiles it or takes the compiled form from the cache, steps it.
 *
 * A compiled form is of all files in the folder that the model is made of: contents of XML files,
 * and size and time of the others.
 */
#define _GNU_SOURCE /* dladdr1 */

#include "cache.h"
#include "model.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * deps/ is looked for in this many folders above the library: build/bin/libtce_tasks.so is two deep
 */
enum { N_ABOVE = 3, MAX_DEPTH = 16, ERROR_SIZE = 1000 };

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
    unsigned char *bytes; /* a file that was read */
    size_t n_bytes;
    char error[ERROR_SIZE];
} model_job;

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

/* Path of the library that this code is in, without links; 0 when it cannot be told. */
static int library_path(char *out)
{
    static const char HERE[] = "";
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

/* Never in the working directory: whoever can write there would choose the model. */
static tce_status find_file(model_job *job)
{
    static const char REMEDY[] = "run `make deps`, or set TCE_MODELS to a folder that has it";
    const char *given = getenv("TCE_MODELS");
    if (given && *given) {
        if (try_root(job, given))
            return TCE_OK;
        return tce_fail(TCE_E_NOT_FOUND, "TCE_MODELS = \"%s\" has no %s; %s", given, job->path,
                        REMEDY);
    }

    /* beside the library and above it */
    char place[PATH_SIZE], deps[PATH_SIZE];
    struct stat about;
    uid_t owner = geteuid();
    if (library_path(place)) {
        if (stat(place, &about) == 0)
            owner = about.st_uid;
        for (int i = 0; i < N_ABOVE && cut(place); i++)
            if (join(deps, place, "deps") && try_found(job, deps, owner))
                return TCE_OK;
    }

    /*
     * a copy of the library elsewhere, as in an installed Python package: the checkout that it was
     * built in
     */
    if (try_found(job, TASKS_DEPS, owner))
        return TCE_OK;
    if (job->refused[0])
        return tce_fail(TCE_E_NOT_FOUND,
                        "the models in %s belong to another user: set TCE_MODELS to "
                        "this folder if you trust them, or run `make deps`",
                        job->refused);
    return tce_fail(TCE_E_NOT_FOUND, "the model deps/%s is missing: %s", job->path, REMEDY);
}

/* ---- hashes ---------------------------------------------------------------------------------- */

/* The whole file into job->bytes; 1 when it was read. */
static int read_bytes(model_job *job, const char *path)
{
    free(job->bytes);
    job->bytes = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    struct stat about;
    int fine = fstat(fileno(file), &about) == 0 && about.st_size > 0 && about.st_size < INT_MAX;
    if (fine) {
        job->n_bytes = (size_t)about.st_size;
        job->bytes = malloc(job->n_bytes);
        fine = job->bytes && fread(job->bytes, 1, job->n_bytes, file) == job->n_bytes;
    }
    fclose(file);
    return fine;
}

/* A sum over the files of a folder and those below it, so that their order does not matter. */
static uint64_t hash_folder(model_job *job, const char *folder, int depth)
{
    uint64_t sum = 0;
    DIR *entries = opendir(folder);
    if (!entries || depth == 0) {
        if (entries)
            closedir(entries);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[PATH_SIZE];
        struct stat about;
        if (entry->d_name[0] == '.' || !join(path, folder, entry->d_name) ||
            stat(path, &about) != 0)
            continue;
        const size_t length = strlen(entry->d_name);
        uint64_t h = model_hash((uint64_t)depth, entry->d_name, length);
        if (S_ISDIR(about.st_mode)) {
            const uint64_t below = hash_folder(job, path, depth - 1);
            h = model_hash(h, &below, sizeof below);
        } else if (length > 4 && strcmp(entry->d_name + length - 4, ".xml") == 0 &&
                   read_bytes(job, path)) {
            h = model_hash(h, job->bytes, job->n_bytes);
        } else {
            const int64_t facts[] = { about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec };
            h = model_hash(h, facts, sizeof facts);
        }
        sum += h;
    }
    closedir(entries);
    return sum;
}

/* ---- what a compiled form is of -------------------------------------------------------------- */

/*
 * The folder whose files a model may be made of: the nearest one called assets above the file, else
 * the file's own.
 */
static void assets_folder(const char *file, char *out)
{
    snprintf(out, PATH_SIZE, "%s", file);
    while (cut(out))
        if (strcmp(strrchr(out, '/'), "/assets") == 0)
            return;
    snprintf(out, PATH_SIZE, "%s", file);
    cut(out);
}

/* Which compiled form is wanted; 0 when the file cannot be told. */
static int find_key(model_job *job, model_key *out)
{
    char place[PATH_SIZE];
    if (!realpath(job->file, job->real))
        return 0;
    assets_folder(job->real, place);
    out->root = job->root;
    out->file = job->real;
    out->sources = hash_folder(job, place, MAX_DEPTH);
    out->variant = job->blank ? model_hash(0, job->blank, strlen(job->blank)) : 0;
    for (size_t i = 0; job->drop && job->drop[i]; i++)
        out->variant = model_hash(out->variant, job->drop[i], strlen(job->drop[i]));
    return 1;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* This has had several forms; with a version whose form was not tried nothing is taken out. */
static void take_out(mjSpec *spec, const char *name)
{
    mjsBody *body = mjs_findBody(spec, name);
    if (!body)
        return;
#if mjVERSION_HEADER >= 3010000
    mjs_delete(spec, body->element);
#elif mjVERSION_HEADER == 330
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
        if (!read_bytes(job, job->file))
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

tce_status models_open_without(const char *path, const char *blank, const char *const *drop,
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
        status = mujoco_model_share(name, load, job, out);
    }
    free(job->bytes);
    free(job);
    return status;
}

tce_status models_open(const char *path, const char *blank, const mjModel **out)
{
    return models_open_without(path, blank, NULL, out);
}

/* ---- stepping and drawing -------------------------------------------------------------------- */

typedef struct step_job {
    const mjModel *model;
    mjData *data;
    int n;
} step_job;

static void take_steps(void *context)
{
    const step_job *job = context;
    physics_step(job->model, job->data, job->n);
}

tce_status step_as_original(const mjModel *model, mjData *data, int n)
{
    step_job job = { model, data, n };
    return mujoco_try(take_steps, &job);
}

double task_draw(const task_draws *draws, tce_random *random, double low, double high)
{
    const double u = draws ? draws->next(draws->context) : tce_random_uniform(random);
    return draws && draws->exact ? u : low + (high - low) * u;
}
