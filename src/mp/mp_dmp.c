/*
 * DMP: the equation of motion, integrated over the given times.   [TCE eq. dmp_original]
 *
 *     z = tau y',   f_i = X(u_i) sum_j phi_j(x_i) weights_scale_j w_j,
 *     G = goal_scale g,   beta = alpha/4
 *     z_{i+1} = z_i + D [alpha (beta (G - y_i) - z_i) + f_i],   y_{i+1} = y_i + D z_{i+1},
 *     D = u_{i+1} - u_i
 *
 * from y_0 = y_b, z_0 = tau y'_b at the start time t_0 = init_time, over the given times t_1 ...
 * t_T. The acceleration is the bracket over tau^2. The gradient to w and g is the adjoint of the
 * recursion, run backwards; as the recursion is linear it needs no stored states. Tau and delay are
 * two numbers for all DoFs: their derivatives are carried forwards beside the states.
 */
#include <string.h>

#include "mp/mp.h"

enum { LANES = TCE__MP_LANES };

/* One path in up to eight DoFs. */
typedef struct lanes {
    double w[TCE_MP_MAX_BASIS * LANES]; /* [B, LANES] */
    double goal[LANES];                 /* goal_scale g */
    double y[LANES];
    double z[LANES];
    double tau;
    double delay;
    size_t begin, n; /* which DoFs */
} lanes;

static void load(const tce_mp *mp, const double *params, const double *init_pos,
                 const double *init_vel, size_t begin, size_t n, lanes *out)
{
    memset(out->goal, 0, sizeof out->goal);
    memset(out->w, 0, mp->B * LANES * sizeof *out->w);
    memset(out->y, 0, sizeof out->y);
    memset(out->z, 0, sizeof out->z);
    out->tau = tce__mp_tau(mp, params);
    out->delay = tce__mp_delay(mp, params);
    out->begin = begin;
    out->n = n;
    for (size_t j = 0; j < n; j++) {
        const double *const w = params + mp->lead + (begin + j) * mp->C;
        for (size_t i = 0; i < mp->B; i++)
            out->w[i * LANES + j] = w[i];
        out->goal[j] = mp->scale[mp->B] * w[mp->B];
        out->y[j] = init_pos ? init_pos[begin + j] : 0.0;
        out->z[j] = init_vel ? out->tau * init_vel[begin + j] : 0.0;
    }
}

/* scaled time, and the row X(u) scale_j phi_j(x) [B]; slope [B] (or NULL): its derivative by u */
static double forcing_row(const tce_mp *mp, const lanes *path, double time, double *row,
                          double *slope)
{
    const double s = (time - path->delay) / path->tau;
    const double u = s > 0.0 ? s : 0.0;
    double by_u;
    double d_factor;
    const double x = tce__mp_phase_at(mp, u, &by_u);
    const double factor = tce__mp_factor_at(mp, u, &d_factor);

    tce__mp_basis_at(mp, x, row, slope);
    for (size_t i = 0; i < mp->B; i++) {
        if (slope)
            slope[i] = mp->scale[i] * (d_factor * row[i] + factor * slope[i] * by_u);
        row[i] *= factor * mp->scale[i];
    }
    return u;
}

/* row [B] times w [B, LANES] */
static void force(const tce_mp *mp, const lanes *path, const double *row, double *out)
{
    for (int j = 0; j < LANES; j++)
        out[j] = 0.0;
    for (size_t i = 0; i < mp->B; i++)
        for (int j = 0; j < LANES; j++)
            out[j] += row[i] * path->w[i * LANES + j];
}

/* alpha (beta (G - y) - z) + f */
static void right_side(const tce_mp *mp, const lanes *path, const double *f, double *out)
{
    const double alpha = mp->options.alpha;
    const double beta = 0.25 * alpha;
    for (int j = 0; j < LANES; j++)
        out[j] = alpha * (beta * (path->goal[j] - path->y[j]) - path->z[j]) + f[j];
}

/* position, velocity, acceleration of the current state into out[k] [n] where it is not NULL */
static void publish(const lanes *path, const double *bracket, int runs,
                    double *const out[TCE__MP_ORDERS])
{
    for (size_t j = 0; j < path->n; j++) {
        if (out[0])
            out[0][j] = path->y[j];
        if (out[1])
            out[1][j] = path->z[j] / path->tau;
        if (out[2])
            out[2][j] = runs ? bracket[j] / (path->tau * path->tau) : 0.0;
    }
}

static void advance(lanes *path, double step, const double *bracket)
{
    for (int j = 0; j < LANES; j++) {
        path->z[j] += step * bracket[j];
        path->y[j] += step * path->z[j];
    }
}

/* t_0 ... t_T of the recursion: the start, then times [T] */
static double knot(double init_time, const double *times, size_t i)
{
    return i > 0 ? times[i - 1] : init_time;
}

