/*
 * Sums of parts in a fixed order: out_i = (((p_0i + p_1i) + p_2i) + …), whatever thread computed which part.
 */
#include <string.h>

#include "base/internal.h"

TCE__VECTOR
void tce__sum_parts(size_t n_parts, size_t n, const double *parts, double *out)
{
    if (n_parts == 0) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    if (out != parts)
        memcpy(out, parts, n * sizeof *out);
    for (size_t p = 1; p < n_parts; p++) {
        const double *part = parts + p * n;
        for (size_t i = 0; i < n; i++)
            out[i] += part[i];
    }
}

TCE__VECTOR
void tce__sum_parts_float(size_t n_parts, size_t n, const float *parts, float *out)
{
    if (n_parts == 0) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    if (out != parts)
        memcpy(out, parts, n * sizeof *out);
    for (size_t p = 1; p < n_parts; p++) {
        const float *part = parts + p * n;
        for (size_t i = 0; i < n; i++)
            out[i] += part[i];
    }
}
