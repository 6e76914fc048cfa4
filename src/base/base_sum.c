/*
 * Sums of parts in a fixed order: out_i = (((p_0i + p_1i) + p_2i) + …), whatever thread computed
 * which part.
 *
 * A block of out stays in the first-level cache while the parts pass by.
 */
#include <string.h>

#include "base/internal.h"

enum { BLOCK = 512 };

TCE__VECTOR
void tce__sum_parts(size_t n_parts, size_t n, const double *parts, double *out)
{
    if (n_parts == 0)
        memset(out, 0, n * sizeof *out);
    for (size_t begin = 0; n_parts > 0 && begin < n; begin += BLOCK) {
        const size_t size = n - begin < BLOCK ? n - begin : BLOCK;
        double *restrict sum = out + begin;
        if (out != parts)
            memcpy(sum, parts + begin, size * sizeof *sum);
        for (size_t p = 1; p < n_parts; p++) {
            const double *restrict part = parts + p * n + begin;
            for (size_t i = 0; i < size; i++)
                sum[i] += part[i];
        }
    }
}

TCE__VECTOR
void tce__sum_parts_float(size_t n_parts, size_t n, const float *parts, float *out)
{
    if (n_parts == 0)
        memset(out, 0, n * sizeof *out);
    for (size_t begin = 0; n_parts > 0 && begin < n; begin += BLOCK) {
        const size_t size = n - begin < BLOCK ? n - begin : BLOCK;
        float *restrict sum = out + begin;
        if (out != parts)
            memcpy(sum, parts + begin, size * sizeof *sum);
        for (size_t p = 1; p < n_parts; p++) {
            const float *restrict part = parts + p * n + begin;
            for (size_t i = 0; i < size; i++)
                sum[i] += part[i];
        }
    }
}
