#ifdef POLICY_MAIN
#include <stdio.h>

/* Self-test, then the actions for the test's observations. */
int main(void)
{
    double error, action[POLICY_ACTION];
    const int failed = policy_self_test(&error) != 0;
    printf("# self-test %s: largest difference %.2e, allowed %.0e\n", failed ? "FAILED" : "passed",
           error, POLICY_TOLERANCE);
    printf("# %d numbers of the action for each observation of the test\n", POLICY_ACTION);
    for (int k = 0; k < POLICY_TEST_OBSERVATIONS; k++) {
        if (policy_action(policy_test_observation + k * POLICY_OBSERVATION, action) != 0)
            return 1;
        for (int i = 0; i < POLICY_ACTION; i++)
            printf(i > 0 ? " %.17g" : "%.17g", action[i]);
        printf("\n");
    }
    return failed;
}
#endif
