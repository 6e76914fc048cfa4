/*
 * Which kernels OpenBLAS computes with. The program is not linked with OpenBLAS: libtce is, so its
 * function is looked up among the symbols of the process.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tools/blas.h"

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

#if defined(__x86_64__)

/* OpenBLAS's name of the kernels it chose; NULL when the BLAS of this process is another one. */
static const char *chosen_kernels(void)
{
    const char *(*name)(void) = NULL;
    void *process = dlopen(NULL, RTLD_LAZY);
    void *symbol = process ? dlsym(process, "openblas_get_corename") : NULL;
    const char *chosen = NULL;

    /* ISO C has no conversion from a data pointer to a function */
    if (symbol) {
        memcpy(&name, &symbol, sizeof name);
        chosen = name();
    }
    if (process)
        dlclose(process);
    return chosen;
}

const char *better_kernels(void)
{
    const char *chosen = getenv("OPENBLAS_CORETYPE") ? NULL : chosen_kernels();
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
