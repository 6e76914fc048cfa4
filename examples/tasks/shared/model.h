/*
 * Models that live in files: the folders that `make deps` unpacked. And steps as the originals of
 * their tasks take them.
 *
 * A path is relative to the folder of models: the environment variable TCE_MODELS when set, else
 * deps/ in one of the three folders above the task library, or in the checkout that it was built
 * in; never in the working directory. A folder that TCE_MODELS does not name must belong to the
 * user, to root, or to the owner of the library. The compiled form is kept in a private cache
 * (model_cache.h), unless TCE_MODEL_CACHE=0.
 */
#ifndef TASKS_MODEL_H
#define TASKS_MODEL_H

#include "draw.h"
#include "guard.h"

/*
 * The model of a file, shared by all environments of the process; mujoco_model_close gives it back.
 * Thread-safe.
 *
 *   path   "fancy_gym/envs/mujoco/box_pushing/assets/box_pushing.xml"
 *   blank  a text that is overwritten by blanks before the file is read, for attributes that
 *          MuJoCo 3 does not know; NULL: none
 *
 * TCE_E_NOT_FOUND: no such file, the message has the remedy.  TCE_E_ENV: MuJoCo's reason.
 * TCE_E_VERSION, TCE_E_NOMEM.
 */
tce_status models_open(const char *path, const char *blank, const mjModel **out);

/*
 * The same without the bodies called `drop`, NULL after the last: one such list a file. With a
 * MuJoCo whose way of taking bodies out is not known here they stay.
 */
tce_status models_open_without(const char *path, const char *blank, const char *const *drop,
                               const mjModel **out);

/*
 * n times mj_step and nothing else: what is derived (xpos, contacts, qfrc_bias) stays as the last
 * one computed it before it integrated. When a number is bad MuJoCo resets the data and goes on, as
 * the originals of these tasks do.   TCE_E_ENV: MuJoCo's error.
 */
tce_status step_as_original(const mjModel *model, mjData *data, int n);

#endif
