/*
 * Checkpoints: one store with the method's state, where the run and its logs stood, and the
 * settings.
 *
 * The file version is in "run.format". Settings are kept as lines "section.key=value". Threads and
 * places of files are left out: the same run has the same bytes for every user.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/run.h"
#include "tools/blas.h"

#define FORMAT "1"

/*
 * Counts beyond this are wrong: columns of progress.csv and plots are doubles, which hold all
 * whole numbers up to here.
 */
#define MOST_STEPS ((int64_t)1 << 53)

/* Bytes that every progress.csv begins with. */
#define PROGRESS_LEAST ((int64_t)sizeof "iteration,env_steps,")

#define REASON_SIZE 1024

/* ---- files ----------------------------------------------------------------------------------- */

static tce_status checkpoint_path(const char *folder, int64_t iteration, char out[RUN_PATH])
{
    char name[64];
    snprintf(name, sizeof name, "checkpoints/ckpt-%08" PRId64 ".safetensors", iteration);
    return run_path(folder, name, out);
}

static int newest_first(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Iterations of the checkpoints that are there, newest first: *out, the caller's to free. */
static tce_status list_checkpoints(const char *folder, int64_t **out, size_t *out_n)
{
    char path[RUN_PATH];
    DIR *entries = run_path(folder, "checkpoints", path) == TCE_OK ? opendir(path) : NULL;
    int64_t *list = NULL;
    size_t n = 0, room = 0;
    int failed = 0;
    for (const struct dirent *entry; entries && !failed && (entry = readdir(entries)) != NULL;) {
        char *end;
        if (strncmp(entry->d_name, "ckpt-", 5) != 0)
            continue;
        const long long iteration = strtoll(entry->d_name + 5, &end, 10);
        if (iteration <= 0 || strcmp(end, ".safetensors") != 0)
            continue;
        if (n == room) {
            room = room ? 2 * room : 16;
            int64_t *more = realloc(list, room * sizeof *more);
            failed = !more;
            list = more ? more : list;
        }
        if (!failed)
            list[n++] = iteration;
    }
    if (entries)
        closedir(entries);
    *out = list;
    *out_n = n;
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for a list of %zu checkpoints", n);
    if (n > 0)
        qsort(list, n, sizeof *list, newest_first);
    return TCE_OK;
}

/* *oldest: the iteration of the oldest checkpoint that stays. */
static tce_status remove_old(const char *folder, int64_t newest, size_t keep, int64_t *oldest)
{
    int64_t *list;
    size_t n, kept = 0;
    const tce_status status = list_checkpoints(folder, &list, &n);
    *oldest = newest;
    for (size_t i = 0; status == TCE_OK && i < n; i++) {
        char path[RUN_PATH];
        const int stays = list[i] <= newest && kept < keep;
        kept += (size_t)stays;
        if (stays)
            *oldest = list[i];
        else if (checkpoint_path(folder, list[i], path) == TCE_OK)
            unlink(path);
    }
    free(list);
    return status;
}

/* Removes rows that the oldest checkpoint does not need; with one that is damaged, all stay. */
static void remove_rows(const char *folder, const journal *rows, int64_t oldest)
{
    char path[RUN_PATH];
    tce_store *store = NULL;
    if (checkpoint_path(folder, oldest, path) == TCE_OK && own_store_load(path, &store) == TCE_OK)
        journal_trim(rows, journal_rows_of(store));
    tce_store_free(store);
}

/* ---- saving ---------------------------------------------------------------------------------- */

static tce_status put_mark(tce_store *store, const run_mark *mark)
{
    tce_status status = tce_store_put(store, "run.iteration", TCE_STORE_I64, 0, NULL,
                                      &mark->iteration);
    if (status == TCE_OK)
        status = tce_store_put(store, "run.env_steps", TCE_STORE_I64, 0, NULL, &mark->env_steps);
    if (status == TCE_OK)
        status = tce_store_put(store, "run.progress_bytes", TCE_STORE_I64, 0, NULL,
                               &mark->progress_bytes);
    if (status == TCE_OK)
        status = tce_store_put(store, "run.events_bytes", TCE_STORE_I64, 0, NULL,
                               &mark->events_bytes);
    if (status == TCE_OK)
        status = tce_store_put(store, "run.eval_success", TCE_STORE_F64, 0, NULL,
                               &mark->eval_success);
    return status;
}

static tce_status put_texts(tce_store *store, const settings *s, const char *columns)
{
    char *lines = run_settings_lines(s);
    tce_status status = lines ? TCE_OK
                              : tce_fail(TCE_E_NOMEM, "no memory for the settings of a checkpoint");
    if (status == TCE_OK)
        status = tce_store_put_text(store, "run.format", FORMAT);
    if (status == TCE_OK)
        status = tce_store_put_text(store, "run.library", tce_version_string());
    if (status == TCE_OK)
        status = tce_store_put_text(store, "run.settings", lines);
    if (status == TCE_OK)
        status = tce_store_put_text(store, "run.columns", columns);
    if (status == TCE_OK && blas_kernels())
        status = tce_store_put_text(store, "run.kernels", blas_kernels());
    free(lines);
    return status;
}

tce_status checkpoint_export(const char *folder, const run_subject *subject)
{
    char path[RUN_PATH];
    tce_store *store = NULL;
    tce_status status = run_path(folder, "policy.safetensors", path);
    if (status == TCE_OK)
        status = tce_store_create(NULL, &store);
    if (status == TCE_OK)
        status = agent_save(subject->way->agent(subject->learner), store);
    if (status == TCE_OK)
        status = tce_store_save(store, path);
    tce_store_free(store);
    if (status == TCE_OK && subject->best)
        status = best_policy_export(subject->best, folder);
    return status;
}

/* Of the rank that writes: what was saved, and all that goes with it. */
static tce_status write_checkpoint(const char *folder, const run_subject *subject,
                                   const run_mark *mark, const char *columns, tce_store *store)
{
    char path[RUN_PATH];
    tce_status status = checkpoint_path(folder, mark->iteration, path);
    if (status == TCE_OK)
        status = put_mark(store, mark);
    if (status == TCE_OK)
        status = put_texts(store, subject->s, columns);
    if (status == TCE_OK && subject->best)
        status = best_policy_save(subject->best, store);
    if (status == TCE_OK && subject->rows)
        status = journal_append(subject->rows, store);
    if (status == TCE_OK)
        status = tce_store_save(store, path);
    int64_t oldest = 0;
    if (status == TCE_OK)
        status = checkpoint_export(folder, subject);
    if (status == TCE_OK)
        status = remove_old(folder, mark->iteration, (size_t)subject->s->run.checkpoint_keep,
                            &oldest);
    if (status == TCE_OK && subject->rows && journal_has_old_files(subject->rows))
        remove_rows(folder, subject->rows, oldest);
    return status;
}

tce_status checkpoint_save(const char *folder, const run_subject *subject, const run_mark *mark,
                           const char *columns)
{
    tce_store *store = NULL;
    tce_status status = tce_store_create(NULL, &store);
    if (status == TCE_OK)
        status = subject->way->save(subject->learner, store);
    status = ranks_agree(subject->ranks, status);
    if (status == TCE_OK && ranks_is_first(subject->ranks))
        status = write_checkpoint(folder, subject, mark, columns, store);
    tce_store_free(store);
    return ranks_agree(subject->ranks, status);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* What a checkpoint says of the run; the texts belong to the store. */
typedef struct record {
    run_mark mark;
    const char *lines;   /* settings */
    const char *columns; /* of progress.csv */
    const char *kernels; /* of OpenBLAS; NULL: not known */
} record;

static tce_status read_record(const tce_store *store, const char *path, record *out)
{
    const char *format = tce_store_get_text(store, "run.format");
    if (!format)
        return tce_fail(TCE_E_CORRUPT, "%s is not a checkpoint: it has no run.format", path);
    if (strcmp(format, FORMAT) != 0)
        return tce_fail(TCE_E_VERSION,
                        "%s has format %s, this tce reads format %s: use the newer one", path,
                        format, FORMAT);

    run_mark *mark = &out->mark;
    out->lines = tce_store_get_text(store, "run.settings");
    out->columns = tce_store_get_text(store, "run.columns");
    out->kernels = tce_store_get_text(store, "run.kernels");
    if (!out->lines || !out->columns)
        return tce_fail(TCE_E_CORRUPT, "%s: no run.settings or run.columns", path);
    tce_status status = tce_store_read(store, "run.iteration", TCE_STORE_I64, 1, &mark->iteration);
    if (status == TCE_OK)
        status = tce_store_read(store, "run.env_steps", TCE_STORE_I64, 1, &mark->env_steps);
    if (status == TCE_OK)
        status = tce_store_read(store, "run.progress_bytes", TCE_STORE_I64, 1,
                                &mark->progress_bytes);
    if (status == TCE_OK)
        status = tce_store_read(store, "run.events_bytes", TCE_STORE_I64, 1, &mark->events_bytes);
    if (status == TCE_OK)
        status = tce_store_read(store, "run.eval_success", TCE_STORE_F64, 1, &mark->eval_success);
    return status == TCE_OK ? status : tce_fail(TCE_E_CORRUPT, "%s: %s", path, tce_error_message());
}

/* What no run could have written. */
static tce_status check_mark(const run_mark *mark, int64_t iteration, const char *path)
{
    if (mark->iteration != iteration)
        return tce_fail(TCE_E_CORRUPT,
                        "%s: run.iteration = %" PRId64 ", the file's name says %" PRId64, path,
                        mark->iteration, iteration);
    if (mark->env_steps < 0 || mark->env_steps > MOST_STEPS)
        return tce_fail(TCE_E_CORRUPT, "%s: run.env_steps = %" PRId64 ", must be in 0 ... 2^53",
                        path, mark->env_steps);
    if (mark->progress_bytes < PROGRESS_LEAST || mark->events_bytes < TENSORBOARD_LEAST)
        return tce_fail(TCE_E_CORRUPT,
                        "%s: run.progress_bytes = %" PRId64 " and run.events_bytes = %" PRId64
                        ", not even what their files begin with",
                        path, mark->progress_bytes, mark->events_bytes);
    if (isinf(mark->eval_success))
        return tce_fail(TCE_E_CORRUPT, "%s: run.eval_success = %g, must be finite", path,
                        mark->eval_success);
    return TCE_OK;
}

/*
 * Rows will fit the header, and the run has a number for each column. header: NULL when
 * progress.csv has none.
 */
static tce_status check_columns(const char *columns, const char *header, const metrics *row,
                                const char *path)
{
    if (header && strcmp(columns, header) != 0)
        return tce_fail(TCE_E_SHAPE,
                        "%s: run.columns = \"%s\", but the columns of progress.csv are \"%s\"",
                        path, columns, header);
    for (const char *name = columns; *name; name += *name == ',') {
        const size_t length = strcspn(name, ",");
        int32_t i = 0;
        while (i < row->n &&
               (strncmp(row->names[i], name, length) != 0 || row->names[i][length] != '\0'))
            i++;
        if (i == row->n)
            return tce_fail(TCE_E_SHAPE, "%s: run.columns has \"%.*s\", which this run never logs",
                            path, (int)length, name);
        name += length;
    }
    return TCE_OK;
}

/* All bytes of a file; *out is the caller's to free. */
static tce_status read_bytes(const char *path, void **out, size_t *out_size)
{
    FILE *file = NULL;
    tce_status status = file_open(path, O_RDONLY, "r", &file);
    if (status != TCE_OK)
        return status;
    const int measured = fseek(file, 0, SEEK_END) == 0;
    const long size = measured ? ftell(file) : -1;
    void *bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
    rewind(file);
    if (size < 0 || (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size))
        status = tce_fail(TCE_E_IO, "cannot read %s: %s", path, strerror(errno));
    else if (!bytes)
        status = tce_fail(TCE_E_NOMEM, "no memory for the %ld bytes of %s", size, path);
    fclose(file);
    if (status != TCE_OK)
        free(bytes);
    *out = status == TCE_OK ? bytes : NULL;
    *out_size = (size_t)size;
    return status;
}

tce_status run_load_store(ranks *all, const char *path, tce_store **out)
{
    void *bytes = NULL;
    size_t size = 0;
    *out = NULL;
    tce_status status = ranks_is_first(all) ? own_store_load(path, out) : TCE_OK;
    if (!all)
        return status;
    if (status == TCE_OK && ranks_is_first(all))
        status = read_bytes(path, &bytes, &size);
    status = ranks_agree(all, status);
    if (status == TCE_OK)
        status = ranks_broadcast_block(all, &bytes, &size);
    if (status == TCE_OK && !ranks_is_first(all))
        status = tce_store_parse(bytes, size, NULL, out);
    free(bytes);
    status = ranks_agree(all, status);
    if (status != TCE_OK) {
        tce_store_free(*out);
        *out = NULL;
    }
    return status;
}

/* The rows of the replay, which one rank reads. */
static tce_status load_rows(const run_subject *subject, const tce_store *store)
{
    journal_rows *rows = subject->way->rows(subject->learner);
    tce_status status = subject->rows ? journal_load(subject->rows, store) : TCE_OK;
    status = ranks_agree(subject->ranks, status);
    int64_t written = rows->written;
    if (status == TCE_OK)
        status = ranks_broadcast(subject->ranks, &written, sizeof written);
    const int64_t n = written < rows->capacity ? written : rows->capacity;
    if (status == TCE_OK)
        status = ranks_broadcast(subject->ranks, rows->ring, (size_t)n * rows->size);
    rows->written = status == TCE_OK ? written : 0;
    return status;
}

/* All state comes from the store, or stays what it was; but a failure leaves no rows. */
static tce_status load_whole(const run_subject *subject, const tce_store *store, const char *path)
{
    tce_store *before = NULL;
    tce_status status = tce_store_create(NULL, &before);
    if (status == TCE_OK)
        status = subject->way->save(subject->learner, before);
    if (status != TCE_OK) {
        tce_store_free(before);
        return status;
    }
    status = ranks_agree(subject->ranks, subject->way->load(subject->learner, store));
    if (status == TCE_OK && subject->way->rows)
        status = load_rows(subject, store);
    if (status == TCE_OK && subject->best)
        status = ranks_agree(
            subject->ranks,
            best_policy_load(subject->best, subject->way->agent(subject->learner), store));
    if (status != TCE_OK) {
        char reason[REASON_SIZE];
        snprintf(reason, sizeof reason, "%s", tce_error_message());
        const tce_status back = ranks_agree(subject->ranks,
                                            subject->way->load(subject->learner, before));
        status = back == TCE_OK ? tce_fail(status, "%s: %s", path, reason) : back;
    }
    tce_store_free(before);
    return status;
}

/* The last bits of a product are those of the kernels that made it. */
static void compare_kernels(const char *then, const messages *say)
{
    const char *now = blas_kernels();
    if (then && now && strcmp(then, now) != 0)
        messages_warn(
            say,
            "the run so far was computed with OpenBLAS's %s kernels, this process has %s: "
            "it continues, but not to the same bytes; OPENBLAS_CORETYPE=%s asks for the "
            "earlier ones",
            then, now, then);
}

/*
 * All of it, or nothing: on failure neither learner nor *mark nor *out_columns has changed.
 * TCE_E_CORRUPT: the file is damaged.  TCE_E_SHAPE: it is of another run, or the task has changed.
 */
static tce_status load_file(const char *path, int64_t iteration, const run_subject *subject,
                            const char *header, const messages *say, run_mark *mark,
                            char **out_columns)
{
    tce_store *store = NULL;
    char *copy = NULL;
    record own = { .lines = NULL };
    tce_status status = run_load_store(subject->ranks, path, &store);
    if (status == TCE_OK)
        status = read_record(store, path, &own);
    if (status == TCE_OK)
        status = check_mark(&own.mark, iteration, path);
    if (status == TCE_OK)
        status = run_compare_settings(subject->s, own.lines, path);
    if (status == TCE_OK)
        status = check_columns(own.columns, header, subject->row, path);
    if (status == TCE_OK && !(copy = strdup(own.columns)))
        status = tce_fail(TCE_E_NOMEM, "no memory for the columns of progress.csv");
    if (status == TCE_OK) {
        status = load_whole(subject, store, path);
        /* the settings agree, so a number that the learner refuses is not one that it saved */
        if (status == TCE_E_VALUE || status == TCE_E_NOT_PD)
            status = TCE_E_CORRUPT;
    }
    if (status == TCE_OK)
        compare_kernels(own.kernels, say);
    tce_store_free(store);
    if (status == TCE_OK) {
        *mark = own.mark;
        *out_columns = copy;
        return TCE_OK;
    }
    free(copy);
    /* the file is there, but not all that belongs in it */
    return status == TCE_E_NOT_FOUND ? TCE_E_CORRUPT : status;
}

/* Out of the way, not away; by one rank. */
static void set_aside(const run_subject *subject, const char *path, const char *reason,
                      const messages *say)
{
    if (!ranks_is_first(subject->ranks))
        return;
    char aside[RUN_PATH + 16];
    snprintf(aside, sizeof aside, "%s.damaged", path);
    messages_warn(say, "damaged checkpoint %s; kept as %s", reason, aside);
    rename(path, aside);
}

/* Those of the list that are still there; the reason is that of the newest. */
static void set_misfits_aside(const char *folder, const run_subject *subject, const int64_t *list,
                              size_t n, const char *reason, const messages *say)
{
    char path[RUN_PATH];
    for (size_t i = 0; i < n; i++)
        if (checkpoint_path(folder, list[i], path) == TCE_OK && access(path, F_OK) == 0) {
            set_aside(subject, path, reason ? reason : path, say);
            reason = NULL;
        }
}

/*
 * The newest checkpoint of a list that loads. One that does not fit is set aside when an older one
 * does fit; when none does, the task or its library may have changed, and all stay where they are.
 */
static tce_status load_newest(const char *folder, size_t n, const int64_t *list,
                              const run_subject *subject, const char *header, const messages *say,
                              run_mark *mark, char **columns)
{
    char misfit[REASON_SIZE] = "";
    for (size_t i = 0; i < n; i++) {
        char path[RUN_PATH];
        tce_status status = checkpoint_path(folder, list[i], path);
        if (status == TCE_OK)
            status = load_file(path, list[i], subject, header, say, mark, columns);
        if (status == TCE_OK)
            set_misfits_aside(folder, subject, list, i, misfit, say);
        if (status == TCE_E_CORRUPT)
            set_aside(subject, path, tce_error_message(), say);
        else if (status != TCE_E_SHAPE)
            return status;
        else if (!misfit[0])
            snprintf(misfit, sizeof misfit, "%s", tce_error_message());
    }
    if (misfit[0])
        return tce_fail(TCE_E_SHAPE,
                        "no checkpoint fits this run: %s. If the task has changed, resume with the "
                        "old task library; or add --restart to start again from the beginning",
                        misfit);
    return tce_fail(TCE_E_NOT_FOUND, "%s/checkpoints has no checkpoint", folder);
}

/* What one rank finds in the folder: the header of progress.csv, and the list of checkpoints. */
static tce_status look(const char *folder, ranks *all, char **header, int64_t **list, size_t *n)
{
    tce_status status = TCE_OK;
    size_t header_size = 0, list_size = 0;
    if (ranks_is_first(all)) {
        status = run_log_header(folder, header);
        if (status == TCE_OK)
            status = list_checkpoints(folder, list, n);
        header_size = *header ? strlen(*header) + 1 : 0;
        list_size = *n * sizeof **list;
    }
    status = ranks_agree(all, status);
    void *texts = *header, *numbers = *list;
    if (status == TCE_OK)
        status = ranks_broadcast_block(all, &texts, &header_size);
    if (status == TCE_OK)
        status = ranks_broadcast_block(all, &numbers, &list_size);
    *header = texts;
    *list = numbers;
    *n = numbers ? list_size / sizeof **list : 0;
    return status;
}

tce_status checkpoint_load(const char *folder, const run_subject *subject, const messages *say,
                           run_mark *mark, char **columns)
{
    char *header = NULL;
    int64_t *list = NULL;
    size_t n = 0;
    *columns = NULL;
    tce_status status = look(folder, subject->ranks, &header, &list, &n);
    if (status == TCE_OK)
        status = load_newest(folder, n, list, subject, header, say, mark, columns);
    free(list);
    free(header);
    return status;
}
