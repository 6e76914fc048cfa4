/*
 * The BLAS that libtce computes with, and which kernels OpenBLAS has chosen.
 *
 * It chooses them by the processor when it is loaded. For a processor that is newer than itself it
 * takes those of 2004, at a third of the speed or less.
 */
#ifndef TRAINER_BLAS_H
#define TRAINER_BLAS_H

#include <tce/tce.h>

/*
 * What every command does that computes: one thread, and no step further with a BLAS whose products
 * are wrong. TCE_E_LIBRARY.
 */
tce_status blas_begin(void);

/*
 * OpenBLAS's name of the kernels it computes with, which decide the last bits of every product;
 * NULL when the BLAS of this process is another one.
 */
const char *blas_kernels(void);

/*
 * What the environment variable OPENBLAS_CORETYPE should be set to before the program starts; NULL
 * when the choice was good, was made by that variable, or the BLAS is not OpenBLAS.
 */
const char *better_kernels(void);

/*
 * The same for OpenBLAS's name of the kernels it chose, on a processor that has these instructions
 * or lacks them.
 */
const char *better_kernels_than(const char *chosen, int has_avx2, int has_avx512);

#endif
