/*
 * The movement primitive of the settings, for a task.
 */
#ifndef TRAINER_PRIMITIVE_H
#define TRAINER_PRIMITIVE_H

#include <tce/tce.h>

#include "settings/settings.h"

/* TCE_E_VALUE, TCE_E_UNSUPPORTED: the movement does not fit the episodes. */
tce_status primitive_check(const settings *s, const tce_env_spec *spec);
/* TCE_E_NOMEM: its table does not fit the machine. */
tce_status primitive_check_memory(const settings *s, const tce_env_spec *spec);
/* hooks: NULL, or those of memory.h */
tce_status primitive_create(const settings *s, const tce_env_spec *spec, const tce_hooks *hooks,
                            tce_mp **out);

#endif
