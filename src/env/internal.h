/*
 * What rollouts and inspections share: calling into a task, making its environments.
 */
#ifndef TCE_ENV_INTERNAL_H
#define TCE_ENV_INTERNAL_H

#include <tce/env.h>

#include "base/internal.h"

/* ---- callbacks (env_callback.c) -------------------------------------------------------------- */

/* Longer messages are cut. */
#define TCE__ASIDE_SIZE 1024

/*
 * The thread's message, put aside while callbacks run, so that theirs can be told from what was
 * said before.
 */
typedef struct tce__aside {
    char text[TCE__ASIDE_SIZE];
} tce__aside;

void tce__aside_put(tce__aside *aside);
/* Brings the old message back, for a call that succeeds. */
void tce__aside_return(const tce__aside *aside);

/*
 * What to make of a callback's status: TCE_OK and negative ones as they are, with a message in any
 * case; positive ones are the task's mistake, TCE_E_ENV.
 */
tce_status tce__judge(const char *callback, tce_status status);

/* ---- environments (env_spec.c) --------------------------------------------------------------- */

/* As much of a task's table as this libtce knows, the rest NULL. */
tce_env_vtable tce__env_table(const tce_env_vtable *vtable);

/* An instance; none is left behind on failure. */
tce_status tce__env_make(const tce_env_vtable *table, void *user, const char *settings, void **out);

/* The spec of an instance, checked. */
tce_status tce__env_ask(const tce_env_vtable *table, void *instance, tce_env_spec *out);

/*
 * An instance and its spec, checked; neither is left behind on failure. The message is the task's
 * or names what makes no sense.
 */
tce_status tce__env_create(const tce_env_vtable *table, void *user, const char *settings,
                           void **out, tce_env_spec *out_spec);

#endif
