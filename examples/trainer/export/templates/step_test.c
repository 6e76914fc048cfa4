/* ---- test: what libtce computes for some observations ---------------------------------------- */

#include "numbers/test.h"

int policy_self_test(double *error)
{
    double action[POLICY_ACTION];
    double worst = 0.0;
    for (int k = 0; k < POLICY_TEST_OBSERVATIONS; k++) {
        if (policy_action(policy_test_observation + k * POLICY_OBSERVATION, action) != 0)
            worst = HUGE_VAL;
        else
            worst = policy_worse(worst, POLICY_ACTION, action,
                                 policy_test_action + k * POLICY_ACTION);
    }
    if (error)
        *error = worst;
    return worst <= POLICY_TOLERANCE ? 0 : -1;
}
