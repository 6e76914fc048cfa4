/*
 * What hopper_jump and table_tennis share: where their numbers lie in a state, contacts, pictures.
 * Without MuJoCo's types where a test needs it: define HOPPER_TENNIS_LAYOUT_ONLY.
 *
 * A state is the task's own numbers, then those of packed.h.
 */
#ifndef TASKS_HOPPER_TENNIS_H
#define TASKS_HOPPER_TENNIS_H

/* after STATE_FRESH, which is 1 right after a reset */
enum { STATE_STEP = 1 };

enum {
    HOPPER_GOAL = 2, /* x of the goal */
    HOPPER_TOUCHED,  /* flags: the foot has met the floor, left it, met it again */
    HOPPER_LEFT,
    HOPPER_LANDED,
    HOPPER_TOP,       /* greatest height so far */
    HOPPER_LAND_DIST, /* distance to the goal at landing; 0: not landed */
    HOPPER_HEIGHT,    /* of the torso, as the last step derived it */
    HOPPER_FOOT,      /* the foot's position, likewise: 3 numbers */
    HOPPER_N_TASK = HOPPER_FOOT + 3,
    HOPPER_NQ = 6,
    HOPPER_NU = 3
};

enum {
    TENNIS_GOAL = 2, /* x, y of the goal */
    TENNIS_HIT = 4,  /* flags */
    TENNIS_RETURNED,
    TENNIS_OVER,      /* nothing is looked at any more (T); the episode ends (W) */
    TENNIS_AFTER_HIT, /* floor or table touched after the hit */
    TENNIS_HAS_LANDING,
    TENNIS_LANDING, /* the ball's position then: 3 numbers */
    /* A^2: least squared distance ball to bat over the track */
    TENNIS_NEAR_BAT = TENNIS_LANDING + 3,
    TENNIS_NEAR_GOAL, /* B^2: ball to goal, in the plane */
    TENNIS_INVALID,   /* flag: a desired position has left the joint limits */
    TENNIS_SUM,       /* rewards of the episode so far */
    TENNIS_N_TASK,
    TENNIS_NQ = 10,
    TENNIS_NU = 7
};

#ifndef HOPPER_TENNIS_LAYOUT_ONLY

#include "shared/model.h"
#include "shared/state.h"

/* Whether the contact list has the pair of geoms, in either order. */
int touching(const mjData *data, int geom_a, int geom_b);

/* From where a picture is taken. */
typedef struct picture_view {
    double center[3];         /* in the middle, m */
    double extent;            /* m; the camera is 1.5 times that away */
    float azimuth, elevation; /* where it looks, degrees */
    double mark;              /* how much larger the mark is drawn */
} picture_view;

/*
 * Pictures with a mark at the goal. The mark is a body of the model, which all environments share:
 * each gets a model of its own at its first picture. Zeroed before the first, released by
 * picture_free.
 */
typedef struct picture {
    mjModel *model;
    mujoco_renderer *renderer;
} picture;

tce_status picture_draw(picture *p, const mjModel *model, mjData *data, const picture_view *view,
                        int mark, const double *place, int32_t width, int32_t height, uint8_t *rgb);
void picture_free(picture *p);

#endif
#endif
