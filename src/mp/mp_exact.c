/*
 * ProDMP's basis by accurate quadrature, for any u >= 0: I0 and I1 of mp_table.c.
 *
 * Scaled time is cut into panels on which 12-point Gauss-Legendre is exact to rounding. The
 * integrals up to every edge are kept; a query adds the part of a panel between its left edge a and
 * u:
 *
 *     I0(u) = E I0(a) + int_a^u e^{-alpha(u-s)/2} f ds,      E = e^{-alpha(u-a)/2}
 *     I1(u) = E (I1(a) + (u - a) I0(a)) + int_a^u (u - s) e^{-alpha(u-s)/2} f ds
 *
 * The panels end where the phase, and with it every f_i <= x, is below FORCING_END: beyond it only
 * the decay continues.
 */
#include <float.h>
#include <string.h>

#include "mp/mp.h"

enum { NODES = 12 };

/* nodes and weights on [-1, 1]: the positive half, the rest by symmetry */
static const double NODE[NODES / 2] = {
    0.12523340851146891547, 0.36783149899818019375, 0.58731795428661744730,
    0.76990267419430468704, 0.90411725637047485668, 0.98156063424671925069,
};
static const double WEIGHT[NODES / 2] = {
    0.24914704581340278500, 0.23349253653835480876, 0.20316742672306592175,
    0.16007832854334622633, 0.10693932599531843096, 0.04717533638651182719,
};

/* a forcing that adds less than this to a path of size 1 counts as zero */
static const double FORCING_END = 1e-18;

/* distance of two centres in scaled time */
static double spacing(const tce_mp *mp)
{
    const double gaps = (double)mp->B - 2.0 * (double)mp->options.n_basis_outside - 1.0;
    return gaps > 1.0 ? 1.0 / gaps : 1.0;
}

/*
 * Rounding of f_i, relative to the phase: a few units of the last place, and that of x in the
 * exponent h (x - c)^2/2 half way between two centres, where its derivative by log x is about
 * bandwidth_factor/(1 - e^{-alpha_phase d}).
 */
static double rounding(const tce_mp *mp)
{
    const tce_mp_options *const o = &mp->options;
    return DBL_EPSILON * (4.0 - o->basis_bandwidth_factor / expm1(-o->alpha_phase * spacing(mp)));
}

/*
 * A panel this short is fine without a test. The nearest poles of the normalised basis are where
 * neighbours cancel, pi/bandwidth_factor of their distance off the axis; an eighth of that is more
 * than 12 points need.
 */
static double shortest_panel(const tce_mp *mp)
{
    const tce_mp_options *const o = &mp->options;
    const double pole = o->basis_bandwidth_factor > TCE__PI ? TCE__PI / o->basis_bandwidth_factor
                                                            : 1.0;
    return 0.125 * pole * fmin(spacing(mp), 1.0 / o->alpha_phase);
}

/* J0 = int_a^b e^{-alpha(b-s)/2} f ds, J1 = int_a^b (b - s) e^{-alpha(b-s)/2} f ds, both [B] */
static void integrate(const tce_mp *mp, double a, double b, double *J0, double *J1)
{
    const size_t B = mp->B;
    const double half = 0.5 * (b - a);
    double f[TCE_MP_MAX_BASIS];

    memset(J0, 0, B * sizeof *J0);
    memset(J1, 0, B * sizeof *J1);
    for (int j = 0; j < NODES; j++) {
        const double sign = j < NODES / 2 ? -1.0 : 1.0;
        const double rest = half * (1.0 - sign * NODE[j % (NODES / 2)]);
        const double w = half * WEIGHT[j % (NODES / 2)] * exp(-0.5 * mp->options.alpha * rest);
        tce__mp_forcing(mp, b - rest, f);
        for (size_t i = 0; i < B; i++) {
            J0[i] += w * f[i];
            J1[i] += w * rest * f[i];
        }
    }
}

