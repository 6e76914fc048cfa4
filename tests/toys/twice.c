/*
 * A task library for the tests: two tasks of one name.
 */
#include "support/toy.h"

TOY(point, "")
TOY_LIBRARY(&TOY_point, &TOY_point)
