/*
 * From one primitive to another: with z = clip((t - from)/(to - from), 0, 1) and s = 10 z^3 - 15
 * z^4 + 6 z^5,
 *
 *     y   = y_a + s d,   d = y_b - y_a
 *     y'  = y'_a + s d' + s' d
 *     y'' = y''_a + s d'' + 2 s' d' + s'' d
 *
 * s' and s'' vanish at both ends, so that nothing jumps where a path is joined or left.
 */
#include "mp/mp.h"

/* s and its two derivatives by t */
static void blend_at(double t, double from, double to, double out[TCE__MP_ORDERS])
{
    const double length = to - from;
    const double z = fmin(fmax((t - from) / length, 0.0), 1.0);
    out[0] = z * z * z * (10.0 + z * (6.0 * z - 15.0));
    out[1] = 30.0 * z * z * (1.0 - z) * (1.0 - z) / length;
    out[2] = 60.0 * z * (1.0 - z) * (1.0 - 2.0 * z) / (length * length);
}

/* One plan, checked, with the start that all its times share. */
typedef struct part {
    tce_mp_plan plan;
    tce__mp_start start;
} part;

static tce_status read_part(const tce_mp_plan *plan, const char *name, part *out)
{
    out->plan = TCE_INIT(tce_mp_plan);
    tce_status status = tce__struct_read(plan, "tce_mp_plan", sizeof out->plan, &out->plan);
    if (status != TCE_OK)
        return status;
    const tce_mp_plan *const p = &out->plan;
    if (!p->mp)
        return tce_fail(TCE_E_ARGUMENT, "%s->mp is NULL", name);

    status = tce__check_finite("params", p->mp->P, p->params);
    if (status == TCE_OK)
        status = tce__check_finite("init_time", 1, &p->init_time);
    if (status == TCE_OK && p->init_pos)
        status = tce__check_finite("init_pos", p->mp->D, p->init_pos);
    if (status == TCE_OK && p->init_vel)
        status = tce__check_finite("init_vel", p->mp->D, p->init_vel);
    if (status == TCE_OK)
        status = tce__mp_check_clock(p->mp, p->params, p->init_time, p->init_vel, 0);
    return status;
}

