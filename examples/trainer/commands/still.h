/*
 * Stills of an episode: its last state, or several moments of it in one picture.
 */
#ifndef TRAINER_STILL_H
#define TRAINER_STILL_H

#include "collect/collect.h"

enum { STILL_LEAST_MOMENTS = 3, STILL_MOST_MOMENTS = 32, STILL_OTHERS = 16 };

/*
 * The first n of pictures [n_all, size], oldest first, as one: what never moves once, what moves n
 * times, the older the fainter. What never moves is the median of all, at least STILL_LEAST_MOMENTS
 * and at most STILL_MOST_MOMENTS + STILL_OTHERS; those after the first n may be of other episodes.
 */
void still_blend(size_t n, size_t n_all, size_t size, const uint8_t *pictures, uint8_t *rgb);

/*
 * n moments that divide the change from picture to picture into equal parts: change [n_steps + 1]
 * says how much has changed since the episode began. out [n]: steps, ascending, the first and the
 * last step among them. They repeat where nothing moves.
 */
void still_moments(size_t n_steps, const double *change, size_t n, size_t *out);

/*
 * Episode e as a PNG file, n_moments 1: its last state. `instance` is an instance of the task for
 * the replay, work as collect_replay takes it. Drawn at twice the size, so that edges are smooth.
 * Several moments need other episodes of the collection to tell what never moves.
 */
tce_status still_write(const char *path, const tce_env_vtable *env, const episodes *ep, size_t e,
                       void *instance, double *work, size_t n_moments, int32_t width,
                       int32_t height);

#endif
