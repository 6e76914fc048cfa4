/* The network's arithmetic in float. */
#include <float.h>
#include <math.h>

#define REAL float
#define LARGEST FLT_MAX
#define STORE_TYPE TCE_F32
#define KERNELS tce__net_float
#define GEMM tce__gemm_float
#define SUM_PARTS tce__sum_parts_float
#define TANH tanhf
#define SQRT sqrtf

/* never called with a negative number, so it never sets errno: loops with it vectorise */
#if defined(__GNUC__)
float sqrtf(float x) __attribute__((const));
#endif

#include "net/net_impl.h"
