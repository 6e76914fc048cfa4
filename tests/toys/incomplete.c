/*
 * A task library for the tests: the second task cannot be stepped.
 */
#include "support/toy.h"

TOY(point, "")

static const tce_env_vtable STATUE = {
    .struct_size = sizeof(tce_env_vtable),
    .abi = TCE_ENV_ABI,
    .name = "statue",
    .description = "never moves",
    .create = toy_create_point,
    .destroy = toy_destroy,
    .spec = toy_spec,
    .reset = toy_reset,
};

TOY_LIBRARY(&TOY_point, &STATUE)
