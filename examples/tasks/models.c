/*
 * Finds a model's file, compiles it or takes the compiled form from the cache, steps it.
 *
 * A cache file is what mj_saveModel writes; beside it, in name.sum, stands the hash of its bytes. Its name has the version of MuJoCo and a hash
 * of the folder that the model is made of: contents of XML files, and size and time of the others.
 */
#define _GNU_SOURCE /* dladdr */

#include "models.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* deps/ is looked for in this many folders above the library: build/bin/libtce_tasks.so is two deep */
enum { N_ABOVE = 3, MAX_DEPTH = 16, ERROR_SIZE = 1000 };

#define PATH_SIZE 4096

/* What is known about a model while it is loaded. */
typedef struct model_job {
    const char *path, *blank;
    const char *const *drop; /* names of bodies, NULL after the last; NULL: none */
    char root[PATH_SIZE];  /* folder of models */
    char file[PATH_SIZE];  /* the model's file */
    char cache[PATH_SIZE]; /* its compiled form; "" when there is no place for one */
    mjModel *model;
    unsigned char *bytes; /* a file that was read */
    size_t n_bytes;
    char error[ERROR_SIZE];
} model_job;

/* ---- folders --------------------------------------------------------------------------------------- */

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

static tce_status find_file(model_job *job)
{
    static const char REMEDY[] = "run `make deps`, or set TCE_MODELS to a folder that has it";
    const char *given = getenv("TCE_MODELS");
    if (given && *given) {
        if (try_root(job, given))
            return TCE_OK;
        return tce_fail(TCE_E_NOT_FOUND, "TCE_MODELS = \"%s\" has no %s; %s", given, job->path, REMEDY);
    }
    if (try_root(job, "deps"))
        return TCE_OK;

    /* beside the library and above it */
    Dl_info self;
    char place[PATH_SIZE], deps[PATH_SIZE];
    if (dladdr(REMEDY, &self) && self.dli_fname && realpath(self.dli_fname, place))
        for (int i = 0; i < N_ABOVE && cut(place); i++)
            if (join(deps, place, "deps") && try_root(job, deps))
                return TCE_OK;

    /* a copy of the library elsewhere, as in an installed Python package: the checkout that it was built in */
    if (try_root(job, TASKS_DEPS))
        return TCE_OK;
    return tce_fail(TCE_E_NOT_FOUND, "the model deps/%s is missing: %s", job->path, REMEDY);
}

/* ---- hashes ---------------------------------------------------------------------------------------- */

/* Eight bytes at a time: xor, multiply, fold. Finds damage and change, not malice. */
static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    h ^= n;
    while (n > 0) {
        uint64_t word = 0;
        const size_t part = n < sizeof word ? n : sizeof word;
        memcpy(&word, bytes, part);
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
        bytes += part;
        n -= part;
    }
    return h;
}

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
        if (entry->d_name[0] == '.' || !join(path, folder, entry->d_name) || stat(path, &about) != 0)
            continue;
        const size_t length = strlen(entry->d_name);
        uint64_t h = hash_bytes((uint64_t)depth, entry->d_name, length);
        if (S_ISDIR(about.st_mode)) {
            const uint64_t below = hash_folder(job, path, depth - 1);
            h = hash_bytes(h, &below, sizeof below);
        } else if (length > 4 && strcmp(entry->d_name + length - 4, ".xml") == 0 && read_bytes(job, path)) {
            h = hash_bytes(h, job->bytes, job->n_bytes);
        } else {
            const int64_t facts[] = { about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec };
            h = hash_bytes(h, facts, sizeof facts);
        }
        sum += h;
    }
    closedir(entries);
    return sum;
}

/* ---- the cache ------------------------------------------------------------------------------------- */

/* Makes a folder where it is missing, one level; 1 when files can be written into it. */
static int usable(const char *folder)
{
    return (mkdir(folder, 0777) == 0 || access(folder, F_OK) == 0) && access(folder, W_OK | X_OK) == 0;
}

static int cache_folder(const model_job *job, char *out)
{
    if (join(out, job->root, "cache") && usable(out))
        return 1;
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char folder[PATH_SIZE];
    if (cache && *cache)
        return usable(cache) && join(out, cache, "tce") && usable(out);
    return home && *home && join(folder, home, ".cache") && usable(folder) && join(out, folder, "tce") && usable(out);
}

/* The folder whose files a model may be made of: the nearest one called assets above the file, else the file's own. */
static void assets_folder(const char *file, char *out)
{
    snprintf(out, PATH_SIZE, "%s", file);
    while (cut(out))
        if (strcmp(strrchr(out, '/'), "/assets") == 0)
            return;
    snprintf(out, PATH_SIZE, "%s", file);
    cut(out);
}

