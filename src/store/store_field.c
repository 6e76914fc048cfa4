/*
 * Fields of a handle in a store: names with a prefix, and checks of what was found.
 */
#include "store/field.h"

#include <stdio.h>
#include <string.h>

#define SHAPE_TEXT_SIZE 64

tce_status tce__field_name(const char *prefix, const char *name, char *out)
{
    if (!prefix)
        return tce_fail(TCE_E_ARGUMENT, "prefix is NULL");
    const int length = snprintf(out, TCE__FIELD_NAME_SIZE, "%s.%s", prefix, name);
    if (length < 0 || length >= TCE__FIELD_NAME_SIZE)
        return tce_fail(TCE_E_VALUE,
                        "prefix has %zu characters, too long for a name of %d with .%s",
                        strlen(prefix), TCE__FIELD_NAME_SIZE - 1, name);
    return TCE_OK;
}

/* columns 0: a vector */
tce_status tce__field_put(tce_store *store, const char *prefix, const char *name, int32_t type,
                          size_t rows, size_t columns, const void *data)
{
    char full[TCE__FIELD_NAME_SIZE];
    const size_t shape[2] = { rows, columns };
    const tce_status status = tce__field_name(prefix, name, full);
    if (status != TCE_OK)
        return status;
    return tce_store_put(store, full, type, columns > 0 ? 2 : 1, shape, data);
}

/* element i of a float or double array that need not be aligned */
static double element(const tce_store_array *array, size_t i)
{
    if (array->type == TCE_STORE_F32) {
        float x;
        memcpy(&x, (const unsigned char *)array->data + i * sizeof x, sizeof x);
        return x;
    }
    double x;
    memcpy(&x, (const unsigned char *)array->data + i * sizeof x, sizeof x);
    return x;
}

/* "[64, 9]"; beyond two sizes dots. Returns out. */
static const char *shape_text(int32_t rank, const size_t *shape, char out[SHAPE_TEXT_SIZE])
{
    size_t used = 0;
    for (int32_t i = 0; i < rank && i < 2; i++)
        used += (size_t)snprintf(out + used, SHAPE_TEXT_SIZE - used, "%s%zu", i ? ", " : "[",
                                 shape[i]);
    snprintf(out + used, SHAPE_TEXT_SIZE - used, "%s]", rank == 0 ? "[" : rank > 2 ? ", ..." : "");
    return out;
}

static tce_status fail_shape(const char *name, const tce_store_array *array, int32_t rank,
                             size_t rows, size_t columns)
{
    const size_t shape[2] = { rows, columns };
    char is[SHAPE_TEXT_SIZE];
    char must_be[SHAPE_TEXT_SIZE];
    return tce_fail(TCE_E_SHAPE, "%s has shape %s, must be %s", name,
                    shape_text(array->rank, array->shape, is), shape_text(rank, shape, must_be));
}

tce_status tce__field_check(const tce_store *store, const char *prefix, const char *name,
                            size_t rows, size_t columns, double least, double most)
{
    char full[TCE__FIELD_NAME_SIZE];
    tce_store_array array = TCE_INIT(tce_store_array);
    tce_status status = tce__field_name(prefix, name, full);
    if (status == TCE_OK)
        status = tce_store_get(store, full, &array);
    if (status != TCE_OK)
        return status;

    /* kind and shape */
    const int32_t rank = columns > 0 ? 2 : 1;
    if (array.type != TCE_STORE_F32 && array.type != TCE_STORE_F64)
        return tce_fail(TCE_E_VALUE, "%s is neither float nor double", full);
    if (array.rank != rank || array.shape[0] != rows || (rank == 2 && array.shape[1] != columns))
        return fail_shape(full, &array, rank, rows, columns);

    /* numbers */
    const size_t n = rows * (columns > 0 ? columns : 1);
    for (size_t i = 0; i < n; i++) {
        const double x = element(&array, i);
        if (!(x >= least && x <= most))
            return tce_fail(TCE_E_VALUE, "%s[%zu] = %g, must be in %g ... %g", full, i, x, least,
                            most);
    }
    return TCE_OK;
}

tce_status tce__field_read(const tce_store *store, const char *prefix, const char *name,
                           int32_t type, size_t n, void *out)
{
    char full[TCE__FIELD_NAME_SIZE];
    const tce_status status = tce__field_name(prefix, name, full);
    if (status != TCE_OK)
        return status;
    return tce_store_read(store, full, type, n, out);
}
