/*
 * TensorBoard event files: records of
 *     length (8 bytes), masked CRC of it (4), payload, masked CRC of the payload (4),
 *     all little-endian,
 *     masked CRC = rotate_right(CRC-32C, 15) + 0xa282ead8,
 * with payloads in protobuf wire format:
 *     Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5 }
 *     Summary { repeated Value value = 1 }    Value { string tag = 1; float simple_value = 2 }
 * The length of a record depends on names and step alone, so a file that was cut and continued has
 * its records where they were.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run/run.h"
#include "tools/protobuf.h"

struct tensorboard {
    FILE *file;
    char path[RUN_PATH];
    protobuf event, summary, value; /* each inside the one before it */
};

/* Field numbers. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE_VALUE = 2 };

uint32_t tensorboard_crc32c(const void *bytes, size_t n)
{
    const uint32_t polynomial = 0x82f63b78u; /* 0x1edc6f41 with its bits reversed */
    const uint8_t *byte = bytes;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= byte[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1u ? polynomial : 0u);
    }
    return ~crc;
}

static uint32_t masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Begins an event: wall time and step. */
static void begin_event(tensorboard *e, int64_t step)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    protobuf_clear(&e->event);
    protobuf_clear(&e->summary);
    protobuf_double(&e->event, EVENT_WALL_TIME, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    protobuf_int(&e->event, EVENT_STEP, step);
}

/* Adds a scalar to the summary. */
static void add_value(tensorboard *e, const char *group, const char *name, double value)
{
    char tag[METRIC_NAME + 16];
    snprintf(tag, sizeof tag, "%s/%s", group, name);
    protobuf_clear(&e->value);
    protobuf_text(&e->value, VALUE_TAG, tag);
    protobuf_float(&e->value, VALUE_SIMPLE_VALUE, (float)value);
    protobuf_message(&e->summary, SUMMARY_VALUE, &e->value);
}

static void little(uint8_t *out, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

/* Frames the event and gives it to the system. */
static tce_status write_record(tensorboard *e)
{
    const tce_status status = protobuf_check(&e->event, "an event");
    if (status != TCE_OK)
        return status;
    const size_t n = e->event.n;
    uint8_t head[12], tail[4];
    little(head, n, 8);
    little(head + 8, masked(tensorboard_crc32c(head, 8)), 4);
    little(tail, masked(tensorboard_crc32c(e->event.bytes, n)), 4);
    errno = 0;
    const int whole = fwrite(head, 1, sizeof head, e->file) == sizeof head &&
                      fwrite(e->event.bytes, 1, n, e->file) == n &&
                      fwrite(tail, 1, sizeof tail, e->file) == sizeof tail && fflush(e->file) == 0;
    return whole ? TCE_OK : file_fail_write(e->path, errno);
}

/* ---- public ---------------------------------------------------------------------------------- */

/* The first record names the format. */
static tce_status write_version(tensorboard *e)
{
    begin_event(e, 0);
    protobuf_text(&e->event, EVENT_FILE_VERSION, "brain.Event:2");
    return write_record(e);
}

tce_status tensorboard_open(const char *path, int64_t keep, tensorboard **out)
{
    *out = NULL;
    tensorboard *e = calloc(1, sizeof *e);
    if (!e)
        return tce_fail(TCE_E_NOMEM, "no memory for the event file");
    snprintf(e->path, sizeof e->path, "%s", path);

    /* a file that is shorter than the mark says is started again: it only repeats progress.csv */
    tce_status status = file_open(path, O_WRONLY | O_CREAT | O_APPEND, "ab", &e->file);
    if (status == TCE_OK && fseek(e->file, 0, SEEK_END) != 0)
        status = file_fail_write(path, errno);
    if (status == TCE_OK && ftell(e->file) < keep)
        keep = 0;
    if (status == TCE_OK && ftruncate(fileno(e->file), (off_t)keep) != 0)
        status = file_fail_write(path, errno);
    if (status == TCE_OK && keep == 0)
        status = write_version(e);
    if (status != TCE_OK) {
        tensorboard_close(e);
        return status;
    }
    *out = e;
    return TCE_OK;
}

void tensorboard_close(tensorboard *e)
{
    if (!e)
        return;
    if (e->file)
        fclose(e->file);
    protobuf_free(&e->event);
    protobuf_free(&e->summary);
    protobuf_free(&e->value);
    free(e);
}

tce_status tensorboard_write(tensorboard *e, int64_t step, const metrics *m,
                             const char *const *phases, const double *seconds)
{
    begin_event(e, step);
    for (int32_t i = 0; i < m->n; i++) {
        const int evaluated = strncmp(m->names[i], "eval_", 5) == 0;
        if (!isnan(m->values[i]))
            add_value(e, evaluated ? "eval" : "train", m->names[i] + (evaluated ? 5 : 0),
                      m->values[i]);
    }
    for (size_t k = 0; seconds && phases[k]; k++)
        add_value(e, "time", phases[k], seconds[k]);
    protobuf_message(&e->event, EVENT_SUMMARY, &e->summary);
    return write_record(e);
}

tce_status tensorboard_sync(tensorboard *e, int64_t *bytes)
{
    const int error = file_sync(e->file);
    if (error)
        return file_fail_write(e->path, error);
    *bytes = (int64_t)ftell(e->file);
    return TCE_OK;
}
