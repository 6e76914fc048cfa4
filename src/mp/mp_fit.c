/*
 * Ridge regression of a demonstration y [T, D]:   (H'H + reg I) w = H' r   for each DoF, all
 * samples.
 *
 *     ProDMP   r = y - xi1 y_b - xi2 tau y'_b - [relative goal] H_g y_b
 *              y_b = y_0,   y'_b = (y_1 - y_0)/(t_1 - t_0)
 *     ProMP    r = y,   H = scaled Phi
 *     DMP      r_i = (z_{i+1} - z_i)/D_{i+1} - alpha (beta (G - y_i) - z_i),   H = X phi scale
 *              G = goal_scale g = y_{T-1},   z_0 = tau (y_1 - y_0)/(t_1 - t_0),
 *              z_i = (y_i - y_{i-1})/D_i
 *
 * Where a DMP's clock stands (D_i = 0) z stays what it was and the step is left out. H'H and H'r
 * are summed over tiles of rows, in the caller's work space.
 */
#include <string.h>

#include "linalg/linalg.h"
#include "mp/mp.h"

/* The normal equations in the work space, for `columns` unknowns per DoF. */
typedef struct normal {
    size_t columns;
    double *A;        /* [columns, columns] */
    double *b;        /* [columns, D] */
    double *residual; /* [tile rows, D] */
} normal;

static normal begin(const tce_mp *mp, size_t columns, double *work)
{
    normal eq = { .columns = columns };
    eq.A = work;
    eq.b = eq.A + columns * columns;
    eq.residual = eq.b + columns * mp->D;
    memset(work, 0, (columns * columns + columns * mp->D) * sizeof *work);
    return eq;
}

/* n rows H [n, columns] (stride ld) with the residuals in the work space */
static void add_rows(const tce_mp *mp, const normal *eq, size_t n, const double *H, size_t ld)
{
    tce__syrk_lower(TCE__TRANS, eq->columns, n, 1.0, H, ld, 1.0, eq->A, eq->columns);
    tce__gemm(TCE__TRANS, TCE__NO_TRANS, eq->columns, mp->D, n, 1.0, H, ld, eq->residual, mp->D,
              1.0, eq->b, mp->D);
}

/* b <- (A + reg I)^-1 b */
static tce_status solve(const tce_mp *mp, const normal *eq, double reg)
{
    for (size_t i = 0; i < eq->columns; i++)
        eq->A[i * eq->columns + i] += reg;
    const int bad = tce__cholesky(eq->columns, eq->A, eq->columns);
    if (bad != 0)
        return tce_fail(TCE_E_SINGULAR,
                        "the demonstration leaves column %d undetermined with reg = %g", bad - 1,
                        reg);
    tce__solve_lower(TCE__LEFT, TCE__NO_TRANS, eq->columns, mp->D, 1.0, eq->A, eq->columns, eq->b,
                     mp->D);
    tce__solve_lower(TCE__LEFT, TCE__TRANS, eq->columns, mp->D, 1.0, eq->A, eq->columns, eq->b,
                     mp->D);
    return TCE_OK;
}

/* ProDMP and ProMP */
static tce_status fit_rows(const tce_mp *mp, size_t T, const double *times, const double *demo,
                           double reg, double *work, double *out_params)
{
    const size_t D = mp->D;
    const size_t size = tce__mp_row_size(mp);
    const size_t tile = tce__mp_tile_rows(mp);
    double space[TCE__MP_TILE];
    double *const rows[TCE__MP_ORDERS] = { space, NULL, NULL };
    const normal eq = begin(mp, mp->C, work);

    tce__mp_start start;
    tce_status status = tce__mp_start_at(mp, NULL, times[0], &start);
    if (status != TCE_OK)
        return status;

    /* residuals: the demonstration without what its start alone does */
    const double moves = times[0] < mp->options.delay ? 0.0 : 1.0 / (times[1] - times[0]);
    for (size_t t = 0; t < T; t += tile) {
        const size_t n = T - t < tile ? T - t : tile;
        tce__mp_rows(mp, &start, T, times, t, n, rows);
        for (size_t i = 0; i < n; i++) {
            const double *const row = space + i * size;
            for (size_t d = 0; d < D; d++)
                eq.residual[i * D + d] = demo[(t + i) * D + d] - row[0] * demo[d] -
                                         row[1] * (demo[D + d] - demo[d]) * moves;
        }
        add_rows(mp, &eq, n, space + 2, size);
    }
    status = solve(mp, &eq, reg);
    for (size_t d = 0; d < D && status == TCE_OK; d++)
        for (size_t c = 0; c < mp->C; c++)
            out_params[d * mp->C + c] = eq.b[c * D + d];
    return status;
}

/* scaled time u >= 0 of a DMP's clock */
static double clock_at(const tce_mp *mp, double time)
{
    return fmax((time - mp->options.delay) / mp->options.tau, 0.0);
}

