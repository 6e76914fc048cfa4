/*
 * Phases and normalised basis functions.
 *
 *     s = (t - delay)/tau,   u = max(s, 0),   z = clip(s, 0, 1)
 *     natural    x = z (ProMP),   x = exp(-alpha_phase u) (DMP, ProDMP)   [TCE eq. dmp_original]
 *     smooth     x = 10 z^3 - 15 z^4 + 6 z^5
 *     rhythmic   x = s mod 1
 *     phi_i(x) = exp(-h_i (x - c_i)^2/2) / sum_j,
 *     rhythmic: exp(h (cos 2 pi (x - c_i) - 1)) / sum_j
 */
#include "mp/mp.h"

/* 10 z^3 - 15 z^4 + 6 z^5 and its derivative 30 z^2 (1 - z)^2, which is never negative */
static double smooth_step(double z, double *out_slope)
{
    if (out_slope)
        *out_slope = 30.0 * z * z * (1.0 - z) * (1.0 - z);
    return z * z * z * (10.0 + z * (6.0 * z - 15.0));
}

/* The phase without its bounds, at the scaled time of a centre. */
static double unbounded_phase(const tce_mp *mp, double s)
{
    if (mp->options.phase == TCE_MP_PHASE_SMOOTH)
        return smooth_step(s, NULL);
    if (mp->options.kind == TCE_MP_PROMP)
        return s;
    return exp(-mp->options.alpha_phase * s);
}

/* c_i = i/B, h = bandwidth_factor */
static void place_rhythmic(tce_mp *mp)
{
    for (size_t i = 0; i < mp->B; i++) {
        mp->centre[i] = (double)i / (double)mp->B;
        mp->width[i] = mp->options.basis_bandwidth_factor;
    }
}

void tce__mp_place_centres(tce_mp *mp)
{
    const size_t B = mp->B;
    const double factor = mp->options.basis_bandwidth_factor;
    if (mp->options.phase == TCE_MP_PHASE_RHYTHMIC) {
        place_rhythmic(mp);
        return;
    }

    /* one function: in the middle, and nothing to take its width from */
    if (B == 1) {
        mp->centre[0] = unbounded_phase(mp, 0.5);
        mp->width[0] = factor;
        return;
    }

    /*
     * evenly spaced in time, `outside` of them before the start and as many past the end; h_i =
     * factor/(c_{i+1} - c_i)^2
     */
    const double outside = (double)mp->options.n_basis_outside;
    const double step = 1.0 / ((double)B - 2.0 * outside - 1.0);
    for (size_t i = 0; i < B; i++) {
        mp->centre[i] = unbounded_phase(mp, ((double)i - outside) * step);
        double gap = unbounded_phase(mp, ((double)i + 1.0 - outside) * step) - mp->centre[i];

        /* two functions of an exponential phase: the published code doubles the last gap */
        const int exponential = mp->options.kind != TCE_MP_PROMP &&
                                mp->options.phase == TCE_MP_PHASE_NATURAL;
        if (B == 2 && i == 1 && exponential)
            gap *= 2.0;
        mp->width[i] = factor / (gap * gap);
    }
}

double tce__mp_phase_at(const tce_mp *mp, double s, double *out_slope)
{
    /* a DMP's clock stands still before the delay */
    const int is_promp = mp->options.kind == TCE_MP_PROMP;
    const double u = s > 0.0 ? s : 0.0;
    const double z = u < 1.0 ? u : 1.0;
    const int inside = s > 0.0 && s < 1.0;
    double slope = 0.0;
    double x;

    if (mp->options.phase == TCE_MP_PHASE_SMOOTH) {
        x = smooth_step(z, &slope);
    } else if (mp->options.phase == TCE_MP_PHASE_RHYTHMIC) {
        const double r = is_promp ? s : u;
        x = r - floor(r);
        x = x < 1.0 ? x : 0.0;
        slope = is_promp || s > 0.0 ? 1.0 : 0.0;
    } else if (is_promp) {
        x = z;
        slope = inside ? 1.0 : 0.0;
    } else {
        x = exp(-mp->options.alpha_phase * u);
        slope = s > 0.0 ? -mp->options.alpha_phase * x : 0.0;
    }
    if (out_slope)
        *out_slope = slope;
    return x;
}

double tce__mp_factor_at(const tce_mp *mp, double u, double *out_slope)
{
    const int rhythmic = mp->options.phase == TCE_MP_PHASE_RHYTHMIC;
    const double x = rhythmic ? 1.0 : exp(-mp->options.alpha_phase * u);
    if (out_slope)
        *out_slope = rhythmic ? 0.0 : -mp->options.alpha_phase * x;
    return x;
}

/* log of a basis function before it is normalised; *out_slope (or NULL) its derivative by x */
static double log_basis(const tce_mp *mp, size_t i, double x, double *out_slope)
{
    const double offset = x - mp->centre[i];
    const double h = mp->width[i];
    if (mp->options.phase == TCE_MP_PHASE_RHYTHMIC) {
        if (out_slope)
            *out_slope = -2.0 * TCE__PI * h * sin(2.0 * TCE__PI * offset);
        return h * (cos(2.0 * TCE__PI * offset) - 1.0);
    }
    if (out_slope)
        *out_slope = -h * offset;
    return -0.5 * h * offset * offset;
}

/*
 * derivatives by x from the functions themselves: phi'_i = phi_i (a_i - sum_j a_j phi_j), a_i that
 * of the logarithm
 */
static void basis_slope(const tce_mp *mp, double x, int normalised, const double *phi,
                        double *out_slope)
{
    double mean = 0.0;
    for (size_t i = 0; i < mp->B; i++) {
        (void)log_basis(mp, i, x, &out_slope[i]);
        mean += out_slope[i] * phi[i];
    }
    for (size_t i = 0; i < mp->B; i++)
        out_slope[i] = phi[i] * (out_slope[i] - (normalised ? mean : 0.0));
}

void tce__mp_basis_at(const tce_mp *mp, double x, double *out, double *out_slope)
{
    const size_t B = mp->B;
    const int normalised = B > 1 || mp->options.phase == TCE_MP_PHASE_RHYTHMIC;

    /*
     * exponents relative to the largest, so that the sum is at least 1 however far the centres are
     */
    double largest = log_basis(mp, 0, x, NULL);
    out[0] = largest;
    for (size_t i = 1; i < B; i++) {
        out[i] = log_basis(mp, i, x, NULL);
        largest = out[i] > largest ? out[i] : largest;
    }
    if (!normalised)
        largest = 0.0;

    double sum = 0.0;
    for (size_t i = 0; i < B; i++) {
        out[i] = exp(out[i] - largest);
        sum += out[i];
    }
    if (normalised)
        for (size_t i = 0; i < B; i++)
            out[i] /= sum;
    if (out_slope)
        basis_slope(mp, x, normalised, out, out_slope);
}
