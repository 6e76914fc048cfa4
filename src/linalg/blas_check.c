/*
 * Whether the BLAS multiplies correctly: C = op(A) op(B) beside plain loops, for sizes below, at
 * and above those of its kernels. There have been builds whose dgemm was wrong on one kind of
 * processor alone, silently.
 *
 * The entries are small integers, so that every sum is exact in float too, in any order, with or
 * without fused multiply-add: the results have to be equal.
 */
#include <tce/pool.h>

#include "linalg/blas_check.h"

enum { LARGEST = 48 };

static const size_t SIZES[] = { 1, 2, 3, 4, 5, 8, 13, 16, 33, LARGEST };

/* Integers between -6 and 6 that repeat with no power of two. */
static double entry(size_t i)
{
    return (double)((i * 7 + 3) % 13) - 6.0;
}

/* The factors, as numbers that float has too. */
typedef struct factors {
    double A[LARGEST * LARGEST], B[LARGEST * LARGEST];
} factors;

static void make_factors(factors *f)
{
    for (size_t i = 0; i < LARGEST * LARGEST; i++) {
        f->A[i] = entry(i);
        f->B[i] = entry(i + 5);
    }
}

/* Entry (i, j) of op(A) op(B), A and B [n, n]. */
static double expected(const factors *f, tce__trans ta, tce__trans tb, size_t n, size_t i, size_t j)
{
    const double *a = f->A + (ta == TCE__TRANS ? i : i * n);
    const double *b = f->B + (tb == TCE__TRANS ? j * n : j);
    const size_t step_a = ta == TCE__TRANS ? n : 1;
    const size_t step_b = tb == TCE__TRANS ? 1 : n;
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += a[k * step_a] * b[k * step_b];
    return sum;
}

static tce_status fail_product(const char *name, tce__trans ta, tce__trans tb, size_t n, size_t i,
                               double got, double want)
{
    return tce_fail(TCE_E_LIBRARY,
                    "the BLAS multiplies wrongly: %s of two %zu x %zu matrices%s%s has %g at "
                    "[%zu,%zu] instead of %g. Nothing that is computed with it can be trusted: "
                    "use another BLAS, or choose other kernels of OpenBLAS with OPENBLAS_CORETYPE",
                    name, n, n, ta == TCE__TRANS ? ", the first transposed" : "",
                    tb == TCE__TRANS ? ", the second transposed" : "", got, i / n, i % n, want);
}

static tce_status check_double(tce__gemm_function gemm, const factors *f, tce__trans ta,
                               tce__trans tb, size_t n)
{
    double C[LARGEST * LARGEST] = { 0 };
    gemm(ta, tb, n, n, n, 1.0, f->A, n, f->B, n, 0.0, C, n);
    for (size_t i = 0; i < n * n; i++) {
        const double want = expected(f, ta, tb, n, i / n, i % n);
        if (!(C[i] == want))
            return fail_product("dgemm", ta, tb, n, i, C[i], want);
    }
    return TCE_OK;
}

static tce_status check_float(tce__gemm_float_function gemm, const factors *f, tce__trans ta,
                              tce__trans tb, size_t n)
{
    float A[LARGEST * LARGEST], B[LARGEST * LARGEST], C[LARGEST * LARGEST] = { 0 };
    for (size_t i = 0; i < LARGEST * LARGEST; i++) {
        A[i] = (float)f->A[i];
        B[i] = (float)f->B[i];
    }
    gemm(ta, tb, n, n, n, 1.0f, A, n, B, n, 0.0f, C, n);
    for (size_t i = 0; i < n * n; i++) {
        const double want = expected(f, ta, tb, n, i / n, i % n);
        if (!((double)C[i] == want))
            return fail_product("sgemm", ta, tb, n, i, (double)C[i], want);
    }
    return TCE_OK;
}

tce_status tce__products_check(tce__gemm_function gemm, tce__gemm_float_function gemm_float)
{
    tce_status status = TCE_OK;
    factors f;
    make_factors(&f);
    for (size_t s = 0; status == TCE_OK && s < sizeof SIZES / sizeof SIZES[0]; s++)
        for (int t = 0; status == TCE_OK && t < 4; t++) {
            const tce__trans ta = t & 1 ? TCE__TRANS : TCE__NO_TRANS;
            const tce__trans tb = t & 2 ? TCE__TRANS : TCE__NO_TRANS;
            status = check_double(gemm, &f, ta, tb, SIZES[s]);
            if (status == TCE_OK)
                status = check_float(gemm_float, &f, ta, tb, SIZES[s]);
        }
    return status;
}

tce_status tce_blas_check(void)
{
    return tce__products_check(tce__gemm, tce__gemm_float);
}
