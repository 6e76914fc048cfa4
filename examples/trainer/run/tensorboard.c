/*
 * TensorBoard event files: records of
 *     length (8 bytes), masked CRC of it (4), payload, masked CRC of the payload (4),
 *     all little-endian,
 *     masked CRC = rotate_right(CRC-32C, 15) + 0xa282ead8,
 * with payloads in protobuf wire format:
 *     Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5 }
 *     Summary { repeated Value value = 1 }
 *     Value { string tag = 1; float simple_value = 2; TensorProto tensor = 8; Metadata metadata = 9 }
 * The settings are values with a tensor, and metadata that names the plugin which shows them: one text
 * for "text"; for "hparams" the data lies in the metadata and the tensor is only there to be there:
 *     Metadata { PluginData plugin_data = 1; int32 data_class = 4 }
 *     PluginData { string plugin_name = 1; bytes content = 2 }
 *     TensorProto { int32 dtype = 1; Shape tensor_shape = 2; float float_val = 5; string string_val = 8 }
 *     HParamsPluginData { SessionStartInfo session_start_info = 3 }
 *     SessionStartInfo { map<string, google.protobuf.Value> hparams = 1 }
 * The length of a record of scalars depends on names and step alone, so a file that was cut and continued has
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
    protobuf part[4];               /* of values that are more than a number, likewise */
};

/* Field numbers. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE_VALUE = 2, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { METADATA_PLUGIN_DATA = 1, METADATA_DATA_CLASS = 4 };
enum { PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_FLOATS = 5, TENSOR_STRINGS = 8 };
enum { HPARAMS_SESSION_START = 3, SESSION_HPARAMS = 1 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };                    /* of a map */
enum { ANY_NUMBER = 2, ANY_TEXT = 3, ANY_BOOL = 4 };        /* of google.protobuf.Value */
enum { CLASS_TENSOR = 2, TYPE_FLOAT = 1, TYPE_STRING = 7 }; /* values of data_class, dtype */

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

/* ---- settings -------------------------------------------------------------------------------- */

/* Metadata of the value: which plugin shows it, with what. */
static void put_metadata(tensorboard *e, const char *plugin, const protobuf *content)
{
    protobuf *data = &e->part[0], *metadata = &e->part[1];
    protobuf_clear(data);
    protobuf_clear(metadata);
    protobuf_text(data, PLUGIN_NAME, plugin);
    if (content)
        protobuf_message(data, PLUGIN_CONTENT, content);
    protobuf_message(metadata, METADATA_PLUGIN_DATA, data);
    protobuf_int(metadata, METADATA_DATA_CLASS, CLASS_TENSOR);
    protobuf_message(&e->value, VALUE_METADATA, metadata);
}

/* A tensor of rank 0: a text, or the number 0. */
static void put_tensor(tensorboard *e, const char *text)
{
    protobuf *tensor = &e->part[0], *shape = &e->part[1];
    protobuf_clear(tensor);
    protobuf_clear(shape);
    protobuf_int(tensor, TENSOR_DTYPE, text ? TYPE_STRING : TYPE_FLOAT);
    protobuf_message(tensor, TENSOR_SHAPE, shape);
    if (text)
        protobuf_text(tensor, TENSOR_STRINGS, text);
    else
        protobuf_float(tensor, TENSOR_FLOATS, 0.0f);
    protobuf_message(&e->value, VALUE_TENSOR, tensor);
}

/* config.yaml as a block of code in Markdown, which the plugin draws. */
static tce_status add_text(tensorboard *e, const settings *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tce_fail(TCE_E_NOMEM, "no memory for the settings in the event file");
    fputs("```yaml\n", out);
    settings_dump(s, out);
    fputs("```\n", out);
    if (fclose(out) != 0) {
        free(text);
        return tce_fail(TCE_E_NOMEM, "no memory for the settings in the event file");
    }
    protobuf_clear(&e->value);
    protobuf_text(&e->value, VALUE_TAG, "settings/text_summary");
    put_metadata(e, "text", NULL);
    put_tensor(e, text);
    protobuf_message(&e->summary, SUMMARY_VALUE, &e->value);
    free(text);
    return TCE_OK;
}

/* A setting as an entry of the map: numbers and truth values as such, all others as text. */
static void add_hparam(tensorboard *e, const settings *s, const setting_row *row)
{
    char name[128], text[4 * TEXT_SIZE];
    protobuf *any = &e->part[0], *entry = &e->part[1], *session = &e->part[2];
    snprintf(name, sizeof name, "%s.%s", row->section, row->key);
    settings_text(s, row, text, sizeof text);
    protobuf_clear(any);
    protobuf_clear(entry);
    if (row->type == SETTING_BOOL)
        protobuf_int(any, ANY_BOOL, strcmp(text, "true") == 0);
    else if (row->type == SETTING_INT || row->type == SETTING_INT64 ||
             row->type == SETTING_UINT64 || row->type == SETTING_REAL)
        protobuf_double(any, ANY_NUMBER, strtod(text, NULL));
    else
        protobuf_text(any, ANY_TEXT, text);
    protobuf_text(entry, ENTRY_KEY, name);
    protobuf_message(entry, ENTRY_VALUE, any);
    protobuf_message(session, SESSION_HPARAMS, entry);
}

/* All but the places of files. */
static void add_hparams(tensorboard *e, const settings *s)
{
    protobuf *session = &e->part[2], *content = &e->part[3];
    const setting_row *row;
    protobuf_clear(session);
    protobuf_clear(content);
    for (size_t i = 0; (row = settings_row(s->table, i)) != NULL; i++)
        if (!(row->flags & SETTING_PLACE))
            add_hparam(e, s, row);
    protobuf_message(content, HPARAMS_SESSION_START, session);
    protobuf_clear(&e->value);
    protobuf_text(&e->value, VALUE_TAG, "_hparams_/session_start_info");
    put_metadata(e, "hparams", content);
    put_tensor(e, NULL);
    protobuf_message(&e->summary, SUMMARY_VALUE, &e->value);
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
    for (size_t i = 0; i < sizeof e->part / sizeof e->part[0]; i++)
        protobuf_free(&e->part[i]);
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

tce_status tensorboard_write_settings(const char *folder, const settings *s)
{
    char path[RUN_PATH];
    tensorboard *e = NULL;
    settings plain = *s;
    run_forget_schedule(&plain);
    tce_status status = run_path(folder, "events.out.tfevents.settings", path);
    if (status == TCE_OK)
        status = tensorboard_open(path, 0, &e);
    if (status != TCE_OK)
        return status;
    begin_event(e, 0);
    status = add_text(e, &plain);
    add_hparams(e, &plain);
    protobuf_message(&e->event, EVENT_SUMMARY, &e->summary);
    if (status == TCE_OK)
        status = write_record(e);
    tensorboard_close(e);
    return status;
}
