/* ---- test: what libtce computes for one context and two paths -------------------------------- */

#include "numbers/test.h"

int policy_self_test(double *error)
{
    enum { T = POLICY_TEST_TIMES, D = POLICY_DOF };
    double params[POLICY_PARAMS], pos[T * D], vel[T * D];
    double worst = 0.0;
    if (policy_parameters(policy_test_context, params) != 0)
        worst = HUGE_VAL;
    else
        worst = policy_worse(worst, POLICY_PARAMS, params, policy_test_mean);

    /* from rest, then from a start on the way with a velocity */
    for (int k = 0; k < 2; k++) {
        const double *times = policy_test_times + k * T;
        const double *start_pos = policy_test_start_pos + k * D;
        const double *start_vel = policy_test_start_vel + k * D;
        if (policy_trajectory(policy_test_params, policy_test_start[k], start_pos, start_vel, T,
                              times, pos, vel) != 0) {
            worst = HUGE_VAL;
        } else {
            worst = policy_worse(worst, T * D, pos, policy_test_pos + k * T * D);
            worst = policy_worse(worst, T * D, vel, policy_test_vel + k * T * D);
        }
        if (policy_query(times[T - 1], policy_test_params, policy_test_start[k], start_pos,
                         start_vel, pos, vel) != 0) {
            worst = HUGE_VAL;
        } else {
            worst = policy_worse(worst, D, pos, policy_test_query_pos + k * D);
            worst = policy_worse(worst, D, vel, policy_test_query_vel + k * D);
        }
    }
    if (error)
        *error = worst;
    return worst <= POLICY_TOLERANCE ? 0 : -1;
}
