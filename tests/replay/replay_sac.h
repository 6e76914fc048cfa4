/*
 * What cases of soft actor-critic share: a learner with a case's weights, and comparisons.
 */
#ifndef TCE_REPLAY_SAC_H
#define TCE_REPLAY_SAC_H

#include "methods/sac_update.h"
#include "replay.h"

/* object[key], which must be a list */
const json_t *replay_list(replay_case *c, const json_t *object, const char *key);

/* The sizes of a case's "weights". */
void replay_sac_options(replay_case *c, size_t batch_size, size_t max_rows, int bootstrap,
                        sac_options *out);
void replay_sac_rates(replay_case *c, sac_rates *out);
/* A learner that lives as long as the case, with the case's weights. */
sac *replay_sac(replay_case *c, const sac_options *options);
void replay_sac_weights(replay_case *c, sac *s);
/* Losses of an update, and the weights after the last one. */
void replay_sac_report(replay_case *c, const json_t *step, const sac *s, const sac_report *made);
void replay_sac_final(replay_case *c, sac *s);

#endif
