/*
 * The loss of a value network on a minibatch, with values clipped around what they were.
 */
#ifndef TRAINER_VALUE_LOSS_H
#define TRAINER_VALUE_LOSS_H

#include <tce/tce.h>

typedef struct value_samples {
    const double *inputs;  /* [*, n_in] of the network */
    const double *targets; /* [*] */
    const double *old;     /* [*] values before the update; NULL without a clip */
} value_samples;

typedef struct value_report {
    double loss, clip_fraction;
} value_report;

/*
 * Mean of (target - V)^2 over n samples, those of `rows` unless NULL; V within clip of the old
 * value where clip > 0. The gradient of `coefficient` times it waits in the network.
 */
tce_status value_gradient(tce_net *net, const value_samples *s, size_t n, const uint32_t *rows,
                          double coefficient, double clip, value_report *out);

#endif
