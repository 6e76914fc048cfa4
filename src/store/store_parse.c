/*
 * From the bytes of a file to a store. Nothing in the file is believed: the header is read strictly
 * (store_json.c), then every entry is checked (known type, rank, size = product of the shape,
 * offsets that tile the data without gap or overlap, no name twice), and only then are the arrays
 * copied, each to its own aligned block, and compared with the checksum.
 */
#include "store/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- sorting entries: in place and n log n whatever the file holds --------------------------- */

typedef bool (*order)(const tce__entry *a, const tce__entry *b);

static bool by_name(const tce__entry *a, const tce__entry *b)
{
    return strcmp(a->name, b->name) < 0;
}

static bool by_offset(const tce__entry *a, const tce__entry *b)
{
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
}

/* Lets the entry at root sink in the heap of n entries until none below it comes after it. */
static void sink(tce__entry *entries, size_t n, size_t root, order less)
{
    for (size_t child = 2 * root + 1; child < n; root = child, child = 2 * root + 1) {
        if (child + 1 < n && less(&entries[child], &entries[child + 1]))
            child++;
        if (!less(&entries[root], &entries[child]))
            return;
        const tce__entry held = entries[root];
        entries[root] = entries[child];
        entries[child] = held;
    }
}

static void sort(tce__entry *entries, size_t n, order less)
{
    for (size_t root = n / 2; root-- > 0;)
        sink(entries, n, root, less);
    for (size_t last = n; last-- > 1;) {
        const tce__entry held = entries[0];
        entries[0] = entries[last];
        entries[last] = held;
        sink(entries, last, 0, less);
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Sorts by name; every name must be printable and there once. */
static tce_status check_names(tce__entry *entries, size_t n)
{
    tce_status status;

    sort(entries, n, by_name);
    for (size_t i = 0; i < n; i++) {
        status = tce__name_check(entries[i].name, TCE_E_CORRUPT);
        if (status != TCE_OK)
            return status;
        if (i > 0 && strcmp(entries[i - 1].name, entries[i].name) == 0)
            return tce_fail(TCE_E_CORRUPT, "\"%s\" is in the file twice", entries[i].name);
    }
    return TCE_OK;
}

/* The text of this name among sorted entries, NULL when there is none. */
static const char *find_text(const tce__header *header, const char *name)
{
    for (size_t i = 0; i < header->n_texts; i++)
        if (strcmp(header->texts[i].name, name) == 0)
            return header->texts[i].value;
    return NULL;
}

/* A file of libtce has a format and a checksum, one of another program neither. */
static tce_status check_format(const tce__header *header)
{
    const char *format = find_text(header, TCE__STORE_FORMAT_NAME);
    const char *checksum = find_text(header, TCE__STORE_CHECKSUM_NAME);

    if (!format && !checksum)
        return TCE_OK;
    if (!format)
        return tce_fail(TCE_E_CORRUPT, "the file has %s but no %s", TCE__STORE_CHECKSUM_NAME,
                        TCE__STORE_FORMAT_NAME);
    const size_t n = strlen(format);
    if (n < 1 || n > 9 || strspn(format, "0123456789") != n || format[0] == '0')
        return tce_fail(TCE_E_CORRUPT, "%s is not a number from 1 to 999999999",
                        TCE__STORE_FORMAT_NAME);
    if (atol(format) > TCE__STORE_FORMAT)
        return tce_fail(TCE_E_VERSION,
                        "the file has %s %s, this libtce (%s) reads up to %d: use a newer libtce",
                        TCE__STORE_FORMAT_NAME, format, tce_version_string(), TCE__STORE_FORMAT);
    if (!checksum)
        return tce_fail(TCE_E_CORRUPT, "the file has %s but no %s", TCE__STORE_FORMAT_NAME,
                        TCE__STORE_CHECKSUM_NAME);
    return TCE_OK;
}

/* Type, rank and size of one array. */
static tce_status check_array(const tce__entry *entry)
{
    const int32_t type = tce__type_find(entry->value);
    uint64_t n = tce__type_size(type);

    if (type < 0)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "\"%s\" has element type %s; libtce reads F64, F32, I64, U64, I32 and U8: convert it",
            entry->name, entry->value);
    if (entry->rank > TCE_STORE_MAX_RANK)
        return tce_fail(TCE_E_UNSUPPORTED, "\"%s\" has rank %zu, libtce reads up to %d: reshape it",
                        entry->name, entry->rank, TCE_STORE_MAX_RANK);
    for (size_t k = 0; k < entry->rank; k++) {
        if (entry->shape[k] != 0 && n > UINT64_MAX / entry->shape[k])
            return tce_fail(TCE_E_CORRUPT, "\"%s\": the size overflows at shape[%zu] = %zu",
                            entry->name, k, entry->shape[k]);
        n *= entry->shape[k];
    }
    if (entry->end < entry->begin || entry->end - entry->begin != n)
        return tce_fail(TCE_E_CORRUPT,
                        "\"%s\": data_offsets %llu to %llu, the shape needs %llu bytes",
                        entry->name, (unsigned long long)entry->begin,
                        (unsigned long long)entry->end, (unsigned long long)n);
    return TCE_OK;
}

/* The arrays follow each other from the first to the last byte of the data [n_data]. */
static tce_status check_offsets(tce__header *header, uint64_t n_data)
{
    uint64_t at = 0;

    sort(header->arrays, header->n_arrays, by_offset);
    for (size_t i = 0; i < header->n_arrays; i++) {
        const tce__entry *entry = &header->arrays[i];
        if (entry->begin != at || entry->end > n_data)
            return tce_fail(TCE_E_CORRUPT,
                            "\"%s\": data_offsets %llu to %llu, expected a start at %llu and an "
                            "end within %llu",
                            entry->name, (unsigned long long)entry->begin,
                            (unsigned long long)entry->end, (unsigned long long)at,
                            (unsigned long long)n_data);
        at = entry->end;
    }
    if (at != n_data)
        return tce_fail(TCE_E_CORRUPT, "the arrays end at byte %llu of the data, the file has %llu",
                        (unsigned long long)at, (unsigned long long)n_data);
    return TCE_OK;
}

/* Everything the header claims; leaves the entries sorted by name. */
static tce_status check_header(tce__header *header, uint64_t n_data)
{
    tce_status status = check_names(header->texts, header->n_texts);
    if (status == TCE_OK)
        status = check_format(header);
    if (status == TCE_OK)
        status = check_names(header->arrays, header->n_arrays);
    for (size_t i = 0; status == TCE_OK && i < header->n_arrays; i++)
        status = check_array(&header->arrays[i]);
    if (status == TCE_OK)
        status = check_offsets(header, n_data);
    if (status != TCE_OK)
        return status;
    sort(header->arrays, header->n_arrays, by_name);
    return TCE_OK;
}

/* ---- filling the store ----------------------------------------------------------------------- */

/* Copies what the entries describe; they are sorted, so each item goes to the end of its list. */
static tce_status fill(tce_store *store, const tce__header *header, const unsigned char *data)
{
    tce__item *item;

    tce_status status = tce__list_reserve(&store->hooks, &store->texts, header->n_texts);
    if (status == TCE_OK)
        status = tce__list_reserve(&store->hooks, &store->arrays, header->n_arrays);
    if (status != TCE_OK)
        return status;
    for (size_t i = 0; i < header->n_texts; i++) {
        const tce__entry *entry = &header->texts[i];
        if (strcmp(entry->name, TCE__STORE_FORMAT_NAME) == 0 ||
            strcmp(entry->name, TCE__STORE_CHECKSUM_NAME) == 0)
            continue;
        const tce__item like = {
            .name = entry->name,
            .data = (unsigned char *)(uintptr_t)entry->value,
            .n_bytes = strlen(entry->value),
        };
        status = tce__item_create(&store->hooks, &like, &item);
        if (status != TCE_OK)
            return status;
        store->texts.items[store->texts.n++] = item;
    }
    for (size_t i = 0; i < header->n_arrays; i++) {
        const tce__entry *entry = &header->arrays[i];
        tce__item like = {
            .name = entry->name,
            .data = (unsigned char *)(uintptr_t)(data + entry->begin),
            .n_bytes = (size_t)(entry->end - entry->begin),
            .rank = (int32_t)entry->rank,
            .type = tce__type_find(entry->value),
        };
        memcpy(like.shape, entry->shape, sizeof like.shape);
        status = tce__item_create(&store->hooks, &like, &item);
        if (status != TCE_OK)
            return status;
        store->arrays.items[store->arrays.n++] = item;
    }
    return TCE_OK;
}

static tce_status check_checksum(const tce_store *store, const char *expected)
{
    char digits[TCE__STORE_DIGITS + 1];

    if (!expected)
        return TCE_OK;
    tce__store_checksum(store, digits);
    if (strcmp(digits, expected) != 0)
        return tce_fail(TCE_E_CORRUPT,
                        "the file is damaged: the checksum of its content is %s, not the one that "
                        "the file states",
                        digits);
    return TCE_OK;
}

/* A store from a checked header and its data. */
static tce_status build(const tce__header *header, const unsigned char *data,
                        const tce_hooks *hooks, tce_store **out)
{
    tce_store *store;
    tce_status status = tce_store_create(hooks, &store);
    if (status != TCE_OK)
        return status;
    status = fill(store, header, data);
    if (status == TCE_OK)
        status = check_checksum(store, find_text(header, TCE__STORE_CHECKSUM_NAME));
    if (status != TCE_OK) {
        tce_store_free(store);
        return status;
    }
    store->verified = find_text(header, TCE__STORE_CHECKSUM_NAME) != NULL;
    *out = store;
    return TCE_OK;
}

/* ---- scratch --------------------------------------------------------------------------------- */

/* A block of `count` elements that lives during the call only. */
static tce_status scratch_create(const tce_hooks *hooks, size_t count, size_t size, void **out)
{
    tce__arena arena = { NULL, 0 };
    tce_hooks unused;

    (void)tce__arena_take(&arena, count, size);
    const tce_status status = tce__block_create(hooks, "scratch for reading a tce_store", &arena,
                                                &unused);
    *out = status != TCE_OK ? NULL : tce__arena_take(&arena, count, size);
    return status;
}

/* Counts the entries, makes room for them, reads them, checks them, and builds the store. */
static tce_status parse_header(const unsigned char *json, size_t n_json, size_t n_data,
                               const tce_hooks *hooks, tce__header *header, tce_store **out)
{
    void *entries;
    tce_status status = tce__header_read(json, n_json, header);
    if (status != TCE_OK)
        return status;

    status = scratch_create(hooks, header->n_arrays + header->n_texts + 1, sizeof(tce__entry),
                            &entries);
    if (status != TCE_OK)
        return status;
    header->arrays = entries;
    header->texts = header->arrays + header->n_arrays;
    status = tce__header_read(json, n_json, header);
    if (status == TCE_OK)
        status = check_header(header, n_data);
    if (status == TCE_OK)
        status = build(header, json + n_json, hooks, out);
    tce__block_free(hooks, entries);
    return status;
}

tce_status tce_store_parse(const void *bytes, size_t size, const tce_hooks *hooks, tce_store **out)
{
    tce_hooks complete;
    uint64_t length;
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;
    if (size > 0)
        status = tce__check_pointer("bytes", bytes);
    if (status == TCE_OK)
        status = tce__hooks_read(hooks, &complete);
    if (status != TCE_OK)
        return status;

    /* the length of the header, against the limit and against what is there */
    if (size < TCE__STORE_PREFIX)
        return tce_fail(TCE_E_CORRUPT,
                        "the file has %zu bytes, even an empty store has more than %d", size,
                        TCE__STORE_PREFIX);
    memcpy(&length, bytes, sizeof length);
    if (length > TCE__STORE_MAX_HEADER || length > size - TCE__STORE_PREFIX)
        return tce_fail(
            TCE_E_CORRUPT,
            "the header claims %llu bytes of %zu, at most %d: cut short, or not safetensors",
            (unsigned long long)length, size - TCE__STORE_PREFIX, TCE__STORE_MAX_HEADER);

    const size_t n_json = (size_t)length;
    void *characters;
    status = scratch_create(&complete, n_json + 1, 1, &characters);
    if (status != TCE_OK)
        return status;
    tce__header header = { .characters = characters };
    status = parse_header((const unsigned char *)bytes + TCE__STORE_PREFIX, n_json,
                          size - TCE__STORE_PREFIX - n_json, &complete, &header, out);
    tce__block_free(&complete, characters);
    return status;
}
