/*
 * The fifty Metaworld tasks, file by file: X(row, what is to be done). Row mw_door_open of doors.c
 * is the task metaworld_door_open.
 */
#ifndef METAWORLD_LIST_H
#define METAWORLD_LIST_H

#include <tce/env.h>

#define METAWORLD_TASKS(X)                                                    \
    /* buttons.c */                                                           \
    X(button_press, "press a button on a wall")                               \
    X(button_press_wall, "press a button on a wall, past another wall")       \
    X(button_press_topdown, "press a button from above")                      \
    X(button_press_topdown_wall, "press a button from above, past a wall")    \
    /* coffee.c */                                                            \
    X(coffee_button, "press the button of the coffee machine")                \
    X(coffee_pull, "pull a mug away from the coffee machine")                 \
    X(coffee_push, "push a mug under the coffee machine")                     \
    /* doors.c */                                                             \
    X(door_open, "open a door")                                               \
    X(door_close, "close a door")                                             \
    X(door_lock, "turn the lock of a door down")                              \
    X(door_unlock, "turn the lock of a door back")                            \
    /* drawers.c */                                                           \
    X(drawer_close, "push a drawer in")                                       \
    X(drawer_open, "pull a drawer out")                                       \
    /* handles.c */                                                           \
    X(handle_press, "press a handle down")                                    \
    X(handle_press_side, "press a handle down from the side")                 \
    X(handle_pull, "pull a handle up")                                        \
    X(handle_pull_side, "pull a handle up from the side")                     \
    /* knobs.c */                                                             \
    X(faucet_open, "turn a faucet to the right")                              \
    X(faucet_close, "turn a faucet to the left")                              \
    X(dial_turn, "turn a dial by half a turn")                                \
    X(lever_pull, "turn a lever upwards")                                     \
    /* objects.c */                                                           \
    X(reach, "move the tool to a goal")                                       \
    X(reach_wall, "move the tool over a wall to a goal")                      \
    X(push, "push an object to a goal")                                       \
    X(push_wall, "push an object around a wall to a goal")                    \
    X(push_back, "push an object back to a goal")                             \
    X(pick_place, "pick an object up and hold it at a goal in the air")       \
    X(pick_place_wall, "pick an object up and bring it over a wall")          \
    X(pick_out_of_hole, "pick an object out of a hole")                       \
    X(hand_insert, "put an object into a hole in the table")                  \
    X(sweep, "sweep an object off the table")                                 \
    X(sweep_into, "sweep an object into a hole")                              \
    X(soccer, "kick a ball into the goal")                                    \
    /* places.c */                                                            \
    X(basketball, "bring a ball into the basket")                             \
    X(bin_picking, "move an object from one bin to the other")                \
    X(shelf_place, "put an object onto a shelf")                              \
    X(box_close, "put the lid onto a box")                                    \
    /* plates.c */                                                            \
    X(plate_slide, "slide a plate away into its frame")                       \
    X(plate_slide_side, "slide a plate sideways into its frame")              \
    X(plate_slide_back, "slide a plate back out of its frame")                \
    X(plate_slide_back_side, "slide a plate back out of its frame, sideways") \
    /* tools.c */                                                             \
    X(assembly, "put a nut over a peg")                                       \
    X(disassemble, "take a nut off a peg")                                    \
    X(hammer, "hammer a nail into a wall")                                    \
    X(peg_insert_side, "put a peg into a hole in a wall")                     \
    X(peg_unplug_side, "pull a peg out of a wall")                            \
    X(stick_push, "push a container with a stick")                            \
    X(stick_pull, "pull a container with a stick")                            \
    /* windows.c */                                                           \
    X(window_open, "slide a window open")                                     \
    X(window_close, "slide a window shut")

#define METAWORLD_DECLARE(NAME, WHAT) extern const tce_env_vtable TASK_metaworld_##NAME;
METAWORLD_TASKS(METAWORLD_DECLARE)

#endif
