/*
 * Settings before they are values: texts of keys in the order in which they were given, so that
 * run.method is known before any other key is judged.
 */
#ifndef TRAINER_SETTINGS_ENTRIES_H
#define TRAINER_SETTINGS_ENTRIES_H

#include "settings/settings.h"

#define WHERE_SIZE (TEXT_SIZE + 32)

typedef struct setting_entry {
    char section[64], key[64]; /* key "": a section of a file that is named, with keys or without */
    char where[WHERE_SIZE];    /* begins a message */
    int line;                  /* of a file; 0: a word of the user */
    char *text;
} setting_entry;

/* Starts as { 0 }. */
typedef struct setting_entries {
    size_t n, capacity;
    setting_entry *list; /* [n] */
} setting_entries;

/* A copy of the entry, text included. TCE_E_NOMEM. */
tce_status entries_add(setting_entries *e, const setting_entry *entry);
void entries_free(setting_entries *e);

/*
 * Sections and keys of a YAML file. TCE_E_NOT_FOUND, TCE_E_IO, TCE_E_NOMEM; TCE_E_CORRUPT: not
 * YAML;
 * TCE_E_VALUE: not sections of keys.
 */
tce_status entries_read(setting_entries *e, const char *path);

#endif
