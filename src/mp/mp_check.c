/*
 * Argument checks of the queries: a batch of paths, one clock, one time. All are made before
 * anything is written.
 */
#include <string.h>

#include "mp/mp.h"

/* u > F (1 + this) is beyond the table: times such as delay + F tau may round up */
static const double TABLE_SLACK = 1e-12;

/* e^709 is the largest; a path this far before its start is of no use */
static const double MAX_EXPONENT = 700.0;

/* scaled times beyond this would overflow when multiplied by alpha */
static const double MAX_SCALED_TIME = 1e150;

double tce__mp_tau(const tce_mp *mp, const double *params)
{
    return mp->options.learn_tau ? params[0] : mp->options.tau;
}

double tce__mp_delay(const tce_mp *mp, const double *params)
{
    return mp->options.learn_delay ? params[mp->lead - 1] : mp->options.delay;
}

const double *tce__mp_batch_times(const tce__mp_batch *batch, size_t e)
{
    return batch->grid.times + (batch->grid.n_time_rows > 1 ? e * batch->grid.T : 0);
}

double tce__mp_batch_init_time(const tce__mp_batch *batch, size_t e)
{
    if (!batch->grid.init_time)
        return 0.0;
    return batch->grid.init_time[batch->grid.n_init_times > 1 ? e : 0];
}

void tce__mp_spoil(tce_status status, size_t n, double *out)
{
    if (status > TCE_E_NOT_PD || !out)
        return;
    for (size_t i = 0; i < n; i++)
        out[i] = NAN;
}

tce_status tce__mp_check_linear(const tce_mp *mp, const char *call)
{
    if (mp->options.kind == TCE_MP_DMP)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "%s: a DMP has no basis rows, only ProDMP and ProMP have them", call);
    if (mp->lead > 0)
        return tce_fail(TCE_E_UNSUPPORTED, "%s: the path is not linear in a learnt tau or delay",
                        call);
    return TCE_OK;
}

tce_status tce__mp_check_time(const tce_mp *mp, const double *params, double init_time,
                              const char *name, size_t i, double time)
{
    const double tau = tce__mp_tau(mp, params);
    const double delay = tce__mp_delay(mp, params);
    const double u = fmax((time - delay) / tau, 0.0);
    if (!(fabs((time - delay) / tau) <= MAX_SCALED_TIME))
        return tce_fail(TCE_E_VALUE, "%s[%zu] = %g is %g in scaled time, must be within %g", name,
                        i, time, (time - delay) / tau, MAX_SCALED_TIME);
    if (mp->options.kind != TCE_MP_PRODMP)
        return TCE_OK;

    /*
     * the table ends; an exact path does not, but it grows like e^{alpha (u_b - u)/2} before its
     * start
     */
    if (mp->options.basis == TCE_MP_BASIS_TABLE) {
        const double length = (double)mp->options.table_length;
        if (u > length * (1.0 + TABLE_SLACK))
            return tce_fail(TCE_E_VALUE, "%s[%zu] = %g is beyond the table, must be <= %g", name, i,
                            time, delay + tau * length);
        return TCE_OK;
    }
    const double u_b = fmax((init_time - delay) / tau, 0.0);
    if (0.5 * mp->options.alpha * (u_b - u) > MAX_EXPONENT)
        return tce_fail(TCE_E_NOT_FINITE,
                        "%s[%zu] = %g lies so far before the start at %g that the path overflows",
                        name, i, time, init_time);
    return TCE_OK;
}

tce_status tce__mp_check_steps(const tce_mp *mp, double init_time, const char *name, size_t i,
                               double time)
{
    if (mp->options.kind != TCE_MP_DMP)
        return TCE_OK;
    const double steps = (time - init_time) / mp->options.dt;
    if (time < init_time)
        return tce_fail(TCE_E_VALUE, "%s[%zu] = %g, must be >= init_time = %g for a DMP", name, i,
                        time, init_time);
    if (!(steps <= TCE_MP_MAX_STEPS))
        return tce_fail(
            TCE_E_VALUE,
            "%s[%zu] = %g is %g steps of dt = %g after init_time = %g, must be <= %d for a DMP: "
            "start from a later state",
            name, i, time, steps, mp->options.dt, init_time, TCE_MP_MAX_STEPS);
    return TCE_OK;
}

tce_status tce__mp_check_clock(const tce_mp *mp, const double *params, double init_time,
                               const double *init_vel, size_t e)
{
    const double tau = tce__mp_tau(mp, params);
    const double delay = tce__mp_delay(mp, params);
    if (!(tau > 0.0))
        return tce_fail(TCE_E_VALUE, "params[%zu] = %g is the learnt tau, must be > 0", e * mp->P,
                        tau);
    if (mp->options.kind != TCE_MP_PRODMP)
        return TCE_OK;

    /* before the delay the path rests */
    if (init_vel && init_time < delay)
        for (size_t d = 0; d < mp->D; d++)
            if (init_vel[d] != 0.0)
                return tce_fail(
                    TCE_E_VALUE,
                    "init_vel[%zu] = %g, must be 0 when init_time = %g is before the delay %g",
                    e * mp->D + d, init_vel[d], init_time, delay);
    return tce__mp_check_time(mp, params, init_time, "init_time", e, init_time);
}

