/*
 * Settings files: where CONFIG lies, what there is when it is nowhere, and whether it is the record
 * of a run.
 */
#define _XOPEN_SOURCE 700 /* realpath */

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "settings/settings.h"
#include "tools/program.h"
#include "tools/words.h"

#define ENDING ".yaml"

/* ---- places ---------------------------------------------------------------------------------- */

enum { N_PLACES = 5 };

/*
 * Where settings files are looked for, in this order, each with its last slash; "" is the working
 * directory. An unset $TCE_CONFIGS is that again.
 */
typedef struct places {
    char paths[N_PLACES][2 * TEXT_SIZE];
} places;

static void list_places(places *p)
{
    char program[TEXT_SIZE];
    const char *own = getenv("TCE_CONFIGS");
    const int set = own && own[0];
    program_folder(program, sizeof program);
    p->paths[0][0] = '\0';
    snprintf(p->paths[1], sizeof p->paths[1], "%s%s", set ? own : "", set ? "/" : "");
    snprintf(p->paths[2], sizeof p->paths[2], "examples/configs/");
    snprintf(p->paths[3], sizeof p->paths[3], "%s/../../examples/configs/", program);
    snprintf(p->paths[4], sizeof p->paths[4], "%s/../share/tce/configs/", program);
}

/* A settings file, or the one that a folder stands for. *folder: it is a folder without. */
static int take_config(char *path, size_t size, int *folder)
{
    struct stat found;
    const size_t length = strlen(path);
    /* a link that leads to itself is there: reading it says what is wrong */
    if (stat(path, &found) != 0)
        return errno == ELOOP;
    if (!S_ISDIR(found.st_mode))
        return 1;
    snprintf(path + length, size - length, "%stce" ENDING,
             length && path[length - 1] == '/' ? "" : "/");
    if (access(path, F_OK) == 0)
        return 1;
    *folder = 1;
    return 0;
}

/* ---- what there is --------------------------------------------------------------------------- */

/* Names, each once, in the order of the alphabet. Starts as { 0 }; free the list when done. */
typedef struct names {
    size_t n;
    char (*list)[TEXT_SIZE / 4]; /* [n] */
} names;

static void add_name(names *found, const char *name, size_t length)
{
    char text[TEXT_SIZE / 4];
    if (length == 0 || length >= sizeof text)
        return;
    snprintf(text, sizeof text, "%.*s", (int)length, name);
    size_t at = 0;
    while (at < found->n && strcmp(found->list[at], text) < 0)
        at++;
    if (at < found->n && strcmp(found->list[at], text) == 0)
        return;
    char(*more)[TEXT_SIZE / 4] = realloc(found->list, (found->n + 1) * sizeof *more);
    if (!more)
        return;
    found->list = more;
    memmove(found->list + at + 1, found->list + at, (found->n - at) * sizeof found->list[0]);
    memcpy(found->list[at], text, sizeof text);
    found->n++;
}

/* The settings files of a folder, without their ending. */
static void add_files(names *found, const char *folder)
{
    DIR *entries = opendir(folder);
    for (const struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        const size_t length = strlen(entry->d_name), ending = strlen(ENDING);
        if (length > ending && strcmp(entry->d_name + length - ending, ENDING) == 0)
            add_name(found, entry->d_name, length - ending);
    }
    if (entries)
        closedir(entries);
}

/* Those of its folders that have any. */
static void add_folders(names *found, const char *place)
{
    DIR *entries = opendir(place);
    for (const struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        char path[4 * TEXT_SIZE];
        names files = { 0 };
        snprintf(path, sizeof path, "%s%s", place, entry->d_name);
        if (entry->d_name[0] != '.')
            add_files(&files, path);
        if (files.n > 0)
            add_name(found, entry->d_name, strlen(entry->d_name));
        free(files.list);
    }
    if (entries)
        closedir(entries);
}

/* "a, b, c" with a prefix before each; cut where the room ends. */
static void join_names(const names *found, const char *prefix, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < found->n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s%s", i ? ", " : "", prefix,
                                 found->list[i]);
}

/* The settings files that a folder has in any of the places. */
static void find_files(const places *p, const char *folder, names *found)
{
    for (size_t i = 0; folder[0] && i < N_PLACES; i++) {
        char path[4 * TEXT_SIZE];
        snprintf(path, sizeof path, "%s%s", p->paths[i], folder);
        add_files(found, path);
    }
}

/*
 * The folder of tasks that CONFIG asks for is there: which files it has, and which methods there
 * are at all.
 */
