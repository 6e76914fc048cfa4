/*
 * Parts of a queue: each has a file of its own, whose rows say what has become of its runs.
 *
 * A file of a part is rewritten when a process begins with the part, after it has read what all
 * files say. Parts of one count have no run in common, and the whole queue is locked against parts;
 * so where several files tell of a run, all but the newest are left over from an earlier division.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queue/queue.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* Behind the number from 1 to MAX_QUEUE that text begins with, without sign or 0 before; or NULL. */
static const char *read_number(const char *text, int *out)
{
    char *end;
    if (*text < '1' || *text > '9')
        return NULL;
    const long n = strtol(text, &end, 10);
    *out = (int)n;
    return n <= MAX_QUEUE ? end : NULL;
}

/* "<number><between><count>" and what must be behind it. */
static int read_part(const char *text, const char *between, const char *behind, queue_part *out)
{
    const char *at = read_number(text, &out->number);
    if (!at || strncmp(at, between, strlen(between)) != 0)
        return 0;
    at = read_number(at + strlen(between), &out->count);
    return at && strcmp(at, behind) == 0 && out->number <= out->count;
}

tce_status queue_part_parse(const char *text, queue_part *out)
{
    if (read_part(text, "/", "", out))
        return TCE_OK;
    return tce_fail(TCE_E_VALUE,
                    "--array %s, must be i/n with i from 1 to n and n at most %d, e.g. 3/8: the "
                    "third of eight parts",
                    text, MAX_QUEUE);
}

int64_t queue_part_share(queue_part part)
{
    return (int64_t)part.count * (MAX_QUEUE + 1) + part.number;
}

void queue_file_name(queue_part part, char out[QUEUE_FILE])
{
    if (part.count)
        snprintf(out, QUEUE_FILE, "queue-%d-of-%d.csv", part.number, part.count);
    else
        snprintf(out, QUEUE_FILE, "queue.csv");
}

void queue_take_part(queue *q, queue_part part)
{
    size_t kept = 0;
    q->part = part;
    if (part.count == 0)
        return;
    for (size_t i = (size_t)part.number - 1; i < q->n; i += (size_t)part.count)
        q->entries[kept++] = q->entries[i];
    q->n = kept;
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct part_file {
    queue_part part;
    struct timespec written;
} part_file;

static int by_age(const void *a, const void *b)
{
    const struct timespec *x = &((const part_file *)a)->written;
    const struct timespec *y = &((const part_file *)b)->written;
    if (x->tv_sec != y->tv_sec)
        return (x->tv_sec > y->tv_sec) - (x->tv_sec < y->tv_sec);
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static int written_at(const char *folder, const char *name, struct timespec *out)
{
    char path[RUN_PATH];
    struct stat there;
    if (run_path(folder, name, path) != TCE_OK || lstat(path, &there) != 0)
        return 0;
#ifdef __APPLE__
    *out = there.st_mtimespec;
#else
    *out = there.st_mtim;
#endif
    return 1;
}

/* The files of parts in a folder, oldest first: a list, the caller's to free. */
static tce_status find_parts(const char *folder, part_file **out, size_t *n)
{
    static const char PREFIX[] = "queue-";
    tce_status status = TCE_OK;
    *out = NULL;
    *n = 0;
    DIR *entries = opendir(folder);
    if (!entries)
        return tce_fail(TCE_E_IO, "cannot read %s: %s", folder, strerror(errno));
    for (const struct dirent *e; status == TCE_OK && (e = readdir(entries)) != NULL;) {
        part_file found;
        if (strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0 ||
            !read_part(e->d_name + sizeof PREFIX - 1, "-of-", ".csv", &found.part) ||
            !written_at(folder, e->d_name, &found.written))
            continue;
        part_file *longer = realloc(*out, (*n + 1) * sizeof **out);
        if (!longer)
            status = tce_fail(TCE_E_NOMEM, "no memory for the parts of a queue");
        else
            (*out = longer)[(*n)++] = found;
    }
    closedir(entries);
    if (*n > 0)
        qsort(*out, *n, sizeof **out, by_age);
    return status;
}

/* What one file says of its runs, into the queue's entries. read: a queue to read into. */
static tce_status merge_part(queue *q, queue_part part, queue *read)
{
    char name[QUEUE_FILE];
    queue_file_name(part, name);
    read->n = 0;
    const tce_status status = queue_read_rows(read, name);
    if (status != TCE_OK)
        return status;
    for (size_t i = 0; i < read->n; i++) {
        const size_t k = (size_t)part.number - 1 + i * (size_t)part.count;
        if (k >= q->n || strcmp(q->entries[k].folder, read->entries[i].folder) != 0)
            return tce_fail(
                TCE_E_CORRUPT,
                "%s/%s has the run %s, which is not in this part by queue.csv: remove the "
                "file if it is left over from another queue",
                q->folder, name, read->entries[i].folder);
        q->entries[k] = read->entries[i];
    }
    return TCE_OK;
}

tce_status queue_merge_parts(queue *q)
{
    part_file whole = { { 0, 0 }, { 0, 0 } };
    part_file *files;
    queue read = *q;
    size_t n;
    (void)written_at(q->folder, "queue.csv", &whole.written);
    tce_status status = find_parts(q->folder, &files, &n);
    read.entries = n > 0 ? calloc(MAX_QUEUE, sizeof *read.entries) : NULL;
    if (status == TCE_OK && n > 0 && !read.entries)
        status = tce_fail(TCE_E_NOMEM, "no memory for the parts of a queue");
    for (size_t i = 0; status == TCE_OK && i < n; i++)
        if (by_age(&files[i], &whole) >= 0)
            status = merge_part(q, files[i].part, &read);
    free(read.entries);
    free(files);
    return status;
}

void queue_remove_parts(const queue *q)
{
    char name[QUEUE_FILE], path[RUN_PATH];
    part_file *files;
    size_t n;
    (void)find_parts(q->folder, &files, &n);
    for (size_t i = 0; i < n; i++) {
        queue_file_name(files[i].part, name);
        if (run_path(q->folder, name, path) == TCE_OK)
            unlink(path);
    }
    free(files);
}
