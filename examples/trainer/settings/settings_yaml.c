/*
 * Settings from a YAML file: sections of keys, each a scalar or a flat list. libyaml's events carry
 * the line of every key, which the messages need.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "settings/settings_entries.h"
#include "tools/files.h"

#define VALUE_SIZE (4 * TEXT_SIZE)

typedef struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the present one */
    const char *path;
    setting_entries *out;
} reader;

/* "file:line" of the present event. */
static const char *where(const reader *r, char *out)
{
    snprintf(out, WHERE_SIZE, "%.900s:%zu", r->path, r->event.start_mark.line + 1);
    return out;
}

static tce_status next_event(reader *r)
{
    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event))
        return TCE_OK;
    memset(&r->event, 0, sizeof r->event);
    if (r->parser.error == YAML_MEMORY_ERROR)
        return tce_fail(TCE_E_NOMEM, "%s: no memory", r->path);
    return tce_fail(TCE_E_CORRUPT, "%s:%zu: not YAML: %s", r->path, r->parser.problem_mark.line + 1,
                    r->parser.problem ? r->parser.problem : "unreadable");
}

/* The present event must be a scalar: its text, cut never. */
static tce_status take_scalar(const reader *r, const char *what, char *out, size_t size)
{
    char place[WHERE_SIZE];
    if (r->event.type != YAML_SCALAR_EVENT)
        return tce_fail(
            TCE_E_VALUE,
            "%s: %s must be plain text or a number; a settings file has sections of \"key: value\"",
            where(r, place), what);
    if (r->event.data.scalar.length >= size ||
        memchr(r->event.data.scalar.value, 0, r->event.data.scalar.length))
        return tce_fail(TCE_E_VALUE, "%s: %s is too long or holds a NUL", where(r, place), what);
    memcpy(out, r->event.data.scalar.value, r->event.data.scalar.length);
    out[r->event.data.scalar.length] = '\0';
    return TCE_OK;
}

/*
 * A flat list, as "a, b, c": settings_set reads lists in this form. The present event starts the
 * sequence.
 */
static tce_status take_list(reader *r, const char *key, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (;;) {
        char item[TEXT_SIZE];
        tce_status status = next_event(r);
        if (status != TCE_OK || r->event.type == YAML_SEQUENCE_END_EVENT)
            return status;
        status = take_scalar(r, key, item, sizeof item);
        if (status != TCE_OK)
            return status;
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", item);
        if (used >= size)
            return tce_fail(TCE_E_VALUE, "%s: the list of %s is too long", r->path, key);
    }
}

/* The present event is a name of at most 63 characters: begins an entry with it. */
static tce_status begin_entry(const reader *r, const char *what, setting_entry *entry, char *name,
                              size_t size)
{
    where(r, entry->where);
    entry->line = (int)r->event.start_mark.line + 1;
    return take_scalar(r, what, name, size);
}

static tce_status read_key(reader *r, const char *section)
{
    char text[VALUE_SIZE];
    setting_entry entry = { .text = text };
    snprintf(entry.section, sizeof entry.section, "%s", section);
    tce_status status = begin_entry(r, section, &entry, entry.key, sizeof entry.key);
    if (status == TCE_OK)
        status = next_event(r);
    if (status != TCE_OK)
        return status;

    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        status = take_list(r, entry.key, text, sizeof text);
    else
        status = take_scalar(r, entry.key, text, sizeof text);
    return status == TCE_OK ? entries_add(r->out, &entry) : status;
}

