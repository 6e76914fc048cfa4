/*
 * Loops for metaworld_oracle.py to take the time of: many steps in one call, so that Python's own
 * time does not count.
 */
#include <stddef.h>

typedef void (*physics)(const void *model, void *data);
typedef int (*action_step)(void *instance, const double *action, double *obs, void *result);

/*
 * n control steps of bare physics along given positions of the mocap body: five steps each, then
 * forward unless it is NULL.
 */
void bare_steps(physics step, physics forward, const void *model, void *data, double *mocap,
                double *ctrl, size_t n, const double *path, const double *actions)
{
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            mocap[k] = path[3 * i + k];
        ctrl[0] = actions[4 * i + 3];
        ctrl[1] = -actions[4 * i + 3];
        for (int k = 0; k < 5; k++)
            step(model, data);
        if (forward)
            forward(model, data);
    }
}

/* n steps of a task; the first status that is not 0. */
int task_steps(action_step step, void *instance, size_t n, const double *actions, double *obs,
               void *result)
{
    int status = 0;
    for (size_t i = 0; i < n && status == 0; i++)
        status = step(instance, actions + 4 * i, obs, result);
    return status;
}
