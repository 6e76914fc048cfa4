/* The network's arithmetic in double. */
#include <float.h>
#include <math.h>

#include "base/exponential.h"

#define REAL double
#define LARGEST DBL_MAX
#define STORE_TYPE TCE_STORE_F64
#define KERNELS tce__net_double
#define GEMM tce__gemm
#define SUM_PARTS tce__parts_sum

/* for tanh, as in net_float.c */
#define BITS uint64_t
#define MANTISSA TCE__MANTISSA
#define ROUNDER TCE__ROUNDER
#define TANH_IS_1 20.0
#define PER_LOG_2 TCE__PER_LOG_2
#define LOG_2_HIGH TCE__LOG_2_HIGH
#define LOG_2_LOW TCE__LOG_2_LOW
#define TANH_P(z)                                                               \
    (-0x1.5555555555555p-2 +                                                    \
     z * (0x1.11111111110b4p-3 +                                                \
          z * (-0x1.ba1ba1ba14727p-5 +                                          \
               z * (0x1.664f488085603p-6 +                                      \
                    z * (-0x1.226e34f626023p-7 +                                \
                         z * (0x1.d6d3b89c9ca13p-9 +                            \
                              z * (-0x1.7da180b08c915p-10 +                     \
                                   z * (0x1.353e534f2b54p-11 +                  \
                                        z * (-0x1.f396044e20d5p-13 +            \
                                             z * (0x1.8a31014ef843ep-14 +       \
                                                  z * (-0x1.14b29c7a55c86p-15 + \
                                                       z * 0x1.f491f84cedfc3p-18)))))))))))
#define EXP_Q tce__exp_q
#define SQRT sqrt

/* never called with a negative number, so it never sets errno: loops with it vectorise */
#if defined(__GNUC__)
double sqrt(double x) __attribute__((const));
#endif

#include "net/net_impl.h"
