/*
 * Models: one for all environments of the process, from a text or from a file in the folders that
 * `make deps` unpacked.
 *
 * A path is relative to the folder of models: the environment variable TCE_MODELS when set, else
 * deps/ in one of the three folders above the task library, or in the checkout that it was built
 * in; never in the working directory. A folder that TCE_MODELS does not name must belong to the
 * user, to root, or to the owner of the library. The compiled form is kept in a private cache
 * (cache.h), unless TCE_MODEL_CACHE=0.
 */
#ifndef TASKS_MODEL_H
#define TASKS_MODEL_H

#include <mujoco/mujoco.h>
#include <tce/status.h>

/*
 * The model called `name`: parsed from `xml` for the first environment, shared by the others, freed
 * with the last. Thread-safe. TCE_E_VERSION: compiled with the headers of another MuJoCo than the
 * one that was loaded.  TCE_E_ENV: MuJoCo's reason.  TCE_E_NOMEM.
 */
tce_status model_open_text(const char *name, const char *xml, const mjModel **out);

/*
 * The same for a model of a file.
 *
 *   path   "fancy_gym/envs/mujoco/box_pushing/assets/box_pushing.xml"
 *   blank  a text that is overwritten by blanks before the file is read, for attributes that
 *          MuJoCo 3 does not know; NULL: none
 *   drop   names of bodies that are left out, NULL after the last; NULL: none. One such list for
 *          each file. With a MuJoCo whose way of taking bodies out is not known here they stay.
 *
 * TCE_E_NOT_FOUND: no such file, the message has the remedy.
 */
tce_status model_open(const char *path, const char *blank, const char *const *drop,
                      const mjModel **out);
void model_close(const mjModel *model);

/* Number of an object ("site", mjOBJ_SITE); TCE_E_ENV when the model has none of that name. */
tce_status model_find(const mjModel *model, int type, const char *name, int *out);

/*
 * Whether the model has so many positions, velocities and motors: TCE_E_ENV when it is another one
 * than `task` was written for.
 */
tce_status model_check_sizes(const mjModel *model, const char *task, int nq, int nv, int nu);

#endif
