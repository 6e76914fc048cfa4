/*
 * Tasks for the tests of training: the toy with a target of its own for each. Three have names that
 * begin alike. "gives_nan" and "fails" go wrong in training, in environment 0, from the episode
 * that the options name ("from=12"), else from the first; the others fail when the options name
 * them ("fails=family_two"). "unmarked" is family_one, but its last step does not say that it is
 * one.
 */
#include "support/toy.h"

TOY(gives_nan, "steps=10 target=0.5 fault=gives_nan")
TOY(fails, "steps=10 target=0.5 fault=fails")
TOY(family_one, "steps=10 target=0.1")
TOY(family_two, "steps=10 target=0.3")
TOY(family_three_far, "steps=10 target=0.6")
TOY(stranger, "steps=10 target=0.2")
TOY(unmarked, "steps=10 target=0.1 fault=unmarked")
TOY(named, "steps=10 target=0.2")
TOY(many_metrics, "steps=10 target=0.2 fault=many_metrics")
TOY_LIBRARY(&TOY_gives_nan, &TOY_fails, &TOY_family_one, &TOY_family_two, &TOY_stranger,
            &TOY_family_three_far, &TOY_unmarked, &TOY_many_metrics, &TOY_named)
