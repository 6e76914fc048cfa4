size_t policy_observation_size(void);
size_t policy_action_size(void);

/*
 * What the policy does without noise: observation [OBSERVATION] -> action [ACTION]. 0, or -1 with
 * nothing written: the observation, or what becomes of it, is not finite.
 */
int policy_action(const double *observation, double *action);

/*
 * Repeats what libtce computed when this file was made: 0 when all agrees. *error (or NULL): the
 * largest difference, over max(1, size).
 */
int policy_self_test(double *error);
