/*
 * The bytes before the data of a file: 8 bytes with the length of the header, little-endian, then
 * the header,
 *
 *     {"__metadata__":{"name":"text",…},
 *      "name":{"dtype":"F64","shape":[2,3],"data_offsets":[0,48]},…}
 *
 * filled up with spaces so that the data starts at a multiple of 8. The same content always gives
 * the same bytes.
 */
#include "store/internal.h"

#include <stdio.h>
#include <string.h>

/* Longest decimal number of 64 bits, with its final 0. */
#define MAX_NUMBER 21

/* Counts what is written, and writes it when there is somewhere to. */
typedef struct writer {
    unsigned char *out; /* NULL: only count */
    size_t n;
} writer;

static void write_bytes(writer *w, const char *s, size_t n)
{
    if (w->out)
        memcpy(w->out + w->n, s, n);
    w->n += n;
}

static void write_plain(writer *w, const char *s)
{
    write_bytes(w, s, strlen(s));
}

static void write_number(writer *w, uint64_t number)
{
    char digits[MAX_NUMBER];

    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    write_plain(w, digits);
}

/* A JSON string: quotes, backslashes and control characters escaped, all other UTF-8 as it is. */
static void write_string(writer *w, const char *s)
{
    write_plain(w, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') {
            write_plain(w, "\\");
            write_bytes(w, s, 1);
        } else if ((unsigned char)*s < 0x20) {
            char escape[sizeof "\\u0000"];
            (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*s);
            write_plain(w, escape);
        } else {
            write_bytes(w, s, 1);
        }
    }
    write_plain(w, "\"");
}

static void write_metadata(writer *w, const tce_store *store, const char *checksum)
{
    write_string(w, TCE__STORE_METADATA);
    write_plain(w, ":{");
    write_string(w, TCE__STORE_CHECKSUM_NAME);
    write_plain(w, ":");
    write_string(w, checksum);
    write_plain(w, ",");
    write_string(w, TCE__STORE_FORMAT_NAME);
    write_plain(w, ":");
    write_string(w, TCE__STORE_FORMAT_TEXT);
    for (size_t i = 0; i < store->texts.n; i++) {
        write_plain(w, ",");
        write_string(w, store->texts.items[i]->name);
        write_plain(w, ":");
        write_string(w, (const char *)store->texts.items[i]->data);
    }
    write_plain(w, "}");
}

static void write_array(writer *w, const tce__item *array, size_t begin)
{
    write_plain(w, ",");
    write_string(w, array->name);
    write_plain(w, ":{\"dtype\":");
    write_string(w, tce__type_name(array->type));
    write_plain(w, ",\"shape\":[");
    for (int32_t k = 0; k < array->rank; k++) {
        if (k > 0)
            write_plain(w, ",");
        write_number(w, array->shape[k]);
    }
    write_plain(w, "],\"data_offsets\":[");
    write_number(w, begin);
    write_plain(w, ",");
    write_number(w, begin + array->n_bytes);
    write_plain(w, "]}");
}

tce__walk tce__walk_start(const tce_store *store)
{
    const tce__walk walk = { .store = store, .size = 8, .i = 0 };

    return walk;
}

const tce__item *tce__walk_next(tce__walk *walk)
{
    const tce__list *arrays = &walk->store->arrays;

    /* a round for each element size: 8, 4, 2, 1 */
    for (; walk->size > 0; walk->size /= 2, walk->i = 0)
        while (walk->i < arrays->n) {
            const tce__item *array = arrays->items[walk->i++];
            if (tce__type_size(array->type) == walk->size)
                return array;
        }
    return NULL;
}

size_t tce__header_write(const tce_store *store, const char *checksum, unsigned char *out)
{
    writer w = { out, TCE__STORE_PREFIX };
    tce__walk walk = tce__walk_start(store);
    const tce__item *array;
    size_t begin = 0;

    write_plain(&w, "{");
    write_metadata(&w, store, checksum);
    while ((array = tce__walk_next(&walk))) {
        write_array(&w, array, begin);
        begin += array->n_bytes;
    }
    write_plain(&w, "}");
    while (w.n % TCE__STORE_PREFIX != 0)
        write_plain(&w, " ");

    /* the length is known now */
    if (out) {
        const uint64_t length = w.n - TCE__STORE_PREFIX;
        memcpy(out, &length, sizeof length);
    }
    return w.n;
}
