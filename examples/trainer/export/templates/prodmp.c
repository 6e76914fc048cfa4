#if POLICY_TABLE
#include "prodmp_table.c"
#else
#include "prodmp_exact.c"
#endif

/* The clock of a path and the basis where it starts. */
typedef struct policy_start {
    double tau, delay, u, det;
    double state[2 * POLICY_STATE];
} policy_start;

static double policy_scaled(const policy_start *s, double time)
{
    const double u = (time - s->delay) / s->tau;
    return u > 0.0 ? u : 0.0;
}

/* 0, or -1 when a path cannot start there */
static int policy_begin(const double *params, double init_time, const double *init_pos,
                        const double *init_vel, policy_start *s)
{
    if (!policy_arguments_are_fine(params, init_time, init_pos, init_vel))
        return -1;
    s->tau = policy_tau(params);
    s->delay = policy_delay(params);
    s->u = policy_scaled(s, init_time);
    for (int d = 0; init_vel && init_time < s->delay && d < POLICY_DOF; d++)
        if (init_vel[d] != 0.0)
            return -1;
    if (!policy_time_is_fine(s->u, s->u))
        return -1;
    policy_state(s->u, s->u, s->state);
    const double *p = s->state, *v = s->state + POLICY_STATE;
    s->det = p[0] * v[1] - p[1] * v[0];
    return s->det >= 2.2250738585072014e-308 ? 0 : -1;
}

/*
 * row [2 + COLUMNS] that gives position (k = 0) or velocity (1) from (init_pos, init_vel,
 * parameters of the DoF)
 */
static void policy_row(const policy_start *s, int k, const double *state, double *row)
{
    const double *p = s->state, *v = s->state + POLICY_STATE;
    const double factor = k == 0 ? 1.0 : 1.0 / s->tau;
    const double xi1 = (v[1] * state[0] - v[0] * state[1]) / s->det;
    const double xi2 = (p[0] * state[1] - p[1] * state[0]) / s->det;
    row[0] = xi1;
#if POLICY_RELATIVE
    row[0] += state[POLICY_STATE - 1] - xi1 * p[POLICY_STATE - 1] - xi2 * v[POLICY_STATE - 1];
#endif
    row[0] *= factor;
    row[1] = xi2 * s->tau * factor;
    for (int c = 2; c < 2 + POLICY_COLUMNS; c++)
        row[c] = (state[c] - xi1 * p[c] - xi2 * v[c]) * factor;
}

/* out [DOF] or NULL */
static void policy_multiply(const double *row, const double *params, const double *init_pos,
                            const double *init_vel, double *out)
{
    for (int d = 0; out && d < POLICY_DOF; d++) {
        const double *w = params + POLICY_LEAD + d * POLICY_COLUMNS;
        double sum = row[0] * (init_pos ? init_pos[d] : 0.0);
        sum += row[1] * (init_vel ? init_vel[d] : 0.0);
        for (int c = 0; c < POLICY_COLUMNS; c++)
            sum += row[2 + c] * w[c];
        out[d] = sum;
    }
}

int policy_trajectory(const double *params, double init_time, const double *init_pos,
                      const double *init_vel, size_t T, const double *times, double *pos,
                      double *vel)
{
    double state[2 * POLICY_STATE], row[2 + POLICY_COLUMNS];
    policy_start s;
    if (policy_begin(params, init_time, init_pos, init_vel, &s) != 0)
        return -1;
    for (size_t t = 0; t < T; t++)
        if (!isfinite(times[t]) || !policy_time_is_fine(policy_scaled(&s, times[t]), s.u))
            return -1;
    for (size_t t = 0; t < T; t++) {
        policy_state(policy_scaled(&s, times[t]), s.u, state);
        policy_row(&s, 0, state, row);
        policy_multiply(row, params, init_pos, init_vel, pos ? pos + t * POLICY_DOF : NULL);
        policy_row(&s, 1, state + POLICY_STATE, row);
        policy_multiply(row, params, init_pos, init_vel, vel ? vel + t * POLICY_DOF : NULL);
    }
    return 0;
}

int policy_query(double time, const double *params, double init_time, const double *init_pos,
                 const double *init_vel, double *pos, double *vel)
{
    return policy_trajectory(params, init_time, init_pos, init_vel, 1, &time, pos, vel);
}
