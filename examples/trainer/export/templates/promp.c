#include "basis.c"

/*
 * out [DOF] or NULL: (basis at `time`, or its change from there to `next`, over the time between)
 * times the weights
 */
static void policy_at(const double *params, double time, double next, double *out)
{
    double row[POLICY_BASIS], ahead[POLICY_BASIS];
    const double tau = policy_tau(params), delay = policy_delay(params);
    policy_basis(policy_phase((time - delay) / tau), row);
    if (next != time) {
        policy_basis(policy_phase((next - delay) / tau), ahead);
        for (int i = 0; i < POLICY_BASIS; i++)
            row[i] = (policy_scale[i] * ahead[i] - policy_scale[i] * row[i]) / (next - time);
    } else {
        for (int i = 0; i < POLICY_BASIS; i++)
            row[i] *= policy_scale[i];
    }
    for (int d = 0; out && d < POLICY_DOF; d++) {
        out[d] = 0.0;
        for (int i = 0; i < POLICY_BASIS; i++)
            out[d] += row[i] * params[POLICY_LEAD + d * POLICY_BASIS + i];
    }
}

int policy_trajectory(const double *params, double init_time, const double *init_pos,
                      const double *init_vel, size_t T, const double *times, double *pos,
                      double *vel)
{
    if (!policy_arguments_are_fine(params, init_time, init_pos, init_vel) ||
        !policy_all_finite(T, times))
        return -1;
    for (size_t t = 0; vel && t + 1 < T; t++)
        if (times[t + 1] == times[t])
            return -1;
    for (size_t t = 0; t < T; t++) {
        if (pos)
            policy_at(params, times[t], times[t], pos + t * POLICY_DOF);
        if (vel && t + 1 < T)
            policy_at(params, times[t], times[t + 1], vel + t * POLICY_DOF);
    }
    /* the last velocity is the one before; one time only: 0 */
    for (int d = 0; vel && T > 0 && d < POLICY_DOF; d++)
        vel[(T - 1) * POLICY_DOF + d] = T > 1 ? vel[(T - 2) * POLICY_DOF + d] : 0.0;
    return 0;
}

/* the velocity is the difference over the next dt */
int policy_query(double time, const double *params, double init_time, const double *init_pos,
                 const double *init_vel, double *pos, double *vel)
{
    if (!policy_arguments_are_fine(params, init_time, init_pos, init_vel) || !isfinite(time) ||
        time + POLICY_DT == time)
        return -1;
    if (pos)
        policy_at(params, time, time, pos);
    if (vel)
        policy_at(params, time, time + POLICY_DT, vel);
    return 0;
}
