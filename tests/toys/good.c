/*
 * A task library for the tests: three good tasks.
 */
#include "support/toy.h"

TOY(point, "")
TOY(reacher5, "")
TOY(box_pushing_dense, "")
TOY_LIBRARY(&TOY_point, &TOY_reacher5, &TOY_box_pushing_dense)
