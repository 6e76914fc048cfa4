#include "basis.c"

/* z = tau y': state of a path, and the right side of its equation there */
typedef struct policy_path {
    double u, y[POLICY_DOF], z[POLICY_DOF], bracket[POLICY_DOF];
} policy_path;

/* alpha (beta (G - y) - z) + forcing at `time`; the forcing of a rhythmic path does not fade */
static void policy_force(const double *params, double time, policy_path *path)
{
    double phi[POLICY_BASIS];
    const double s = (time - policy_delay(params)) / policy_tau(params);
    path->u = s > 0.0 ? s : 0.0;
#if POLICY_RHYTHMIC
    const double factor = 1.0;
#else
    const double factor = exp(-POLICY_ALPHA_PHASE * path->u);
#endif
    policy_basis(policy_phase(path->u), phi);
    for (int i = 0; i < POLICY_BASIS; i++)
        phi[i] *= factor * policy_scale[i];
    for (int d = 0; d < POLICY_DOF; d++) {
        const double *w = params + POLICY_LEAD + d * (POLICY_BASIS + 1);
        const double goal = policy_scale[POLICY_BASIS] * w[POLICY_BASIS];
        const double pull = 0.25 * POLICY_ALPHA * (goal - path->y[d]) - path->z[d];
        double f = 0.0;
        for (int i = 0; i < POLICY_BASIS; i++)
            f += phi[i] * w[i];
        path->bracket[d] = POLICY_ALPHA * pull + f;
    }
}

static void policy_begin(const double *params, double time, const double *init_pos,
                         const double *init_vel, policy_path *path)
{
    for (int d = 0; d < POLICY_DOF; d++) {
        path->y[d] = init_pos ? init_pos[d] : 0.0;
        path->z[d] = init_vel ? policy_tau(params) * init_vel[d] : 0.0;
    }
    policy_force(params, time, path);
}

static void policy_advance(const double *params, double time, policy_path *path)
{
    const double s = (time - policy_delay(params)) / policy_tau(params);
    const double step = (s > 0.0 ? s : 0.0) - path->u;
    for (int d = 0; d < POLICY_DOF; d++) {
        path->z[d] += step * path->bracket[d];
        path->y[d] += step * path->z[d];
    }
    policy_force(params, time, path);
}

static void policy_publish(const double *params, const policy_path *path, double *pos, double *vel)
{
    for (int d = 0; d < POLICY_DOF; d++) {
        if (pos)
            pos[d] = path->y[d];
        if (vel)
            vel[d] = path->z[d] / policy_tau(params);
    }
}

int policy_trajectory(const double *params, double init_time, const double *init_pos,
                      const double *init_vel, size_t T, const double *times, double *pos,
                      double *vel)
{
    policy_path path;
    if (!policy_arguments_are_fine(params, init_time, init_pos, init_vel) ||
        !policy_all_finite(T, times))
        return -1;
    policy_begin(params, init_time, init_pos, init_vel, &path);
    for (size_t t = 0; t < T; t++) {
        policy_advance(params, times[t], &path);
        policy_publish(params, &path, pos ? pos + t * POLICY_DOF : NULL,
                       vel ? vel + t * POLICY_DOF : NULL);
    }
    return 0;
}

/* whole steps of dt, counted so that they do not drift, then what is left */
int policy_query(double time, const double *params, double init_time, const double *init_pos,
                 const double *init_vel, double *pos, double *vel)
{
    policy_path path;
    if (!policy_arguments_are_fine(params, init_time, init_pos, init_vel) || !isfinite(time) ||
        time < init_time)
        return -1;
    if (!((time - init_time) / POLICY_DT <= POLICY_MAX_STEPS))
        return -1;
    policy_begin(params, init_time, init_pos, init_vel, &path);
    double now = init_time;
    for (double k = 1.0; now < time; k += 1.0) {
        now = fmin(init_time + k * POLICY_DT, time);
        policy_advance(params, now, &path);
    }
    policy_publish(params, &path, pos, vel);
    return 0;
}
