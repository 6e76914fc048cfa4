/*
 * linalg: the only caller of CBLAS and LAPACKE.
 *
 * Matrices are row-major with a leading dimension (row stride). A row-major lower triangle is a
 * column-major upper one, so LAPACK's column-major _work entry points serve without copies or
 * allocation. Nothing here allocates or checks shapes.
 */
#ifndef TCE_LINALG_H
#define TCE_LINALG_H

#include <stddef.h>

typedef enum { TCE__NO_TRANS = 0, TCE__TRANS = 1 } tce__trans;
typedef enum { TCE__LEFT = 0, TCE__RIGHT = 1 } tce__side;

/* C [m, n] = alpha op(A) op(B) + beta C, inner size k */
void tce__gemm(tce__trans ta, tce__trans tb, size_t m, size_t n, size_t k, double alpha,
               const double *A, size_t lda, const double *B, size_t ldb, double beta, double *C,
               size_t ldc);
void tce__gemm_float(tce__trans ta, tce__trans tb, size_t m, size_t n, size_t k, float alpha,
                     const float *A, size_t lda, const float *B, size_t ldb, float beta, float *C,
                     size_t ldc);

/* y = alpha op(A) x + beta y, A [m, n] */
void tce__gemv(tce__trans ta, size_t m, size_t n, double alpha, const double *A, size_t lda,
               const double *x, double beta, double *y);

double tce__dot(size_t n, const double *x, const double *y);
void tce__axpy(size_t n, double alpha, const double *x, double *y);
void tce__scale(size_t n, double alpha, double *x);

/*
 * lower triangle of C [n, n] = alpha A A' + beta C (NO_TRANS, A [n, k]) or alpha A' A + beta C
 * (TRANS, A [k, n])
 */
void tce__syrk_lower(tce__trans ta, size_t n, size_t k, double alpha, const double *A, size_t lda,
                     double beta, double *C, size_t ldc);

/* copies the lower triangle onto the upper one / sets the upper one to 0 */
void tce__mirror_lower(size_t n, double *A, size_t lda);
void tce__clear_upper(size_t n, double *A, size_t lda);

/* B [m, n] = alpha op(L)^-1 B (LEFT, L [m, m]) or alpha B op(L)^-1 (RIGHT, L [n, n]); L lower */
void tce__solve_lower(tce__side side, tce__trans tl, size_t m, size_t n, double alpha,
                      const double *L, size_t ldl, double *B, size_t ldb);
/* B [m, n] = alpha op(L) B (LEFT) or alpha B op(L) (RIGHT) */
void tce__multiply_lower(tce__side side, tce__trans tl, size_t m, size_t n, double alpha,
                         const double *L, size_t ldl, double *B, size_t ldb);
/*
 * The same for many rows, X [n, P] <- X op(L)^-1, with the blocks on the diagonal inverted and the
 * rest left to gemm: OpenBLAS's solver has no kernels for AVX-512 and takes twice as long there,
 * and the same elsewhere. work: tce__solve_rows_work(n).
 */
size_t tce__solve_rows_work(size_t n);
void tce__solve_lower_rows(tce__trans tl, size_t n, size_t P, const double *L, size_t ldl,
                           double *X, double *work);
/* x = op(L)^-1 x */
void tce__solve_lower_vector(tce__trans tl, size_t n, const double *L, size_t ldl, double *x);

/*
 * A = L L' from the lower triangle, in place; the strict upper triangle is not touched. 0, or 1 +
 * the row whose pivot is not > 0.
 */
int tce__cholesky(size_t n, double *A, size_t lda);
/* L <- L^-1, in place. 0, or 1 + the row with a zero on the diagonal. */
int tce__invert_lower(size_t n, double *L, size_t ldl);

/*
 * Gradient through A = L L': given L and d_L (lower), writes the symmetric d_A [n, n] (full matrix)
 * such that dl = sum d_A_ij dA_ij over all i, j for symmetric dA: d_A = L^-T sym(Phi(L' d_L)) L^-1,
 * Phi = lower triangle with halved diagonal. out may not be d_L.
 */
void tce__cholesky_backward(size_t n, const double *L, size_t ldl, const double *d_L, size_t ldd,
                            double *out, size_t ldo);

/*
 * Lower triangles only, at about half the cost of the whole square: L lower, B lower with zeros
 * above; the result is the lower triangle of the product, and above it B is undefined (zero for the
 * first two).
 */
/* B <- L^-1 B; B <- L B */
void tce__lower_solve(size_t n, const double *L, size_t ldl, double *B, size_t ldb);
void tce__lower_multiply(size_t n, const double *L, size_t ldl, double *B, size_t ldb);
/* B <- tril(L' B); B <- tril(L^-T B), which reads no more than the lower triangle of any B */
void tce__lower_multiply_transposed(size_t n, const double *L, size_t ldl, double *B, size_t ldb);
void tce__lower_solve_transposed(size_t n, const double *L, size_t ldl, double *B, size_t ldb);
/* Y <- tril(L Y L'), Y full and symmetric */
void tce__lower_congruence(size_t n, const double *L, size_t ldl, double *Y, size_t ldy);

/* doubles of scratch for the three below */
size_t tce__factor_work(size_t n);
/*
 * symmetric A (lower triangle, destroyed) = H T H' with H orthogonal: diagonal [n] and off_diagonal
 * [n-1] of T. 0 on success.
 */
int tce__tridiagonal(size_t n, double *A, size_t lda, double *diagonal, double *off_diagonal,
                     double *work);
/*
 * L L' = sum_i values_i^2 q_i q_i' from the lower triangle of L, without squaring it: q_i in the
 * ROWS of Q [n, n], values descending. 0 on success.
 */
int tce__left_singular(size_t n, const double *L, size_t ldl, double *Q, double *values,
                       double *work);
/*
 * A [n, m], m >= n: its first n columns <- lower L with L L' = A A', diagonal >= 0, zeros above; A
 * A' is not formed. 0 on success.
 */
int tce__lower_of_rows(size_t n, size_t m, double *A, size_t lda, double *work);

/* scratch for tce__orthogonal */
size_t tce__orthogonal_work(size_t rows, size_t columns);
/*
 * A [rows, columns], rows >= columns, replaced by Q of its QR factorisation with Q's columns times
 * the sign of R's diagonal. 0 on success.
 */
int tce__orthogonal(size_t rows, size_t columns, double *A, double *work);

#endif
