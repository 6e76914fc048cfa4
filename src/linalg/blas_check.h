/*
 * tce_blas_check with any two products in the place of the BLAS's.
 */
#ifndef TCE_LINALG_BLAS_CHECK_H
#define TCE_LINALG_BLAS_CHECK_H

#include <tce/status.h>

#include "linalg/linalg.h"

typedef void (*tce__gemm_function)(tce__trans ta, tce__trans tb, size_t m, size_t n, size_t k,
                                   double alpha, const double *A, size_t lda, const double *B,
                                   size_t ldb, double beta, double *C, size_t ldc);
typedef void (*tce__gemm_float_function)(tce__trans ta, tce__trans tb, size_t m, size_t n, size_t k,
                                         float alpha, const float *A, size_t lda, const float *B,
                                         size_t ldb, float beta, float *C, size_t ldc);

/* TCE_OK, or TCE_E_LIBRARY with the first product that is wrong. */
tce_status tce__products_check(tce__gemm_function gemm, tce__gemm_float_function gemm_float);

#endif
