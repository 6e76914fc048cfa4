/*
 * The run folder: its name, its making, files that are replaced as a whole, and what to say when the disk refuses.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

tce_status run_fail_write(const char *path, int error)
{
    const char *remedy = "is the disk there, and healthy?";
    if (error == ENOSPC || error == EDQUOT)
        remedy = "free some space";
    else if (error == EFBIG)
        remedy = "raise the limit on file sizes (ulimit -f)";
    else if (error == EACCES || error == EPERM || error == EROFS)
        remedy = "give yourself the right to write there, or choose another folder with --out";
    else if (error == ENOTDIR || error == EEXIST)
        remedy = "a file is in the way, choose another folder with --out";
    return tce_fail(TCE_E_IO, "cannot write %s: %s; %s", path, strerror(error), remedy);
}

tce_status run_path(const char *folder, const char *name, char out[RUN_PATH])
{
    const int n = snprintf(out, RUN_PATH, "%s/%s", folder, name);
    if (n < 0 || n >= RUN_PATH)
        return tce_fail(TCE_E_VALUE, "the path of %s in the run folder is longer than %d characters: choose a shorter --out", name, RUN_PATH);
    return TCE_OK;
}

void run_folder_unique(const char *parent, const char *stem, char *out, size_t size)
{
    char stamp[32] = "";
    const time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    for (int number = 1; number < 1000; number++) {
        char suffix[16] = "";
        struct stat there;
        if (number > 1)
            snprintf(suffix, sizeof suffix, "-%d", number);
        snprintf(out, size, "%s/%s__%s%s", parent, stem, stamp, suffix);
        if (stat(out, &there) != 0)
            return;
    }
}

void run_folder_name(const settings *s, const char *parent, char *out, size_t size)
{
    char stem[2 * TEXT_SIZE];
    snprintf(stem, sizeof stem, "%s__%s__%" PRIu64, s->task.name, method_of(s)->name, s->run.seed);
    run_folder_unique(parent, stem, out, size);
}

/* A folder that may be there already. */
static tce_status make_folder(const char *path)
{
    struct stat there;
    if (mkdir(path, 0777) == 0)
        return TCE_OK;
    const int error = errno;
    if (error == EEXIST && stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        return TCE_OK;
    return run_fail_write(path, error);
}

tce_status run_folder_make(const char *folder)
{
    char path[RUN_PATH];
    tce_status status = run_path(folder, "", path);
    for (char *slash = strchr(path + 1, '/'); status == TCE_OK && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_folder(path);
        *slash = '/';
    }
    return status;
}

tce_status run_folder_create(const char *folder)
{
    char path[RUN_PATH];
    const tce_status status = run_path(folder, "checkpoints", path);
    return status == TCE_OK ? run_folder_make(path) : status;
}

/* Removes the temporary files of stores in one folder. */
static void clean(const char *path)
{
    DIR *entries = opendir(path);
    for (const struct dirent *entry; entries && (entry = readdir(entries)) != NULL;)
        if (strncmp(entry->d_name, ".tce-", 5) == 0)
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
}

void run_folder_clean(const char *folder)
{
    char path[RUN_PATH];
    clean(folder);
    if (run_path(folder, "checkpoints", path) == TCE_OK)
        clean(path);
}

int run_exists(const char *folder)
{
    char path[RUN_PATH];
    return run_path(folder, "config.yaml", path) == TCE_OK && access(path, F_OK) == 0;
}

void run_folder_discard(const char *folder)
{
    char path[RUN_PATH];
    if (run_exists(folder))
        return;
    if (run_path(folder, "checkpoints", path) == TCE_OK && rmdir(path) == 0 && run_path(folder, "lock", path) == TCE_OK) {
        unlink(path);
        rmdir(folder);
    }
}

tce_status run_replace(const char *folder, const char *name, void (*write)(FILE *file, const void *content), const void *content)
{
    char path[RUN_PATH], hidden[RUN_PATH], temporary[RUN_PATH];
    snprintf(hidden, sizeof hidden, ".%s.tmp", name);
    tce_status status = run_path(folder, name, path);
    if (status == TCE_OK)
        status = run_path(folder, hidden, temporary);
    if (status != TCE_OK)
        return status;
    FILE *file = fopen(temporary, "w");
    if (!file)
        return run_fail_write(temporary, errno);

    /* beside the old one, to the disk, then in its place */
    errno = 0;
    write(file, content);
    int error = fflush(file) != 0 || ferror(file) || fsync(fileno(file)) != 0 ? errno : 0;
    if (fclose(file) != 0 && !error)
        error = errno;
    if (!error && rename(temporary, path) != 0)
        error = errno;
    if (!error)
        return TCE_OK;
    unlink(temporary);
    return run_fail_write(path, error);
}

static void write_settings(FILE *file, const void *content)
{
    fprintf(file, "# libtce %s\n", tce_version_string());
    settings_dump(content, file);
}

tce_status run_write_settings(const char *folder, const char *name, const settings *s)
{
    return run_replace(folder, name, write_settings, s);
}
