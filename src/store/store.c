/*
 * The store in memory: named arrays and texts that are put, found and copied out. Files are in
 * store_file.c.
 */
#include "store/internal.h"

#include <string.h>

/* Element types by their number. */
static const struct {
    const char *name;
    size_t size;
} TYPES[] = {
    [TCE_STORE_F64] = { "F64", 8 }, [TCE_STORE_F32] = { "F32", 4 }, [TCE_STORE_I64] = { "I64", 8 },
    [TCE_STORE_U64] = { "U64", 8 }, [TCE_STORE_I32] = { "I32", 4 }, [TCE_STORE_U8] = { "U8", 1 },
};

#define N_TYPES ((int32_t)(sizeof TYPES / sizeof TYPES[0]))

const char *tce__type_name(int32_t type)
{
    return type >= 0 && type < N_TYPES ? TYPES[type].name : NULL;
}

size_t tce__type_size(int32_t type)
{
    return type >= 0 && type < N_TYPES ? TYPES[type].size : 0;
}

int32_t tce__type_find(const char *name)
{
    for (int32_t type = 0; type < N_TYPES; type++)
        if (strcmp(TYPES[type].name, name) == 0)
            return type;
    return -1;
}

size_t tce__utf8_length(const unsigned char *s, size_t left)
{
    /*
     * by lead byte: length, and the second byte's range, which excludes overlong forms, surrogates
     * and > U+10FFFF
     */
    static const struct {
        unsigned char from, to, length, second_from, second_to;
    } LEADS[] = {
        { 0x00, 0x7f, 1, 0, 0 },       { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
        { 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
        { 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
    };

    if (left == 0)
        return 0;
    for (size_t k = 0; k < sizeof LEADS / sizeof LEADS[0]; k++) {
        if (s[0] < LEADS[k].from || s[0] > LEADS[k].to)
            continue;
        const size_t length = LEADS[k].length;
        if (length > left)
            return 0;
        if (length > 1 && (s[1] < LEADS[k].second_from || s[1] > LEADS[k].second_to))
            return 0;
        for (size_t i = 2; i < length; i++)
            if ((s[i] & 0xc0) != 0x80)
                return 0;
        return length;
    }
    return 0;
}

tce_status tce__name_check(const char *name, tce_status status)
{
    const unsigned char *s = (const unsigned char *)name;
    const size_t n = strlen(name);

    if (n < 1 || n > TCE__STORE_MAX_NAME)
        return tce_fail(status, "a name has %zu bytes, must have 1 to %d", n, TCE__STORE_MAX_NAME);
    for (size_t i = 0; i < n;) {
        const size_t length = tce__utf8_length(s + i, n - i);
        if (length == 0 || s[i] < 0x20 || s[i] == 0x7f)
            return tce_fail(status, "byte %zu of a name is 0x%02x, names are printable UTF-8", i,
                            s[i]);
        i += length;
    }
    return TCE_OK;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

tce_status tce_store_create(const tce_hooks *hooks, tce_store **out)
{
    tce__arena arena = { NULL, 0 };
    tce_hooks complete;
    tce_hooks unused;
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    (void)tce__arena_take(&arena, 1, sizeof(tce_store));
    status = tce__hooks_read(hooks, &complete);
    if (status == TCE_OK)
        status = tce__block_create(&complete, "tce_store", &arena, &unused);
    if (status != TCE_OK)
        return status;
    tce_store *store = tce__arena_take(&arena, 1, sizeof *store);
    store->hooks = complete;
    *out = store;
    return TCE_OK;
}

void tce_store_free(tce_store *store)
{
    if (!store)
        return;
    const tce_hooks hooks = store->hooks;
    tce__list_free(&hooks, &store->arrays);
    tce__list_free(&hooks, &store->texts);
    tce__block_free(&hooks, store);
}

/* ---- putting --------------------------------------------------------------------------------- */

/* Bytes of an array; TCE_E_SHAPE when they do not fit into size_t. */
static tce_status count_bytes(const char *name, size_t element, int32_t rank, const size_t *shape,
                              size_t *out)
{
    size_t n = element;

    for (int32_t k = 0; k < rank; k++) {
        if (shape[k] != 0 && n > SIZE_MAX / 2 / shape[k])
            return tce_fail(TCE_E_SHAPE,
                            "\"%s\": shape[%d] = %zu makes the array larger than memory", name,
                            (int)k, shape[k]);
        n *= shape[k];
    }
    *out = n;
    return TCE_OK;
}

/* Copies what `like` describes and puts the copy into one of the store's lists. */
static tce_status put_item(tce_store *store, tce__list *list, const tce__item *like)
{
    tce__item *item;
    tce_status status = tce__item_create(&store->hooks, like, &item);
    if (status != TCE_OK)
        return status;
    status = tce__list_put(&store->hooks, list, item);
    if (status != TCE_OK)
        tce__block_free(&store->hooks, item);
    return status;
}

tce_status tce_store_put(tce_store *store, const char *name, int32_t type, int32_t rank,
                         const size_t *shape, const void *data)
{
    tce__item like = {
        .name = name, .data = (unsigned char *)(uintptr_t)data, .type = type, .rank = rank
    };

    tce_status status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__check_pointer("name", name);
    if (status == TCE_OK)
        status = tce__name_check(name, TCE_E_VALUE);
    if (status == TCE_OK)
        status = tce__check_int("rank", rank, 0, TCE_STORE_MAX_RANK);
    if (status != TCE_OK)
        return status;
    if (strcmp(name, TCE__STORE_METADATA) == 0)
        return tce_fail(TCE_E_VALUE, "\"%s\" is reserved in safetensors files; choose another name",
                        name);
    if (tce__type_size(type) == 0)
        return tce_fail(TCE_E_ARGUMENT,
                        "\"%s\": type = %d is none of TCE_STORE_F64 to TCE_STORE_U8", name,
                        (int)type);
    if (rank > 0)
        status = tce__check_pointer("shape", shape);
    if (status == TCE_OK)
        status = count_bytes(name, tce__type_size(type), rank, shape, &like.n_bytes);
    if (status == TCE_OK && like.n_bytes > 0)
        status = tce__check_pointer("data", data);
    if (status != TCE_OK)
        return status;

    for (int32_t k = 0; k < rank; k++)
        like.shape[k] = shape[k];
    return put_item(store, &store->arrays, &like);
}

tce_status tce_store_put_text(tce_store *store, const char *name, const char *text)
{
    tce_status status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__check_pointer("name", name);
    if (status == TCE_OK)
        status = tce__name_check(name, TCE_E_VALUE);
    if (status == TCE_OK)
        status = tce__check_pointer("text", text);
    if (status != TCE_OK)
        return status;
    if (strcmp(name, TCE__STORE_FORMAT_NAME) == 0 || strcmp(name, TCE__STORE_CHECKSUM_NAME) == 0)
        return tce_fail(TCE_E_VALUE,
                        "\"%s\" is written by tce_store_save itself; choose another name", name);

    const unsigned char *s = (const unsigned char *)text;
    const size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        const size_t length = tce__utf8_length(s + i, n - i);
        if (length == 0)
            return tce_fail(TCE_E_VALUE, "\"%s\": byte %zu of the text is 0x%02x, texts are UTF-8",
                            name, i, s[i]);
        i += length;
    }

    const tce__item like = { .name = name, .data = (unsigned char *)(uintptr_t)text, .n_bytes = n };
    return put_item(store, &store->texts, &like);
}

/* ---- getting --------------------------------------------------------------------------------- */

/* What the public struct says of an item. */
static void describe(const tce__item *item, tce_store_array *out)
{
    tce_store_array array = {
        .struct_size = sizeof array,
        .name = item->name,
        .data = item->data,
        .rank = item->rank,
        .type = item->type,
    };

    memcpy(array.shape, item->shape, sizeof array.shape);
    tce__struct_write(out, &array, sizeof array);
}

static tce_status check_out(const tce_store_array *out)
{
    const tce_status status = tce__check_pointer("out", out);
    return status == TCE_OK ? tce__struct_check(out, "tce_store_array") : status;
}

/* The item called name; TCE_E_NOT_FOUND. */
static tce_status find(const tce_store *store, const char *name, const tce__item **out)
{
    bool found;

    tce_status status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__check_pointer("name", name);
    if (status != TCE_OK)
        return status;
    const size_t i = tce__list_search(&store->arrays, name, &found);
    if (!found)
        return tce_fail(TCE_E_NOT_FOUND, "no array \"%.*s\" in the store, which has %zu",
                        TCE__STORE_MAX_NAME, name, store->arrays.n);
    *out = store->arrays.items[i];
    return TCE_OK;
}

tce_status tce_store_get(const tce_store *store, const char *name, tce_store_array *out)
{
    const tce__item *item;
    tce_status status = check_out(out);

    if (status == TCE_OK)
        status = find(store, name, &item);
    if (status != TCE_OK)
        return status;
    describe(item, out);
    return TCE_OK;
}

const char *tce_store_get_text(const tce_store *store, const char *name)
{
    bool found;

    if (!store || !name)
        return NULL;
    if (store->verified && strcmp(name, TCE__STORE_FORMAT_NAME) == 0)
        return TCE__STORE_FORMAT_TEXT;
    const size_t i = tce__list_search(&store->texts, name, &found);
    return found ? (const char *)store->texts.items[i]->data : NULL;
}

tce_status tce_store_read(const tce_store *store, const char *name, int32_t type, size_t n,
                          void *out)
{
    const tce__item *item;
    tce_status status = find(store, name, &item);
    if (status != TCE_OK)
        return status;
    if (tce__type_size(type) == 0)
        return tce_fail(TCE_E_ARGUMENT,
                        "\"%s\": type = %d is none of TCE_STORE_F64 to TCE_STORE_U8", name,
                        (int)type);
    if (n > 0)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;

    const size_t have = item->n_bytes / tce__type_size(item->type);
    if (have != n)
        return tce_fail(TCE_E_SHAPE, "\"%s\" has %zu elements, n = %zu was asked for", name, have,
                        n);

    /* the same type as it is, float and double by conversion, nothing else */
    if (type == item->type) {
        if (n > 0)
            memcpy(out, item->data, item->n_bytes);
    } else if (type == TCE_STORE_F64 && item->type == TCE_STORE_F32) {
        const float *from = (const float *)(const void *)item->data;
        double *to = out;
        for (size_t i = 0; i < n; i++)
            to[i] = (double)from[i];
    } else if (type == TCE_STORE_F32 && item->type == TCE_STORE_F64) {
        const double *from = (const double *)(const void *)item->data;
        float *to = out;
        for (size_t i = 0; i < n; i++)
            to[i] = (float)from[i];
    } else {
        return tce_fail(TCE_E_VALUE, "\"%s\" is %s and does not convert to %s", name,
                        tce__type_name(item->type), tce__type_name(type));
    }
    return TCE_OK;
}

size_t tce_store_n_arrays(const tce_store *store)
{
    return store ? store->arrays.n : 0;
}

tce_status tce_store_at(const tce_store *store, size_t i, tce_store_array *out)
{
    tce_status status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = check_out(out);
    if (status != TCE_OK)
        return status;
    if (i >= store->arrays.n)
        return tce_fail(TCE_E_NOT_FOUND, "i = %zu, the store has %zu arrays", i, store->arrays.n);
    describe(store->arrays.items[i], out);
    return TCE_OK;
}
