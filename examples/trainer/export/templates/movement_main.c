#ifdef POLICY_MAIN
#include <stdio.h>

/* Self-test, then the path for the test's context, from rest at zero. */
int main(void)
{
    double error, params[POLICY_PARAMS], pos[POLICY_DOF], vel[POLICY_DOF];
    const int failed = policy_self_test(&error) != 0;
    printf("# self-test %s: largest difference %.2e, allowed %.0e\n", failed ? "FAILED" : "passed",
           error, POLICY_TOLERANCE);
    printf("# time, position and velocity of %d DoF\n", POLICY_DOF);
    if (policy_parameters(policy_test_context, params) != 0)
        return 1;
    for (int t = 1; t <= POLICY_STEPS; t++) {
        if (policy_query(t * POLICY_STEP, params, 0.0, NULL, NULL, pos, vel) != 0) {
            printf("# no path for this context: its learnt duration is not positive, or its table "
                   "ends here\n");
            break;
        }
        printf("%.6f", t * POLICY_STEP);
        for (int d = 0; d < POLICY_DOF; d++)
            printf(" %.17g", pos[d]);
        for (int d = 0; d < POLICY_DOF; d++)
            printf(" %.17g", vel[d]);
        printf("\n");
    }
    return failed;
}
#endif
