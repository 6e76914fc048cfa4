/*
 * Trust-region regression loss [TRPL]: how far the network's own (mu, Sigma) is from the projected
 * (mu~, Sigma~), a constant: coefficient * mean over the Gaussians of a mean part and a covariance
 * part.
 *
 *     mean       h |L~^-1 (mu - mu~)|^2,  d_mu = 2 h Sigma~^-1 (mu - mu~),  h = 1/2 for KL, else 1
 *     KL         1/2 (tr(Sigma~^-1 Sigma) - P + log|Sigma~| - log|Sigma|),
 *                d_L = tril(Sigma~^-1 L) - diag(1/L_ii)
 *     W2         |S~^-1 (S - S~)|_F^2 = |L~^-1 (S - S~)|_F^2,  d_S = 2 sym(Sigma~^-1 (S - S~))
 *     Frobenius  |L - L~|_F^2,  d_L = 2 (L - L~)
 *
 * The tilde is after entropy control. A covariance that the layer returned unchanged, bit for bit,
 * costs and adds nothing.
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"
#include "linalg/linalg.h"
#include "trpl/internal.h"

/* Gaussians a chunk, as in project. */
#define CHUNK 2

/* The arguments of a call, for the pool's workers. */
typedef struct call {
    tce_trpl *tr;
    const double *mean;
    const double *L;
    double weight; /* of each Gaussian's mean part and of each factor's covariance part */
    double cov_weight;
    int32_t with_cov;
    int32_t reserved;
    double *d_mean;
    double *d_L;
} call;

/*
 * rows begin ... end-1 against one projected factor: tr->loss[i] = h |L~^-1 (mu - mu~)|^2, gradient
 * added
 */
static void add_mean_part(const call *c, size_t begin, size_t end, const tce__cov *cov)
{
    tce_trpl *tr = c->tr;
    const size_t P = tr->P;
    const double half = tr->opt.kind == TCE_TRPL_KL ? 0.5 : 1.0;
    const double inverse = 1.0 / (cov->after * cov->after);
    double *rows = tr->rows + begin * P;
    int active = 0;

    for (size_t i = begin; i < end; i++) {
        tr->loss[i] = 0.0;
        active |= tr->mean_step[i] < 1.0;
    }
    if (!active)
        return;

    /* r = L~^-1 (mu - mu~), the factor of entropy control apart */
    for (size_t k = 0; k < (end - begin) * P; k++)
        rows[k] = c->mean[begin * P + k] - tr->mean[begin * P + k];
    tce__solve_rows(tr, TCE__NO_TRANS, end - begin, cov->projected, rows);
    for (size_t i = begin; i < end; i++)
        tr->loss[i] = half * inverse * tce__dot(P, tr->rows + i * P, tr->rows + i * P);

    /* 2 h Sigma~^-1 (mu - mu~) */
    tce__solve_rows(tr, TCE__TRANS, end - begin, cov->projected, rows);
    tce__axpy((end - begin) * P, 2.0 * half * inverse * c->weight, rows, c->d_mean + begin * P);
}

/* |.| of the KL form; L [P, P] lower, d_L added to */
static double kl_part(size_t P, const double *L, const tce__cov *cov, double weight, double *d_L,
                      double *work)
{
    /* B = L~^-1 L */
    double *B = work;
    const double inverse = 1.0 / cov->after;
    tce__copy_lower(P, L, B);
    tce__solve_lower(TCE__LEFT, TCE__NO_TRANS, P, P, inverse, cov->projected, P, B, P);
    const double loss = tce__excess_lower(P, B, P);

    /* tril(L~^-T B) - diag(1/L_ii) */
    tce__solve_lower(TCE__LEFT, TCE__TRANS, P, P, weight * inverse, cov->projected, P, B, P);
    for (size_t i = 0; i < P; i++) {
        tce__axpy(i + 1, 1.0, B + i * P, d_L + i * P);
        d_L[i * P + i] -= weight / L[i * P + i];
    }
    return loss;
}

static double w2_part(size_t P, const double *L, const tce__cov *cov, double weight, double *d_L,
                      double *work)
{
    double *Y = work;
    double *d_S = Y + P * P;
    double *result = d_S + P * P;
    double *values = result + P * P;
    double *rest = values + P;

    /* the network's own S, before entropy control that came first */
    for (size_t i = 0; i < P; i++) {
        values[i] = cov->values[i] / cov->first;
        for (size_t j = 0; j < P; j++)
            Y[i * P + j] = sqrt(values[i]) * cov->Q[i * P + j];
    }
    tce__syrk_lower(TCE__TRANS, P, P, 1.0, Y, P, 0.0, d_S, P);
    tce__mirror_lower(P, d_S, P);

    /* |L~^-1 (S - S~)|^2 */
    const double inverse = 1.0 / cov->after;
    for (size_t k = 0; k < P * P; k++)
        Y[k] = d_S[k] - cov->after * cov->root[k];
    tce__solve_lower(TCE__LEFT, TCE__NO_TRANS, P, P, inverse, cov->projected, P, Y, P);
    const double loss = tce__dot(P * P, Y, Y);

    /* 2 sym(Sigma~^-1 (S - S~)), through the root */
    tce__solve_lower(TCE__LEFT, TCE__TRANS, P, P, inverse, cov->projected, P, Y, P);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++)
            d_S[i * P + j] = Y[i * P + j] + Y[j * P + i];
    tce__root_backward(P, cov->Q, values, L, weight, d_S, result, rest);
    for (size_t i = 0; i < P; i++)
        tce__axpy(i + 1, 1.0, result + i * P, d_L + i * P);
    return loss;
}

