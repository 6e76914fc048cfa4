/*
 * The toy in every way in which a task can fail to come back: it crashes, ends the process or waits
 * for ever. The checker has to say where. "sound" comes last and keeps the contract.
 */
#include "support/toy.h"

TOY(exits_in_reset, "fault=exits_in_reset")
TOY(exits_in_destroy, "fault=exits_in_destroy")
TOY(aborts_in_a_step, "fault=aborts_in_a_step")
TOY(hangs_in_spec, "fault=hangs_in_spec")
TOY(hangs_in_reset, "fault=hangs_in_reset")
TOY(hangs_in_a_step, "fault=hangs_in_a_step")
TOY(sound, "")
TOY_LIBRARY(&TOY_exits_in_reset, &TOY_exits_in_destroy, &TOY_aborts_in_a_step, &TOY_hangs_in_spec,
            &TOY_hangs_in_reset, &TOY_hangs_in_a_step, &TOY_sound)