/*
 * One path in the DoFs of `path`. rows [T + 1, B] and scaled [T + 1], the forcing rows and scaled
 * times of t_0 ... t_T, are NULL when they are to be made here.
 */
static void integrate(const tce_mp *mp, lanes *path, double init_time, size_t T,
                      const double *times, const double *rows, const double *scaled,
                      double *const out[TCE__MP_ORDERS])
{
    double own[TCE_MP_MAX_BASIS], f[LANES], bracket[LANES];
    double u = 0.0;
    for (size_t i = 0; i <= T; i++) {
        const double time = knot(init_time, times, i);
        const double *const row = rows ? rows + i * mp->B : own;
        const double next = rows ? scaled[i] : forcing_row(mp, path, time, own, NULL);
        if (i > 0)
            advance(path, next - u, bracket);
        u = next;

        force(mp, path, row, f);
        right_side(mp, path, f, bracket);
        if (i == 0)
            continue;
        double *const here[TCE__MP_ORDERS] = {
            out[0] ? out[0] + (i - 1) * mp->D : NULL,
            out[1] ? out[1] + (i - 1) * mp->D : NULL,
            out[2] ? out[2] + (i - 1) * mp->D : NULL,
        };
        publish(path, bracket, time >= path->delay, here);
    }
}

void tce__mp_dmp_paths(const tce_mp *mp, const tce__mp_batch *batch, const double *params,
                       double *const out[TCE__MP_ORDERS])
{
    const tce_mp_grid *const g = &batch->grid;
    double rows[TCE__MP_TILE], scaled[TCE__MP_TILE];
    lanes path;

    /* forcing rows of all episodes at once where they are the same and fit */
    const int shared = batch->shared_start && (g->T + 1) * mp->B <= TCE__MP_TILE;
    path.tau = tce__mp_tau(mp, params);
    path.delay = tce__mp_delay(mp, params);
    for (size_t i = 0; shared && i <= g->T; i++)
        scaled[i] = forcing_row(mp, &path, knot(tce__mp_batch_init_time(batch, 0), g->times, i),
                                rows + i * mp->B, NULL);

    for (size_t e = 0; e < g->E; e++) {
        const double init_time = tce__mp_batch_init_time(batch, e);
        const double *const init_pos = g->init_pos ? g->init_pos + e * mp->D : NULL;
        const double *const init_vel = g->init_vel ? g->init_vel + e * mp->D : NULL;
        for (size_t d = 0; d < mp->D; d += LANES) {
            const size_t at = e * g->T * mp->D + d;
            double *const here[TCE__MP_ORDERS] = {
                out[0] ? out[0] + at : NULL,
                out[1] ? out[1] + at : NULL,
                out[2] ? out[2] + at : NULL,
            };
            load(mp, params + e * mp->P, init_pos, init_vel, d,
                 mp->D - d < LANES ? mp->D - d : LANES, &path);
            integrate(mp, &path, init_time, g->T, tce__mp_batch_times(batch, e),
                      shared ? rows : NULL, scaled, here);
        }
    }
}

/*
 * The gradient of one path's loss by w and g in the DoFs of `path`: the recursion's adjoint. d_pos,
 * d_vel [T, D] or NULL, from DoF `begin` on; d_params [P] gets the DoFs' columns.
 */
static void adjoint(const tce_mp *mp, const lanes *path, double init_time, size_t T,
                    const double *times, const double *d_pos, const double *d_vel, double *d_params)
{
    const double alpha = mp->options.alpha;
    const double beta = 0.25 * alpha;
    double row[TCE_MP_MAX_BASIS];
    double d_y[LANES] = { 0 }, d_z[LANES] = { 0 };
    double later = 0.0;

    for (size_t i = T + 1; i-- > 0;) {
        const double u = forcing_row(mp, path, knot(init_time, times, i), row, NULL);
        const double step = i < T ? later - u : 0.0;
        later = u;
        for (size_t j = 0; j < path->n; j++) {
            double *const d_w = d_params + mp->lead + (path->begin + j) * mp->C;

            /* through y_{i+1} = y_i + D z_{i+1}, then through z_{i+1} */
            d_z[j] += step * d_y[j];
            const double d_bracket = step * d_z[j];
            for (size_t c = 0; c < mp->B; c++)
                d_w[c] += d_bracket * row[c];
            d_w[mp->B] += d_bracket * alpha * beta * mp->scale[mp->B];
            d_y[j] -= d_bracket * alpha * beta;
            d_z[j] -= d_bracket * alpha;

            /* gradients of the outputs at this time; the start is not an output */
            d_y[j] += d_pos && i > 0 ? d_pos[(i - 1) * mp->D + j] : 0.0;
            d_z[j] += d_vel && i > 0 ? d_vel[(i - 1) * mp->D + j] / path->tau : 0.0;
        }
    }
}

/* How the state of a path moves with tau or delay. */
typedef struct tangent {
    double y[LANES];
    double z[LANES];
} tangent;

