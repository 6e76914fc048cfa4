/*
 * One time: the query for control loops, and the basis rows by themselves.
 */
#include <string.h>

#include "mp/mp.h"

/* One path at one time, all its checks. */
static tce_status check_query(const tce_mp *mp, double time, const double *params, double init_time,
                              const double *init_pos, const double *init_vel)
{
    tce_status status = tce__check_pointer("mp", mp);
    if (status == TCE_OK)
        status = tce__check_finite("time", 1, &time);
    if (status == TCE_OK)
        status = tce__check_finite("init_time", 1, &init_time);
    if (status == TCE_OK)
        status = tce__check_finite("params", mp->P, params);
    if (status == TCE_OK && init_pos)
        status = tce__check_finite("init_pos", mp->D, init_pos);
    if (status == TCE_OK && init_vel)
        status = tce__check_finite("init_vel", mp->D, init_vel);
    if (status == TCE_OK)
        status = tce__mp_check_clock(mp, params, init_time, init_vel, 0);
    if (status == TCE_OK)
        status = tce__mp_check_time(mp, params, init_time, "time", 0, time);
    if (status == TCE_OK)
        status = tce__mp_check_steps(mp, init_time, "time", 0, time);
    if (status != TCE_OK)
        return status;

    if (mp->options.kind == TCE_MP_PROMP && time + mp->options.dt == time)
        return tce_fail(TCE_E_VALUE, "time = %g is too large to be told from time + dt, dt = %g",
                        time, mp->options.dt);
    return TCE_OK;
}

/* row . (y_b, y'_b, w) for every DoF, in the order of the columns as in a batch */
static void multiply(const tce_mp *mp, const double *row, const double *params,
                     const double *init_pos, const double *init_vel, double *out)
{
    for (size_t d = 0; d < mp->D; d++) {
        const double *const w = params + mp->lead + d * mp->C;
        double sum = row[0] * (init_pos ? init_pos[d] : 0.0);
        sum += row[1] * (init_vel ? init_vel[d] : 0.0);
        for (size_t c = 0; c < mp->C; c++)
            sum += row[2 + c] * w[c];
        out[d] = sum;
    }
}

tce_status tce_mp_query(const tce_mp *mp, double time, const double *params, double init_time,
                        const double *init_pos, const double *init_vel, double *out_pos,
                        double *out_vel, double *out_acc)
{
    double *const out[TCE__MP_ORDERS] = { out_pos, out_vel, out_acc };
    tce_status status = check_query(mp, time, params, init_time, init_pos, init_vel);
    if (status == TCE_OK && mp->options.kind == TCE_MP_DMP) {
        for (size_t d = 0; d < mp->D; d += TCE__MP_LANES) {
            const size_t n = mp->D - d < TCE__MP_LANES ? mp->D - d : TCE__MP_LANES;
            double *const here[TCE__MP_ORDERS] = {
                out_pos ? out_pos + d : NULL,
                out_vel ? out_vel + d : NULL,
                out_acc ? out_acc + d : NULL,
            };
            tce__mp_dmp_at(mp, time, params, init_time, init_pos, init_vel, d, n, here);
        }
        return TCE_OK;
    }

    tce__mp_start start;
    if (status == TCE_OK)
        status = tce__mp_start_at(mp, params, init_time, &start);
    if (status != TCE_OK) {
        for (size_t k = 0; k < TCE__MP_ORDERS; k++)
            tce__mp_spoil(status, mp ? mp->D : 0, out[k]);
        return status;
    }

    double space[TCE__MP_ORDERS][TCE__MP_ROW];
    double *const rows[TCE__MP_ORDERS] = { out_pos ? space[0] : NULL, out_vel ? space[1] : NULL,
                                           out_acc ? space[2] : NULL };
    tce__mp_rows_at(mp, &start, time, rows);
    for (size_t k = 0; k < TCE__MP_ORDERS; k++)
        if (out[k])
            multiply(mp, rows[k], params, init_pos, init_vel, out[k]);
    return TCE_OK;
}

tce_status tce_mp_basis(const tce_mp *mp, size_t T, const double *times, double init_time,
                        double *out_pos_basis, double *out_vel_basis, double *out_acc_basis)
{
    double *const out[TCE__MP_ORDERS] = { out_pos_basis, out_vel_basis, out_acc_basis };
    tce__mp_start start;
    tce_status status = tce__mp_check_rows(mp, "tce_mp_basis", T, times, init_time,
                                           out_vel_basis || out_acc_basis);
    if (status == TCE_OK)
        status = tce__mp_start_at(mp, NULL, init_time, &start);
    if (status != TCE_OK) {
        for (size_t k = 0; k < TCE__MP_ORDERS && status <= TCE_E_NOT_PD; k++)
            tce__mp_spoil(status, T * mp->C, out[k]);
        return status;
    }

    /* tiles of rows, without their start columns */
    const size_t size = tce__mp_row_size(mp);
    const size_t tile = tce__mp_tile_rows(mp);
    double space[TCE__MP_ORDERS][TCE__MP_TILE];
    double *const rows[TCE__MP_ORDERS] = { out[0] ? space[0] : NULL, out[1] ? space[1] : NULL,
                                           out[2] ? space[2] : NULL };
    for (size_t t = 0; t < T; t += tile) {
        const size_t n = T - t < tile ? T - t : tile;
        tce__mp_rows(mp, &start, T, times, t, n, rows);
        for (size_t k = 0; k < TCE__MP_ORDERS; k++)
            for (size_t i = 0; out[k] && i < n; i++)
                memcpy(out[k] + (t + i) * mp->C, rows[k] + i * size + 2, mp->C * sizeof *out[k]);
    }
    return TCE_OK;
}
