/*
 * A trained policy as one self-contained C99 file: normaliser, network, primitive or action, test.
 */
#ifndef TRAINER_EXPORT_C_H
#define TRAINER_EXPORT_C_H

#include <stdio.h>

#include <tce/tce.h>

/* Whether a name can begin those of C functions. */
int export_name_is_fine(const char *name);

/*
 * Writes the policy in a store (what agent_save put there) as C. TCE_E_NOT_FOUND, TCE_E_SHAPE,
 * TCE_E_VALUE: not such a store. Whether `out` could be written is the caller's to ask.
 */
tce_status export_c(const tce_store *store, const char *name, FILE *out);

/*
 * The parts that the templates include as numbers/<part>.h, up to NULL, and one of them with the
 * templates' own names: with these, the templates compile as they are.
 */
extern const char *const EXPORT_PARTS[];
tce_status export_part(const tce_store *store, const char *part, FILE *out);

#endif
