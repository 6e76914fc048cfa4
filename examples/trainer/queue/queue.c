/*
 * The queue on disk.
 *
 *     # tce queue 1, jobs 2
 *     task,seed,state,folder,message
 *     reacher5,1,done,reacher5__tce__1__20250102-030405,
 *
 * With several settings each line ends in the name of its own: ",settings" and ",queue-2.yaml".
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
#define N_FIELDS 6  /* with the settings */
#define FIRST_ROW 3 /* its line */

static const char HEADER[] = "task,seed,state,folder,message", SETTINGS_COLUMN[] = ",settings";
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

/* Fills seeds [MAX_QUEUE]; 0 when the text is not a list. */
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
    free(q->variants);
    memset(q, 0, sizeof *q);
}

static tce_status allocate(queue *q, const char *folder, size_t n, size_t n_variants)
{
    memset(q, 0, sizeof *q);
    if (strlen(folder) + QUEUE_TEXT >= sizeof q->folder)
        return tce_fail(TCE_E_VALUE,
                        "a path of %zu characters is too long for a queue: choose a shorter --out",
                        strlen(folder));
    if (n == 0 || n > MAX_QUEUE)
        return tce_fail(
            TCE_E_VALUE,
            "a queue of %zu runs, must be 1 ... %d: name fewer tasks, seeds or settings", n,
            MAX_QUEUE);
    snprintf(q->folder, sizeof q->folder, "%s", folder);
    q->entries = calloc(n, sizeof *q->entries);
    q->variants = calloc(n_variants, sizeof *q->variants);
    if (q->entries && q->variants)
        return TCE_OK;
    queue_free(q);
    return tce_fail(TCE_E_NOMEM, "no memory for a queue of %zu runs", n);
}

tce_status queue_plan_add(queue_plan *plan, const settings *s, const char *prefix,
                          const char *tasks)
{
    if (plan->n == MAX_VARIANTS)
        return tce_fail(TCE_E_VALUE, "more than %d settings for one queue: make several",
                        MAX_VARIANTS);
    settings *more_s = realloc(plan->s, (plan->n + 1) * sizeof *more_s);
    plan->s = more_s ? more_s : plan->s;
    task_list *more_tasks = realloc(plan->tasks, (plan->n + 1) * sizeof *more_tasks);
    plan->tasks = more_tasks ? more_tasks : plan->tasks;
    if (!more_s || !more_tasks)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu settings", plan->n + 1);
    const tce_status status = task_list_parse(&plan->tasks[plan->n], s, prefix,
                                              tasks ? tasks : s->task.name);
    if (status == TCE_OK)
        plan->s[plan->n++] = *s;
    return status;
}

void queue_plan_free(queue_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        task_list_free(&plan->tasks[i]);
    free(plan->s);
    free(plan->tasks);
    memset(plan, 0, sizeof *plan);
}

/* The name of its folder: that of a run alone, with the number of the settings where there are several. */
static void choose_folder(const queue *q, int stamped, queue_entry *entry)
{
    char path[RUN_PATH + QUEUE_TEXT], stem[QUEUE_TEXT], number[32] = "";
    if (q->n_variants > 1)
        snprintf(number, sizeof number, "-%zu", entry->variant + 1);
    snprintf(stem, sizeof stem, "%s__%s%s__%" PRIu64, entry->task,
             q->variants[entry->variant].s.table->name, number, entry->seed);
    if (!stamped) {
        memcpy(entry->folder, stem, sizeof entry->folder);
        return;
    }
    run_folder_unique(q->folder, stem, path, sizeof path);
    snprintf(entry->folder, sizeof entry->folder, "%s", path + strlen(q->folder) + 1);
}

static void add_entry(queue *q, size_t variant, const char *task_name, uint64_t seed, int stamped)
{
    queue_entry entry = { .variant = variant, .seed = seed };
    snprintf(entry.task, sizeof entry.task, "%s", task_name);
    choose_folder(q, stamped, &entry);
    q->entries[q->n++] = entry;
}

static tce_status fill(queue *q, const queue_plan *plan, size_t n_seeds, const uint64_t *seeds,
                       int stamped)
{
    for (size_t v = 0; v < plan->n; v++)
        q->variants[v].s = plan->s[v];
    q->n_variants = plan->n;
    for (size_t i = 0; i < n_seeds; i++)
        for (size_t v = 0; v < plan->n; v++)
            for (size_t k = 0; k < plan->tasks[v].n; k++)
                add_entry(q, v, plan->tasks[v].names[k], seeds[i], stamped);
    return queue_label(q);
}