/* carries the integrals I0, I1 [B] from a to b, with the part J0, J1 between */
static void carry(const tce_mp *mp, double step, const double *J0, const double *J1, double *I0,
                  double *I1)
{
    const double decay = exp(-0.5 * mp->options.alpha * step);
    for (size_t i = 0; i < mp->B; i++) {
        I1[i] = decay * (I1[i] + step * I0[i]) + J1[i];
        I0[i] = decay * I0[i] + J0[i];
    }
}

/* whether one panel from a to b gives what its two halves give */
static int panel_is_fine(const tce_mp *mp, double a, double b)
{
    double I0[TCE_MP_MAX_BASIS], I1[TCE_MP_MAX_BASIS];
    double J0[TCE_MP_MAX_BASIS], J1[TCE_MP_MAX_BASIS];
    double left0[TCE_MP_MAX_BASIS], left1[TCE_MP_MAX_BASIS];
    const double middle = 0.5 * (a + b);

    integrate(mp, a, b, I0, I1);
    integrate(mp, a, middle, left0, left1);
    integrate(mp, middle, b, J0, J1);
    carry(mp, b - middle, J0, J1, left0, left1);

    const double bound = rounding(mp) * (b - a) * tce__mp_factor_at(mp, a, NULL);
    for (size_t i = 0; i < mp->B; i++)
        if (fabs(I0[i] - left0[i]) > bound || fabs(I1[i] - left1[i]) > bound)
            return 0;
    return 1;
}

size_t tce__mp_exact_fill(const tce_mp *mp, double *edge, double *integral)
{
    const size_t B = mp->B;
    const double end = -log(FORCING_END) / mp->options.alpha_phase;
    const double shortest = shortest_panel(mp);
    double I0[TCE_MP_MAX_BASIS] = { 0 }, I1[TCE_MP_MAX_BASIS] = { 0 };
    double J0[TCE_MP_MAX_BASIS], J1[TCE_MP_MAX_BASIS];
    size_t n = 0;
    double a = 0.0;
    double step = 0.5 * spacing(mp);

    for (;;) {
        if (edge) {
            edge[n] = a;
            memcpy(integral + 2 * n * B, I0, B * sizeof *I0);
            memcpy(integral + (2 * n + 1) * B, I1, B * sizeof *I1);
        }
        if (a >= end)
            return n;

        /* as long as the last one and twice that, then halved until it is fine */
        step *= 2.0;
        while (step > shortest && !panel_is_fine(mp, a, a + step))
            step *= 0.5;
        if (edge) {
            integrate(mp, a, a + step, J0, J1);
            carry(mp, step, J0, J1, I0, I1);
        }
        a += step;
        n++;
    }
}

/* index of the panel that u lies in; n_panels past the end */
static size_t find_panel(const tce_mp *mp, double u)
{
    size_t low = 0;
    size_t high = mp->n_panels + 1;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (mp->edge[middle] <= u)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void tce__mp_exact_state(const tce_mp *mp, double u, double origin, size_t n_orders, double *out,
                         double *slope)
{
    const size_t B = mp->B;
    const size_t n = tce__mp_state_size(mp);
    double state[TCE__MP_ORDERS * TCE__MP_STATE];
    double I0[TCE_MP_MAX_BASIS], I1[TCE_MP_MAX_BASIS];
    double J0[TCE_MP_MAX_BASIS] = { 0 }, J1[TCE_MP_MAX_BASIS] = { 0 };

    /* integrals up to the panel's edge, then the rest of the way */
    const size_t panel = find_panel(mp, u);
    const double a = mp->edge[panel];
    memcpy(I0, mp->integral + 2 * panel * B, B * sizeof *I0);
    memcpy(I1, mp->integral + (2 * panel + 1) * B, B * sizeof *I1);
    if (panel < mp->n_panels && u > a)
        integrate(mp, a, u, J0, J1);
    carry(mp, u - a, J0, J1, I0, I1);

    /* the three orders; a slope is the next order */
    double *const f = J0;
    tce__mp_forcing(mp, u, f);
    tce__mp_fundamental(mp, u, origin, state);
    tce__mp_put_basis(mp, I0, I1, f, state);
    memcpy(out, state, n_orders * n * sizeof *out);
    if (slope)
        memcpy(slope, state + n, 2 * n * sizeof *slope);
}
