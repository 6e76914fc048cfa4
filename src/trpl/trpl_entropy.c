/*
 * Entropy control and its schedules. With H = P/2 log(2 pi e) + sum_i log L_ii,
 *
 *     L <- a L,  a = exp((H_min - H)/P), where H < H_min or, by the equality option, always
 *     d_L = a (d_out - <d_out, L>/P diag(1/L_ii))
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"
#include "linalg/linalg.h"
#include "trpl/internal.h"

/* Exponent of the exponential schedule at its end [TRPL]. */
#define SCHEDULE_EXPONENT 10.0

double tce__entropy_factor(size_t P, const double *L, size_t stride, double bound, int32_t mode,
                           int32_t *out_acts)
{
    *out_acts = 0;
    if (mode == TCE_TRPL_ENTROPY_NONE || bound == -INFINITY)
        return 1.0;
    double entropy = 0.5 * (double)P * (1.0 + TCE__LOG_2PI);
    for (size_t i = 0; i < P; i++)
        entropy += log(L[i * stride]);
    if (mode == TCE_TRPL_ENTROPY_AT_LEAST && !(entropy < bound))
        return 1.0;
    *out_acts = 1;
    return exp((bound - entropy) / (double)P);
}

void tce__entropy_backward(size_t P, size_t columns, const double *L, double factor, double *d_L)
{
    /* d_L <- a (d_L - <d_L, L>/P diag(1/L_ii)) over lower triangles, or vectors of diagonals */
    double along = 0.0;
    for (size_t i = 0; i < P; i++)
        along += columns == 1 ? d_L[i] * L[i] : tce__dot(i + 1, d_L + i * P, L + i * P);
    along /= (double)P;
    for (size_t i = 0; i < P; i++) {
        const size_t at = columns == 1 ? i : i * P + i;
        d_L[at] -= along / L[at];
    }
    tce__scale(P * columns, factor, d_L);
}

tce_status tce__check_entropy_bound(const char *name, double bound)
{
    if (isnan(bound) || bound == INFINITY)
        return tce_fail(TCE_E_VALUE, "%s = %g, must be a number or minus infinity", name, bound);
    return TCE_OK;
}

static tce_status check_control(size_t n_cov, size_t dim, const double *L, double bound)
{
    if (dim == 0)
        return tce_fail(TCE_E_SHAPE, "dim = 0, must be at least 1");
    const tce_status status = tce__check_entropy_bound("bound", bound);
    return status != TCE_OK ? status : tce__check_factors("L", n_cov, dim, 0, L);
}

tce_status tce_trpl_entropy_control(size_t n_cov, size_t dim, const double *L, double bound,
                                    int32_t equal, double *out_L)
{
    tce_status status = check_control(n_cov, dim, L, bound);
    if (status == TCE_OK)
        status = tce__check_pointer("out_L", out_L);
    if (status != TCE_OK)
        return status;

    const int32_t mode = equal ? TCE_TRPL_ENTROPY_EQUAL : TCE_TRPL_ENTROPY_AT_LEAST;
    for (size_t e = 0; e < n_cov; e++) {
        const double *in = L + e * dim * dim;
        double *out = out_L + e * dim * dim;
        int32_t acts;
        const double a = tce__entropy_factor(dim, in, dim + 1, bound, mode, &acts);
        for (size_t i = 0; i < dim; i++)
            for (size_t j = 0; j < dim; j++)
                out[i * dim + j] = j > i ? 0.0 : acts ? a * in[i * dim + j] : in[i * dim + j];
    }
    return TCE_OK;
}

tce_status tce_trpl_entropy_control_backward(size_t n_cov, size_t dim, const double *L,
                                             double bound, int32_t equal, const double *d_out_L,
                                             double *out_d_L)
{
    tce_status status = check_control(n_cov, dim, L, bound);
    if (status == TCE_OK)
        status = tce__check_pointer("d_out_L", d_out_L);
    if (status == TCE_OK)
        status = tce__check_pointer("out_d_L", out_d_L);
    if (status != TCE_OK)
        return status;

    const int32_t mode = equal ? TCE_TRPL_ENTROPY_EQUAL : TCE_TRPL_ENTROPY_AT_LEAST;
    for (size_t e = 0; e < n_cov; e++) {
        const double *in = L + e * dim * dim;
        double *out = out_d_L + e * dim * dim;
        int32_t acts;
        const double a = tce__entropy_factor(dim, in, dim + 1, bound, mode, &acts);
        memmove(out, d_out_L + e * dim * dim, dim * dim * sizeof *out);
        tce__clear_upper(dim, out, dim);
        if (acts)
            tce__entropy_backward(dim, dim, in, a, out);
    }
    return TCE_OK;
}

tce_status tce_trpl_entropy_bound(int32_t schedule, size_t dim, double initial, double target,
                                  double temperature, uint64_t iteration, uint64_t n_iterations,
                                  double *out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status == TCE_OK)
        status = tce__check_int("schedule", schedule, TCE_TRPL_SCHEDULE_NONE,
                                TCE_TRPL_SCHEDULE_EXPONENTIAL);
    if (status != TCE_OK)
        return status;
    if (schedule == TCE_TRPL_SCHEDULE_NONE) {
        *out = -INFINITY;
        return TCE_OK;
    }
    status = tce__check_finite("initial", 1, &initial);
    if (status == TCE_OK)
        status = tce__check_finite("target", 1, &target);
    if (status == TCE_OK && schedule == TCE_TRPL_SCHEDULE_EXPONENTIAL)
        status = tce__check_positive("temperature", temperature);
    if (status == TCE_OK && n_iterations == 0)
        status = tce_fail(TCE_E_VALUE, "n_iterations = 0, must be at least 1");
    if (status != TCE_OK)
        return status;

    /* linear: H_0 + (H_target - H_0) i/I; exponential: P h + (H_0 - P h) temperature^(10 i/I) */
    const uint64_t i = iteration < n_iterations ? iteration : n_iterations;
    const double progress = (double)i / (double)n_iterations;
    if (schedule == TCE_TRPL_SCHEDULE_LINEAR) {
        *out = initial + (target - initial) * progress;
    } else {
        const double total = (double)dim * target;
        *out = total + (initial - total) * pow(temperature, SCHEDULE_EXPONENT * progress);
    }
    return TCE_OK;
}
