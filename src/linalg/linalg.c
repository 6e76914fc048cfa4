/*
 * Dense linear algebra on CBLAS and LAPACKE, as OpenBLAS and others have them. Row-major here;
 * LAPACK sees the transpose, so "lower" is 'U' there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "base/internal.h"
#include "linalg/linalg.h"

/* CBLAS's enums by value: their types have other names in other headers */
static int trans_of(tce__trans t)
{
    return t == TCE__TRANS ? CblasTrans : CblasNoTrans;
}

static int side_of(tce__side s)
{
    return s == TCE__RIGHT ? CblasRight : CblasLeft;
}

void tce_blas_set_threads(int32_t n_threads)
{
#if defined(OPENBLAS_VERSION)
    if (n_threads > 0)
        openblas_set_num_threads(n_threads);
#else
    (void)n_threads;
#endif
}

void tce__gemm(tce__trans ta, tce__trans tb, size_t m, size_t n, size_t k, double alpha,
               const double *A, size_t lda, const double *B, size_t ldb, double beta, double *C,
               size_t ldc)
{
    cblas_dgemm(CblasRowMajor, trans_of(ta), trans_of(tb), (int)m, (int)n, (int)k, alpha, A,
                (int)lda, B, (int)ldb, beta, C, (int)ldc);
}

void tce__gemm_float(tce__trans ta, tce__trans tb, size_t m, size_t n, size_t k, float alpha,
                     const float *A, size_t lda, const float *B, size_t ldb, float beta, float *C,
                     size_t ldc)
{
    cblas_sgemm(CblasRowMajor, trans_of(ta), trans_of(tb), (int)m, (int)n, (int)k, alpha, A,
                (int)lda, B, (int)ldb, beta, C, (int)ldc);
}

void tce__gemv(tce__trans ta, size_t m, size_t n, double alpha, const double *A, size_t lda,
               const double *x, double beta, double *y)
{
    cblas_dgemv(CblasRowMajor, trans_of(ta), (int)m, (int)n, alpha, A, (int)lda, x, 1, beta, y, 1);
}

double tce__dot(size_t n, const double *x, const double *y)
{
    return cblas_ddot((int)n, x, 1, y, 1);
}

void tce__axpy(size_t n, double alpha, const double *x, double *y)
{
    cblas_daxpy((int)n, alpha, x, 1, y, 1);
}

void tce__scale(size_t n, double alpha, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= alpha;
}

void tce__syrk_lower(tce__trans ta, size_t n, size_t k, double alpha, const double *A, size_t lda,
                     double beta, double *C, size_t ldc)
{
    cblas_dsyrk(CblasRowMajor, CblasLower, trans_of(ta), (int)n, (int)k, alpha, A, (int)lda, beta,
                C, (int)ldc);
}

void tce__mirror_lower(size_t n, double *A, size_t lda)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            A[j * lda + i] = A[i * lda + j];
}

void tce__clear_upper(size_t n, double *A, size_t lda)
{
    for (size_t i = 0; i + 1 < n; i++)
        memset(A + i * lda + i + 1, 0, (n - i - 1) * sizeof *A);
}

void tce__solve_lower(tce__side side, tce__trans tl, size_t m, size_t n, double alpha,
                      const double *L, size_t ldl, double *B, size_t ldb)
{
    cblas_dtrsm(CblasRowMajor, side_of(side), CblasLower, trans_of(tl), CblasNonUnit, (int)m,
                (int)n, alpha, L, (int)ldl, B, (int)ldb);
}

void tce__multiply_lower(tce__side side, tce__trans tl, size_t m, size_t n, double alpha,
                         const double *L, size_t ldl, double *B, size_t ldb)
{
    cblas_dtrmm(CblasRowMajor, side_of(side), CblasLower, trans_of(tl), CblasNonUnit, (int)m,
                (int)n, alpha, L, (int)ldl, B, (int)ldb);
}

void tce__solve_lower_vector(tce__trans tl, size_t n, const double *L, size_t ldl, double *x)
{
    cblas_dtrsv(CblasRowMajor, CblasLower, trans_of(tl), CblasNonUnit, (int)n, L, (int)ldl, x, 1);
}

int tce__cholesky(size_t n, double *A, size_t lda)
{
    return (int)LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, A, (lapack_int)lda);
}

int tce__invert_lower(size_t n, double *L, size_t ldl)
{
    return (int)LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'U', 'N', (lapack_int)n, L, (lapack_int)ldl);
}

void tce__cholesky_backward(size_t n, const double *L, size_t ldl, const double *d_L, size_t ldd,
                            double *out, size_t ldo)
{
    /* Phi(L' d_L): d_L is lower, so L' d_L is a triangular product on a full copy */
    for (size_t i = 0; i < n; i++) {
        memcpy(out + i * ldo, d_L + i * ldd, (i + 1) * sizeof *out);
        memset(out + i * ldo + i + 1, 0, (n - i - 1) * sizeof *out);
    }
    tce__multiply_lower(TCE__LEFT, TCE__TRANS, n, n, 1.0, L, ldl, out, ldo);

    /* symmetric with half of Phi on each side: (Phi + Phi')/2, Phi's diagonal halved */
    for (size_t i = 0; i < n; i++) {
        out[i * ldo + i] *= 0.5;
        for (size_t j = 0; j < i; j++) {
            out[i * ldo + j] *= 0.5;
            out[j * ldo + i] = out[i * ldo + j];
        }
    }

    /* L^-T . L^-1 */
    tce__solve_lower(TCE__LEFT, TCE__TRANS, n, n, 1.0, L, ldl, out, ldo);
    tce__solve_lower(TCE__RIGHT, TCE__NO_TRANS, n, n, 1.0, L, ldl, out, ldo);
}

/* LAPACK's block size here is at most 64; queries at create would need a call that may allocate */
#define LAPACK_BLOCK 64

size_t tce__orthogonal_work(size_t rows, size_t columns)
{
    /* transposed copy, Householder scalars, signs, block workspace */
    return rows * columns + 2 * columns + LAPACK_BLOCK * (rows > columns ? rows : columns);
}

int tce__orthogonal(size_t rows, size_t columns, double *A, double *work)
{
    const lapack_int m = (lapack_int)rows;
    const lapack_int n = (lapack_int)columns;
    double *Q = work; /* column-major copy of A */
    double *tau = Q + rows * columns;
    double *sign = tau + columns;
    double *block = sign + columns;
    const lapack_int n_block = (lapack_int)(LAPACK_BLOCK * columns);

    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            Q[j * rows + i] = A[i * columns + j];

    lapack_int info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, m, n, Q, m, tau, block, n_block);
    if (info != 0)
        return (int)info;
    for (size_t j = 0; j < columns; j++)
        sign[j] = Q[j * rows + j] < 0.0 ? -1.0 : 1.0;
    info = LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, m, n, n, Q, m, tau, block, n_block);
    if (info != 0)
        return (int)info;

    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            A[i * columns + j] = sign[j] * Q[j * rows + i];
    return 0;
}