static double frobenius_part(size_t P, const double *L, const tce__cov *cov, double weight,
                             double *d_L)
{
    double loss = 0.0;
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j <= i; j++) {
            const double difference = L[i * P + j] - cov->after * cov->projected[i * P + j];
            loss += difference * difference;
            d_L[i * P + j] += 2.0 * weight * difference;
        }
    return loss;
}

/* the three forms on diagonals */
static double diagonal_part(size_t P, int32_t kind, const double *L, const tce__cov *cov,
                            double weight, double *d_L)
{
    double loss = 0.0;
    for (size_t i = 0; i < P; i++) {
        const double l = L[i];
        const double moved = cov->after * cov->projected[i];
        const double difference = l - moved;
        const double scale = kind == TCE_TRPL_FROBENIUS ? 1.0 : moved;
        const double x = difference / scale;
        double slope = 2.0 * x / scale;
        if (kind == TCE_TRPL_KL) {
            /*
             * 1/2 (s - 1 - log s), s = l^2/l~^2; derivative l/l~^2 - 1/l = (l - l~)(l + l~)/(l
             * l~^2)
             */
            const double d = x * (2.0 + x);
            loss += 0.5 * (d > -0.5 ? tce__excess(d) : d - 2.0 * log(l / moved));
            slope = d / l;
        } else {
            loss += x * x;
        }
        d_L[i] += weight * slope;
    }
    return loss;
}

/* the covariance part of factor e, its gradient added */
static double add_cov_part(const call *c, size_t e, double *work)
{
    const tce_trpl *tr = c->tr;
    const tce__cov *cov = &tr->cov[e];
    const size_t P = tr->P;
    const size_t size = tr->opt.diagonal ? P : P * P;
    const double *L = c->L + e * size;
    double *d_L = c->d_L + e * size;

    if (!c->with_cov || !(cov->active || cov->scaled_first || cov->scaled_after))
        return 0.0;
    if (tr->opt.diagonal)
        return diagonal_part(P, tr->opt.kind, L, cov, c->cov_weight, d_L);
    switch (tr->opt.kind) {
    case TCE_TRPL_W2:
        return w2_part(P, L, cov, c->cov_weight, d_L, work);
    case TCE_TRPL_FROBENIUS:
        return frobenius_part(P, L, cov, c->cov_weight, d_L);
    default:
        return kl_part(P, L, cov, c->cov_weight, d_L, work);
    }
}

static tce_status regression_chunk(void *context, size_t chunk, size_t begin, size_t end,
                                   int32_t worker)
{
    const call *c = context;
    (void)chunk;
    for (size_t e = begin; e < end; e++) {
        add_mean_part(c, e, e + 1, &c->tr->cov[e]);
        c->tr->loss[e] += add_cov_part(c, e, c->tr->work + (size_t)worker * c->tr->work_size);
    }
    return TCE_OK;
}

static tce_status check_regression(const call *c, size_t n, double coefficient,
                                   const double *out_loss)
{
    tce_status status = tce__check_projected(c->tr, n);
    if (status == TCE_OK)
        status = tce__check_finite("mean", n * c->tr->P, c->mean);
    if (status == TCE_OK)
        status = tce__check_scales(c->tr, "L", c->tr->n_cov, c->L);
    if (status == TCE_OK)
        status = tce__check_finite("coefficient", 1, &coefficient);
    if (status == TCE_OK)
        status = tce__check_pointer("out_loss", out_loss);
    if (status == TCE_OK)
        status = tce__check_pointer("d_mean", c->d_mean);
    if (status == TCE_OK)
        status = tce__check_pointer("d_L", c->d_L);
    return status;
}

tce_status tce_trpl_regression_add(tce_trpl *tr, size_t n, const double *mean, const double *L,
                                   double coefficient, int32_t with_cov, double *out_loss,
                                   double *d_mean, double *d_L)
{
    call c = { tr, mean, L, 0.0, 0.0, with_cov, 0, d_mean, d_L };
    tce_status status = check_regression(&c, n, coefficient, out_loss);
    if (status != TCE_OK)
        return status;

    /* one covariance for all counts once: its mean over n is itself */
    c.weight = coefficient / (double)n;
    c.cov_weight = coefficient / (double)tr->n_cov;
    double cov_part = 0.0;
    if (tr->opt.shared_cov) {
        add_mean_part(&c, 0, n, &tr->cov[0]);
        cov_part = add_cov_part(&c, 0, tr->work);
    } else {
        status = tce_pool_run(tr->opt.pool, n, CHUNK, regression_chunk, &c);
        if (status != TCE_OK)
            return status;
    }

    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += tr->loss[i];
    *out_loss = coefficient * (sum / (double)n + cov_part);
    return TCE_OK;
}

tce_status tce_trpl_distances(const tce_trpl *tr, size_t n, double *out_mean_distance,
                              double *out_cov_distance, double *out_eta)
{
    const tce_status status = tce__check_projected(tr, n);
    if (status != TCE_OK)
        return status;

    if (out_mean_distance)
        memcpy(out_mean_distance, tr->mean_distance, n * sizeof *out_mean_distance);
    for (size_t e = 0; e < tr->n_cov; e++) {
        if (out_cov_distance)
            out_cov_distance[e] = tr->cov[e].distance;
        if (out_eta)
            out_eta[e] = tr->cov[e].eta;
    }
    return TCE_OK;
}
