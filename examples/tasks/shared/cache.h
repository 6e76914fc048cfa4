/*
 * Compiled models, kept from one process to the next: compiling a model with meshes takes up to two
 * seconds, loading it milliseconds.
 *
 * The cache is private to its owner. It is the folder cache/ beside the models where these are the
 * user's own, else $XDG_CACHE_HOME/tce (~/.cache/tce); it belongs to the user and only the user has
 * any right to it, and an entry is read only when it is the user's file, with a single name, and
 * nobody else can write it. Nothing is read through a link. There is therefore no cryptographic
 * sum: the one in an entry finds damage. An entry names the file that it was compiled from, so that
 * models in one folder never stand in for those in another.
 */
#ifndef TASKS_CACHE_H
#define TASKS_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include <mujoco/mujoco.h>

/* What an entry is found by. */
typedef struct model_key {
    const char *root; /* folder of models */
    const char *file; /* path of the model's file, without links */
    uint64_t variant; /* what was changed in it before it was compiled */
    uint64_t sources; /* hash of all files that it is made of */
} model_key;

/* Finds damage and change, not malice. */
uint64_t model_hash(uint64_t start, const void *data, size_t n);

/* The whole file, which the caller frees; NULL when it cannot be read. */
unsigned char *read_whole(const char *path, size_t *out_n);

/*
 * A hash of all files that the model in `file` may be made of: contents of XML files, and size and
 * time of the others.
 */
uint64_t model_sources(const char *file);

/* The model; NULL when there is none, or it is damaged, outdated or could be somebody else's. */
mjModel *model_cache_load(const model_key *key);

/* Keeps the model, in place of an older one. What fails costs time at the next start, no more. */
void model_cache_save(const model_key *key, const mjModel *model);

#endif
