/*
 * Which kernels OpenBLAS computes with. The program is not linked with OpenBLAS: libtce is, so its
 * function is looked up among the symbols that this file can see.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tools/blas.h"

tce_status blas_begin(void)
{
    tce_blas_set_threads(1);
    return tce_blas_check();
}

const char *better_kernels_than(const char *chosen, int has_avx2, int has_avx512)
{
    /* what OpenBLAS falls back to, and its kernels for processors that had no AVX2 */
    static const char *const OLD[] = { "Prescott", "Core2",       "Penryn",    "Dunnington",
                                       "Nehalem",  "Sandybridge", "Barcelona", "Bulldozer" };
    for (size_t i = 0; i < sizeof OLD / sizeof OLD[0]; i++)
        if (strcmp(chosen, OLD[i]) == 0)
            return has_avx512 ? "SkylakeX" : has_avx2 ? "Haswell" : NULL;
    return NULL;
}

const char *blas_kernels(void)
{
    const char *(*name)(void) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_get_corename");

    /* in the package for any Linux all names of OpenBLAS begin so */
    if (!symbol)
        symbol = dlsym(RTLD_DEFAULT, "scipy_openblas_get_corename");
    /* ISO C has no conversion from a data pointer to a function */
    if (!symbol)
        return NULL;
    memcpy(&name, &symbol, sizeof name);
    return name();
}

#if defined(__x86_64__)

const char *better_kernels(void)
{
    const char *chosen = getenv("OPENBLAS_CORETYPE") ? NULL : blas_kernels();
    const int has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const int has_avx512 = __builtin_cpu_supports("avx512f") &&
                           __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");

    return chosen ? better_kernels_than(chosen, has_avx2, has_avx512) : NULL;
}

#else

const char *better_kernels(void)
{
    return NULL;
}

#endif
