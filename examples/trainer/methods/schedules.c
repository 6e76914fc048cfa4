/*
 * Entropy bound of iteration i of I [TRPL]:
 *
 *     linear        H_0 + (H_target - H_0) i/I
 *     exponential   P h + (H_0 - P h) temperature^(10 i/I),  h the target of one dimension
 */
#include "methods/schedules.h"

#include <math.h>

#include "settings/settings.h"

/* in the clip's denominator, against division by 0 */
#define CLIP_EPSILON 1e-6
/* Exponent of the exponential schedule at its end [TRPL]. */
#define LAST_EXPONENT 10.0

double linear_schedule(uint64_t done, uint64_t total, double last)
{
    if (total == 0)
        return 1.0;
    return 1.0 - (1.0 - last) * ((double)(done < total ? done : total) / (double)total);
}

double clip_factor(double norm, double bound)
{
    if (!(bound > 0.0))
        return 1.0;
    const double factor = bound / (norm + CLIP_EPSILON);
    return factor < 1.0 ? factor : 1.0;
}

double entropy_schedule_at(const entropy_schedule *s, uint64_t i)
{
    const double progress = (double)(i < s->length ? i : s->length) / (double)s->length;
    const double total = (double)s->dim * s->target;

    switch (s->kind) {
    case ENTROPY_LINEAR:
        return s->initial + (s->target - s->initial) * progress;
    case ENTROPY_EXPONENTIAL:
        return total + (s->initial - total) * pow(s->temperature, LAST_EXPONENT * progress);
    default:
        return -INFINITY;
    }
}