/* Where the compiled form belongs; "" when it cannot be kept. */
static void find_cache(model_job *job)
{
    const char *wanted = getenv("TCE_MODEL_CACHE");
    char folder[PATH_SIZE], name[PATH_SIZE];
    job->cache[0] = '\0';
    if ((wanted && strcmp(wanted, "0") == 0) || !cache_folder(job, folder))
        return;

    char place[PATH_SIZE];
    assets_folder(job->file, place);
    uint64_t h = hash_bytes(hash_folder(job, place, MAX_DEPTH), job->path, strlen(job->path));
    if (job->blank)
        h = hash_bytes(h, job->blank, strlen(job->blank));
    for (size_t i = 0; job->drop && job->drop[i]; i++)
        h = hash_bytes(h, job->drop[i], strlen(job->drop[i]));
    const char *base = strrchr(job->path, '/');
    snprintf(name, sizeof name, "%.200s-%s-%016llx.mjb", base ? base + 1 : job->path, mj_versionString(), (unsigned long long)h);
    if (!join(job->cache, folder, name))
        job->cache[0] = '\0';
}

/* The hash of a file, without a copy of it; 0 when it cannot be read. */
static uint64_t hash_file(const char *path)
{
    uint64_t h = 0;
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    if (fstat(fileno(file), &about) == 0 && about.st_size > 0) {
        const size_t n = (size_t)about.st_size;
        void *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fileno(file), 0);
        if (bytes != MAP_FAILED) {
            h = hash_bytes(0, bytes, n);
            munmap(bytes, n);
        }
    }
    fclose(file);
    return h;
}

static void unpack(void *context)
{
    model_job *job = context;
    job->model = mj_loadModel(job->cache, NULL);
}

/* The model from the cache; NULL when it is not there or not whole. */
static void load_cached(model_job *job)
{
    char name[PATH_SIZE + 8];
    unsigned long long want = 0;
    snprintf(name, sizeof name, "%s.sum", job->cache);
    FILE *file = job->cache[0] != '\0' ? fopen(name, "r") : NULL;
    if (!file)
        return;
    const int read = fscanf(file, "%llx", &want);
    fclose(file);
    if (read == 1 && want != 0 && want == hash_file(job->cache) && mujoco_try(unpack, job) != TCE_OK)
        job->model = NULL;
}

static void pack(void *context)
{
    model_job *job = context;
    mj_saveModel(job->model, NULL, job->bytes, (int)job->n_bytes);
}

/* Writes a file beside its place and moves it there. */
static int replace_file(const char *path, const void *bytes, size_t n)
{
    char part[PATH_SIZE + 64];
    snprintf(part, sizeof part, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(part, "wb");
    if (!file)
        return 0;
    int fine = fwrite(bytes, 1, n, file) == n;
    fine = fclose(file) == 0 && fine && rename(part, path) == 0;
    if (!fine)
        remove(part);
    return fine;
}

/* Keeps the compiled form. What fails costs time at the next start, no more. */
static void save_cached(model_job *job)
{
    char name[PATH_SIZE + 8], sum[32];
    free(job->bytes);
    job->n_bytes = (size_t)mj_sizeModel(job->model);
    job->bytes = job->n_bytes < INT_MAX ? malloc(job->n_bytes) : NULL;
    if (!job->bytes || mujoco_try(pack, job) != TCE_OK || !replace_file(job->cache, job->bytes, job->n_bytes))
        return;
    snprintf(name, sizeof name, "%s.sum", job->cache);
    snprintf(sum, sizeof sum, "%016llx\n", (unsigned long long)hash_bytes(0, job->bytes, job->n_bytes));
    replace_file(name, sum, strlen(sum));
}

/* ---- loading --------------------------------------------------------------------------------------- */

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

/* Parses the file; the text with its blanks goes before the one on disk, while what it includes still comes from its folder. */
static void compile(void *context)
{
    model_job *job = context;
    const char *base = strrchr(job->file, '/') + 1;
    mjVFS files;
    mj_defaultVFS(&files);
    if (!job->blank || mj_addBufferVFS(&files, base, job->bytes, (int)job->n_bytes) == 0)
        job->model = job->drop ? compile_without(job, &files) : mj_loadXML(job->file, &files, job->error, sizeof job->error);
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
    return job->model ? TCE_OK : tce_fail(TCE_E_ENV, "MuJoCo refused the model %s: %s", job->file, job->error);
}

static tce_status load(void *context, mjModel **out)
{
    model_job *job = context;
    tce_status status = TCE_OK;
    find_cache(job);
    load_cached(job);
    if (!job->model) {
        status = compile_file(job);
        if (status == TCE_OK && job->cache[0] != '\0')
            save_cached(job);
    }
    *out = job->model;
    return status;
}

tce_status models_open_without(const char *path, const char *blank, const char *const *drop, const mjModel **out)
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

/* ---- stepping and drawing -------------------------------------------------------------------------- */

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

tce_status models_step(const mjModel *model, mjData *data, int n)
{
    step_job job = { model, data, n };
    return mujoco_try(take_steps, &job);
}

double task_draw(const task_draws *draws, tce_random *random, double low, double high)
{
    const double u = draws ? draws->next(draws->context) : tce_random_uniform(random);
    return draws && draws->exact ? u : low + (high - low) * u;
}
