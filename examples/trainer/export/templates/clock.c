/* ---- primitive ------------------------------------------------------------------------------- */

#include "numbers/primitive.h"

/* Duration and delay: a parameter where they were learnt. */
static double policy_tau(const double *params)
{
#if POLICY_LEARN_TAU
    return params[0];
#else
    (void)params;
    return POLICY_TAU;
#endif
}

static double policy_delay(const double *params)
{
#if POLICY_LEARN_DELAY
    return params[POLICY_LEAD - 1];
#else
    (void)params;
    return POLICY_DELAY;
#endif
}

static int policy_arguments_are_fine(const double *params, double init_time, const double *init_pos,
                                     const double *init_vel)
{
    return policy_all_finite(POLICY_PARAMS, params) && isfinite(init_time) &&
           policy_all_finite(POLICY_DOF, init_pos) && policy_all_finite(POLICY_DOF, init_vel) &&
           policy_tau(params) > 0.0;
}