/* Two settings that would give the same runs: *a and *b; 0 when there are none. */
static int find_same(const queue *q, const queue_plan *plan, size_t *a, size_t *b)
{
    for (*a = 0; *a < q->n_variants; ++*a)
        for (*b = *a + 1; *b < q->n_variants; ++*b) {
            const task_list *one = &plan->tasks[*a], *two = &plan->tasks[*b];
            if (strcmp(q->variants[*a].label, q->variants[*b].label) != 0 ||
                q->variants[*a].s.table != q->variants[*b].s.table)
                continue;
            for (size_t i = 0; i < one->n; i++)
                for (size_t k = 0; k < two->n; k++)
                    if (strcmp(one->names[i], two->names[k]) == 0)
                        return 1;
        }
    return 0;
}

tce_status queue_create(queue *q, const char *folder, const queue_plan *plan, size_t n_seeds,
                        const uint64_t *seeds, int stamped)
{
    size_t n = 0, a, b;
    for (size_t v = 0; v < plan->n; v++)
        n += plan->tasks[v].n * n_seeds;
    tce_status status = allocate(q, folder, n, plan->n);
    if (status != TCE_OK)
        return status;
    status = fill(q, plan, n_seeds, seeds, stamped);
    if (status == TCE_OK && find_same(q, plan, &a, &b))
        status = tce_fail(TCE_E_VALUE,
                          "settings %zu and %zu of the queue are the same: each CONFIG and each "
                          "value of --grid once",
                          a + 1, b + 1);
    if (status != TCE_OK)
        queue_free(q);
    return status;
}

/* Whether a run stands before run i with the same task and settings. */
static int is_repeated(const queue *q, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (q->entries[k].variant == q->entries[i].variant &&
            strcmp(q->entries[k].task, q->entries[i].task) == 0)
            return 1;
    return 0;
}

static int has_seed(const queue *q, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        if (q->entries[i].seed == seed)
            return 1;
    return 0;
}

