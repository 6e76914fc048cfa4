/*
 * The queue on disk.
 *
 *     # tce queue 1, jobs 2
 *     task,seed,state,folder,message
 *     reacher5,1,done,reacher5__tce__1__20250102-030405,
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/csv.h"
#include "queue/queue.h"

#define QUEUE_FORMAT 1
#define N_FIELDS 5
#define FIRST_ROW 3 /* its line */

static const char HEADER[] = "task,seed,state,folder,message";
static const char *const STATE_NAMES[] = { "waiting", "running", "done", "stopped", "failed" };

const char *queue_state_name(int state)
{
    return STATE_NAMES[state];
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static const char *read_seed(const char *text, uint64_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno ? NULL : end;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Two runs with one seed are the same run. */
static tce_status check_seeds(const char *text, size_t n, const uint64_t *seeds)
{
    tce_status status = TCE_OK;
    uint64_t *sorted = calloc(n, sizeof *sorted);
    if (!sorted)
        return tce_fail(TCE_E_NOMEM, "no memory for a list of seeds");
    memcpy(sorted, seeds, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    for (size_t i = 1; status == TCE_OK && i < n; i++)
        if (sorted[i] == sorted[i - 1])
            status = tce_fail(TCE_E_VALUE, "--seeds %s has %" PRIu64 " twice", text, sorted[i]);
    free(sorted);
    return status;
}

/* Fills seeds [MAX_QUEUE]; 0 when the text is no list. */
static size_t read_seeds(const char *text, uint64_t *seeds)
{
    size_t n = 0;
    for (const char *at = text;; at++) {
        uint64_t first = 0, last = 0;
        at = read_seed(at, &first);
        last = first;
        if (at && *at == '-')
            at = read_seed(at + 1, &last);
        if (!at || (*at != '\0' && *at != ',') || last < first || last - first >= MAX_QUEUE - n)
            return 0;
        for (uint64_t i = 0; i <= last - first; i++)
            seeds[n++] = first + i;
        if (*at == '\0')
            return n;
    }
}

tce_status seeds_parse(const char *text, uint64_t **out, size_t *n)
{
    *n = 0;
    *out = calloc(MAX_QUEUE, sizeof **out);
    if (!*out)
        return tce_fail(TCE_E_NOMEM, "no memory for a list of seeds");
    *n = read_seeds(text, *out);
    const tce_status status =
        *n ? check_seeds(text, *n, *out)
           : tce_fail(TCE_E_VALUE,
                      "--seeds %s, must be numbers and ranges like 1-5,25, at most %d seeds", text,
                      MAX_QUEUE);
    if (status == TCE_OK)
        return TCE_OK;
    free(*out);
    *out = NULL;
    *n = 0;
    return status;
}

/* ---- the queue ------------------------------------------------------------------------------- */

void queue_free(queue *q)
{
    free(q->entries);
    memset(q, 0, sizeof *q);
}

static tce_status allocate(queue *q, const char *folder, size_t n)
{
    memset(q, 0, sizeof *q);
    if (strlen(folder) + QUEUE_TEXT >= sizeof q->folder)
        return tce_fail(TCE_E_VALUE,
                        "a path of %zu characters is too long for a queue: choose a shorter --out",
                        strlen(folder));
    if (n == 0 || n > MAX_QUEUE)
        return tce_fail(TCE_E_VALUE,
                        "a queue of %zu runs, must be 1 ... %d: name fewer tasks or seeds", n,
                        MAX_QUEUE);
    snprintf(q->folder, sizeof q->folder, "%s", folder);
    q->entries = calloc(n, sizeof *q->entries);
    return q->entries ? TCE_OK : tce_fail(TCE_E_NOMEM, "no memory for a queue of %zu runs", n);
}

tce_status queue_create(queue *q, const char *folder, const settings *s, const task_list *tasks,
                        size_t n_seeds, const uint64_t *seeds, int stamped)
{
    const tce_status status = allocate(q, folder, tasks->n * n_seeds);
    if (status != TCE_OK)
        return status;
    settings own = *s;
    for (size_t i = 0; i < n_seeds; i++)
        for (size_t k = 0; k < tasks->n; k++) {
            queue_entry *entry = &q->entries[q->n++];
            char path[RUN_PATH + QUEUE_TEXT];
            memcpy(entry->task, tasks->names[k], sizeof entry->task);
            snprintf(own.task.name, sizeof own.task.name, "%s", entry->task);
            entry->seed = own.run.seed = seeds[i];
            if (stamped) {
                run_folder_name(&own, folder, path, sizeof path);
                snprintf(entry->folder, sizeof entry->folder, "%s", path + strlen(folder) + 1);
            } else {
                run_name(&own, entry->folder, sizeof entry->folder);
            }
        }
    return TCE_OK;
}

tce_status queue_run_path(const queue *q, const queue_entry *entry, char out[RUN_PATH])
{
    return run_path(q->folder, entry->folder, out);
}

int queue_exists(const char *folder)
{
    char path[RUN_PATH];
    return run_path(folder, "queue.csv", path) == TCE_OK && access(path, F_OK) == 0;
}

void queue_discard(const char *folder)
{
    char path[RUN_PATH];
    if (queue_exists(folder) || run_path(folder, "lock", path) != TCE_OK)
        return;
    unlink(path);
    rmdir(folder);
}

static void write_rows(FILE *file, const void *content)
{
    const queue *q = content;
    fprintf(file, "# tce queue %d, jobs %d\n%s\n", QUEUE_FORMAT, q->n_jobs, HEADER);
    for (size_t i = 0; i < q->n; i++) {
        const queue_entry *entry = &q->entries[i];
        csv_put_text(file, entry->task);
        fprintf(file, ",%" PRIu64 ",%s,", entry->seed, STATE_NAMES[entry->state]);
        csv_put_text(file, entry->folder);
        fputc(',', file);
        csv_put_text(file, entry->message);
        fputc('\n', file);
    }
}

tce_status queue_save(const queue *q)
{
    char name[QUEUE_FILE];
    queue_file_name(q->part, name);
    return run_replace(q->folder, name, write_rows, q);
}

/* As what a process writes files that those of other parts may write too. */
static void writer_of(queue_part part, char out[QUEUE_FILE])
{
    out[0] = '\0';
    if (part.count)
        snprintf(out, QUEUE_FILE, "%d-of-%d", part.number, part.count);
}

tce_status queue_save_settings(const queue *q, const settings *s)
{
    char writer[QUEUE_FILE];
    writer_of(q->part, writer);
    return run_write_shared_settings(q->folder, writer, s);
}

tce_status queue_begin_parts(const queue *q, queue_part part, const settings *s)
{
    char writer[QUEUE_FILE];
    writer_of(part, writer);
    /* who finds the list finds the settings */
    const tce_status status = run_write_shared_settings(q->folder, writer, s);
    return status == TCE_OK ? run_replace_as(q->folder, "queue.csv", writer, write_rows, q)
                            : status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* 0 when the line is no row. */
static int read_row(char *line, queue_entry *entry)
{
    char *fields[N_FIELDS];
    if (csv_split(line, N_FIELDS, fields) != N_FIELDS)
        return 0;
    const char *end = read_seed(fields[1], &entry->seed);
    entry->state = 0;
    while (entry->state < N_QUEUE_STATES && strcmp(fields[2], STATE_NAMES[entry->state]) != 0)
        entry->state++;
    if (!end || *end || entry->state == N_QUEUE_STATES || fields[0][0] == '\0' ||
        fields[3][0] == '\0')
        return 0;
    const int task = snprintf(entry->task, sizeof entry->task, "%s", fields[0]);
    const int folder = snprintf(entry->folder, sizeof entry->folder, "%s", fields[3]);
    snprintf(entry->message, sizeof entry->message, "%s", fields[4]);
    return task < (int)sizeof entry->task && folder < (int)sizeof entry->folder;
}

/*
 * A run lies in the queue's folder, nowhere else: its folder is a single name, and what has this
 * name is a folder, neither a link nor a file, or is not there yet.
 */
static int lies_inside(const queue *q, const queue_entry *entry)
{
    char path[RUN_PATH];
    struct stat there;
    const char *name = entry->folder;
    if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return 0;
    if (queue_run_path(q, entry, path) != TCE_OK)
        return 0;
    return lstat(path, &there) == 0 ? S_ISDIR(there.st_mode) : errno == ENOENT;
}

static int by_folder(const void *a, const void *b)
{
    const queue_entry *const *x = a, *const *y = b;
    const int order = strcmp((*x)->folder, (*y)->folder);
    return order ? order : (*x > *y) - (*x < *y);
}

/* Two runs in one folder would be written over each other. */
static tce_status check_folders(const queue *q, const char *path)
{
    tce_status status = TCE_OK;
    const queue_entry **sorted = calloc(q->n, sizeof *sorted);
    if (!sorted)
        return tce_fail(TCE_E_NOMEM, "no memory for a queue of %zu runs", q->n);
    for (size_t i = 0; i < q->n; i++)
        sorted[i] = &q->entries[i];
    qsort(sorted, q->n, sizeof *sorted, by_folder);
    for (size_t i = 1; status == TCE_OK && i < q->n; i++) {
        const int first = (int)(sorted[i - 1] - q->entries), second = (int)(sorted[i] - q->entries);
        if (strcmp(sorted[i]->folder, sorted[i - 1]->folder) == 0)
            status = tce_fail(TCE_E_CORRUPT, "%s:%d: the folder %s is that of line %d already",
                              path, second + FIRST_ROW, sorted[i]->folder, first + FIRST_ROW);
    }
    free(sorted);
    return status;
}

static tce_status read_file(queue *q, const char *path, FILE *file)
{
    char line[4 * QUEUE_TEXT];
    int format = 0;
    if (!fgets(line, sizeof line, file) ||
        sscanf(line, "# tce queue %d, jobs %d", &format, &q->n_jobs) != 2 || q->n_jobs < 0)
        return tce_fail(TCE_E_CORRUPT, "%s:1: is not the file of a queue", path);
    if (format > QUEUE_FORMAT)
        return tce_fail(TCE_E_VERSION, "%s is of format %d, this program knows %d: use a newer one",
                        path, format, QUEUE_FORMAT);
    if (!fgets(line, sizeof line, file) || strncmp(line, HEADER, sizeof HEADER - 1) != 0)
        return tce_fail(TCE_E_CORRUPT, "%s:2: must be %s", path, HEADER);
    while (fgets(line, sizeof line, file)) {
        if (q->n == MAX_QUEUE)
            return tce_fail(TCE_E_CORRUPT, "%s has more than %d runs", path, MAX_QUEUE);
        if (!strchr(line, '\n') || !read_row(line, &q->entries[q->n]))
            return tce_fail(TCE_E_CORRUPT, "%s:%zu: is not task,seed,state,folder,message", path,
                            q->n + FIRST_ROW);
        if (!lies_inside(q, &q->entries[q->n]))
            return tce_fail(TCE_E_CORRUPT,
                            "%s:%zu: the folder \"%s\" must be the name of a folder in "
                            "the queue's own, not a path and not a link",
                            path, q->n + FIRST_ROW, q->entries[q->n].folder);
        q->n++;
    }
    if (ferror(file))
        return tce_fail(TCE_E_IO, "cannot read %s: %s", path, strerror(errno));
    return q->n ? check_folders(q, path) : tce_fail(TCE_E_CORRUPT, "%s has no runs", path);
}

tce_status queue_read_rows(queue *q, const char *name)
{
    char path[RUN_PATH];
    FILE *file;
    tce_status status = run_path(q->folder, name, path);
    if (status == TCE_OK)
        status = file_open(path, O_RDONLY, "r", &file);
    if (status != TCE_OK)
        return status;
    status = read_file(q, path, file);
    fclose(file);
    return status;
}

tce_status queue_load(queue *q, const char *folder, const settings_table *const *methods,
                      settings *s)
{
    char path[RUN_PATH];
    tce_status status = allocate(q, folder, MAX_QUEUE);
    if (status == TCE_OK)
        status = run_path(folder, "queue.yaml", path);
    if (status == TCE_OK)
        status = run_read_settings(path, methods, s);
    if (status == TCE_OK)
        status = queue_read_rows(q, "queue.csv");
    if (status == TCE_OK)
        status = queue_merge_parts(q);
    if (status != TCE_OK)
        queue_free(q);
    return status;
}
