/*
 * One value at a time: what the reader and the tables share inside this room.
 */
#ifndef TRAINER_SETTINGS_VALUES_H
#define TRAINER_SETTINGS_VALUES_H

#include "settings/settings.h"

/* Sets the value of a row from text. TCE_E_VALUE, with `where` and what it must be. */
tce_status setting_parse(settings *s, const setting_row *row, const char *text, const char *where);

/* Bytes of a value of the row's type in settings; 0 for run.method. */
size_t setting_size(const setting_row *row);

#endif