/* Sizes, and NaN in any array. */
static tce_status check_arrays(const tce_mp *mp, const tce_mp_grid *g, const double *params)
{
    if (g->E == 0 || g->T == 0)
        return tce_fail(TCE_E_SHAPE, "grid.E = %zu, grid.T = %zu, must be >= 1", g->E, g->T);
    if (g->n_time_rows != 1 && g->n_time_rows != g->E)
        return tce_fail(TCE_E_SHAPE, "grid.n_time_rows = %zu, must be 1 or E = %zu", g->n_time_rows,
                        g->E);
    if (g->n_init_times != 1 && g->n_init_times != g->E)
        return tce_fail(TCE_E_SHAPE, "grid.n_init_times = %zu, must be 1 or E = %zu",
                        g->n_init_times, g->E);

    tce_status status = tce__check_finite("grid.times", g->n_time_rows * g->T, g->times);
    if (status == TCE_OK && g->init_time)
        status = tce__check_finite("grid.init_time", g->n_init_times, g->init_time);
    if (status == TCE_OK && g->init_pos)
        status = tce__check_finite("grid.init_pos", g->E * mp->D, g->init_pos);
    if (status == TCE_OK && g->init_vel)
        status = tce__check_finite("grid.init_vel", g->E * mp->D, g->init_vel);
    if (status == TCE_OK)
        status = tce__check_finite("params", g->E * mp->P, params);
    return status;
}

/* A ProMP divides by the differences of neighbouring times. */
static tce_status check_steps(size_t n_rows, size_t T, const double *times)
{
    for (size_t row = 0; row < n_rows; row++)
        for (size_t i = row * T; i + 1 < (row + 1) * T; i++)
            if (times[i + 1] == times[i])
                return tce_fail(
                    TCE_E_VALUE,
                    "times[%zu] = times[%zu] = %g, a ProMP's velocity needs different times", i,
                    i + 1, times[i]);
    return TCE_OK;
}

/* The first and the last of times [T] in value, which bound all checks. */
static void extremes(size_t T, const double *times, size_t *out_first, size_t *out_last)
{
    size_t first = 0;
    size_t last = 0;
    for (size_t i = 1; i < T; i++) {
        first = times[i] < times[first] ? i : first;
        last = times[i] > times[last] ? i : last;
    }
    *out_first = first;
    *out_last = last;
}

/* Every path's clock and times. */
static tce_status check_clocks(const tce_mp *mp, const tce__mp_batch *batch, const double *params)
{
    const tce_mp_grid *const g = &batch->grid;
    size_t first = 0;
    size_t last = 0;
    for (size_t e = 0; e < g->E; e++) {
        const double *const times = tce__mp_batch_times(batch, e);
        const double *const w = params + e * mp->P;
        const double init_time = tce__mp_batch_init_time(batch, e);
        if (e == 0 || !batch->shared_times)
            extremes(g->T, times, &first, &last);

        const size_t row = (size_t)(times - g->times);
        tce_status status = tce__mp_check_clock(mp, w, init_time,
                                                g->init_vel ? g->init_vel + e * mp->D : NULL, e);
        if (status == TCE_OK)
            status = tce__mp_check_time(mp, w, init_time, "grid.times", row + last, times[last]);
        if (status == TCE_OK)
            status = tce__mp_check_time(mp, w, init_time, "grid.times", row + first, times[first]);
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}

/* whether rows [n_rows, n] are all the same bytes */
static int all_equal(size_t n_rows, size_t n, const double *rows)
{
    for (size_t r = 1; r < n_rows; r++)
        if (memcmp(rows, rows + r * n, n * sizeof *rows) != 0)
            return 0;
    return 1;
}

tce_status tce__mp_check_batch(const tce_mp *mp, const tce_mp_grid *grid, const double *params,
                               size_t n_orders, tce__mp_batch *out)
{
    tce_status status = tce__check_pointer("mp", mp);
    if (status != TCE_OK)
        return status;
    out->grid = TCE_INIT(tce_mp_grid);
    status = tce__struct_read(grid, "tce_mp_grid", sizeof out->grid, &out->grid);
    out->grid.n_time_rows += out->grid.n_time_rows == 0;
    out->grid.n_init_times += out->grid.n_init_times == 0;
    if (status == TCE_OK)
        status = check_arrays(mp, &out->grid, params);
    if (status == TCE_OK && mp->options.kind == TCE_MP_PROMP && n_orders > 1)
        status = check_steps(out->grid.n_time_rows, out->grid.T, out->grid.times);
    if (status != TCE_OK)
        return status;

    const tce_mp_grid *const g = &out->grid;
    out->shared_times = all_equal(g->n_time_rows, g->T, g->times);
    out->shared_start = mp->lead == 0 && out->shared_times;
    if (out->shared_start && g->init_time && mp->options.kind != TCE_MP_PROMP)
        out->shared_start = all_equal(g->n_init_times, 1, g->init_time);
    return check_clocks(mp, out, params);
}

tce_status tce__mp_check_rows(const tce_mp *mp, const char *call, size_t T, const double *times,
                              double init_time, int differences)
{
    tce_status status = tce__check_pointer("mp", mp);
    if (status == TCE_OK)
        status = tce__mp_check_linear(mp, call);
    if (status == TCE_OK && T == 0)
        status = tce_fail(TCE_E_SHAPE, "T = 0, must be >= 1");
    if (status == TCE_OK)
        status = tce__check_finite("times", T, times);
    if (status == TCE_OK)
        status = tce__check_finite("init_time", 1, &init_time);
    if (status == TCE_OK && differences && mp->options.kind == TCE_MP_PROMP)
        status = check_steps(1, T, times);
    if (status == TCE_OK)
        status = tce__mp_check_clock(mp, NULL, init_time, NULL, 0);
    if (status != TCE_OK)
        return status;

    size_t first;
    size_t last;
    extremes(T, times, &first, &last);
    status = tce__mp_check_time(mp, NULL, init_time, "times", last, times[last]);
    return status == TCE_OK ? tce__mp_check_time(mp, NULL, init_time, "times", first, times[first])
                            : status;
}
