/*
 * Paths of a batch: out [E, T, D] = rows [T, 2 + C] times (y_b, y'_b, w) of each DoF.
 *
 * Rows that all episodes share are made once for a tile of times. The product then runs over eight
 * DoFs at once, four times at a time, each sum in the order of the columns: a path's bytes depend
 * neither on the batch around it nor on the tile.
 */
#include <string.h>

#include "mp/mp.h"

enum { LANES = TCE__MP_LANES, ROWS_AT_ONCE = 4 };

/*
 * (y_b, y'_b, w) of the DoFs begin ... begin + n - 1, transposed: out [2 + C, LANES], zeros beyond
 * n
 */
static void gather(const tce_mp *mp, const tce_mp_grid *g, size_t e, const double *params,
                   size_t begin, size_t n, double *out)
{
    memset(out, 0, tce__mp_row_size(mp) * LANES * sizeof *out);
    for (size_t j = 0; j < n; j++) {
        const size_t d = begin + j;
        const double *const w = params + e * mp->P + mp->lead + d * mp->C;
        out[j] = g->init_pos ? g->init_pos[e * mp->D + d] : 0.0;
        out[LANES + j] = g->init_vel ? g->init_vel[e * mp->D + d] : 0.0;
        for (size_t c = 0; c < mp->C; c++)
            out[(2 + c) * LANES + j] = w[c];
    }
}

/*
 * out [n_rows, width] with row stride D = rows [n_rows, size] X [size, LANES]; rows are padded to a
 * multiple of four. When one block of lanes holds all DoFs, a row is stored eight wide as long as
 * that stays inside out: what is too much is overwritten by the rows after it.
 */
static TCE__VECTOR void multiply(size_t n_rows, size_t size, const double *rows, const double *X,
                                 size_t width, size_t D, double *out)
{
    for (size_t i = 0; i < n_rows; i += ROWS_AT_ONCE) {
        const double *const r0 = rows + i * size;
        const double *const r1 = r0 + size;
        const double *const r2 = r1 + size;
        const double *const r3 = r2 + size;
        double s0[LANES], s1[LANES], s2[LANES], s3[LANES];
        for (int j = 0; j < LANES; j++) {
            s0[j] = r0[0] * X[j];
            s1[j] = r1[0] * X[j];
            s2[j] = r2[0] * X[j];
            s3[j] = r3[0] * X[j];
        }
        for (size_t c = 1; c < size; c++) {
            const double *const x = X + c * LANES;
            for (int j = 0; j < LANES; j++)
                s0[j] += r0[c] * x[j];
            for (int j = 0; j < LANES; j++)
                s1[j] += r1[c] * x[j];
            for (int j = 0; j < LANES; j++)
                s2[j] += r2[c] * x[j];
            for (int j = 0; j < LANES; j++)
                s3[j] += r3[c] * x[j];
        }

        double *const to = out + i * D;
        const size_t left = n_rows - i;
        if (D <= LANES && (i + ROWS_AT_ONCE - 1) * D + LANES <= n_rows * D) {
            for (int j = 0; j < LANES; j++)
                to[j] = s0[j];
            for (int j = 0; j < LANES; j++)
                to[D + j] = s1[j];
            for (int j = 0; j < LANES; j++)
                to[2 * D + j] = s2[j];
            for (int j = 0; j < LANES; j++)
                to[3 * D + j] = s3[j];
        } else {
            const double *const sums[ROWS_AT_ONCE] = { s0, s1, s2, s3 };
            for (size_t k = 0; k < ROWS_AT_ONCE && k < left; k++)
                memcpy(to + k * D, sums[k], width * sizeof *to);
        }
    }
}

/* Paths of episodes begin ... end - 1, which share their rows. */
static tce_status paths(const tce_mp *mp, const tce__mp_batch *batch, const double *params,
                        size_t begin, size_t end, double *const out[TCE__MP_ORDERS])
{
    const tce_mp_grid *const g = &batch->grid;
    const size_t size = tce__mp_row_size(mp);
    const size_t tile = tce__mp_tile_rows(mp) / ROWS_AT_ONCE * ROWS_AT_ONCE;
    double space[TCE__MP_ORDERS][TCE__MP_TILE];
    double X[TCE__MP_ROW * LANES];
    double *const rows[TCE__MP_ORDERS] = { out[0] ? space[0] : NULL, out[1] ? space[1] : NULL,
                                           out[2] ? space[2] : NULL };
    const double *const times = tce__mp_batch_times(batch, begin);

    tce__mp_start start;
    const tce_status status = tce__mp_start_at(mp, params + begin * mp->P,
                                               tce__mp_batch_init_time(batch, begin), &start);
    if (status != TCE_OK)
        return status;

    for (size_t t = 0; t < g->T; t += tile) {
        const size_t n = g->T - t < tile ? g->T - t : tile;
        tce__mp_rows(mp, &start, g->T, times, t, n, rows);
        for (size_t k = 0; k < TCE__MP_ORDERS; k++)
            if (rows[k])
                memset(rows[k] + n * size, 0,
                       (tile - n < ROWS_AT_ONCE ? tile - n : ROWS_AT_ONCE) * size *
                           sizeof *rows[k]);
        for (size_t e = begin; e < end; e++) {
            for (size_t d = 0; d < mp->D; d += LANES) {
                const size_t width = mp->D - d < LANES ? mp->D - d : LANES;
                gather(mp, g, e, params, d, width, X);
                for (size_t k = 0; k < TCE__MP_ORDERS; k++)
                    if (out[k])
                        multiply(n, size, rows[k], X, width, mp->D,
                                 out[k] + (e * g->T + t) * mp->D + d);
            }
        }
    }
    return TCE_OK;
}

tce_status tce_mp_trajectory(const tce_mp *mp, const tce_mp_grid *grid, const double *params,
                             double *out_pos, double *out_vel, double *out_acc)
{
    double *const out[TCE__MP_ORDERS] = { out_pos, out_vel, out_acc };
    tce__mp_batch batch;
    tce_status status = tce__mp_check_batch(mp, grid, params,
                                            out_acc   ? 3
                                            : out_vel ? 2
                                                      : 1,
                                            &batch);
    const size_t E = status == TCE_OK ? batch.grid.E : 0;

    if (status == TCE_OK && mp->options.kind == TCE_MP_DMP) {
        tce__mp_dmp_paths(mp, &batch, params, out);
        return TCE_OK;
    }

    /* all at once when they share their rows, else one by one */
    if (status == TCE_OK && batch.shared_start)
        status = paths(mp, &batch, params, 0, E, out);
    else
        for (size_t e = 0; e < E && status == TCE_OK; e++)
            status = paths(mp, &batch, params, e, e + 1, out);

    if (status <= TCE_E_NOT_PD)
        for (size_t k = 0; k < TCE__MP_ORDERS; k++)
            tce__mp_spoil(status, batch.grid.E * batch.grid.T * mp->D, out[k]);
    return status;
}
