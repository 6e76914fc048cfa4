/*
 * Factorisations for covariance work: singular vectors of a triangle, and the
 * triangle of a wide matrix. Row-major here; LAPACK sees the transpose.
 */
#include <string.h>

#include <lapacke.h>

#include "base/internal.h"
#include "linalg/linalg.h"

/* LAPACK's block size here is at most 64; queries at create would need a call that may allocate */
#define LAPACK_BLOCK 64

size_t tce__factor_work(size_t n)
{
    /*
     * Householder scalars of either side and off-diagonals, and two blocks of columns for the
     * bidiagonal form; a square for singular vectors, or for a padded copy with four vectors in the
     * tridiagonal form
     */
    return (3 + 2 * LAPACK_BLOCK) * n + n * n;
}

int tce__left_singular(size_t n, const double *L, size_t ldl, double *Q, double *values,
                       double *work)
{
    /*
     * column-major copy of L; its columns become the left singular vectors, which are the rows of Q
     * here
     */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            Q[j * n + i] = j <= i ? L[i * ldl + j] : 0.0;
    const lapack_int size = (lapack_int)n;
    return (int)LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'O', 'N', size, size, Q, size, values, NULL,
                                    1, NULL, 1, work, (lapack_int)tce__factor_work(n));
}

int tce__lower_of_rows(size_t n, size_t m, double *A, size_t lda, double *work)
{
    /* the transpose A' = Q R, so A = R' Q' and A A' = R' R */
    double *tau = work;
    const lapack_int info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, (lapack_int)m, (lapack_int)n, A,
                                                (lapack_int)lda, tau, work + n,
                                                (lapack_int)(LAPACK_BLOCK * n));
    if (info != 0)
        return (int)info;

    /* positive diagonal: the signs of R' columns are free */
    for (size_t j = 0; j < n; j++)
        if (A[j * lda + j] < 0.0)
            for (size_t i = j; i < n; i++)
                A[i * lda + j] = -A[i * lda + j];
    tce__clear_upper(n, A, lda);
    return 0;
}
