/* The network's arithmetic in double. */
#include <float.h>
#include <math.h>

#define REAL double
#define LARGEST DBL_MAX
#define STORE_TYPE TCE_F64
#define KERNELS tce__net_double
#define GEMM tce__gemm
#define SUM_PARTS tce__sum_parts
#define TANH tanh
#define SQRT sqrt

/* never called with a negative number, so it never sets errno: loops with it vectorise */
#if defined(__GNUC__)
double sqrt(double x) __attribute__((const));
#endif

#include "net/net_impl.h"
