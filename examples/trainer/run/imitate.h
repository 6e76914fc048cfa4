/*
 * A policy from demonstrations: a primitive is fitted to each given path, the mean of the policy to
 * their parameters, and the covariance to what is left. Training starts from it by run.init_from.
 */
#ifndef TRAINER_IMITATE_H
#define TRAINER_IMITATE_H

#include "collect/collect.h"

/* n paths. Each begins at its start position, which is its first row. */
typedef struct demonstrations {
    size_t n, T, D, O;     /* T: rows of the longest */
    const int32_t *n_rows; /* [n] of each path, at least 2 */
    const double *times;   /* [n, T] seconds since the reset, increasing */
    const double *pos;     /* [n, T, D] */
    const double *obs;     /* [n, O] first observations; NULL: the paths suit every context */
} demonstrations;

/* How well it went. */
typedef struct imitation {
    double path_error;      /* root mean square of fitted minus given positions */
    double parameter_error; /* of predicted minus fitted parameters of paths left out of the fit */
    double std;             /* geometric mean of the policy's standard deviations */
} imitation;

/*
 * Writes config.yaml and policy.safetensors into a folder that has no run yet. s: settings of the
 * run that will start there. TCE_E_UNSUPPORTED: its method has no Gaussian over the parameters of a
 * primitive with one covariance for all contexts. TCE_E_SHAPE: paths or observations are not of the
 * task's sizes. TCE_E_STATE: there is a run.
 */
tce_status run_imitate(const char *folder, const settings *s, const task *t,
                       const demonstrations *d, imitation *out);

#endif
