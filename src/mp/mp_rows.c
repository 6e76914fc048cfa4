/*
 * Basis rows of ProDMP and ProMP, and their derivatives by tau and delay.
 *
 * ProDMP, in scaled time, order k = 0, 1, 2 (y1, y2, Psi the k-th derivatives at u):
 *                                                                         [TCE eq. prodmp_pos_full]
 *
 *     xi1 = (y2'_b y1 - y1'_b y2)/det,   xi2 = (y1_b y2 - y2_b y1)/det,
 *     det = y1_b y2'_b - y2_b y1'_b
 *     H = Psi - xi1 Psi_b - xi2 Psi'_b                                    (xi3 = -xi1, xi4 = -xi2)
 *     row = tau^-k (xi1 + [relative goal] H_g,  tau xi2,  scale o H)
 *
 * At u = u_b the quotients are exactly 1 and 0, so that a replanned path starts exactly where it
 * is told to.
 *
 * ProMP: row = (0, 0, scale o phi(x)); higher orders are forward differences of rows over the given
 * times. [TCE eq. promp]
 */
#include <float.h>
#include <string.h>

#include "mp/mp.h"

/* How u and u_b move with tau or delay. */
typedef struct motion {
    double u;
    double u_b;
    double tau; /* 1 for the derivative by tau, 0 by delay */
} motion;

size_t tce__mp_row_size(const tce_mp *mp)
{
    return 2 + mp->C;
}

size_t tce__mp_tile_rows(const tce_mp *mp)
{
    /* room for the two rows that a ProMP's differences look ahead */
    return TCE__MP_TILE / tce__mp_row_size(mp) - 2;
}

/* table or exact */
static void state_at(const tce_mp *mp, double u, double origin, size_t n_orders, double *out,
                     double *slope)
{
    if (mp->options.basis == TCE_MP_BASIS_EXACT)
        tce__mp_exact_state(mp, u, origin, n_orders, out, slope);
    else
        tce__mp_table_state(mp, u, n_orders, out, slope);
}

tce_status tce__mp_start_at(const tce_mp *mp, const double *params, double init_time,
                            tce__mp_start *out)
{
    out->tau = tce__mp_tau(mp, params);
    out->delay = tce__mp_delay(mp, params);
    out->u = fmax((init_time - out->delay) / out->tau, 0.0);
    if (mp->options.kind != TCE_MP_PRODMP)
        return TCE_OK;

    const size_t n = tce__mp_state_size(mp);
    state_at(mp, out->u, out->u, 2, out->state, mp->lead > 0 ? out->slope : NULL);
    const double *const position = out->state;
    const double *const velocity = out->state + n;
    out->det = position[0] * velocity[1] - position[1] * velocity[0];
    if (!(out->det >= DBL_MIN))
        return tce_fail(TCE_E_SINGULAR,
                        "init_time = %g: e^{-alpha u} = %g underflows at u = %g, alpha = %g",
                        init_time, out->det, out->u, mp->options.alpha);
    return TCE_OK;
}

/* xi1, xi2 from y1, y2 of any order */
static void mix(const tce_mp *mp, const tce__mp_start *start, double y1, double y2, double *xi1,
                double *xi2)
{
    const double *const position = start->state;
    const double *const velocity = start->state + tce__mp_state_size(mp);
    *xi1 = (velocity[1] * y1 - velocity[0] * y2) / start->det;
    *xi2 = (position[0] * y2 - position[1] * y1) / start->det;
}

/* one row of order k from one order of a state, [B + 3] */
static void prodmp_row(const tce_mp *mp, const tce__mp_start *start, size_t k, const double *state,
                       double *row)
{
    const size_t n = tce__mp_state_size(mp);
    const double *const psi = state + 2;
    const double *const psi_b = start->state + 2;
    const double *const dpsi_b = start->state + n + 2;
    const double factor = k == 0   ? 1.0
                          : k == 1 ? 1.0 / start->tau
                                   : 1.0 / (start->tau * start->tau);
    double xi1;
    double xi2;
    mix(mp, start, state[0], state[1], &xi1, &xi2);

    double a = xi1;
    if (mp->options.relative_goal)
        a += psi[mp->B] - xi1 * psi_b[mp->B] - xi2 * dpsi_b[mp->B];
    row[0] = a * factor;
    row[1] = xi2 * start->tau * factor;
    for (size_t c = 0; c < mp->C; c++) {
        const size_t i = mp->first + c;
        row[2 + c] = (psi[i] - xi1 * psi_b[i] - xi2 * dpsi_b[i]) * factor * mp->scale[i];
    }
}

