/*
 * The checksum of a store: XXH3 (128 bits, canonical hexadecimal digits) over what the store holds,
 * not over how the header spells it, so that a file survives being rewritten by another safetensors
 * tool that keeps its metadata.
 *
 * Hashed, with numbers as 8 little-endian bytes and [x] = length of x, then x:
 *     [format]
 *     number of texts,  for each in the order of the names:
 *         [name] [text]
 *     number of arrays, for each in the order of the names:
 *         [name] [type name] rank shape[0] … shape[rank-1] data
 * Neither tce.format nor tce.checksum counts as a text here.
 */
#include "store/internal.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void add_number(XXH3_state_t *state, uint64_t number)
{
    (void)XXH3_128bits_update(state, &number, sizeof number);
}

static void add_bytes(XXH3_state_t *state, const void *bytes, size_t n)
{
    add_number(state, n);
    (void)XXH3_128bits_update(state, bytes, n);
}

void tce__store_checksum(const tce_store *store, char out[TCE__STORE_DIGITS + 1])
{
    static const char DIGITS[] = "0123456789abcdef";
    XXH3_state_t state;

    /* the texts */
    (void)XXH3_128bits_reset(&state);
    add_bytes(&state, TCE__STORE_FORMAT_TEXT, strlen(TCE__STORE_FORMAT_TEXT));
    add_number(&state, store->texts.n);
    for (size_t i = 0; i < store->texts.n; i++) {
        const tce__item *text = store->texts.items[i];
        add_bytes(&state, text->name, strlen(text->name));
        add_bytes(&state, text->data, text->n_bytes);
    }

    /* the arrays */
    add_number(&state, store->arrays.n);
    for (size_t i = 0; i < store->arrays.n; i++) {
        const tce__item *array = store->arrays.items[i];
        add_bytes(&state, array->name, strlen(array->name));
        add_bytes(&state, tce__type_name(array->type), strlen(tce__type_name(array->type)));
        add_number(&state, (uint64_t)array->rank);
        for (int32_t k = 0; k < array->rank; k++)
            add_number(&state, array->shape[k]);
        (void)XXH3_128bits_update(&state, array->data, array->n_bytes);
    }

    /* most significant byte first, as xxhsum prints it */
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
    for (size_t i = 0; i < sizeof canonical.digest; i++) {
        out[2 * i] = DIGITS[canonical.digest[i] >> 4];
        out[2 * i + 1] = DIGITS[canonical.digest[i] & 15];
    }
    out[TCE__STORE_DIGITS] = '\0';
}
