/*
 * Faster steps for a model with much furniture: static bodies that nothing moving is near are left
 * out, and put back for the steps in which something comes near them.
 *
 * A task names spaces, boxes of the world. `model` is the whole model without the static bodies
 * that lie outside of all spaces. A step is taken in it first; when every moving geom was inside a
 * space, with its bounding sphere and margin, no body that was left out can have been touched, and
 * the step is the whole model's, to the last bit. Otherwise it is taken back and taken again in the
 * whole model.
 */
#ifndef TASKS_STATIC_CULLING_H
#define TASKS_STATIC_CULLING_H

#include "model.h"

/* A box of the world, m. */
typedef struct static_culling_space {
    double low[3], high[3];
} static_culling_space;

typedef struct static_culling {
    const mjModel *whole;
    const mjModel *smaller; /* NULL when nothing can be left out; whole_data then too */
    /*
     * the one that is stepped, with its data: positions, velocities and what is derived from them
     */
    const mjModel *model;
    mjData *whole_data, *data;
    const static_culling_space *spaces; /* [n_spaces] */
    int n_spaces;
    int n_moving;
    int *moving;    /* [n_moving] geoms of the smaller one that move and collide */
    mjtNum *before; /* the state before a step */
} static_culling;

/*
 * Opens the model of a file as model_open does, and what goes with it. `spaces` must stay;
 * n_spaces 0: the whole model is stepped. c is all zero before, and static_culling_close may be
 * called whatever the status.
 */
tce_status static_culling_open(static_culling *c, const char *path, const char *blank, int n_spaces,
                               const static_culling_space *spaces);
void static_culling_close(static_culling *c);

/*
 * mj_forward of the whole model, inside mujoco_try: what is derived, and where the solver starts.
 */
void static_culling_forward(static_culling *c);

/* n steps of the whole model, as step_as_original takes them. */
void static_culling_step(static_culling *c, int n);

#endif
