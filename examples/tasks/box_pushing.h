/*
 * The numbers of Box Pushing's state, between those of shared/state_layout.h. Without MuJoCo's
 * types.
 */
#ifndef TASKS_BOX_PUSHING_H
#define TASKS_BOX_PUSHING_H

enum { BOX_NQ = 16, BOX_NV = 15, BOX_NU = 7 };

typedef struct box_pushing_state {
    double target[7]; /* position and quaternion */
    double energy;    /* sum of squared torques so far */
    /*
     * as the last physics step derived it: gravity and Coriolis forces of the arm, pose of the box
     */
    double bias[7];
    double box[7];
    double distance, angle, tilt, limits;             /* d, phi, omega, L */
    double search_rounds, search_tries, search_error; /* of the search for the arm's start */
} box_pushing_state;

#endif
