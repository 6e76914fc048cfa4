/*
 * The numbers of a Metaworld task's state, between those of ../shared/state_layout.h. Without
 * MuJoCo's types.
 *
 * A state with STATE_DERIVE is one in which a step with `action` has just ended: the present frame,
 * reward, success and distance are derived.
 */
#ifndef METAWORLD_STATE_H
#define METAWORLD_STATE_H

enum { MW_N_FRAME = 18, MW_N_OBS = 2 * MW_N_FRAME + 3, MW_N_STEPS = 500 };

typedef struct mw_state {
    /* where the reset put the fixture of the task; it stays there until the next */
    double fixture[3];
    double T[3], c0[3], o0[3];
    /* a further point or number that the task keeps, and how many numbers it has */
    double extra[3];
    double n_extra;
    double action[4];                 /* the last one */
    double reward, success, distance; /* what it brought */
    double frame[MW_N_FRAME];         /* present frame and the one before, not clipped */
    double before[MW_N_FRAME];
} mw_state;

#endif
