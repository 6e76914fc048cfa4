/*
 * progress.csv, timing.csv and the event file, row by row.
 *
 * progress.csv: iteration, env_steps, then the numbers of the method, then those of the evaluation;
 * empty where nothing was measured; %.17g, so that a number reads back to itself. Row 0 is the
 * evaluation before any training. timing.csv: iteration and seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run.h"

/* ---- cutting --------------------------------------------------------------------------------- */

/*
 * Bytes of timing.csv up to and with the row of an iteration; 0 when there is not even a whole
 * header.
 */
static long timing_length(FILE *file, int64_t iteration)
{
    char *line = NULL;
    size_t size = 0;
    long length = 0;
    rewind(file);
    for (size_t row = 0; getline(&line, &size, file) > 0 && strchr(line, '\n'); row++) {
        if (row > 0 && strtoll(line, NULL, 10) > iteration)
            break;
        length = ftell(file);
    }
    free(line);
    return length;
}

/* Opens a log for appending after `keep` bytes. */
static tce_status open_cut(const char *path, int64_t keep, FILE **out)
{
    FILE *file;
    const tce_status status = file_open(path, O_RDWR | O_CREAT | O_APPEND, "a+b", &file);
    if (status != TCE_OK)
        return status;
    *out = file;
    if (ftruncate(fileno(file), (off_t)keep) != 0 || fseek(file, 0, SEEK_END) != 0)
        return file_fail_write(path, errno);
    return TCE_OK;
}

static int64_t file_length(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 ? (int64_t)there.st_size : 0;
}

