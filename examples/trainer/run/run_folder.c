/*
 * The run folder: its name, its making, its settings, and what is in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/run.h"
#include "tools/blas.h"
#include "tools/program.h"

tce_status run_path(const char *folder, const char *name, char out[RUN_PATH])
{
    const int n = snprintf(out, RUN_PATH, "%s/%s", folder, name);
    if (n < 0 || n >= RUN_PATH)
        return tce_fail(
            TCE_E_VALUE,
            "the path of %s in the run folder is longer than %d characters: choose a shorter --out",
            name, RUN_PATH);
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

void run_name(const settings *s, char *out, size_t size)
{
    snprintf(out, size, "%s__%s__%" PRIu64, s->task.name, s->table->name, s->run.seed);
}

void run_folder_name(const settings *s, const char *parent, char *out, size_t size)
{
    char stem[2 * TEXT_SIZE];
    run_name(s, stem, sizeof stem);
    run_folder_unique(parent, stem, out, size);
}

tce_status run_folder_create(const char *folder)
{
    char path[RUN_PATH];
    const tce_status status = run_path(folder, "checkpoints", path);
    return status == TCE_OK ? folder_make_inside(path) : status;
}

/* The name of a store that is being written: .tce-<process>-<attempt>.tmp. */
static int is_unfinished(const char *name)
{
    static const char DIGITS[] = "0123456789";
    if (strncmp(name, ".tce-", 5) != 0)
        return 0;
    const size_t process = strspn(name + 5, DIGITS);
    if (process == 0 || name[5 + process] != '-')
        return 0;
    const char *attempt = name + 5 + process + 1;
    const size_t n = strspn(attempt, DIGITS);
    return n > 0 && strcmp(attempt + n, ".tmp") == 0;
}

/* Removes the temporary files of stores in one folder. */
static void clean(const char *path)
{
    DIR *entries = opendir(path);
    for (const struct dirent *entry; entries && (entry = readdir(entries)) != NULL;)
        if (is_unfinished(entry->d_name))
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

const char *run_find(const char *name, char out[RUN_PATH])
{
    /* beside the program in a checkout, and where it is installed */
    static const char *const PLACES[] = { "../../docs/runs", "../share/tce/runs" };
    char program[RUN_PATH / 2];
    if (access(name, F_OK) == 0 || name[0] == '/' || name[0] == '.')
        return name;
    program_folder(program, sizeof program);
    for (size_t i = 0; i < sizeof PLACES / sizeof PLACES[0]; i++) {
        const int n = snprintf(out, RUN_PATH, "%s/%s/%s", program, PLACES[i], name);
        if (n > 0 && n < RUN_PATH && run_exists(out))
            return out;
    }
    return name;
}

void run_folder_discard(const char *folder)
{
    char path[RUN_PATH];
    if (run_exists(folder))
        return;
    if (run_path(folder, "checkpoints", path) == TCE_OK && rmdir(path) == 0 &&
        run_path(folder, "lock", path) == TCE_OK) {
        unlink(path);
        rmdir(folder);
    }
}

tce_status run_replace(const char *folder, const char *name,
                       void (*write)(FILE *file, const void *content), const void *content)
{
    return run_replace_as(folder, name, "", write, content);
}

tce_status run_replace_as(const char *folder, const char *name, const char *writer,
                          void (*write)(FILE *file, const void *content), const void *content)
{
    char path[RUN_PATH];
    const tce_status status = run_path(folder, name, path);
    return status == TCE_OK ? file_replace_as(path, writer, write, content) : status;
}

/* How a file tells the length of an entropy schedule that is not a setting (run_keep_schedule). */
#define SCHEDULE_REMARK "# entropy schedule: %" PRId64 " iterations, as the run began"

static void put_settings(FILE *file, const settings *given,
                         void (*dump)(const settings *s, FILE *out))
{
    settings s = *given;
    fprintf(file, "# libtce %s\n", tce_version_string());
    if (blas_kernels())
        fprintf(file, "# kernels: %s\n", blas_kernels());
    if (s.schedule.entropy_from_run)
        fprintf(file, SCHEDULE_REMARK "\n", s.schedule.entropy_iterations);
    run_forget_schedule(&s);
    dump(&s, file);
}

static void write_settings(FILE *file, const void *content)
{
    put_settings(file, content, settings_dump);
}

static void write_shared_settings(FILE *file, const void *content)
{
    put_settings(file, content, settings_dump_shared);
}

/* The remark, among the lines before the first setting. */
static void read_schedule(FILE *file, settings *s)
{
    char line[256];
    int64_t length = 0;
    if (s->schedule.entropy_iterations > 0)
        return;
    while (length == 0 && fgets(line, sizeof line, file) && line[0] == '#')
        if (sscanf(line, "# entropy schedule: %" SCNd64 " iterations", &length) == 1 &&
            length > 0) {
            s->schedule.entropy_iterations = length;
            s->schedule.entropy_from_run = 1;
        }
}

tce_status run_write_settings(const char *folder, const settings *s)
{
    return run_replace(folder, "config.yaml", write_settings, s);
}

tce_status run_write_shared_settings(const char *folder, const char *name, const char *writer,
                                     const settings *s)
{
    return run_replace_as(folder, name, writer, write_shared_settings, s);
}

tce_status run_read_settings(const char *path, const settings_table *const *methods, settings *out)
{
    FILE *file;
    tce_status status = file_open(path, O_RDONLY, "r", &file);
    if (status != TCE_OK)
        return status;
    status = settings_read_record(out, methods, path);
    if (status == TCE_OK)
        read_schedule(file, out);
    fclose(file);
    return status;
}

/* ---- what is there already ------------------------------------------------------------------- */

/* All that a run writes and that only it needs. */
static const char *const RUN_FILES[] = {
    "checkpoints", "policy.safetensors",      "policy-best.safetensors",      "progress.csv",
    "timing.csv",  "events.out.tfevents.tce", "events.out.tfevents.settings", "curve.csv",
    "curve.png",
};

static int is_there(const char *folder, const char *name)
{
    char path[RUN_PATH];
    struct stat there;
    return run_path(folder, name, path) == TCE_OK && lstat(path, &there) == 0;
}

/* Also those that are damaged. */
static int has_checkpoints(const char *folder)
{
    char path[RUN_PATH];
    int found = 0;
    DIR *entries = run_path(folder, "checkpoints", path) == TCE_OK ? opendir(path) : NULL;
    for (const struct dirent *entry; entries && !found && (entry = readdir(entries)) != NULL;)
        found = strncmp(entry->d_name, "ckpt-", 5) == 0;
    if (entries)
        closedir(entries);
    return found;
}

/* Iteration of the last whole row of progress.csv; 0: none after row 0. */
static int64_t last_row(const char *folder)
{
    char path[RUN_PATH], *line = NULL;
    size_t size = 0;
    int64_t last = 0;
    FILE *file;
    if (run_path(folder, "progress.csv", path) != TCE_OK ||
        file_open(path, O_RDONLY, "r", &file) != TCE_OK)
        return 0;
    for (ssize_t n; (n = getline(&line, &size, file)) > 0 && line[n - 1] == '\n';)
        last = strtoll(line, NULL, 10);
    free(line);
    fclose(file);
    return last;
}

/* Whether a run has left anything in a folder. */
static int has_run(const char *folder)
{
    return is_there(folder, "policy.safetensors") || has_checkpoints(folder) ||
           last_row(folder) > 0 || run_exists(folder);
}

run_state run_find_state(const char *folder, const settings_table *const *methods)
{
    char path[RUN_PATH];
    settings own;
    if (is_there(folder, "policy.safetensors") || has_checkpoints(folder))
        return RUN_TRAINED;
    const int known = run_path(folder, "config.yaml", path) == TCE_OK &&
                      run_read_settings(path, methods, &own) == TCE_OK;

    /*
     * a row is written before the checkpoint of its iteration, so one more row means that the
     * checkpoint was there
     */
    const int64_t rows = last_row(folder);
    if (rows > 0)
        return rows > (known ? own.run.checkpoint_every : 0) ? RUN_TRAINED : RUN_UNSAVED;
    if (!run_exists(folder))
        return RUN_ABSENT;

    /* settings that do not come from a run may be someone's own file */
    return known && is_there(folder, "events.out.tfevents.tce") ? RUN_BEGUN : RUN_UNSAVED;
}

/* Copies the file behind `content`, a FILE. */
static void copy_content(FILE *file, const void *content)
{
    FILE *from = *(FILE *const *)content;
    char bytes[4096];
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, from)) > 0;)
        fwrite(bytes, 1, n, file);
}

