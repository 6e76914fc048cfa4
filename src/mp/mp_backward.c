/*
 * Vector-Jacobian product of tce_mp_trajectory. The path is linear in w:
 *
 *     d_w [D, C] = d_pos' [D, T] rows_pos [T, C] + d_vel' [D, T] rows_vel [T, C]
 *
 * and for a learnt tau (and delay) d_tau = sum_{t,d} d_pos[t,d] (d row_t/d tau) . (y_b, y'_b, w)_d,
 * likewise with d_vel.
 */
#include <string.h>

#include "linalg/linalg.h"
#include "mp/mp.h"

/* d_w += d_out' rows for one order and one tile: d_out [n, D], rows [n, 2 + C], d_w [D, C] */
static void add_weights(const tce_mp *mp, size_t n, const double *d_out, const double *rows,
                        double *d_w)
{
    tce__gemm(TCE__TRANS, TCE__NO_TRANS, mp->D, mp->C, n, 1.0, d_out, mp->D, rows + 2,
              tce__mp_row_size(mp), 1.0, d_w, mp->C);
}

/*
 * sum over n rows and D of d_out[t,d] row_t . (y_b, y'_b, w)_d; params, init_pos, init_vel of this
 * episode
 */
static double contract(const tce_mp *mp, size_t n, const double *d_out, const double *rows,
                       const double *params, const double *init_pos, const double *init_vel)
{
    const size_t size = tce__mp_row_size(mp);
    double total = 0.0;
    for (size_t t = 0; t < n; t++) {
        const double *const row = rows + t * size;
        for (size_t d = 0; d < mp->D; d++) {
            const double *const w = params + mp->lead + d * mp->C;
            double value = row[0] * (init_pos ? init_pos[d] : 0.0) +
                           row[1] * (init_vel ? init_vel[d] : 0.0);
            for (size_t c = 0; c < mp->C; c++)
                value += row[2 + c] * w[c];
            total += d_out[t * mp->D + d] * value;
        }
    }
    return total;
}

/* Gradient of one episode, d_params [P], zero on entry. */
static tce_status one_path(const tce_mp *mp, const tce__mp_batch *batch, size_t e,
                           const double *params, const double *d_pos, const double *d_vel,
                           double *d_params)
{
    const tce_mp_grid *const g = &batch->grid;
    const size_t tile = tce__mp_tile_rows(mp);
    const double *const times = tce__mp_batch_times(batch, e);
    const double *const init_pos = g->init_pos ? g->init_pos + e * mp->D : NULL;
    const double *const init_vel = g->init_vel ? g->init_vel + e * mp->D : NULL;
    const double *const d_out[2] = { d_pos, d_vel };
    double space[2][TCE__MP_TILE];
    double *const rows[TCE__MP_ORDERS] = { d_pos ? space[0] : NULL, d_vel ? space[1] : NULL, NULL };

    tce__mp_start start;
    const tce_status status = tce__mp_start_at(mp, params, tce__mp_batch_init_time(batch, e),
                                               &start);
    if (status != TCE_OK)
        return status;

    for (size_t t = 0; t < g->T; t += tile) {
        const size_t n = g->T - t < tile ? g->T - t : tile;
        tce__mp_rows(mp, &start, g->T, times, t, n, rows);
        for (size_t k = 0; k < 2; k++)
            if (d_out[k])
                add_weights(mp, n, d_out[k] + t * mp->D, rows[k], d_params + mp->lead);

        /* learnt numbers lead the vector: tau, then delay */
        for (size_t i = 0; i < mp->lead; i++) {
            const int by_delay = i == 1 || !mp->options.learn_tau;
            tce__mp_rows_slope(mp, &start, g->T, times, t, n, by_delay, rows);
            for (size_t k = 0; k < 2; k++)
                if (d_out[k])
                    d_params[i] += contract(mp, n, d_out[k] + t * mp->D, rows[k], params, init_pos,
                                            init_vel);
        }
    }
    return TCE_OK;
}

/* All episodes at once: rows made once a tile. out_d_params [E, P], zero on entry. */
static tce_status shared_paths(const tce_mp *mp, const tce__mp_batch *batch, const double *d_pos,
                               const double *d_vel, double *out_d_params)
{
    const tce_mp_grid *const g = &batch->grid;
    const size_t tile = tce__mp_tile_rows(mp);
    const double *const d_out[2] = { d_pos, d_vel };
    double space[2][TCE__MP_TILE];
    double *const rows[TCE__MP_ORDERS] = { d_pos ? space[0] : NULL, d_vel ? space[1] : NULL, NULL };

    tce__mp_start start;
    const tce_status status = tce__mp_start_at(mp, NULL, tce__mp_batch_init_time(batch, 0), &start);
    if (status != TCE_OK)
        return status;

    for (size_t t = 0; t < g->T; t += tile) {
        const size_t n = g->T - t < tile ? g->T - t : tile;
        tce__mp_rows(mp, &start, g->T, g->times, t, n, rows);
        for (size_t e = 0; e < g->E; e++)
            for (size_t k = 0; k < 2; k++)
                if (d_out[k])
                    add_weights(mp, n, d_out[k] + (e * g->T + t) * mp->D, rows[k],
                                out_d_params + e * mp->P);
    }
    return TCE_OK;
}

tce_status tce_mp_trajectory_backward(const tce_mp *mp, const tce_mp_grid *grid,
                                      const double *params, const double *d_pos,
                                      const double *d_vel, double *out_d_params)
{
    tce__mp_batch batch;
    tce_status status = tce__mp_check_batch(mp, grid, params, d_vel ? 2 : 1, &batch);
    if (status != TCE_OK) {
        if (status <= TCE_E_NOT_PD)
            tce__mp_spoil(status, batch.grid.E * mp->P, out_d_params);
        return status;
    }
    const tce_mp_grid *const g = &batch.grid;
    const size_t n = g->T * mp->D;
    status = tce__check_pointer("out_d_params", out_d_params);
    if (status == TCE_OK && d_pos)
        status = tce__check_finite("d_pos", g->E * n, d_pos);
    if (status == TCE_OK && d_vel)
        status = tce__check_finite("d_vel", g->E * n, d_vel);
    if (status != TCE_OK)
        return status;

    if (mp->options.kind == TCE_MP_DMP) {
        tce__mp_dmp_backward(mp, &batch, params, d_pos, d_vel, out_d_params);
        return TCE_OK;
    }
    memset(out_d_params, 0, g->E * mp->P * sizeof *out_d_params);
    if (batch.shared_start)
        status = shared_paths(mp, &batch, d_pos, d_vel, out_d_params);
    for (size_t e = 0; e < g->E && status == TCE_OK && !batch.shared_start; e++)
        status = one_path(mp, &batch, e, params + e * mp->P, d_pos ? d_pos + e * n : NULL,
                          d_vel ? d_vel + e * n : NULL, out_d_params + e * mp->P);
    tce__mp_spoil(status, g->E * mp->P, out_d_params);
    return status;
}
