/*
 * Fuzz target: hostile bytes for tce_store_parse. A store that comes out of it must be whole: every
 * array readable to its last byte, names in order, and found under their names. test_store.c
 * includes this file and feeds it mutated seeds.
 */
#include <string.h>

#include <tce/store.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t SIZES[] = { 8, 4, 8, 8, 4, 1 };
    tce_store *store;
    tce_store_array array, found;
    char previous[256] = "";

    if (tce_store_parse(data, size, NULL, &store) != TCE_OK) {
        must(store == NULL && tce_error_message()[0] != '\0');
        return 0;
    }
    array = TCE_INIT(tce_store_array);
    found = TCE_INIT(tce_store_array);
    for (size_t i = 0; i < tce_store_n_arrays(store); i++) {
        must(tce_store_at(store, i, &array) == TCE_OK && array.type >= TCE_STORE_F64 &&
             array.type <= TCE_STORE_U8);
        must(strcmp(previous, array.name) < 0 && strlen(array.name) < sizeof previous);
        memcpy(previous, array.name, strlen(array.name) + 1);
        must(tce_store_get(store, array.name, &found) == TCE_OK && found.data == array.data);

        /* every byte is there; the file was at least as long */
        size_t n = SIZES[array.type];
        for (int32_t k = 0; k < array.rank; k++)
            n *= array.shape[k];
        must(n < size);
        size_t sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += ((const unsigned char *)array.data)[k];
        must(sum <= 255 * n);
    }
    tce_store_free(store);
    return 0;
}
