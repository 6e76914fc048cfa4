size_t policy_context_size(void);
size_t policy_n_dof(void);
size_t policy_n_params(void);

/*
 * What the policy does without noise: context [CONTEXT] -> params [PARAMS]. 0, or -1 with nothing
 * written: the context, or what becomes of it, is not finite.
 */
int policy_parameters(const double *context, double *params);

/*
 * Path of params [PARAMS] from init_pos, init_vel [DOF] at init_time (NULL: zeros; a ProMP has no
 * start), at times [T]: pos, vel [T, DOF], or NULL. Starting again on the way (replanning) is a
 * call with the present time, position and velocity.
 * 0, or -1 with nothing written: a number is not finite, a time is beyond the table, tau <= 0, a
 * start velocity before the delay (ProDMP), equal neighbouring times (ProMP).
 */
int policy_trajectory(const double *params, double init_time, const double *init_pos,
                      const double *init_vel, size_t T, const double *times, double *pos,
                      double *vel);

/*
 * The same at one time: pos, vel [DOF] or NULL. For control loops. A DMP is integrated in steps of
 * its dt: -1 when time < init_time or when it takes more than a million of them.
 */
int policy_query(double time, const double *params, double init_time, const double *init_pos,
                 const double *init_vel, double *pos, double *vel);

/*
 * Repeats what libtce computed when this file was made: 0 when all agrees. *error (or NULL): the
 * largest difference, over max(1, size).
 */
int policy_self_test(double *error);