static tce_status open_timing(run_log *log, int64_t iteration)
{
    FILE *old;
    long keep = 0;
    if (iteration > 0 && file_open(log->timing_path, O_RDONLY, "rb", &old) == TCE_OK) {
        keep = timing_length(old, iteration);
        fclose(old);
    }
    const tce_status status = open_cut(log->timing_path, keep, &log->timing);
    if (status != TCE_OK || keep > 0)
        return status;
    fputs("iteration", log->timing);
    for (size_t k = 0; log->phases[k]; k++)
        fprintf(log->timing, ",%s", log->phases[k]);
    return fputs(",evaluation,total\n", log->timing) >= 0
               ? TCE_OK
               : file_fail_write(log->timing_path, errno);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Lines in memory, as long as they need to be; text is the caller's to free after text_end. */
typedef struct text {
    FILE *stream;
    char *bytes;
    size_t n;
} text;

static tce_status fail_memory(void)
{
    return tce_fail(TCE_E_NOMEM, "no memory for a line of progress.csv");
}

static tce_status text_begin(text *t)
{
    memset(t, 0, sizeof *t);
    t->stream = open_memstream(&t->bytes, &t->n);
    return t->stream ? TCE_OK : fail_memory();
}

static tce_status text_end(text *t)
{
    return fclose(t->stream) == 0 ? TCE_OK : fail_memory();
}

static tce_status choose_columns(run_log *log, const metrics *m)
{
    text t;
    tce_status status = text_begin(&t);
    if (status != TCE_OK)
        return status;
    for (int32_t i = 0; i < m->n; i++)
        fprintf(t.stream, "%s%s", i ? "," : "", m->names[i]);
    status = text_end(&t);
    if (status == TCE_OK)
        log->columns = t.bytes;
    else
        free(t.bytes);
    return status;
}

static void put_row(FILE *out, const run_log *log, int64_t iteration, int64_t env_steps,
                    const metrics *m)
{
    fprintf(out, "%" PRId64 ",%" PRId64, iteration, env_steps);
    for (const char *name = log->columns; *name; name += *name == ',') {
        const size_t length = strcspn(name, ",");
        const double value = metrics_find(m, name, length);
        fputc(',', out);
        if (!isnan(value))
            fprintf(out, "%.17g", value);
        name += length;
    }
    fputc('\n', out);
}

/* Whole lines reach the system in one piece. */
static tce_status write_lines(const char *path, FILE *file, const char *lines, size_t n)
{
    errno = 0;
    return fwrite(lines, 1, n, file) == n && fflush(file) == 0 ? TCE_OK
                                                               : file_fail_write(path, errno);
}

/* Ends the lines of progress.csv and writes them. */
static tce_status write_text(run_log *log, text *t)
{
    tce_status status = text_end(t);
    if (status == TCE_OK)
        status = write_lines(log->progress_path, log->progress, t->bytes, t->n);
    free(t->bytes);
    return status;
}

/* Header and row 0. */
static tce_status write_head(run_log *log, const metrics *m)
{
    text t;
    tce_status status = log->columns ? TCE_OK : choose_columns(log, m);
    if (status == TCE_OK)
        status = text_begin(&t);
    if (status != TCE_OK)
        return status;
    fprintf(t.stream, "iteration,env_steps,%s\n", log->columns);
    if (log->start.n > 0)
        put_row(t.stream, log, 0, 0, &log->start);
    status = write_text(log, &t);
    if (status == TCE_OK && log->start.n > 0)
        status = tensorboard_write(log->events, 0, &log->start, log->phases, NULL);
    return status;
}

/* ---- public ---------------------------------------------------------------------------------- */

tce_status run_log_header(const char *folder, char **out)
{
    static const char FIRST[] = "iteration,env_steps,";
    char path[RUN_PATH];
    FILE *file = NULL;
    char *line = NULL;
    size_t size = 0;
    *out = NULL;
    tce_status status = run_path(folder, "progress.csv", path);
    if (status == TCE_OK)
        status = file_open(path, O_RDONLY, "rb", &file);
    if (status != TCE_OK)
        return status == TCE_E_NOT_FOUND ? TCE_OK : status;
    const ssize_t n = getline(&line, &size, file);
    fclose(file);
    if (n > 0 && line[n - 1] == '\n') {
        line[n - 1] = '\0';
        const size_t skip = strncmp(line, FIRST, sizeof FIRST - 1) == 0 ? sizeof FIRST - 1 : 0;
        *out = strdup(line + skip);
        if (!*out)
            status = fail_memory();
    }
    free(line);
    return status;
}

tce_status run_log_open(run_log *log, const char *folder, const char *const *phases,
                        const run_mark *mark, const char *columns, int *cut_short)
{
    char events_path[RUN_PATH];
    memset(log, 0, sizeof *log);
    log->phases = phases;
    tce_status status = run_path(folder, "progress.csv", log->progress_path);
    if (status == TCE_OK)
        status = run_path(folder, "timing.csv", log->timing_path);
    if (status == TCE_OK)
        status = run_path(folder, "events.out.tfevents.tce", events_path);
    if (status != TCE_OK)
        return status;

    /* what a stopped process wrote after the mark goes: it will be written again */
    const int64_t there = file_length(log->progress_path);
    int64_t keep = mark ? mark->progress_bytes : 0;
    *cut_short = there < keep;
    if (*cut_short)
        keep = there;
    if (columns && !(log->columns = strdup(columns)))
        status = tce_fail(TCE_E_NOMEM, "no memory for the columns of progress.csv");
    if (status == TCE_OK)
        status = open_cut(log->progress_path, keep, &log->progress);
    if (status == TCE_OK)
        status = open_timing(log, mark ? mark->iteration : 0);
    if (status == TCE_OK)
        status = tensorboard_open(events_path, mark ? mark->events_bytes : 0, &log->events);
    if (status != TCE_OK)
        run_log_close(log);
    return status;
}

void run_log_close(run_log *log)
{
    if (log->progress)
        fclose(log->progress);
    if (log->timing)
        fclose(log->timing);
    tensorboard_close(log->events);
    metrics_free(&log->start);
    free(log->columns);
    memset(log, 0, sizeof *log);
}

tce_status run_log_start(run_log *log, const metrics *m)
{
    for (int32_t i = 0; i < m->n; i++)
        metrics_put(&log->start, m->names[i], m->values[i]);
    return metrics_check(&log->start);
}

/* A line of timing.csv. */
static tce_status write_times(run_log *log, int64_t iteration, const run_times *spent)
{
    text t;
    tce_status status = text_begin(&t);
    if (status != TCE_OK)
        return status;
    fprintf(t.stream, "%" PRId64, iteration);
    for (size_t k = 0; log->phases[k]; k++)
        fprintf(t.stream, ",%.6f", spent->phases[k]);
    fprintf(t.stream, ",%.6f,%.6f\n", spent->evaluation, spent->total);
    status = text_end(&t);
    if (status == TCE_OK)
        status = write_lines(log->timing_path, log->timing, t.bytes, t.n);
    free(t.bytes);
    return status;
}

tce_status run_log_row(run_log *log, int64_t iteration, int64_t env_steps, const metrics *m,
                       const run_times *spent)
{
    text t;
    tce_status status = ftell(log->progress) == 0 ? write_head(log, m) : TCE_OK;
    if (status == TCE_OK)
        status = text_begin(&t);
    if (status != TCE_OK)
        return status;
    put_row(t.stream, log, iteration, env_steps, m);
    status = write_text(log, &t);
    if (status == TCE_OK)
        status = write_times(log, iteration, spent);
    return status == TCE_OK
               ? tensorboard_write(log->events, env_steps, m, log->phases, spent->phases)
               : status;
}

tce_status run_log_mark(run_log *log, run_mark *mark)
{
    int error = file_sync(log->progress);
    if (error)
        return file_fail_write(log->progress_path, error);
    mark->progress_bytes = (int64_t)ftell(log->progress);
    error = file_sync(log->timing);
    if (error)
        return file_fail_write(log->timing_path, error);
    return tensorboard_sync(log->events, &mark->events_bytes);
}
