/*
 * Products and solves whose operands and results are lower triangles. The triangles are halved
 * until they are small,
 *
 *     L = [ L11  0  ]    B = [ B11  0  ]
 *         [ L21 L22 ]        [ B21 B22 ]
 *
 * so that the zero quarter costs nothing: at n = 63 this takes half the time of the BLAS call on
 * the whole square, at n = 256 a third. What a result has above its diagonal is left undefined
 * unless said otherwise.
 */
#include <string.h>

#include "base/internal.h"
#include "linalg/linalg.h"

/* Not halved further: there a BLAS call is at its best (measured with OpenBLAS). */
#define LEAF 32

/* Size of L11: half of n, in whole leaves where there is more than one. */
static size_t half_of(size_t n)
{
    return n <= 2 * LEAF ? LEAF : (n / 2 + LEAF - 1) / LEAF * LEAF;
}

void tce__lower_solve(size_t n, const double *L, size_t ldl, double *B, size_t ldb)
{
    if (n <= LEAF) {
        tce__solve_lower(TCE__LEFT, TCE__NO_TRANS, n, n, 1.0, L, ldl, B, ldb);
        return;
    }
    const size_t a = half_of(n);
    const size_t b = n - a;
    const double *L21 = L + a * ldl;
    double *B21 = B + a * ldb;

    /* B21 <- L22^-1 (B21 - L21 L11^-1 B11) */
    tce__lower_solve(a, L, ldl, B, ldb);
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, b, a, a, -1.0, L21, ldl, B, ldb, 1.0, B21, ldb);
    tce__solve_lower(TCE__LEFT, TCE__NO_TRANS, b, a, 1.0, L21 + a, ldl, B21, ldb);
    tce__lower_solve(b, L21 + a, ldl, B21 + a, ldb);
}

size_t tce__solve_rows_work(size_t n)
{
    return LEAF * (LEAF + n);
}

/* Columns a ... a + b - 1 of X [n, P] <- those times op(D), D [b, b] */
static void multiply_columns(tce__trans td, size_t n, size_t P, size_t b, const double *D,
                             double *X, double *work)
{
    tce__gemm(TCE__NO_TRANS, td, n, b, b, 1.0, X, P, D, b, 0.0, work, b);
    for (size_t i = 0; i < n; i++)
        memcpy(X + i * P, work + i * b, b * sizeof *X);
}

void tce__solve_lower_rows(tce__trans tl, size_t n, size_t P, const double *L, size_t ldl,
                           double *X, double *work)
{
    const size_t n_blocks = (P + LEAF - 1) / LEAF;
    double *D = work;
    double *columns = work + LEAF * LEAF;

    /* X L' = B from the first block on, X L = B from the last one */
    for (size_t k = 0; k < n_blocks; k++) {
        const size_t a = (tl == TCE__TRANS ? k : n_blocks - 1 - k) * LEAF;
        const size_t b = P - a < LEAF ? P - a : LEAF;
        const double *rows = L + a * ldl;
        for (size_t i = 0; i < b; i++)
            memcpy(D + i * b, rows + a + i * ldl, b * sizeof *D);
        tce__clear_upper(b, D, b);
        (void)tce__invert_lower(b, D, b);

        /* what the other blocks have to do with this one */
        if (tl == TCE__TRANS && a > 0)
            tce__gemm(TCE__NO_TRANS, TCE__TRANS, n, b, a, -1.0, X, P, rows, ldl, 1.0, X + a, P);
        multiply_columns(tl, n, P, b, D, X + a, columns);
        if (tl == TCE__NO_TRANS && a > 0)
            tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, n, a, b, -1.0, X + a, P, rows, ldl, 1.0, X, P);
    }
}