/*
 * config.yaml stays until the next one takes its place: whenever this process is killed, the folder
 * has one.
 */
static tce_status copy_settings(const char *folder, const char *aside)
{
    char path[RUN_PATH];
    FILE *from;
    tce_status status = run_path(folder, "config.yaml", path);
    if (status == TCE_OK)
        status = file_open(path, O_RDONLY, "r", &from);
    if (status != TCE_OK)
        return status == TCE_E_NOT_FOUND ? TCE_OK : status;
    status = run_replace(aside, "config.yaml", copy_content, &from);
    fclose(from);
    return status;
}

tce_status run_set_aside(const char *folder, char out[RUN_PATH])
{
    char aside[RUN_PATH] = "", from[RUN_PATH], to[RUN_PATH];
    out[0] = '\0';
    if (!has_run(folder))
        return TCE_OK;
    tce_status status = TCE_OK;
    int made = 0;
    for (int number = 1; status == TCE_OK && !made; number++) {
        char name[64];
        snprintf(name, sizeof name, "before-restart-%d", number);
        status = run_path(folder, name, aside);
        made = status == TCE_OK && mkdir(aside, 0777) == 0;
        if (status == TCE_OK && !made && errno != EEXIST)
            status = file_fail_write(aside, errno);
    }
    if (status == TCE_OK)
        status = copy_settings(folder, aside);

    /* checkpoints first: without them nothing can be taken for a run that continues */
    for (size_t i = 0; status == TCE_OK && i < sizeof RUN_FILES / sizeof RUN_FILES[0]; i++) {
        status = run_path(folder, RUN_FILES[i], from);
        if (status == TCE_OK)
            status = run_path(aside, RUN_FILES[i], to);
        if (status == TCE_OK && is_there(folder, RUN_FILES[i]) && rename(from, to) != 0)
            status = file_fail_write(to, errno);
    }
    if (status == TCE_OK)
        status = run_folder_create(folder);
    if (status == TCE_OK)
        snprintf(out, RUN_PATH, "%s", aside);
    return status;
}