/* scaled time u >= 0; *out_runs (or NULL): whether the clock runs there */
static double scaled_time(const tce__mp_start *start, double time, int *out_runs)
{
    const double s = (time - start->delay) / start->tau;
    if (out_runs)
        *out_runs = s > 0.0;
    return s > 0.0 ? s : 0.0;
}

static void prodmp_rows(const tce_mp *mp, const tce__mp_start *start, size_t n_times,
                        const double *times, double *const rows[TCE__MP_ORDERS])
{
    const size_t n = tce__mp_state_size(mp);
    const size_t size = tce__mp_row_size(mp);
    const size_t n_orders = rows[2] ? 3 : rows[1] ? 2 : 1;
    double state[TCE__MP_ORDERS * TCE__MP_STATE];

    for (size_t i = 0; i < n_times; i++) {
        const double u = scaled_time(start, times[i], NULL);
        state_at(mp, u, start->u, n_orders, state, NULL);
        for (size_t k = 0; k < n_orders; k++)
            if (rows[k])
                prodmp_row(mp, start, k, state + k * n, rows[k] + i * size);

        /* before the delay the velocity does not change */
        if (rows[2] && times[i] < start->delay)
            memset(rows[2] + i * size, 0, size * sizeof *state);
    }
}

/*
 * Derivative of prodmp_row along a motion: state and slope are one order at u, d/du and d/du_b of
 * the formulas there.
 */
static void prodmp_row_slope(const tce_mp *mp, const tce__mp_start *start, size_t k,
                             const double *state, const double *slope, const motion *m, double *row)
{
    const size_t n = tce__mp_state_size(mp);
    const double *const b = start->state;
    const double *const v = start->state + n;
    const double *const db = start->slope;
    const double *const dv = start->slope + n;
    double xi1, xi2, by_u1, by_u2;
    mix(mp, start, state[0], state[1], &xi1, &xi2);
    mix(mp, start, slope[0], slope[1], &by_u1, &by_u2);

    /* xi by u_b: quotient rule */
    const double d_det = db[0] * v[1] + b[0] * dv[1] - db[1] * v[0] - b[1] * dv[0];
    const double by_b1 = (dv[1] * state[0] - dv[0] * state[1] - xi1 * d_det) / start->det;
    const double by_b2 = (db[0] * state[1] - db[1] * state[0] - xi2 * d_det) / start->det;
    const double d_xi1 = by_u1 * m->u + by_b1 * m->u_b;
    const double d_xi2 = by_u2 * m->u + by_b2 * m->u_b;

    /* tau^-k f: derivative tau^-k (f' - k f/tau tau') */
    const double order = (double)k;
    const double factor = k == 0 ? 1.0 : 1.0 / start->tau;
    const double shrink = -order / start->tau * m->tau;
    double goal = 0.0;
    double d_goal = 0.0;
    for (size_t i = 0; i <= mp->B; i++) {
        const double H = state[2 + i] - xi1 * b[2 + i] - xi2 * v[2 + i];
        const double d_H = slope[2 + i] * m->u - d_xi1 * b[2 + i] - d_xi2 * v[2 + i] -
                           (xi1 * db[2 + i] + xi2 * dv[2 + i]) * m->u_b;
        if (i >= mp->first && i < mp->first + mp->C)
            row[2 + i - mp->first] = factor * (d_H + shrink * H) * mp->scale[i];
        goal = H;
        d_goal = d_H;
    }
    if (!mp->options.relative_goal)
        goal = d_goal = 0.0;
    row[0] = factor * (d_xi1 + d_goal + shrink * (xi1 + goal));
    row[1] = factor * (start->tau * d_xi2 + (1.0 - order) * xi2 * m->tau);
}

static void prodmp_rows_slope(const tce_mp *mp, const tce__mp_start *start, size_t n_times,
                              const double *times, int by_delay, double *const rows[2])
{
    const size_t n = tce__mp_state_size(mp);
    const size_t size = tce__mp_row_size(mp);
    double state[TCE__MP_ORDERS * TCE__MP_STATE];
    double slope[2 * TCE__MP_STATE];

    for (size_t i = 0; i < n_times; i++) {
        int runs;
        const double u = scaled_time(start, times[i], &runs);
        state_at(mp, u, start->u, 2, state, slope);

        /* du/dtau = -u/tau, du/ddelay = -1/tau; none while the clock stands */
        const motion m = {
            .u = runs ? -(by_delay ? 1.0 : u) / start->tau : 0.0,
            .u_b = start->u > 0.0 ? -(by_delay ? 1.0 : start->u) / start->tau : 0.0,
            .tau = by_delay ? 0.0 : 1.0,
        };
        for (size_t k = 0; k < 2; k++)
            if (rows[k])
                prodmp_row_slope(mp, start, k, state + k * n, slope + k * n, &m,
                                 rows[k] + i * size);
    }
}

