/*
 * The numbers of Table Tennis' state, between those of shared/state_layout.h. Without MuJoCo's
 * types.
 */
#ifndef TASKS_TABLE_TENNIS_H
#define TASKS_TABLE_TENNIS_H

enum { TENNIS_NQ = 10, TENNIS_NU = 7 };

typedef struct table_tennis_state {
    double goal[2];
    double hit, returned; /* flags */
    double over;          /* flag: nothing is looked at any more; with terminal=1 the end */
    double after_hit;     /* flag: floor or table touched after the hit */
    double has_landing;   /* flag */
    double landing[3];    /* the ball's position then */
    double near_bat;      /* A^2: least squared distance of ball and bat over the track */
    double near_goal;     /* B^2: of ball and goal, in the plane */
    double invalid;       /* flag: a desired position has left the joint limits */
    double sum;           /* rewards of the episode so far */
} table_tennis_state;

#endif
