/* The network's arithmetic in double. */
#include <float.h>
#include <math.h>

#define REAL double
#define LARGEST DBL_MAX
#define STORE_TYPE TCE_STORE_F64
#define KERNELS tce__net_double
#define GEMM tce__gemm
#define SUM_PARTS tce__parts_sum

/* for tanh, as in net_float.c */
#define BITS uint64_t
#define MANTISSA 52
#define ROUNDER 0x1.8p+52
#define TANH_IS_1 20.0
#define PER_LOG_2 0x1.71547652b82fep+0
#define LOG_2_HIGH 0x1.62e42fefap-1
#define LOG_2_LOW 0x1.cf79abc9e3b39p-40
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
#define EXP_Q(r)                                                               \
    (0.5 + r * (0x1.555555555555cp-3 +                                         \
                r * (0x1.555555555555ep-5 +                                    \
                     r * (0x1.111111110eb83p-7 +                               \
                          r * (0x1.6c16c16c1352ep-10 +                         \
                               r * (0x1.a01a01b3cf5bap-13 +                    \
                                    r * (0x1.a01a01b46e681p-16 +               \
                                         r * (0x1.71ddef5db4fe6p-19 +          \
                                              r * (0x1.27e4befff8d1fp-22 +     \
                                                   r * (0x1.af6d300ccdd1p-26 + \
                                                        r * 0x1.1f9e355b46cfep-29))))))))))
#define SQRT sqrt

/* never called with a negative number, so it never sets errno: loops with it vectorise */
#if defined(__GNUC__)
double sqrt(double x) __attribute__((const));
#endif

#include "net/net_impl.h"