/* The present event is the name of a section. */
static tce_status read_section(reader *r)
{
    setting_entry entry = { .text = "" };
    tce_status status = begin_entry(r, "a section", &entry, entry.section, sizeof entry.section);
    if (status == TCE_OK)
        status = entries_add(r->out, &entry);
    if (status == TCE_OK)
        status = next_event(r);
    if (status != TCE_OK)
        return status;

    /* "policy:" with nothing below it */
    if (r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0)
        return TCE_OK;
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return tce_fail(
            TCE_E_VALUE,
            "%s: \"%s\" must be a section with keys below it, as in \"policy:\\n  epochs: 50\"",
            entry.where, entry.section);
    for (;;) {
        status = next_event(r);
        if (status != TCE_OK || r->event.type == YAML_MAPPING_END_EVENT)
            return status;
        status = read_key(r, entry.section);
        if (status != TCE_OK)
            return status;
    }
}

/* Behind the last section: nothing more. */
static tce_status read_end(reader *r)
{
    char place[WHERE_SIZE];
    tce_status status;
    do
        status = next_event(r);
    while (status == TCE_OK && r->event.type == YAML_DOCUMENT_END_EVENT);
    if (status == TCE_OK && r->event.type != YAML_STREAM_END_EVENT)
        status = tce_fail(TCE_E_VALUE,
                          "%s: a second document (\"---\") begins here; a settings file has one",
                          where(r, place));
    return status;
}

static tce_status read_document(reader *r)
{
    char place[WHERE_SIZE];
    tce_status status;
    do
        status = next_event(r);
    while (status == TCE_OK && (r->event.type == YAML_STREAM_START_EVENT ||
                                r->event.type == YAML_DOCUMENT_START_EVENT));
    if (status != TCE_OK)
        return status;
    if (r->event.type == YAML_STREAM_END_EVENT)
        return TCE_OK; /* an empty file changes nothing */
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return tce_fail(TCE_E_VALUE, "%s: a settings file starts with a section, as in \"policy:\"",
                        where(r, place));
    for (;;) {
        status = next_event(r);
        if (status != TCE_OK)
            return status;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return read_end(r);
        status = read_section(r);
        if (status != TCE_OK)
            return status;
    }
}

/*
 * A pipe is waited for where its writer is known, as with /dev/stdin and a shell's <(command),
 * which is in /dev/fd; one that lies in a folder may never have any.
 */
static tce_status open_settings(const char *path, FILE **out)
{
    if (strncmp(path, "/dev/", 5) != 0)
        return file_open(path, O_RDONLY, "rb", out);
    *out = fopen(path, "rb");
    return *out ? TCE_OK : tce_fail(TCE_E_IO, "cannot read %s: %s", path, strerror(errno));
}

tce_status entries_read(setting_entries *e, const char *path)
{
    FILE *file;
    reader r;
    const tce_status opened = open_settings(path, &file);
    if (opened != TCE_OK)
        return opened;
    memset(&r, 0, sizeof r);
    r.path = path;
    r.out = e;
    tce_status status = yaml_parser_initialize(&r.parser)
                            ? TCE_OK
                            : tce_fail(TCE_E_NOMEM, "%s: no memory", path);
    if (status == TCE_OK) {
        yaml_parser_set_input_file(&r.parser, file);
        status = read_document(&r);
        yaml_event_delete(&r.event);
        yaml_parser_delete(&r.parser);
    }
    fclose(file);
    return status;
}

tce_status entries_add(setting_entries *e, const setting_entry *entry)
{
    if (e->n == e->capacity) {
        const size_t capacity = e->capacity ? 2 * e->capacity : 64;
        setting_entry *list = realloc(e->list, capacity * sizeof *list);
        if (!list)
            return tce_fail(TCE_E_NOMEM, "no memory for %zu settings", capacity);
        e->list = list;
        e->capacity = capacity;
    }
    char *text = strdup(entry->text);
    if (!text)
        return tce_fail(TCE_E_NOMEM, "no memory for %s.%s", entry->section, entry->key);
    e->list[e->n] = *entry;
    e->list[e->n++].text = text;
    return TCE_OK;
}

void entries_free(setting_entries *e)
{
    for (size_t i = 0; i < e->n; i++)
        free(e->list[i].text);
    free(e->list);
    memset(e, 0, sizeof *e);
}
