/*
 * Where the arm of Box Pushing starts: joint angles that bring its hand to a pose, by differential
 * inverse kinematics with a step that adapts.
 */
#ifndef TASKS_ARM_SEARCH_H
#define TASKS_ARM_SEARCH_H

#include <mujoco/mujoco.h>

enum { ARM_JOINTS = 7 };

/* Limits of the joints, rad. */
extern const double ARM_LOW[ARM_JOINTS], ARM_HIGH[ARM_JOINTS];

typedef struct arm_search {
    int body;                    /* the hand */
    double rounds, tries, error; /* of the last search */
} arm_search;

/*
 * Moves qpos[0..6] of data until the body has position goal [3] and quaternion turn [4] (squared
 * error below 1e-5, or 1000 rounds). Only kinematics are computed: the caller derives the rest.
 */
void arm_search_run(arm_search *search, const mjModel *model, mjData *data, const double *goal,
                    const double *turn);

#endif
