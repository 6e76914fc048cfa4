/*
 * The scale of a policy from raw numbers v_1 ... v_P, then the strict lower triangle row by row
 * (none in a diagonal form): a factor [P, P], or standard deviations [P].
 */
#ifndef TCE_POLICY_SCALE_H
#define TCE_POLICY_SCALE_H

#include <stddef.h>
#include <stdint.h>

/* How raw numbers become standard deviations, or the diagonal of a factor. */
typedef struct tce__spread {
    int32_t kind; /* TCE_POLICY_SOFTPLUS … */
    int diagonal;
    double min_std;
    double low;
    double high;
} tce__spread;

/* Raw numbers of a scale of P dimensions, and numbers of the scale itself. */
size_t tce__scale_n_raw(size_t P, int diagonal);
size_t tce__scale_size(size_t P, int diagonal);

/* raw -> scale, zeros above the diagonal of a factor. */
void tce__scale_forward(const tce__spread *spread, size_t P, const double *raw, double *scale);
/* The gradient back; the upper part of a factor's is not read. */
void tce__scale_backward(const tce__spread *spread, size_t P, const double *raw,
                         const double *d_scale, double *d_raw);

/* scale -> raw; sigma - min_std is bounded below by TCE__SCALE_LEAST. */
#define TCE__SCALE_LEAST 1e-12
void tce__scale_inverse(const tce__spread *spread, size_t P, const double *scale, double *raw);

/* v with softplus(v) = sigma, or exp(v) = sigma; sigma > 0 */
double tce__scale_start(const tce__spread *spread, double sigma);

#endif
