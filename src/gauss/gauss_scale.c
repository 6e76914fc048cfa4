/*
 * Scales: checks, log-determinant, and the divergence of N(0, C C') from N(0, I) in a form that
 * does not cancel,
 *
 *     1/2 (|C|_F^2 - P) - sum_i log C_ii = 1/2 sum_i (d_i - log(1 + d_i)) + 1/2 sum_{i>j} C_ij^2
 *     d_i = C_ii^2 - 1
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"

/*
 * Below this |d| the series of d - log(1 + d) is used: 12 terms leave 0.05^12 / 14, below the last
 * place.
 */
#define SERIES_LIMIT 0.05
#define SERIES_TERMS 12

static tce_status bad_entry(tce_status status, const char *name, size_t n_cov, size_t e, size_t i,
                            size_t j, double value)
{
    const char *limit = status == TCE_E_NOT_PD ? "must be > 0" : "must be finite";
    if (n_cov == 1)
        return tce_fail(status, "%s[%zu,%zu] = %g, %s", name, i, j, value, limit);
    return tce_fail(status, "%s[%zu,%zu,%zu] = %g, %s", name, e, i, j, value, limit);
}

tce_status tce__check_factors(const char *name, size_t n_cov, size_t dim, int diagonal_only,
                              const double *L)
{
    const tce_status status = tce__check_pointer(name, L);
    if (status != TCE_OK)
        return status;

    for (size_t e = 0; e < n_cov; e++) {
        for (size_t i = 0; i < dim; i++) {
            const double *row = L + (e * dim + i) * dim;
            const size_t first = diagonal_only ? i : 0;
            const size_t bad = first + tce__first_not_finite(i + 1 - first, row + first);
            if (bad <= i)
                return bad_entry(TCE_E_VALUE, name, n_cov, e, i, bad, row[bad]);
            if (!(row[i] > 0.0))
                return bad_entry(TCE_E_NOT_PD, name, n_cov, e, i, i, row[i]);
        }
    }
    return TCE_OK;
}

tce_status tce__check_deviations(const char *name, size_t n_cov, size_t dim, const double *std)
{
    const tce_status status = tce__check_pointer(name, std);
    if (status != TCE_OK)
        return status;

    for (size_t e = 0; e < n_cov; e++) {
        for (size_t i = 0; i < dim; i++) {
            const double value = std[e * dim + i];
            if (value > 0.0 && isfinite(value))
                continue;
            const tce_status bad = isfinite(value) ? TCE_E_NOT_PD : TCE_E_VALUE;
            const char *limit = bad == TCE_E_NOT_PD ? "must be > 0" : "must be finite";
            if (n_cov == 1)
                return tce_fail(bad, "%s[%zu] = %g, %s", name, i, value, limit);
            return tce_fail(bad, "%s[%zu,%zu] = %g, %s", name, e, i, value, limit);
        }
    }
    return TCE_OK;
}

double tce__excess(double d)
{
    if (!(fabs(d) < SERIES_LIMIT))
        return d - log1p(d);

    /* d^2 (1/2 - d/3 + d^2/4 - ...), from the last term */
    double sum = 0.0;
    for (int k = SERIES_TERMS + 1; k >= 2; k--)
        sum = 1.0 / k - d * sum;
    return d * d * sum;
}

double tce__excess_lower(size_t dim, const double *C, size_t ldc)
{
    double sum = 0.0;
    for (size_t i = 0; i < dim; i++) {
        const double *row = C + i * ldc;
        double off = 0.0;
        for (size_t j = 0; j < i; j++)
            off += row[j] * row[j];

        /*
         * C_ii^2 - 1 from C_ii - 1, which is exact near 1; far below 1 the logarithm wants C_ii
         * itself
         */
        const double c = row[i] - 1.0;
        const double d = c * (2.0 + c);
        sum += off + (row[i] > 0.5 ? tce__excess(d) : d - 2.0 * log(row[i]));
    }
    return 0.5 * sum;
}

double tce__excess_diagonal(size_t dim, const double *std, const double *other_std)
{
    double sum = 0.0;
    for (size_t i = 0; i < dim; i++) {
        /* as above, with C_ii - 1 from the difference */
        const double ratio = std[i] / other_std[i];
        const double c = (std[i] - other_std[i]) / other_std[i];
        const double d = c * (2.0 + c);
        sum += ratio > 0.5 ? tce__excess(d) : d - 2.0 * log(ratio);
    }
    return 0.5 * sum;
}

double tce__log_diagonal(size_t dim, const double *L)
{
    double sum = 0.0;
    for (size_t i = 0; i < dim; i++)
        sum += log(L[i * dim + i]);
    return sum;
}

void tce__copy_lower(size_t dim, const double *L, double *out)
{
    for (size_t i = 0; i < dim; i++) {
        memcpy(out + i * dim, L + i * dim, (i + 1) * sizeof *out);
        memset(out + i * dim + i + 1, 0, (dim - i - 1) * sizeof *out);
    }
}
