/* The network's arithmetic in float. */
#include <float.h>
#include <math.h>

#define REAL float
#define LARGEST FLT_MAX
#define STORE_TYPE TCE_STORE_F32
#define KERNELS tce__net_float
#define GEMM tce__gemm_float
#define SUM_PARTS tce__parts_sum_float

/*
 * for tanh: log 2 in two parts, and a number that rounds to integers when it is added; polynomials
 * from the lowest power on
 */
#define BITS uint32_t
#define MANTISSA 23
#define ROUNDER 0x1.8p+23f
#define TANH_IS_1 9.5f
#define PER_LOG_2 0x1.715476p+0f
#define LOG_2_HIGH 0x1.62e4p-1f
#define LOG_2_LOW 0x1.7f7d1cp-20f
#define TANH_P(z)                \
    (-0x1.555554p-2f +           \
     z * (0x1.1110dep-3f +       \
          z * (-0x1.ba09e2p-5f + \
               z * (0x1.64e7bap-6f + z * (-0x1.13cd14p-7f + z * 0x1.3a709ap-9f)))))
#define EXP_Q(r) \
    (0.5f + r * (0x1.55548ep-3f + r * (0x1.55545ep-5f + r * (0x1.123bdp-7f + r * 0x1.6db4ap-10f))))
#define SQRT sqrtf

/* never called with a negative number, so it never sets errno: loops with it vectorise */
#if defined(__GNUC__)
float sqrtf(float x) __attribute__((const));
#endif

#include "net/net_impl.h"
