/*
 * What the files of the store share: items (one block each), lists of items sorted by name, and the
 * header of a file between its JSON text and its meaning.
 */
#ifndef TCE_STORE_INTERNAL_H
#define TCE_STORE_INTERNAL_H

#include <stdbool.h>

#include <tce/store.h>

#include "base/internal.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "libtce needs a little-endian machine; elsewhere take the C file that `tce export` writes"
#endif

/* Version of what libtce adds to safetensors; a file with a larger one is refused. */
#define TCE__STORE_FORMAT 1
#define TCE__STORE_FORMAT_TEXT "1"

/* Names with a meaning of their own. */
#define TCE__STORE_METADATA "__metadata__"
#define TCE__STORE_FORMAT_NAME "tce.format"
#define TCE__STORE_CHECKSUM_NAME "tce.checksum"

/* Longest name in bytes; longest header, as in the safetensors specification. */
#define TCE__STORE_MAX_NAME 255
#define TCE__STORE_MAX_HEADER 100000000

/* The header's length comes first, in so many bytes; the data starts at a multiple of it. */
#define TCE__STORE_PREFIX 8

/* Hexadecimal digits of the checksum, XXH3 with 128 bits. */
#define TCE__STORE_DIGITS 32

/*
 * An array, or a text (type and rank unused, data is the characters with a final 0 that n_bytes
 * does not count).
 */
typedef struct tce__item {
    const char *name;
    unsigned char *data; /* [n_bytes], aligned to TCE__ALIGNMENT */
    size_t n_bytes;
    size_t shape[TCE_STORE_MAX_RANK];
    int32_t rank;
    int32_t type;
} tce__item;

/* Items in the order of their names, compared as bytes. */
typedef struct tce__list {
    tce__item **items; /* [capacity], a block of its own */
    size_t n;
    size_t capacity;
} tce__list;

struct tce_store {
    tce_hooks hooks;
    tce__list arrays;
    tce__list texts;
    bool verified; /* read from a file of libtce whose checksum was right */
};

/* ---- types and names (store.c) --------------------------------------------------------------- */

/* "F64" and bytes an element; NULL and 0 for an unknown type. */
const char *tce__type_name(int32_t type);
size_t tce__type_size(int32_t type);
/* The type called `name`, or -1. */
int32_t tce__type_find(const char *name);

/*
 * TCE_OK when name is 1 to TCE__STORE_MAX_NAME bytes of UTF-8 without control characters; else the
 * given status.
 */
tce_status tce__name_check(const char *name, tce_status status);

/* Bytes of the character that starts at s (at most `left` bytes), 0 when it is not UTF-8. */
size_t tce__utf8_length(const unsigned char *s, size_t left);

/* ---- lists (store_list.c) -------------------------------------------------------------------- */

/* Where name is or would be; *found says which. */
size_t tce__list_search(const tce__list *list, const char *name, bool *found);
/* Room for `capacity` items. TCE_E_NOMEM leaves the list as it was. */
tce_status tce__list_reserve(const tce_hooks *hooks, tce__list *list, size_t capacity);
/*
 * Puts the item at its place, freeing one of the same name. On TCE_E_NOMEM neither list nor item
 * has changed.
 */
tce_status tce__list_put(const tce_hooks *hooks, tce__list *list, tce__item *item);
void tce__list_free(const tce_hooks *hooks, tce__list *list);

/* A block with copies of name and data [like->n_bytes]; the other fields are like's. */
tce_status tce__item_create(const tce_hooks *hooks, const tce__item *like, tce__item **out);

/* ---- the file: store_json.c, store_parse.c, store_checksum.c, store_write.c ------------------ */

/* One member of the header; the strings are in the reader's scratch. */
typedef struct tce__entry {
    const char *name;
    const char *value; /* the name of the element type, or the text */
    size_t shape[TCE_STORE_MAX_RANK];
    size_t rank; /* as written: may exceed TCE_STORE_MAX_RANK, the rest is not kept */
    uint64_t begin;
    uint64_t end;
} tce__entry;

typedef struct tce__header {
    size_t n_arrays;
    size_t n_texts;
    tce__entry *arrays; /* [n_arrays], NULL while counting */
    tce__entry *texts;  /* [n_texts], NULL while counting */
    char *characters;   /* scratch for the strings, as many bytes as the header */
} tce__header;

/*
 * Reads json [size], the whole of it, into out. With arrays NULL it only counts, so it is called
 * twice. Syntax is checked to the last byte; what the entries mean is not. TCE_E_CORRUPT with the
 * position.
 */
tce_status tce__header_read(const unsigned char *json, size_t size, tce__header *out);

/* Checksum of a store's content as hexadecimal digits and a final 0. */
void tce__store_checksum(const tce_store *store, char out[TCE__STORE_DIGITS + 1]);

/*
 * Arrays in the order of the file: element size, largest first, so that each is aligned; then name.
 */
typedef struct tce__walk {
    const tce_store *store;
    size_t size; /* of an element, in the present round */
    size_t i;    /* in the list of arrays */
} tce__walk;

tce__walk tce__walk_start(const tce_store *store);
/* The next array, NULL after the last. */
const tce__item *tce__walk_next(tce__walk *walk);

/*
 * Writes the length prefix and the header, padded, to out; with out NULL only measures. Returns the
 * number of bytes.
 */
size_t tce__header_write(const tce_store *store, const char *checksum, unsigned char *out);

#endif
