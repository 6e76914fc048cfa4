#include "methods/schedules.h"

/* in the clip's denominator, against division by 0 */
#define CLIP_EPSILON 1e-6

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
