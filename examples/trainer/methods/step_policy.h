/*
 * A Gaussian over the actions of a step, independent by action: mean by a network, standard
 * deviations by one trainable vector, or by state-dependent noise (gsde.h). It is what a tce_policy
 * and, where there is one, a gsde say of a batch, and their gradients.
 */
#ifndef TRAINER_STEP_POLICY_H
#define TRAINER_STEP_POLICY_H

#include <tce/tce.h>

#include "methods/gsde.h"
#include "tools/memory.h"

typedef struct step_policy {
    tce_policy *policy; /* diagonal, shared; its deviations rest where there is a gsde */
    gsde *noise;        /* or NULL */
    size_t A, F;        /* actions; width of the last hidden layer, with a gsde */
    double *mean;       /* [n, A] */
    double *deviations; /* [A], or [n, A] with a gsde */
    double *hidden;     /* [n, F] */
    double *d_mean, *d_deviations;
    double *entropy, *d_entropy; /* [1 or n] */
    double *d_bonus;             /* as deviations */
    double *zeros;               /* [A] */
    double *work;
    tce_gauss now; /* what predict said */
} step_policy;

/* Arrays for up to max_rows rows, from m. policy and noise are the caller's. */
void step_policy_take(step_policy *p, memory *m, size_t max_rows, size_t A, size_t F);

/* Mean and deviations of obs [n, O], into p->now; backward belongs to the last of these. */
tce_status step_policy_predict(step_policy *p, size_t n, const double *obs);

/* Of actions [n, A] under p->now: out [n]. */
tce_status step_policy_log_prob(const step_policy *p, const double *actions, double *out);

/* Mean entropy of the rows of p->now. */
tce_status step_policy_entropy(step_policy *p, double *out);

/*
 * Gradients of all weights from d_log_prob [n] of actions [n, A], and of -bonus * mean entropy.
 */
tce_status step_policy_backward(step_policy *p, const double *actions, const double *d_log_prob,
                                double bonus);

/* Of all weights. */
double step_policy_gradient_norm(const step_policy *p);
void step_policy_scale_gradient(step_policy *p, double factor);
tce_status step_policy_adam_step(step_policy *p, const tce_adam_options *adam);

#endif