/* z_i of sample i in DoF d; z_before: that of sample i - 1 */
static double speed(const tce_mp *mp, const double *times, const double *demo, size_t i, size_t d,
                    double z_before)
{
    const double step = clock_at(mp, times[i]) - clock_at(mp, times[i - 1]);
    return step > 0.0 ? (demo[i * mp->D + d] - demo[(i - 1) * mp->D + d]) / step : z_before;
}

/* z at sample i, looking back as far as the clock stood still */
static double speed_before(const tce_mp *mp, const double *times, const double *demo, size_t i,
                           size_t d)
{
    const size_t D = mp->D;
    const double first = mp->options.tau * (demo[D + d] - demo[d]) / (times[1] - times[0]);
    for (; i > 0; i--)
        if (clock_at(mp, times[i]) > clock_at(mp, times[i - 1]))
            return speed(mp, times, demo, i, d, 0.0);
    return first;
}

static tce_status fit_dmp(const tce_mp *mp, size_t T, const double *times, const double *demo,
                          double reg, double *work, double *out_params)
{
    const size_t D = mp->D;
    const size_t B = mp->B;
    const size_t tile = tce__mp_tile_rows(mp);
    const double alpha = mp->options.alpha;
    const double beta = 0.25 * alpha;
    double rows[TCE__MP_TILE];
    if (mp->scale[B] == 0.0)
        return tce_fail(TCE_E_SINGULAR,
                        "options.goal_scale = 0: no goal reaches the demonstration's end");

    /* rows and targets, a tile at a time */
    const normal eq = begin(mp, B, work);
    size_t n = 0;
    for (size_t i = 0; i + 1 < T; i++) {
        const double u = clock_at(mp, times[i]);
        const double step = clock_at(mp, times[i + 1]) - u;
        if (step > 0.0) {
            const double factor = tce__mp_factor_at(mp, u, NULL);
            tce__mp_basis_at(mp, tce__mp_phase_at(mp, u, NULL), rows + n * B, NULL);
            for (size_t c = 0; c < B; c++)
                rows[n * B + c] *= factor * mp->scale[c];
            for (size_t d = 0; d < D; d++) {
                const double z = speed_before(mp, times, demo, i, d);
                const double z_next = speed(mp, times, demo, i + 1, d, z);
                eq.residual[n * D + d] = (z_next - z) / step -
                                         alpha *
                                             (beta * (demo[(T - 1) * D + d] - demo[i * D + d]) - z);
            }
            n++;
        }
        if (n == tile || i + 2 == T) {
            add_rows(mp, &eq, n, rows, B);
            n = 0;
        }
    }

    const tce_status status = solve(mp, &eq, reg);
    for (size_t d = 0; d < D && status == TCE_OK; d++) {
        for (size_t c = 0; c < B; c++)
            out_params[d * mp->C + c] = eq.b[c * D + d];
        out_params[d * mp->C + B] = demo[(T - 1) * D + d] / mp->scale[B];
    }
    return status;
}

tce_status tce_mp_fit(const tce_mp *mp, size_t T, const double *times, const double *demo,
                      double reg, double *work, double *out_params)
{
    tce_status status = tce__check_pointer("mp", mp);
    if (status == TCE_OK && mp->lead > 0)
        status = tce_fail(TCE_E_UNSUPPORTED,
                          "tce_mp_fit: the path is not linear in a learnt tau or delay");
    if (status == TCE_OK && T < 2)
        status = tce_fail(TCE_E_SHAPE, "T = %zu, must be >= 2", T);
    if (status == TCE_OK)
        status = tce__check_finite("times", T, times);
    for (size_t i = 0; i + 1 < T && status == TCE_OK; i++)
        if (!(times[i + 1] > times[i]))
            status = tce_fail(TCE_E_VALUE, "times[%zu] = %g, must be > times[%zu] = %g", i + 1,
                              times[i + 1], i, times[i]);
    if (status == TCE_OK)
        status = tce__check_finite("demo", T * mp->D, demo);
    if (status == TCE_OK && (!(reg >= 0.0) || !isfinite(reg)))
        status = tce_fail(TCE_E_VALUE, "reg = %g, must be finite and >= 0", reg);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    if (status == TCE_OK)
        status = tce__check_pointer("out_params", out_params);
    if (status == TCE_OK)
        status = tce__mp_check_time(mp, NULL, times[0], "times", T - 1, times[T - 1]);
    if (status != TCE_OK)
        return status;

    status = mp->options.kind == TCE_MP_DMP ? fit_dmp(mp, T, times, demo, reg, work, out_params)
                                            : fit_rows(mp, T, times, demo, reg, work, out_params);
    tce__mp_spoil(status, mp->P, out_params);
    return status;
}
