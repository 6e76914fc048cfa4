/*
 * Checks of arguments, and structs that grow from version to version.
 */
#include <inttypes.h>
#include <string.h>

#include "base/internal.h"

size_t tce__first_not_finite(size_t n, const double *x)
{
    /*
     * x - x is 0 for numbers and NaN for NaN and infinity; blocks of a cache line or two vectorise
     */
    enum { BLOCK = 32 };
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        double sum = 0.0;
        for (size_t j = 0; j < BLOCK; j++)
            sum += x[i + j] - x[i + j];
        if (sum != 0.0)
            break;
    }
    for (; i < n; i++)
        if (!isfinite(x[i]))
            return i;
    return n;
}

tce_status tce__check_pointer(const char *name, const void *pointer)
{
    if (!pointer)
        return tce_fail(TCE_E_ARGUMENT, "%s is NULL", name);
    return TCE_OK;
}

tce_status tce__check_finite(const char *name, size_t n, const double *x)
{
    if (n == 0)
        return TCE_OK;
    if (!x)
        return tce_fail(TCE_E_ARGUMENT, "%s is NULL, need %zu numbers", name, n);

    const size_t bad = tce__first_not_finite(n, x);
    if (bad < n)
        return tce_fail(TCE_E_VALUE, "%s[%zu] = %g, must be finite", name, bad, x[bad]);
    return TCE_OK;
}

tce_status tce__check_int(const char *name, int64_t value, int64_t least, int64_t most)
{
    if (value < least || value > most)
        return tce_fail(TCE_E_VALUE, "%s = %" PRId64 ", must be in %" PRId64 " ... %" PRId64, name,
                        value, least, most);
    return TCE_OK;
}

tce_status tce__check_positive(const char *name, double value)
{
    if (!(value > 0.0) || !isfinite(value))
        return tce_fail(TCE_E_VALUE, "%s = %g, must be finite and > 0", name, value);
    return TCE_OK;
}

/* No version has a larger struct; a size beyond it was never set, and says nothing of a tail. */
#define LARGEST_STRUCT 4096

/* Every growing struct begins with its size. */
static size_t size_of_struct(const void *s)
{
    size_t size;
    memcpy(&size, s, sizeof size);
    return size;
}

tce_status tce__check_reserved(const char *what, int32_t value)
{
    if (value == 0)
        return TCE_OK;
    return tce_fail(TCE_E_VERSION, "%s.reserved = %d, must be 0 for this version of libtce", what,
                    (int)value);
}

void tce__struct_init(void *out, size_t struct_size, const void *defaults, size_t known_size)
{
    if (!out || struct_size < sizeof(size_t))
        return;
    memset(out, 0, struct_size);
    memcpy(out, defaults, struct_size < known_size ? struct_size : known_size);
    memcpy(out, &struct_size, sizeof struct_size);
}

/* Options have an init function, other structs start from TCE_INIT. */
static tce_status refuse_unstarted(const char *what, size_t size)
{
    const size_t length = strlen(what);
    const size_t ending = strlen("_options");
    if (length > ending && strcmp(what + length - ending, "_options") == 0)
        return tce_fail(TCE_E_ARGUMENT, "%s.struct_size = %zu, call %s_init first", what, size,
                        what);
    return tce_fail(TCE_E_ARGUMENT, "%s.struct_size = %zu, start it from TCE_INIT(%s)", what, size,
                    what);
}

tce_status tce__struct_check(const void *out, const char *what)
{
    const size_t size = size_of_struct(out);
    return size < sizeof(size_t) || size > LARGEST_STRUCT ? refuse_unstarted(what, size) : TCE_OK;
}

tce_status tce__struct_read(const void *given, const char *what, size_t known_size, void *out)
{
    if (!given)
        return tce_fail(TCE_E_ARGUMENT, "%s is NULL", what);
    const tce_status status = tce__struct_check(given, what);
    if (status != TCE_OK)
        return status;
    const size_t size = size_of_struct(given);

    /* a tail that this version does not know may only say "as before" */
    const unsigned char *bytes = given;
    for (size_t i = known_size; i < size; i++)
        if (bytes[i] != 0)
            return tce_fail(
                TCE_E_VERSION,
                "%s has %zu bytes and sets byte %zu, this libtce %s knows %zu: update the library",
                what, size, i, tce_version_string(), known_size);

    memcpy(out, given, size < known_size ? size : known_size);
    memcpy(out, &known_size, sizeof known_size);
    return TCE_OK;
}

void tce__struct_write(void *out, const void *result, size_t known_size)
{
    const size_t size = size_of_struct(out);
    if (size < sizeof(size_t))
        return;
    memcpy(out, result, size < known_size ? size : known_size);
    memcpy(out, &size, sizeof size);
}
