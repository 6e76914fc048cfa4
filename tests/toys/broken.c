/*
 * The toy in every way in which a task can break its contract and still come back, each fault as a
 * task of its name. "sound" keeps the contract.
 */
#include "support/toy.h"

#define TASKS(row)                                                                                \
    row(sound) row(one_start) row(constant_context) row(tracks_no_path) row(ignores_the_path)     \
        row(no_steps) row(same_names) row(comma_in_a_name) row(writes_beyond) row(does_not_write) \
            row(draws_elsewhere) row(leaves_something) row(shares_memory) row(draws_in_a_step)    \
                row(fails_midway) row(infinite_reward) row(odd_flags) row(forgets_its_event)      \
                    row(steps_after_the_end) row(steps_before_a_reset) row(starts_elsewhere)      \
                        row(half_a_success) row(metric_is_nan) row(state_lacks_something)         \
                            row(goal_is_not_set) row(reserved_name) row(eval_name)                \
                                row(latin_1_name) row(writes_before) row(keeps_its_observation)   \
                                    row(keeps_its_position) row(keeps_the_last_step)              \
                                        row(changes_its_spec) row(dt_is_nan) row(no_action_low)   \
                                            row(starts_faster) row(shows_another_velocity)        \
                                                row(carries_state)

#define TASK(fault) TOY(fault, "fault=" #fault)
#define ADDRESS(fault) &TOY_##fault,

TASKS(TASK)
TOY_LIBRARY(TASKS(ADDRESS))
