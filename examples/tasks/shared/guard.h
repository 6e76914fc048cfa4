/*
 * MuJoCo's errors as statuses.
 *
 * MuJoCo ends the process when it meets an error, unless a handler that never returns is installed.
 * Here every call that can fail runs inside mujoco_try(): the handler jumps back there and the
 * message becomes a TCE_E_ENV. The jump leaves mjData's stack as it was, so the data must be reset
 * before it is used again: an environment does that in its reset. Outside of mujoco_try() a handler
 * that was there before ours is called.
 */
#ifndef TASKS_GUARD_H
#define TASKS_GUARD_H

#include <tce/status.h>

/*
 * Runs work(context); a MuJoCo error inside ends it and is returned as TCE_E_ENV. work keeps
 * nothing that a jump out of it would leak.
 */
tce_status mujoco_try(void (*work)(void *context), void *context);

/* Ends the work inside mujoco_try, which returns TCE_E_ENV with this message. */
#if defined __GNUC__
__attribute__((noreturn, format(printf, 1, 2)))
#endif
void mujoco_stop(const char *format, ...);

/* The handlers, while there are models (model.c); not thread-safe. */
void guard_install(void);
void guard_remove(void);

#endif
