/*
 * The cache of compiled models.
 *
 * An entry is a header, the path of the model's file, and what mj_saveModel writes. It is called by
 * the model's file, the version of MuJoCo and a hash of path, variant and machine, so that a model
 * has one entry, which is replaced when its files change.
 */
#include "cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "guard.h"

#define PATH_SIZE 4096
#define NAME_SIZE 256
#define MAX_DEPTH 16 /* of folders that a model is made of */

static const char MAGIC[8] = { 't', 'c', 'e', 'm', 'o', 'd', 'l', '1' };

typedef struct entry_header {
    char magic[8];
    uint64_t sources;
    uint64_t sum;    /* of the model's bytes */
    uint64_t n_path; /* bytes of the path that follows */
} entry_header;

/* Eight bytes at a time: xor, multiply, fold. */
uint64_t model_hash(uint64_t start, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    uint64_t h = start ^ n;
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

/* ---- what a compiled form is made of --------------------------------------------------------- */

unsigned char *read_whole(const char *path, size_t *out_n)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    struct stat about;
    unsigned char *bytes = NULL;
    if (fstat(fileno(file), &about) == 0 && about.st_size > 0 && about.st_size < INT_MAX) {
        *out_n = (size_t)about.st_size;
        bytes = malloc(*out_n);
        if (bytes && fread(bytes, 1, *out_n, file) != *out_n) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

/* Of one file: contents when it is XML, else size and time. */
static uint64_t hash_file(uint64_t start, const char *path, const struct stat *about)
{
    const size_t length = strlen(path);
    size_t n = 0;
    unsigned char *bytes = length > 4 && strcmp(path + length - 4, ".xml") == 0
                               ? read_whole(path, &n)
                               : NULL;
#ifdef __APPLE__
    const struct timespec changed = about->st_mtimespec;
#else
    const struct timespec changed = about->st_mtim;
#endif
    const int64_t facts[] = { about->st_size, changed.tv_sec, changed.tv_nsec };
    const uint64_t h = bytes ? model_hash(start, bytes, n) : model_hash(start, facts, sizeof facts);
    free(bytes);
    return h;
}

/* A sum over the files of a folder and those below it, so that their order does not matter. */
static uint64_t hash_folder(const char *folder, int depth)
{
    uint64_t sum = 0;
    DIR *entries = depth > 0 ? opendir(folder) : NULL;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[PATH_SIZE];
        struct stat about;
        const int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || length >= PATH_SIZE || stat(path, &about) != 0)
            continue;
        uint64_t h = model_hash((uint64_t)depth, entry->d_name, strlen(entry->d_name));
        if (S_ISDIR(about.st_mode)) {
            const uint64_t below = hash_folder(path, depth - 1);
            h = model_hash(h, &below, sizeof below);
        } else {
            h = hash_file(h, path, &about);
        }
        sum += h;
    }
    if (entries)
        closedir(entries);
    return sum;
}

/*
 * The folder whose files a model may be made of is the nearest one called assets above the file,
 * else the file's own.
 */
uint64_t model_sources(const char *file)
{
    static const char ASSETS[] = "/assets/";
    char folder[PATH_SIZE];
    snprintf(folder, sizeof folder, "%s", file);
    char *end = strrchr(folder, '/');
    for (char *at = strstr(folder, ASSETS); at; at = strstr(at + 1, ASSETS))
        end = at + sizeof ASSETS - 2;
    if (end)
        *end = '\0';
    return hash_folder(folder, MAX_DEPTH);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static int is_mine(const struct stat *about)
{
    return about->st_uid == geteuid();
}

/* Closes a folder that is not private and cannot be made so; a descriptor, or -1. */
static int keep_private(int folder)
{
    struct stat about;
    if (folder < 0)
        return -1;
    int fine = fstat(folder, &about) == 0 && is_mine(&about);
    if (fine && (about.st_mode & (S_IRWXG | S_IRWXO)))
        fine = fchmod(folder, S_IRWXU) == 0;
    if (fine && faccessat(folder, ".", W_OK | X_OK, 0) == 0)
        return folder;
    close(folder);
    return -1;
}

/* base/name, made where it is missing and base is the user's; a descriptor, or -1. */
static int open_private(const char *base, const char *name)
{
    struct stat about;
    const int parent = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return -1;
    if (fstat(parent, &about) == 0 && is_mine(&about))
        mkdirat(parent, name, S_IRWXU);
    const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(parent);
    return keep_private(folder);
}

/* The user's folder for caches; 0 when there is none. Relative paths do not count. */
static int user_caches(char *out)
{
    const char *given = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    struct stat about;
    if (given && given[0] == '/')
        return snprintf(out, PATH_SIZE, "%s", given) < PATH_SIZE;
    if (!home || home[0] != '/' || snprintf(out, PATH_SIZE, "%s/.cache", home) >= PATH_SIZE)
        return 0;
    if (stat(home, &about) == 0 && is_mine(&about))
        mkdir(out, S_IRWXU);
    return 1;
}

static int open_folder(const char *root)
{
    char place[PATH_SIZE];
    const char *wanted = getenv("TCE_MODEL_CACHE");
    if (wanted && strcmp(wanted, "0") == 0)
        return -1;
    const int beside = open_private(root, "cache");
    return beside >= 0 || !user_caches(place) ? beside : open_private(place, "tce");
}

static void entry_name(const model_key *key, char out[NAME_SIZE])
{
    struct utsname machine;
    const char *base = strrchr(key->file, '/');
    uint64_t h = model_hash(key->variant, key->file, strlen(key->file));
    if (uname(&machine) >= 0)
        h = model_hash(h, machine.machine, strlen(machine.machine));
    snprintf(out, NAME_SIZE, "%.150s-%s-%016llx.model", base ? base + 1 : key->file,
             mj_versionString(), (unsigned long long)h);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A model in memory, for MuJoCo to read. */
typedef struct packed_model {
    const unsigned char *bytes;
    size_t n;
    mjVFS files;
    mjModel *model;
} packed_model;

static void unpack(void *context)
{
    static const char NAME[] = "model.mjb";
    packed_model *packed = context;
    if (mj_addBufferVFS(&packed->files, NAME, packed->bytes, (int)packed->n) == 0)
        packed->model = mj_loadModel(NAME, &packed->files);
}

/* The model in the n bytes of an entry; NULL when they are not whole or of other files. */
static mjModel *read_entry(const model_key *key, const unsigned char *bytes, size_t n)
{
    entry_header header;
    const size_t n_path = strlen(key->file), start = sizeof header + n_path;
    if (n <= start || n - start > INT_MAX)
        return NULL;
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, MAGIC, sizeof MAGIC) != 0 || header.sources != key->sources ||
        header.n_path != n_path || memcmp(bytes + sizeof header, key->file, n_path) != 0 ||
        header.sum != model_hash(0, bytes + start, n - start))
        return NULL;

    packed_model *packed = calloc(1, sizeof *packed);
    if (!packed)
        return NULL;
    packed->bytes = bytes + start;
    packed->n = n - start;
    mj_defaultVFS(&packed->files);
    mjModel *model = mujoco_try(unpack, packed) == TCE_OK ? packed->model : NULL;
    mj_deleteVFS(&packed->files);
    free(packed);
    return model;
}