/*
 * Derivative of one path's loss by tau (by delay): states and tangents side by side. path holds the
 * start.
 */
static double tangents(const tce_mp *mp, lanes *path, double init_time, size_t T,
                       const double *times, int by_delay, const double *d_pos, const double *d_vel)
{
    const double alpha = mp->options.alpha;
    const double beta = 0.25 * alpha;
    const double tau = path->tau;
    double row[TCE_MP_MAX_BASIS], slope[TCE_MP_MAX_BASIS];
    double f[LANES], d_f[LANES], bracket[LANES], d_bracket[LANES];
    tangent d;
    double u = 0.0, d_u = 0.0, total = 0.0;

    /* z_0 = tau y'_b */
    for (int j = 0; j < LANES; j++) {
        d.y[j] = 0.0;
        d.z[j] = by_delay ? 0.0 : path->z[j] / tau;
    }
    for (size_t i = 0; i <= T; i++) {
        const double next = forcing_row(mp, path, knot(init_time, times, i), row, slope);
        const double d_next = next > 0.0 ? -(by_delay ? 1.0 : next) / tau : 0.0;
        if (i > 0) {
            const double step = next - u;
            const double d_step = d_next - d_u;
            for (int j = 0; j < LANES; j++) {
                d.z[j] += d_step * bracket[j] + step * d_bracket[j];
                path->z[j] += step * bracket[j];
                d.y[j] += d_step * path->z[j] + step * d.z[j];
                path->y[j] += step * path->z[j];
            }
        }
        u = next;
        d_u = d_next;

        /* the bracket here and its tangent */
        force(mp, path, row, f);
        force(mp, path, slope, d_f);
        right_side(mp, path, f, bracket);
        for (int j = 0; j < LANES; j++)
            d_bracket[j] = -alpha * (beta * d.y[j] + d.z[j]) + d_f[j] * d_u;

        for (size_t j = 0; i > 0 && j < path->n; j++) {
            if (d_pos)
                total += d_pos[(i - 1) * mp->D + j] * d.y[j];
            if (d_vel)
                total += d_vel[(i - 1) * mp->D + j] *
                         (d.z[j] - (by_delay ? 0.0 : path->z[j] / tau)) / tau;
        }
    }
    return total;
}

void tce__mp_dmp_backward(const tce_mp *mp, const tce__mp_batch *batch, const double *params,
                          const double *d_pos, const double *d_vel, double *out_d_params)
{
    const tce_mp_grid *const g = &batch->grid;
    lanes path;
    memset(out_d_params, 0, g->E * mp->P * sizeof *out_d_params);
    for (size_t e = 0; e < g->E; e++) {
        const double *const times = tce__mp_batch_times(batch, e);
        const double init_time = tce__mp_batch_init_time(batch, e);
        const double *const w = params + e * mp->P;
        const double *const init_pos = g->init_pos ? g->init_pos + e * mp->D : NULL;
        const double *const init_vel = g->init_vel ? g->init_vel + e * mp->D : NULL;
        double *const d_w = out_d_params + e * mp->P;
        for (size_t d = 0; d < mp->D; d += LANES) {
            const size_t n = mp->D - d < LANES ? mp->D - d : LANES;
            const size_t at = e * g->T * mp->D + d;
            const double *const d_p = d_pos ? d_pos + at : NULL;
            const double *const d_v = d_vel ? d_vel + at : NULL;
            load(mp, w, init_pos, init_vel, d, n, &path);
            adjoint(mp, &path, init_time, g->T, times, d_p, d_v, d_w);
            if (mp->options.learn_tau)
                d_w[0] += tangents(mp, &path, init_time, g->T, times, 0, d_p, d_v);
            if (mp->options.learn_delay) {
                load(mp, w, init_pos, init_vel, d, n, &path);
                d_w[mp->lead - 1] += tangents(mp, &path, init_time, g->T, times, 1, d_p, d_v);
            }
        }
    }
}

void tce__mp_dmp_at(const tce_mp *mp, double time, const double *params, double init_time,
                    const double *init_pos, const double *init_vel, size_t begin, size_t n,
                    double *const out[TCE__MP_ORDERS])
{
    double row[TCE_MP_MAX_BASIS], f[LANES], bracket[LANES];
    lanes path;
    load(mp, params, init_pos, init_vel, begin, n, &path);

    /* whole steps of dt, counted so that they do not drift, then what is left */
    double u = forcing_row(mp, &path, init_time, row, NULL);
    force(mp, &path, row, f);
    right_side(mp, &path, f, bracket);
    double now = init_time;
    for (double k = 1.0; now < time; k += 1.0) {
        now = fmin(init_time + k * mp->options.dt, time);
        const double next = forcing_row(mp, &path, now, row, NULL);
        advance(&path, next - u, bracket);
        u = next;
        force(mp, &path, row, f);
        right_side(mp, &path, f, bracket);
    }
    publish(&path, bracket, time >= path.delay, out);
}