static tce_status fail_in_folder(const settings_table *const *methods, const char *config,
                                 const char *what, const char *folder, const names *files)
{
    char prefix[2 * TEXT_SIZE], list[2 * TEXT_SIZE], all[TEXT_SIZE];
    snprintf(prefix, sizeof prefix, "%s/", folder);
    join_names(files, prefix, list, sizeof list);
    return tce_fail(TCE_E_NOT_FOUND, "%s: %s. Settings files in %s: %s. Choices of run.method: %s",
                    config, what, folder, list,
                    settings_method_names(methods, ", ", all, sizeof all));
}

/*
 * CONFIG is nowhere: the files of the folder that it is or lies in, or the folder with the nearest
 * name, or where was looked.
 */
static tce_status fail_to_find(const places *p, const settings_table *const *methods,
                               const char *config, int is_folder)
{
    const char *what = is_folder ? "a folder without tce.yaml" : "no such settings file";
    char folder[TEXT_SIZE], list[TEXT_SIZE];
    names files = { 0 }, folders = { 0 };
    snprintf(folder, sizeof folder, "%s", config);
    for (size_t length = strlen(folder); length > 0 && folder[length - 1] == '/'; length--)
        folder[length - 1] = '\0';
    find_files(p, folder, &files);
    char *slash = strrchr(folder, '/');
    if (files.n == 0 && slash && !is_folder) {
        *slash = '\0';
        find_files(p, folder, &files);
    }
    if (files.n > 0) {
        const tce_status status = fail_in_folder(methods, config, what, folder, &files);
        free(files.list);
        return status;
    }

    nearest folder_names;
    nearest_start(&folder_names, folder);
    for (size_t i = 0; i < N_PLACES; i++)
        if (p->paths[i][0])
            add_folders(&folders, p->paths[i]);
    for (size_t i = 0; i < folders.n; i++)
        nearest_try(&folder_names, folders.list[i]);
    const char *near = nearest_found(&folder_names);
    join_names(&folders, "", list, sizeof list);
    const tce_status status = tce_fail(
        TCE_E_NOT_FOUND, "%s: %s%s%s%s%s%s%s", config, what,
        is_folder ? "" : ", neither as a path nor in examples/configs or $TCE_CONFIGS",
        near ? "; did you mean " : "", near ? near : "", near ? "?" : ".",
        folders.n ? " There are settings for " : "", list);
    free(folders.list);
    return status;
}

/* ---- public ---------------------------------------------------------------------------------- */

tce_status find_config(const settings_table *const *methods, const char *config, char *out,
                       size_t size)
{
    places p;
    int folder = 0;
    list_places(&p);
    for (size_t i = 0; i < N_PLACES; i++)
        for (int with_ending = p.paths[i][0] != '\0'; with_ending >= 0; with_ending--) {
            snprintf(out, size, "%s%s%s", p.paths[i], config, with_ending ? ENDING : "");
            if (take_config(out, size, &folder))
                return TCE_OK;
        }
    return fail_to_find(&p, methods, config, folder);
}

tce_status config_prefix(const settings_table *const *methods, const char *config, char *out,
                         size_t size)
{
    char path[4 * TEXT_SIZE];
    const tce_status status = find_config(methods, config, path, sizeof path);
    if (status != TCE_OK)
        return status;
    char *full = realpath(path, NULL);
    if (!full)
        return tce_fail(TCE_E_IO, "%s: %s", path, strerror(errno));
    char *end = strrchr(full, '/');
    *end = '\0';
    const char *folder = strrchr(full, '/');
    snprintf(out, size, "%s_", folder ? folder + 1 : "");
    free(full);
    return TCE_OK;
}

int config_is_record(const char *path)
{
    static const char *const NAMES[] = { "config.yaml", "queue.yaml" };
    static const char *const BESIDE[] = { "progress.csv", "checkpoints", "queue.csv" };
    char *full = realpath(path, NULL), beside[4 * TEXT_SIZE];
    char *slash = full ? strrchr(full, '/') : NULL;
    int record = !slash;
    for (size_t i = 0; slash && i < sizeof NAMES / sizeof NAMES[0]; i++)
        record |= strcmp(slash + 1, NAMES[i]) == 0;
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < sizeof BESIDE / sizeof BESIDE[0]; i++) {
        snprintf(beside, sizeof beside, "%s/%s", full, BESIDE[i]);
        record |= access(beside, F_OK) == 0;
    }
    free(full);
    return record;
}
