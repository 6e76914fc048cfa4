/*
 * One JSON object per iteration.
 */
#include "queue/json_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/json.h"

/* A pipe or a device is as good as a file: it is opened as a shell would. */
tce_status json_log_open(json_log *log, const char *path, const char *folder)
{
    memset(log, 0, sizeof *log);
    log->path = path;
    log->folder = folder;
    if (strcmp(path, "-") == 0) {
        log->file = stdout;
        return TCE_OK;
    }
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    log->file = descriptor < 0 ? NULL : fdopen(descriptor, "a");
    if (log->file)
        return TCE_OK;
    const int error = errno;
    if (descriptor >= 0)
        close(descriptor);
    return file_fail_write(path, error);
}

static void put_seconds(FILE *out, const run_standing *now)
{
    fputs("\"seconds\": {", out);
    for (size_t k = 0; now->phases[k]; k++) {
        json_put_text(out, now->phases[k]);
        fprintf(out, ": %.6f, ", now->spent->phases[k]);
    }
    fprintf(out, "\"evaluation\": %.6f, \"total\": %.6f}", now->spent->evaluation,
            now->spent->total);
}

static void put_object(FILE *out, const json_log *log, const run_standing *now)
{
    fputs("{\"run\": ", out);
    json_put_text(out, log->folder);
    fprintf(out, ", \"iteration\": %" PRId64 ", \"env_steps\": %" PRId64 ", ", now->iteration,
            now->env_steps);
    for (int32_t i = 0; i < now->m->n; i++) {
        json_put_text(out, now->m->names[i]);
        fputs(": ", out);
        json_put_number(out, now->m->values[i]);
        fputs(", ", out);
    }
    put_seconds(out, now);
    fputs("}\n", out);
}

/* The line in one piece: several runs may write into one file. 0, or the system's error. */
static int write_line(const json_log *log, const run_standing *now)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return ENOMEM;
    put_object(out, log, now);
    int error = fclose(out) == 0 ? 0 : ENOMEM;
    errno = 0;
    if (!error && (fwrite(line, 1, size, log->file) != size || fflush(log->file) != 0))
        error = errno ? errno : EIO;
    free(line);
    return error;
}

/* A log that cannot be written is no reason to lose the run. */
static void advance(void *context, const run_standing *now)
{
    json_log *log = context;
    const int error = log->failed ? 0 : write_line(log, now);
    if (error) {
        log->failed = 1;
        (void)file_fail_write(strcmp(log->path, "-") == 0 ? "stdout" : log->path, error);
        messages_warn(&log->told.say, "--log-json ends here: %s", tce_error_message());
    }
    if (log->told.advance)
        log->told.advance(log->told.context, now);
}

static void start(void *context, int64_t iteration, int64_t env_steps)
{
    const json_log *log = context;
    if (log->told.start)
        log->told.start(log->told.context, iteration, env_steps);
}

static int wish(void *context)
{
    const json_log *log = context;
    return log->told.wish ? log->told.wish(log->told.context) : RUN_GO_ON;
}

static void end(void *context)
{
    const json_log *log = context;
    if (log->told.end)
        log->told.end(log->told.context);
}

void json_log_observe(json_log *log, run_observer *told)
{
    log->told = *told;
    *told = (run_observer){ log->told.say, log, start, advance, wish, end };
}

void json_log_close(json_log *log)
{
    if (log->file && log->file != stdout)
        fclose(log->file);
    log->file = NULL;
}
