/*
 * Settings that suit a task: values that its spec suggests for keys that nobody has set, so that a
 * task of one's own trains without a settings file.
 */
#ifndef TRAINER_SUGGEST_H
#define TRAINER_SUGGEST_H

#include "settings/settings.h"

/* Whether the default of a row depends on the task, with the method of this table. */
int settings_by_task(const settings_table *table, const setting_row *row);

/* Whether there is a key whose default depends on the task and that still has no value. */
int settings_need_task(const settings *s);

/* Gives these keys the values that suit a task; what was given stays. */
tce_status settings_suggest(settings *s, const tce_env_spec *spec);

/* Why a row has the value that was suggested; NULL: it has another one. */
const char *settings_reason(const settings *s, const setting_row *row);

#endif