/* rows of position, or with `by` 1 or 2 their derivatives by tau or delay */
static void promp_positions(const tce_mp *mp, const tce__mp_start *start, size_t n_times,
                            const double *times, int by, double *rows)
{
    double phi[TCE_MP_MAX_BASIS], slope[TCE_MP_MAX_BASIS];
    for (size_t i = 0; i < n_times; i++) {
        double *const row = rows + i * tce__mp_row_size(mp);
        const double s = (times[i] - start->delay) / start->tau;
        double by_s;
        const double x = tce__mp_phase_at(mp, s, &by_s);
        tce__mp_basis_at(mp, x, phi, by ? slope : NULL);

        /* ds/dtau = -s/tau, ds/ddelay = -1/tau */
        const double ds = -(by == 2 ? 1.0 : s) / start->tau;
        row[0] = row[1] = 0.0;
        for (size_t c = 0; c < mp->C; c++)
            row[2 + c] = mp->scale[c] * (by ? slope[c] * by_s * ds : phi[c]);
    }
}

/*
 * Forward differences of n + 1 rows (or fewer at the end of times [T]) into n rows; the last of all
 * is repeated. One time only: 0.
 */
static void difference(const tce_mp *mp, size_t T, const double *times, size_t begin, size_t n,
                       const double *rows, double *out)
{
    const size_t size = tce__mp_row_size(mp);
    for (size_t i = 0; i < n; i++) {
        if (begin + i + 1 < T) {
            const double step = times[begin + i + 1] - times[begin + i];
            for (size_t c = 0; c < size; c++)
                out[i * size + c] = (rows[(i + 1) * size + c] - rows[i * size + c]) / step;
        } else if (i > 0) {
            memcpy(out + i * size, out + (i - 1) * size, size * sizeof *out);
        } else {
            memset(out, 0, size * sizeof *out);
        }
    }
}

/* n rows from begin on; `by` as for promp_positions */
static void promp_rows(const tce_mp *mp, const tce__mp_start *start, size_t T, const double *times,
                       size_t begin, size_t n, int by, double *const rows[TCE__MP_ORDERS])
{
    const size_t size = tce__mp_row_size(mp);
    double position[TCE__MP_TILE + 2 * TCE__MP_ROW], velocity[TCE__MP_TILE + 2 * TCE__MP_ROW];

    /*
     * the last row repeats the one before: start one (velocity) or two (acceleration) rows early
     * when they are not in the tile
     */
    const size_t need = rows[2] ? 2 : rows[1] ? 1 : 0;
    const size_t early = begin + n == T && n <= need ? (begin < need ? begin : need) : 0;
    const size_t from = begin - early;
    const size_t count = n + early;
    const size_t ahead = T - from < count + need ? T - from : count + need;
    promp_positions(mp, start, ahead, times + from, by, position);
    if (rows[0])
        memcpy(rows[0], position + early * size, n * size * sizeof *position);
    if (need == 0)
        return;

    const size_t ahead_velocity = T - from < count + need - 1 ? T - from : count + need - 1;
    difference(mp, T, times, from, ahead_velocity, position, velocity);
    if (rows[1])
        memcpy(rows[1], velocity + early * size, n * size * sizeof *velocity);
    if (need == 1)
        return;
    difference(mp, T, times, from, count, velocity, position);
    memcpy(rows[2], position + early * size, n * size * sizeof *position);
}

void tce__mp_rows(const tce_mp *mp, const tce__mp_start *start, size_t T, const double *times,
                  size_t begin, size_t n, double *const rows[TCE__MP_ORDERS])
{
    if (mp->options.kind == TCE_MP_PRODMP)
        prodmp_rows(mp, start, n, times + begin, rows);
    else
        promp_rows(mp, start, T, times, begin, n, 0, rows);
}

void tce__mp_rows_slope(const tce_mp *mp, const tce__mp_start *start, size_t T, const double *times,
                        size_t begin, size_t n, int by_delay, double *const rows[2])
{
    double *const all[TCE__MP_ORDERS] = { rows[0], rows[1], NULL };
    if (mp->options.kind == TCE_MP_PRODMP)
        prodmp_rows_slope(mp, start, n, times + begin, by_delay, rows);
    else
        promp_rows(mp, start, T, times, begin, n, by_delay ? 2 : 1, all);
}

void tce__mp_rows_at(const tce_mp *mp, const tce__mp_start *start, double time,
                     double *const rows[TCE__MP_ORDERS])
{
    /* three times ahead, so that the second difference is not the repeated one */
    const double dt = mp->options.dt;
    const double times[4] = { time, time + dt, time + 2.0 * dt, time + 3.0 * dt };
    tce__mp_rows(mp, start, 4, times, 0, 1, rows);
}
