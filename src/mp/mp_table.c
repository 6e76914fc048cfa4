/*
 * ProDMP's basis as published: a table over scaled time u, interpolated linearly.
 *
 *     Psi_i = p2_i y2 - p1_i y1 = int_0^u (u - s) e^{-alpha(u-s)/2} f_i(s) ds,   f_i = x phi_i
 *                                                               [TCE eq. prodmp_pos_detail]
 *
 * With I0 = int_0^u e^{-alpha(u-s)/2} f_i ds and I1 = Psi_i, nothing grows like e^{+alpha u/2}:
 *
 *     Psi = I1,   Psi' = I0 - alpha/2 I1,   Psi'' = f - alpha I0 + alpha^2/4 I1
 *
 * which are p2 y2 - p1 y1 with the derivatives of y1 and y2, plus f in the last. The trapezoid rule
 * for p1 and p2 with step 1/n is the recursion in tce__mp_table_fill.
 */
#include <string.h>

#include "mp/mp.h"

size_t tce__mp_state_size(const tce_mp *mp)
{
    return mp->B + 3;
}

void tce__mp_fundamental(const tce_mp *mp, double u, double origin, double *out)
{
    const size_t n = tce__mp_state_size(mp);
    const size_t goal = n - 1;
    const double half = 0.5 * mp->options.alpha;
    double *const position = out;
    double *const velocity = out + n;
    double *const acceleration = out + 2 * n;

    /* y1 = e^{-alpha u/2}, y2 = u y1   [TCE eq. dmp_y1_y2] */
    const double r = u - origin;
    const double y1 = exp(-half * r);
    const double y2 = r * y1;
    position[0] = y1;
    position[1] = y2;
    velocity[0] = -half * y1;
    velocity[1] = y1 - half * y2;
    acceleration[0] = half * half * y1;
    acceleration[1] = half * half * y2 - 2.0 * half * y1;

    /*
     * q2 y2 - q1 y1 = 1 - (1 + v) e^{-v}, v = alpha u/2, and its derivatives   [TCE eq. dmp_q1_q2]
     */
    const double v = half * u;
    const double decay = exp(-v);
    position[goal] = -expm1(-v) - v * decay;
    velocity[goal] = half * v * decay;
    acceleration[goal] = half * half * (1.0 - v) * decay;
}

void tce__mp_put_basis(const tce_mp *mp, const double *I0, const double *I1, const double *f,
                       double *out)
{
    const size_t n = tce__mp_state_size(mp);
    const double half = 0.5 * mp->options.alpha;
    for (size_t i = 0; i < mp->B; i++) {
        out[2 + i] = I1[i];
        out[n + 2 + i] = I0[i] - half * I1[i];
        out[2 * n + 2 + i] = f[i] - 2.0 * half * I0[i] + half * half * I1[i];
    }
}

void tce__mp_forcing(const tce_mp *mp, double u, double *out)
{
    const double x = tce__mp_factor_at(mp, u, NULL);
    tce__mp_basis_at(mp, x, out, NULL);
    for (size_t i = 0; i < mp->B; i++)
        out[i] *= x;
}

void tce__mp_table_fill(const tce_mp *mp, double *table, double *largest)
{
    const size_t B = mp->B;
    const size_t n = tce__mp_state_size(mp);
    const double step = 1.0 / round(mp->options.tau / mp->options.dt);
    const double decay = exp(-0.5 * mp->options.alpha * step);
    double I0[TCE_MP_MAX_BASIS] = { 0 };
    double I1[TCE_MP_MAX_BASIS] = { 0 };
    double f[TCE_MP_MAX_BASIS];
    double row[TCE__MP_ORDERS * TCE__MP_STATE];

    memset(largest, 0, (B + 1) * sizeof *largest);
    tce__mp_forcing(mp, 0.0, f);
    for (size_t k = 0; k <= mp->table_last; k++) {
        /* one trapezoid further; the new point has weight step/2 in I0 and none yet in I1 */
        if (k > 0) {
            for (size_t i = 0; i < B; i++) {
                I1[i] = decay * (I1[i] + step * (I0[i] + 0.5 * step * f[i]));
                I0[i] = decay * (I0[i] + 0.5 * step * f[i]);
            }
            tce__mp_forcing(mp, (double)k * step, f);
            for (size_t i = 0; i < B; i++)
                I0[i] += 0.5 * step * f[i];
        }

        tce__mp_fundamental(mp, (double)k * step, 0.0, row);
        tce__mp_put_basis(mp, I0, I1, f, row);
        for (size_t i = 0; i <= B; i++)
            largest[i] = row[2 + i] > largest[i] ? row[2 + i] : largest[i];
        if (table)
            memcpy(table + k * TCE__MP_ORDERS * n, row, TCE__MP_ORDERS * n * sizeof *row);
    }
}

void tce__mp_table_state(const tce_mp *mp, double u, size_t n_orders, double *out, double *slope)
{
    /*
     * position r = u tau_0/dt, which is not u n where tau_0/dt is not an integer; past the last
     * point the last interval continues
     */
    const size_t n = tce__mp_state_size(mp);
    const double r = u * mp->table_rate;
    const double last = (double)(mp->table_last - 1);
    const double k = r < last ? floor(r) : last;
    const double weight = r - k;
    const double *const a = mp->table + (size_t)k * TCE__MP_ORDERS * n;
    const double *const b = a + TCE__MP_ORDERS * n;

    for (size_t j = 0; j < n_orders * n; j++)
        out[j] = a[j] + weight * (b[j] - a[j]);
    if (slope)
        for (size_t j = 0; j < 2 * n; j++)
            slope[j] = mp->table_rate * (b[j] - a[j]);
}