/* The times at which this part counts: a before `to`, b after `from`. */
static tce_status check_times(const part *p, size_t T, const double *times, double from, double to,
                              int is_first)
{
    const tce_mp_plan *const plan = &p->plan;
    for (size_t i = 0; i < T; i++) {
        if (is_first ? !(times[i] < to) : !(times[i] > from))
            continue;
        tce_status status = tce__mp_check_time(plan->mp, plan->params, plan->init_time, "times", i,
                                               times[i]);
        if (status == TCE_OK)
            status = tce__mp_check_steps(plan->mp, plan->init_time, "times", i, times[i]);
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}

/*
 * DoFs begin ... begin + n - 1 at one time: out [ORDERS, LANES]; rows [ORDERS, ROW] were made for
 * this time (not DMP)
 */
static void evaluate(const part *p, double time, double rows[TCE__MP_ORDERS][TCE__MP_ROW],
                     size_t n_orders, size_t begin, size_t n,
                     double out[TCE__MP_ORDERS][TCE__MP_LANES])
{
    const tce_mp_plan *const plan = &p->plan;
    const tce_mp *const mp = plan->mp;
    if (mp->options.kind == TCE_MP_DMP) {
        double *const here[TCE__MP_ORDERS] = { out[0], out[1], out[2] };
        tce__mp_dmp_at(mp, time, plan->params, plan->init_time, plan->init_pos, plan->init_vel,
                       begin, n, here);
        return;
    }
    for (size_t k = 0; k < n_orders; k++) {
        for (size_t j = 0; j < n; j++) {
            const size_t d = begin + j;
            const double *const w = plan->params + mp->lead + d * mp->C;
            double sum = rows[k][0] * (plan->init_pos ? plan->init_pos[d] : 0.0);
            sum += rows[k][1] * (plan->init_vel ? plan->init_vel[d] : 0.0);
            for (size_t c = 0; c < mp->C; c++)
                sum += rows[k][2 + c] * w[c];
            out[k][j] = sum;
        }
    }
}

/* rows of one part at one time, orders 0 ... n_orders - 1 */
static void make_rows(const part *p, double time, size_t n_orders,
                      double space[TCE__MP_ORDERS][TCE__MP_ROW])
{
    double *const rows[TCE__MP_ORDERS] = { space[0], n_orders > 1 ? space[1] : NULL,
                                           n_orders > 2 ? space[2] : NULL };
    if (p->plan.mp->options.kind != TCE_MP_DMP)
        tce__mp_rows_at(p->plan.mp, &p->start, time, rows);
}

/* y, y', y'' of the blend from both parts' */
static void combine(const double s[TCE__MP_ORDERS], size_t j,
                    double a[TCE__MP_ORDERS][TCE__MP_LANES],
                    double b[TCE__MP_ORDERS][TCE__MP_LANES], size_t n_orders,
                    double out[TCE__MP_ORDERS])
{
    const double d0 = b[0][j] - a[0][j];
    out[0] = a[0][j] + s[0] * d0;
    if (n_orders < 2)
        return;
    const double d1 = b[1][j] - a[1][j];
    out[1] = a[1][j] + s[0] * d1 + s[1] * d0;
    if (n_orders < 3)
        return;
    const double d2 = b[2][j] - a[2][j];
    out[2] = a[2][j] + s[0] * d2 + 2.0 * s[1] * d1 + s[2] * d0;
}

/* All DoFs at one time; out[k] [D] or NULL. */
static void blend_time(const part *a, const part *b, double from, double to, double time,
                       size_t n_orders, double *const out[TCE__MP_ORDERS])
{
    const size_t D = a->plan.mp->D;
    double rows_a[TCE__MP_ORDERS][TCE__MP_ROW], rows_b[TCE__MP_ORDERS][TCE__MP_ROW];
    double at_a[TCE__MP_ORDERS][TCE__MP_LANES], at_b[TCE__MP_ORDERS][TCE__MP_LANES];
    const int with_a = time < to;
    const int with_b = time > from;
    double s[TCE__MP_ORDERS];
    blend_at(time, from, to, s);
    if (with_a)
        make_rows(a, time, n_orders, rows_a);
    if (with_b)
        make_rows(b, time, n_orders, rows_b);

    for (size_t d = 0; d < D; d += TCE__MP_LANES) {
        const size_t n = D - d < TCE__MP_LANES ? D - d : TCE__MP_LANES;
        if (with_a)
            evaluate(a, time, rows_a, n_orders, d, n, at_a);
        if (with_b)
            evaluate(b, time, rows_b, n_orders, d, n, at_b);
        for (size_t j = 0; j < n; j++) {
            double value[TCE__MP_ORDERS];
            for (size_t k = 0; k < n_orders; k++)
                value[k] = with_a ? at_a[k][j] : at_b[k][j];
            if (with_a && with_b)
                combine(s, j, at_a, at_b, n_orders, value);
            for (size_t k = 0; k < n_orders; k++)
                if (out[k])
                    out[k][d + j] = value[k];
        }
    }
}

tce_status tce_mp_blend(const tce_mp_plan *a, const tce_mp_plan *b, double from, double to,
                        size_t T, const double *times, double *out_pos, double *out_vel,
                        double *out_acc)
{
    part first, second;
    tce_status status = read_part(a, "a", &first);
    if (status == TCE_OK)
        status = read_part(b, "b", &second);
    if (status != TCE_OK)
        return status;
    const tce_mp *const mp_a = first.plan.mp;
    const tce_mp *const mp_b = second.plan.mp;
    if (mp_a->D != mp_b->D)
        return tce_fail(TCE_E_SHAPE, "a has %zu DoFs and b %zu, must be equal", mp_a->D, mp_b->D);
    if (!(from < to) || !isfinite(to - from))
        return tce_fail(TCE_E_VALUE, "from = %g, to = %g, must be finite and from < to", from, to);
    status = tce__check_finite("times", T, times);
    if (status == TCE_OK)
        status = check_times(&first, T, times, from, to, 1);
    if (status == TCE_OK)
        status = check_times(&second, T, times, from, to, 0);
    if (status == TCE_OK)
        status = tce__mp_start_at(mp_a, first.plan.params, first.plan.init_time, &first.start);
    if (status == TCE_OK)
        status = tce__mp_start_at(mp_b, second.plan.params, second.plan.init_time, &second.start);

    double *const out[TCE__MP_ORDERS] = { out_pos, out_vel, out_acc };
    if (status != TCE_OK) {
        for (size_t k = 0; k < TCE__MP_ORDERS; k++)
            tce__mp_spoil(status, T * mp_a->D, out[k]);
        return status;
    }
    const size_t n_orders = out_acc ? 3 : out_vel ? 2 : 1;
    for (size_t i = 0; i < T; i++) {
        double *const here[TCE__MP_ORDERS] = {
            out_pos ? out_pos + i * mp_a->D : NULL,
            out_vel ? out_vel + i * mp_a->D : NULL,
            out_acc ? out_acc + i * mp_a->D : NULL,
        };
        blend_time(&first, &second, from, to, times[i], n_orders, here);
    }
    return TCE_OK;
}