/* What model_cache_save leaves: the user's file, with one name, and nobody else can write it. */
static int is_entry(const struct stat *about)
{
    return S_ISREG(about->st_mode) && is_mine(about) && about->st_nlink == 1 &&
           !(about->st_mode & (S_IWGRP | S_IWOTH)) && about->st_size > 0;
}

mjModel *model_cache_load(const model_key *key)
{
    char name[NAME_SIZE];
    struct stat about;
    mjModel *model = NULL;
    const int folder = open_folder(key->root);
    if (folder < 0)
        return NULL;
    entry_name(key, name);
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(folder);
    if (file < 0)
        return NULL;

    /* checked and read through one descriptor: no other file can come between */
    if (fstat(file, &about) == 0 && is_entry(&about)) {
        const size_t n = (size_t)about.st_size;
        void *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            model = read_entry(key, bytes, n);
            munmap(bytes, n);
        }
    }
    close(file);
    return model;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct packing {
    const mjModel *model;
    unsigned char *bytes;
    size_t n;
} packing;

static void pack(void *context)
{
    const packing *p = context;
    mj_saveModel(p->model, NULL, p->bytes, (int)p->n);
}

/* Header, path and model; NULL when there is no memory. The caller frees it. */
static unsigned char *make_entry(const model_key *key, const mjModel *model, size_t *out_n)
{
    entry_header header = { { 0 }, key->sources, 0, strlen(key->file) };
    const size_t start = sizeof header + header.n_path;
    packing p = { model, NULL, (size_t)mj_sizeModel(model) };
    unsigned char *bytes = p.n < INT_MAX ? malloc(start + p.n) : NULL;
    if (!bytes)
        return NULL;
    p.bytes = bytes + start;
    if (mujoco_try(pack, &p) != TCE_OK) {
        free(bytes);
        return NULL;
    }
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.sum = model_hash(0, p.bytes, p.n);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, key->file, header.n_path);
    *out_n = start + p.n;
    return bytes;
}

static int write_all(int file, const unsigned char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(file, bytes, n);
        if (written <= 0)
            return 0;
        bytes += written;
        n -= (size_t)written;
    }
    return 1;
}

/* Writes a file beside its place and moves it there. */
static void replace_entry(int folder, const char *name, const unsigned char *bytes, size_t n)
{
    char part[NAME_SIZE + 32];
    snprintf(part, sizeof part, "%s.%ld", name, (long)getpid());
    unlinkat(folder, part, 0);
    const int file = openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            S_IRUSR | S_IWUSR);
    if (file < 0)
        return;
    int fine = write_all(file, bytes, n);
    fine = close(file) == 0 && fine && renameat(folder, part, folder, name) == 0;
    if (!fine)
        unlinkat(folder, part, 0);
}

void model_cache_save(const model_key *key, const mjModel *model)
{
    char name[NAME_SIZE];
    size_t n = 0;
    const int folder = open_folder(key->root);
    if (folder < 0)
        return;
    unsigned char *bytes = make_entry(key, model, &n);
    if (bytes) {
        entry_name(key, name);
        replace_entry(folder, name, bytes, n);
    }
    free(bytes);
    close(folder);
}
