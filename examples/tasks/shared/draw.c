/*
 * The uniform numbers of a reset.
 */
#include "draw.h"

double task_draw(const task_draws *draws, tce_random *random, double low, double high)
{
    const double u = draws ? draws->next(draws->context) : tce_random_uniform(random);
    return draws && draws->exact ? u : low + (high - low) * u;
}