tce_status queue_extend(queue *q, size_t n_seeds, const uint64_t *seeds)
{
    const size_t n = q->n;
    size_t n_kinds = 0;
    for (size_t i = 0; i < n; i++) {
        n_kinds += !is_repeated(q, i);
        if (q->entries[i].state == QUEUE_DONE)
            q->entries[i].state = QUEUE_WAITING;
    }
    if (n + n_kinds * n_seeds > MAX_QUEUE)
        return tce_fail(TCE_E_VALUE, "a queue of %zu runs, must be at most %d: name fewer seeds",
                        n + n_kinds * n_seeds, MAX_QUEUE);
    queue_entry *more = realloc(q->entries, (n + n_kinds * n_seeds) * sizeof *more);
    if (!more)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu more runs", n_kinds * n_seeds);
    q->entries = more;
    for (size_t k = 0; k < n_seeds; k++)
        for (size_t i = 0; i < n && !has_seed(q, n, seeds[k]); i++)
            if (!is_repeated(q, i))
                add_entry(q, q->entries[i].variant, q->entries[i].task, seeds[k], 1);
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
    const int several = q->n_variants > 1;
    fprintf(file, "# tce queue %d, jobs %d\n%s%s\n", QUEUE_FORMAT, q->n_jobs, HEADER,
            several ? SETTINGS_COLUMN : "");
    for (size_t i = 0; i < q->n; i++) {
        const queue_entry *entry = &q->entries[i];
        csv_put_text(file, entry->task);
        fprintf(file, ",%" PRIu64 ",%s,", entry->seed, STATE_NAMES[entry->state]);
        csv_put_text(file, entry->folder);
        fputc(',', file);
        csv_put_text(file, entry->message);
        if (several) {
            char name[QUEUE_TEXT];
            queue_settings_name(entry->variant, name, sizeof name);
            fprintf(file, ",%s", name);
        }
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

static tce_status save_settings(const queue *q, queue_part part)
{
    char writer[QUEUE_FILE], name[QUEUE_FILE];
    tce_status status = TCE_OK;
    writer_of(part, writer);
    for (size_t v = 0; status == TCE_OK && v < q->n_variants; v++) {
        queue_settings_name(v, name, sizeof name);
        status = run_write_shared_settings(q->folder, name, writer, &q->variants[v].s);
    }
    return status;
}

tce_status queue_save_settings(const queue *q)
{
    return save_settings(q, q->part);
}

tce_status queue_begin_parts(const queue *q, queue_part part)
{
    char writer[QUEUE_FILE];
    writer_of(part, writer);
    /* who finds the list finds the settings */
    const tce_status status = save_settings(q, part);
    return status == TCE_OK ? run_replace_as(q->folder, "queue.csv", writer, write_rows, q)
                            : status;
}

/* ---- reading --------------------------------------------------------------------------------- */

void queue_settings_name(size_t variant, char *out, size_t size)
{
    if (variant == 0)
        snprintf(out, size, "queue.yaml");
    else
        snprintf(out, size, "queue-%zu.yaml", variant + 1);
}

/* The number of such a name; MAX_VARIANTS when it is none. */
static size_t read_variant(const char *text)
{
    char name[QUEUE_TEXT];
    const size_t variant = strncmp(text, "queue-", 6) == 0 ? strtoul(text + 6, NULL, 10) - 1 : 0;
    if (variant >= MAX_VARIANTS)
        return MAX_VARIANTS;
    queue_settings_name(variant, name, sizeof name);
    return strcmp(text, name) == 0 ? variant : MAX_VARIANTS;
}

int queue_is_settings(const char *name)
{
    return read_variant(name) < MAX_VARIANTS;
}

/* 0 when the line is not a row of n_fields. */
static int read_row(char *line, size_t n_fields, queue_entry *entry)
{
    char *fields[N_FIELDS];
    if (csv_split(line, N_FIELDS, fields) != n_fields)
        return 0;
    const char *end = read_seed(fields[1], &entry->seed);
    entry->state = 0;
    while (entry->state < N_QUEUE_STATES && strcmp(fields[2], STATE_NAMES[entry->state]) != 0)
        entry->state++;
    entry->variant = n_fields == N_FIELDS ? read_variant(fields[5]) : 0;
    if (!end || *end || entry->state == N_QUEUE_STATES || fields[0][0] == '\0' ||
        fields[3][0] == '\0' || entry->variant == MAX_VARIANTS)
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
    const size_t n_fields = strncmp(line + sizeof HEADER - 1, SETTINGS_COLUMN,
                                    sizeof SETTINGS_COLUMN - 1) == 0
                                ? N_FIELDS
                                : N_FIELDS - 1;
    while (fgets(line, sizeof line, file)) {
        if (q->n == MAX_QUEUE)
            return tce_fail(TCE_E_CORRUPT, "%s has more than %d runs", path, MAX_QUEUE);
        if (!strchr(line, '\n') || !read_row(line, n_fields, &q->entries[q->n]))
            return tce_fail(TCE_E_CORRUPT, "%s:%zu: is not %s%s", path, q->n + FIRST_ROW, HEADER,
                            n_fields == N_FIELDS ? SETTINGS_COLUMN : "");
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

/* The settings that the rows name; those of a queue of one are there in any case. */
static tce_status read_variants(queue *q, const settings_table *const *methods)
{
    char name[QUEUE_TEXT], path[RUN_PATH];
    size_t n = 1;
    for (size_t i = 0; i < q->n; i++)
        n = q->entries[i].variant + 1 > n ? q->entries[i].variant + 1 : n;
    queue_variant *list = realloc(q->variants, n * sizeof *list);
    if (!list)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu settings", n);
    memset(list, 0, n * sizeof *list);
    q->variants = list;
    tce_status status = TCE_OK;
    for (; status == TCE_OK && q->n_variants < n; q->n_variants++) {
        queue_settings_name(q->n_variants, name, sizeof name);
        status = run_path(q->folder, name, path);
        if (status == TCE_OK)
            status = run_read_settings(path, methods, &q->variants[q->n_variants].s);
        if (status != TCE_OK)
            break;
    }
    return status == TCE_OK ? queue_label(q) : status;
}

tce_status queue_load(queue *q, const char *folder, const settings_table *const *methods)
{
    tce_status status = allocate(q, folder, MAX_QUEUE, 1);
    if (status == TCE_OK)
        status = queue_read_rows(q, "queue.csv");
    if (status == TCE_OK)
        status = queue_merge_parts(q);
    if (status == TCE_OK)
        status = read_variants(q, methods);
    if (status != TCE_OK)
        queue_free(q);
    return status;
}
