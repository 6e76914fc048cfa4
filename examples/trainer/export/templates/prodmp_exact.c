#if POLICY_WEIGHTS
#include "basis.c"

/*
 * Psi and Psi' of the weights at u >= 0. Integrals I0, I1 up to the panel's edge a are stored; the
 * rest of the way by 12-point Gauss-Legendre:
 * I0 = int e^{-alpha(u-s)/2} x phi ds, I1 the same with (u - s) in front.
 */
static void policy_weights_at(double u, double *pos, double *vel)
{
    static const double NODE[6] = { 0.12523340851146891547, 0.36783149899818019375,
                                    0.58731795428661744730, 0.76990267419430468704,
                                    0.90411725637047485668, 0.98156063424671925069 };
    static const double WEIGHT[6] = { 0.24914704581340278500, 0.23349253653835480876,
                                      0.20316742672306592175, 0.16007832854334622633,
                                      0.10693932599531843096, 0.04717533638651182719 };
    double I0[POLICY_BASIS], I1[POLICY_BASIS], phi[POLICY_BASIS];
    int low = 0, high = POLICY_EDGES;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (policy_edge[middle] <= u)
            low = middle;
        else
            high = middle;
    }
    const double step = u - policy_edge[low];
    const double decay = exp(-0.5 * POLICY_ALPHA * step);
    const double *I = policy_integral + (size_t)low * (2 * POLICY_BASIS);
    for (int i = 0; i < POLICY_BASIS; i++) {
        I1[i] = decay * (I[POLICY_BASIS + i] + step * I[i]);
        I0[i] = decay * I[i];
    }
    for (int j = 0; j < 12 && low + 1 < POLICY_EDGES && step > 0.0; j++) {
        const double rest = 0.5 * step * (1.0 + (j < 6 ? NODE[j] : -NODE[j - 6]));
        const double x = policy_phase(u - rest);
        const double w = 0.5 * step * WEIGHT[j % 6] * exp(-0.5 * POLICY_ALPHA * rest) * x;
        policy_basis(x, phi);
        for (int i = 0; i < POLICY_BASIS; i++) {
            I0[i] += w * phi[i];
            I1[i] += w * rest * phi[i];
        }
    }
    for (int i = 0; i < POLICY_BASIS; i++) {
        pos[i] = policy_scale[i] * I1[i];
        vel[i] = policy_scale[i] * (I0[i] - 0.5 * POLICY_ALPHA * I1[i]);
    }
}

#endif
/* y1, y2 (from an origin) and the basis at scaled time u, position then velocity, [2, STATE] */
static void policy_state(double u, double origin, double *out)
{
    const double half = 0.5 * POLICY_ALPHA;
    const double y1 = exp(-half * (u - origin)), y2 = (u - origin) * y1;
    const double v = half * u, decay = exp(-v);
    const double goal[2] = { -expm1(-v) - v * decay, half * v * decay };
    double *vel = out + POLICY_STATE;
    out[0] = y1;
    out[1] = y2;
    vel[0] = -half * y1;
    vel[1] = y1 - half * y2;
#if POLICY_WEIGHTS
    policy_weights_at(u, out + 2, vel + 2);
#endif
#if POLICY_GOAL
    out[1 + POLICY_COLUMNS] = policy_scale[POLICY_COLUMNS - 1] * goal[0];
    vel[1 + POLICY_COLUMNS] = policy_scale[POLICY_COLUMNS - 1] * goal[1];
#endif
#if POLICY_RELATIVE
    out[POLICY_STATE - 1] = goal[0];
    vel[POLICY_STATE - 1] = goal[1];
#endif
    (void)goal;
}

/* a path grows like e^{alpha (u_b - u)/2} before its start */
static int policy_time_is_fine(double u, double u_b)
{
    return 0.5 * POLICY_ALPHA * (u_b - u) <= 700.0;
}
