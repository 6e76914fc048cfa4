/*
 * policy.c: a trained policy as C99. Observation in, action out, at every step; needs the C
 * library's mathematics only, allocates nothing, keeps no state.
 *
 * Compile it, or #include it. With POLICY_DECLARATIONS_ONLY defined it is a header. With
 * POLICY_MAIN defined it is a program that runs the self-test and prints actions:
 *
 *     cc -std=c99 -DPOLICY_MAIN policy.c -lm
 */
#include "numbers/choices.h"

#include "numbers/origin.h"

#ifndef POLICY_DECLARED
#define POLICY_DECLARED

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "numbers/sizes.h"

#include "step_declarations.h"

#ifdef __cplusplus
}
#endif

#endif

#ifndef POLICY_DECLARATIONS_ONLY

#include <math.h>

#include "finite.c"

#include "network.c"

#include "transforms.c"

#include "step_action.c"

#include "difference.c"

#include "step_test.c"

#include "step_main.c"

#endif
