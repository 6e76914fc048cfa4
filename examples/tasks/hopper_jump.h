/*
 * The numbers of Hopper Jump's state, between those of shared/state_layout.h. Without MuJoCo's
 * types.
 */
#ifndef TASKS_HOPPER_JUMP_H
#define TASKS_HOPPER_JUMP_H

enum { HOPPER_NQ = 6, HOPPER_NU = 3 };

typedef struct hopper_jump_state {
    double goal;                  /* x of the goal */
    double touched, left, landed; /* flags: the foot has met the floor, left it, met it again */
    double top;                   /* greatest height so far */
    double land_distance;         /* distance to the goal at landing; 0: not landed */
    double height;                /* of the torso, as the last step derived it */
    double foot[3];               /* the foot's position, likewise */
} hopper_jump_state;

#endif
