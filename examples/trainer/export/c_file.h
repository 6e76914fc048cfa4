/*
 * A C file made from templates: real C files, compiled into the program as text by templates.awk,
 * whose names begin with policy_ and POLICY_. What a template leaves open comes from its user:
 *
 *     #include "numbers/<part>.h"   the user's function writes this part; "choices" are left out
 *     #if POLICY_<CHOICE>           decided here, with #elif, #else and #endif
 *     #include "<file>"             another template
 *
 * All other lines are copied, with the file's own name in place of "policy" in names.
 */
#ifndef TRAINER_C_FILE_H
#define TRAINER_C_FILE_H

#include <stddef.h>
#include <stdio.h>

#include <tce/tce.h>

/* Every template, and the end: made of the folder templates/ when the program is built. */
typedef struct c_template {
    const char *name;
    const char *const *lines; /* ends with NULL */
} c_template;

extern const c_template C_TEMPLATES[];

/* POLICY_<name> in conditions. */
typedef struct c_choice {
    const char *name;
    int value;
} c_choice;

typedef struct c_file {
    FILE *out;
    const char *name;        /* what the names in the file begin with */
    const c_choice *choices; /* ends with the name NULL */
    tce_status (*write_part)(const void *user, const char *part);
    const void *user;
    int blank; /* the last line written is empty */
} c_file;

/* Writes a template and what it includes. Whether `out` could be written is the caller's to ask. */
tce_status c_file_template(c_file *f, const char *name);

/* For parts. Text in which policy_, POLICY_ and policy.c carry the file's name. */
void c_file_text(const c_file *f, const char *text);
void c_file_int(const c_file *f, const char *name, size_t value);
void c_file_real(const c_file *f, const char *name, double value);
/* static const <type> policy_<name>[n]; type: "int", "float" or "double" */
void c_file_array(const c_file *f, const char *type, const char *name, size_t n, const double *v);

#endif
