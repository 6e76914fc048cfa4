/*
 * A task library for the tests of Python and C++: "point", the toy in the plane, and "tracker", the
 * same without raw actions, states and pictures.
 */
#include "support/toy.h"

TOY(point, "dof=2")

static tce_status create_tracker(void *user, const char *settings, void **out)
{
    (void)user;
    return toy_create("tracker", "dof=2", settings, out);
}

static const tce_env_vtable TRACKER = {
    .struct_size = sizeof(tce_env_vtable),
    .abi = TCE_ENV_ABI,
    .name = "tracker",
    .description = "tracks paths only",
    .create = create_tracker,
    .destroy = toy_destroy,
    .spec = toy_spec_of_tracker,
    .reset = toy_reset,
    .step = toy_step,
    .metrics = toy_metrics,
};

TOY_LIBRARY(&TOY_point, &TRACKER)