void tce__lower_multiply(size_t n, const double *L, size_t ldl, double *B, size_t ldb)
{
    if (n <= LEAF) {
        tce__multiply_lower(TCE__LEFT, TCE__NO_TRANS, n, n, 1.0, L, ldl, B, ldb);
        return;
    }
    const size_t a = half_of(n);
    const size_t b = n - a;
    const double *L21 = L + a * ldl;
    double *B21 = B + a * ldb;

    /* B21 <- L22 B21 + L21 B11 */
    tce__multiply_lower(TCE__LEFT, TCE__NO_TRANS, b, a, 1.0, L21 + a, ldl, B21, ldb);
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, b, a, a, 1.0, L21, ldl, B, ldb, 1.0, B21, ldb);
    tce__lower_multiply(a, L, ldl, B, ldb);
    tce__lower_multiply(b, L21 + a, ldl, B21 + a, ldb);
}

void tce__lower_multiply_transposed(size_t n, const double *L, size_t ldl, double *B, size_t ldb)
{
    if (n <= LEAF) {
        tce__multiply_lower(TCE__LEFT, TCE__TRANS, n, n, 1.0, L, ldl, B, ldb);
        return;
    }
    const size_t a = half_of(n);
    const size_t b = n - a;
    const double *L21 = L + a * ldl;
    double *B21 = B + a * ldb;

    /* B11 <- L11' B11 + L21' B21, then B21 <- L22' B21 */
    tce__lower_multiply_transposed(a, L, ldl, B, ldb);
    tce__gemm(TCE__TRANS, TCE__NO_TRANS, a, a, b, 1.0, L21, ldl, B21, ldb, 1.0, B, ldb);
    tce__multiply_lower(TCE__LEFT, TCE__TRANS, b, a, 1.0, L21 + a, ldl, B21, ldb);
    tce__lower_multiply_transposed(b, L21 + a, ldl, B21 + a, ldb);
}

void tce__lower_solve_transposed(size_t n, const double *L, size_t ldl, double *B, size_t ldb)
{
    if (n <= LEAF) {
        tce__solve_lower(TCE__LEFT, TCE__TRANS, n, n, 1.0, L, ldl, B, ldb);
        return;
    }
    const size_t a = half_of(n);
    const size_t b = n - a;
    const double *L21 = L + a * ldl;
    double *B21 = B + a * ldb;

    /* B11 <- L11^-T (B11 - L21' L22^-T B21) */
    tce__lower_solve_transposed(b, L21 + a, ldl, B21 + a, ldb);
    tce__solve_lower(TCE__LEFT, TCE__TRANS, b, a, 1.0, L21 + a, ldl, B21, ldb);
    tce__gemm(TCE__TRANS, TCE__NO_TRANS, a, a, b, -1.0, L21, ldl, B21, ldb, 1.0, B, ldb);
    tce__lower_solve_transposed(a, L, ldl, B, ldb);
}

void tce__lower_congruence(size_t n, const double *L, size_t ldl, double *Y, size_t ldy)
{
    if (n <= LEAF) {
        tce__multiply_lower(TCE__LEFT, TCE__NO_TRANS, n, n, 1.0, L, ldl, Y, ldy);
        tce__multiply_lower(TCE__RIGHT, TCE__TRANS, n, n, 1.0, L, ldl, Y, ldy);
        return;
    }
    const size_t a = half_of(n);
    const size_t b = n - a;
    const double *L21 = L + a * ldl;
    const double *L22 = L21 + a;
    double *Y21 = Y + a * ldy;

    /* lower blocks of L Y: rows 2 whole, then block 11; block 12 is not needed below */
    tce__multiply_lower(TCE__LEFT, TCE__NO_TRANS, b, n, 1.0, L22, ldl, Y21, ldy);
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, b, n, a, 1.0, L21, ldl, Y, ldy, 1.0, Y21, ldy);
    tce__multiply_lower(TCE__LEFT, TCE__NO_TRANS, a, a, 1.0, L, ldl, Y, ldy);

    /* times L': block 22, then columns 1 */
    tce__multiply_lower(TCE__RIGHT, TCE__TRANS, b, b, 1.0, L22, ldl, Y21 + a, ldy);
    tce__gemm(TCE__NO_TRANS, TCE__TRANS, b, b, a, 1.0, Y21, ldy, L21, ldl, 1.0, Y21 + a, ldy);
    tce__multiply_lower(TCE__RIGHT, TCE__TRANS, n, a, 1.0, L, ldl, Y, ldy);
}
