/*
 * The numbers of reacher5's state, between those of shared/state_layout.h. Without MuJoCo's types.
 */
#ifndef TASKS_REACHER5_H
#define TASKS_REACHER5_H

typedef struct reacher5_state {
    double goal[2];
    double effort; /* sum of the squared torques so far, as shares of the greatest ones */
} reacher5_state;

#endif
