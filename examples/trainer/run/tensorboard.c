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

/* Wire types, and field numbers shifted to their place. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
#define FIELD(number, type) ((uint8_t)((number) << 3 | (type)))

/*
 * Longest "group/name" of a value, the message with it and its number, and what a message takes in
 * the one around it.
 */
#define TAG_BYTES (METRIC_NAME + 16)
#define VALUE_BYTES (TAG_BYTES + 16)
#define FRAME_BYTES 16

/* What an event has besides its values: wall time, step, version. */
#define HEAD_BYTES 64

struct tensorboard {
    FILE *file;
    char path[RUN_PATH];
    size_t n; /* bytes of the payload so far */
    size_t n_summary;
    size_t capacity;  /* of the summary */
    uint8_t *payload; /* [capacity + HEAD_BYTES] */
    uint8_t *summary; /* [capacity] */
};

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

/* ---- wire format ----------------------------------------------------------------------------- */

static size_t put_little(uint8_t *out, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(value >> 8 * i);
    return n;
}

static size_t put_varint(uint8_t *out, uint64_t value)
{
    size_t n = 0;
    for (; value > 0x7f; value >>= 7)
        out[n++] = (uint8_t)(value | 0x80);
    out[n++] = (uint8_t)value;
    return n;
}

static size_t put_bytes(uint8_t *out, uint8_t field, const void *bytes, size_t n)
{
    size_t used = 0;
    out[used++] = field;
    used += put_varint(out + used, n);
    memcpy(out + used, bytes, n);
    return used + n;
}

/* Room for an event of n values. */
static tce_status make_room(tensorboard *e, size_t n)
{
    const size_t capacity = n * (VALUE_BYTES + FRAME_BYTES);
    if (e->payload && capacity <= e->capacity)
        return TCE_OK;
    free(e->payload);
    free(e->summary);
    e->payload = malloc(capacity + HEAD_BYTES);
    e->summary = malloc(capacity + 1);
    e->capacity = capacity;
    return e->payload && e->summary
               ? TCE_OK
               : tce_fail(TCE_E_NOMEM, "no memory for an event of %zu numbers", n);
}

/* Begins the payload: wall time and step. */
static void begin_event(tensorboard *e, int64_t step)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double wall_time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    uint64_t bits;
    memcpy(&bits, &wall_time, sizeof bits);

    e->n = 0;
    e->n_summary = 0;
    e->payload[e->n++] = FIELD(1, FIXED64);
    e->n += put_little(e->payload + e->n, bits, 8);
    e->payload[e->n++] = FIELD(2, VARINT);
    e->n += put_varint(e->payload + e->n, (uint64_t)step);
}

/* Adds a scalar to the summary. */
static void add_value(tensorboard *e, const char *group, const char *name, double value)
{
    char tag[TAG_BYTES];
    uint8_t message[VALUE_BYTES];
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);

    snprintf(tag, sizeof tag, "%s/%s", group, name);
    size_t n = put_bytes(message, FIELD(1, BYTES), tag, strlen(tag));
    message[n++] = FIELD(2, FIXED32);
    n += put_little(message + n, bits, 4);
    e->n_summary += put_bytes(e->summary + e->n_summary, FIELD(1, BYTES), message, n);
}

/* Frames the payload and gives it to the system. */
static tce_status write_record(tensorboard *e)
{
    uint8_t head[12], tail[4];
    put_little(head, e->n, 8);
    put_little(head + 8, masked(tensorboard_crc32c(head, 8)), 4);
    put_little(tail, masked(tensorboard_crc32c(e->payload, e->n)), 4);
    errno = 0;
    const int whole = fwrite(head, 1, sizeof head, e->file) == sizeof head &&
                      fwrite(e->payload, 1, e->n, e->file) == e->n &&
                      fwrite(tail, 1, sizeof tail, e->file) == sizeof tail && fflush(e->file) == 0;
    return whole ? TCE_OK : file_fail_write(e->path, errno);
}

/* ---- public ---------------------------------------------------------------------------------- */

/* The first record names the format. */
static tce_status write_version(tensorboard *e)
{
    static const char VERSION[] = "brain.Event:2";
    const tce_status status = make_room(e, 0);
    if (status != TCE_OK)
        return status;
    begin_event(e, 0);
    e->n += put_bytes(e->payload + e->n, FIELD(3, BYTES), VERSION, sizeof VERSION - 1);
    return write_record(e);
}

tce_status tensorboard_open(const char *path, int64_t keep, tensorboard **out)
{
    *out = NULL;
    tensorboard *e = calloc(1, sizeof *e);
    if (!e)
        return tce_fail(TCE_E_NOMEM, "no memory for the event file");
    snprintf(e->path, sizeof e->path, "%s", path);

    /* a file that is shorter than the mark says is begun anew: it only repeats progress.csv */
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
    free(e->payload);
    free(e->summary);
    free(e);
}

tce_status tensorboard_write(tensorboard *e, int64_t step, const metrics *m,
                             const char *const *phases, const double *seconds)
{
    size_t n_phases = 0;
    while (seconds && phases[n_phases])
        n_phases++;
    const tce_status status = make_room(e, (size_t)m->n + n_phases);
    if (status != TCE_OK)
        return status;
    begin_event(e, step);
    for (int32_t i = 0; i < m->n; i++) {
        const int evaluated = strncmp(m->names[i], "eval_", 5) == 0;
        if (!isnan(m->values[i]))
            add_value(e, evaluated ? "eval" : "train", m->names[i] + (evaluated ? 5 : 0),
                      m->values[i]);
    }
    for (size_t k = 0; k < n_phases; k++)
        add_value(e, "time", phases[k], seconds[k]);
    e->n += put_bytes(e->payload + e->n, FIELD(5, BYTES), e->summary, e->n_summary);
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
