/*
 * e^x and log(1 + x) in double, in a form that vectorises and needs no library: the same bytes on
 * every machine. Loops that call these are TCE__VECTOR functions.
 */
#ifndef TCE_BASE_EXPONENTIAL_H
#define TCE_BASE_EXPONENTIAL_H

#include <stdint.h>

/* log 2 in two parts, and a number that rounds to integers when it is added. */
#define TCE__PER_LOG_2 0x1.71547652b82fep+0
#define TCE__LOG_2_HIGH 0x1.62e42fefap-1
#define TCE__LOG_2_LOW 0x1.cf79abc9e3b39p-40
#define TCE__ROUNDER 0x1.8p+52
#define TCE__MANTISSA 52

/* Q in e^r = 1 + r + r^2 Q(r), |r| <= log 2/2: a minimax polynomial. */
static inline double tce__exp_q(double r)
{
    double q = 0x1.1f9e355b46cfep-29;
    q = 0x1.af6d300ccdd1p-26 + r * q;
    q = 0x1.27e4befff8d1fp-22 + r * q;
    q = 0x1.71ddef5db4fe6p-19 + r * q;
    q = 0x1.a01a01b46e681p-16 + r * q;
    q = 0x1.a01a01b3cf5bap-13 + r * q;
    q = 0x1.6c16c16c1352ep-10 + r * q;
    q = 0x1.111111110eb83p-7 + r * q;
    q = 0x1.555555555555ep-5 + r * q;
    q = 0x1.555555555555cp-3 + r * q;
    return 0.5 + r * q;
}

/* 2^k for a whole number |k| < 1023 */
static inline double tce__power_of_2(double k)
{
    const union {
        double real;
        uint64_t bits;
    } rounded = { k + TCE__ROUNDER };
    union {
        double real;
        uint64_t bits;
    } power = { 1.0 };
    power.bits += rounded.bits << TCE__MANTISSA;
    return power.real;
}

/*
 * e^x = 2^k e^r, k = round(x/log 2), within one unit in the last place: infinity and numbers below
 * the normal ones as rounding gives them, since 2^k is multiplied in two halves. NaN stays NaN.
 */
static inline double tce__exp(double x)
{
    const double below = -746.0, above = 710.0; /* e^below is 0 and e^above infinity */
    const double v = x < below ? below : x > above ? above : x;
    const double k = (v * TCE__PER_LOG_2 + TCE__ROUNDER) - TCE__ROUNDER;
    const double half = (0.5 * k + TCE__ROUNDER) - TCE__ROUNDER;
    const double r = (v - k * TCE__LOG_2_HIGH) - k * TCE__LOG_2_LOW;
    const double power = 1 + (r + r * r * tce__exp_q(r));
    return power * tce__power_of_2(half) * tce__power_of_2(k - half);
}

/*
 * log(1 + x) for 0 <= x <= 1, within one unit in the last place. Up to 1/2 with f = x, above as
 * log 2 + log(1 + f), f = (x - 1)/2, which is exact:
 *     log(1 + f) = f - (f^2/2 - s (f^2/2 + z R(z))),  s = f/(2 + f),  z = s^2
 * R is a minimax polynomial for |s| <= 1/5.
 */
static inline double tce__log_1_plus(double x)
{
    const int upper = x > 0.5;
    const double f = upper ? 0.5 * (x - 1.0) : x;
    const double s = f / (2.0 + f);
    const double z = s * s;
    double R = 0x1.16b68338bd78bp-3;
    R = 0x1.0e88ea4725d3dp-3 + z * R;
    R = 0x1.3b29fcbbce66dp-3 + z * R;
    R = 0x1.745cab2727663p-3 + z * R;
    R = 0x1.c71c72e2f78d5p-3 + z * R;
    R = 0x1.24924923dba6ap-2 + z * R;
    R = 0x1.9999999999f3p-2 + z * R;
    R = 0x1.5555555555555p-1 + z * R;
    const double half_square = 0.5 * f * f;
    const double rest = half_square - s * (half_square + z * R);
    const double high = 0x1.62e42fefa39efp-1, low = 0x1.abc9e3b39803fp-56; /* log 2 */
    return upper ? high + (f - (rest - low)) : f - rest;
}

#endif
