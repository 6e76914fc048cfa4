/*
 * A trained policy as one self-contained C99 file: network, primitive, test vector.
 */
#ifndef TRAINER_EXPORT_C_H
#define TRAINER_EXPORT_C_H

#include <stdio.h>

#include <tce/tce.h>

/* ---- what is baked in of a primitive: export_basis.c ----------------------------------------- */

/*
 * Columns of a DoF that have a parameter: W weights, then G (0 or 1) goal; C = W + G.
 * ProDMP, table: rows [n_rows, 2, S], S = 2 + C + R: y1, y2, the scaled basis, and with a relative
 * goal (R = 1) the unscaled goal's; position and velocity in scaled time. ProDMP, exact: edge
 * [n_rows] and rows [n_rows, 2, W], the integrals I0, I1 up to each edge.
 */
typedef struct export_basis {
    tce_mp_options options;
    size_t D, P, lead, W, G, C, R;
    double centre[TCE_MP_MAX_BASIS];
    double width[TCE_MP_MAX_BASIS];
    double scale[TCE_MP_MAX_BASIS + 1]; /* [C] */
    size_t n_rows;
    double *rows;
    double *edge;
} export_basis;

/* Must not outlive mp. Allocates; free in any case. */
tce_status export_basis_make(export_basis *b, const tce_mp *mp);
void export_basis_free(export_basis *b);

/* ---- the text of the file that is no number: export_text.c ----------------------------------- */

/* '@' stands for the name, '$' for the name in capitals. */
extern const char TEXT_NETWORK[], TEXT_CLOCK[], TEXT_BASIS[], TEXT_LOG_GAUSS[], TEXT_LOG_CIRCLE[];
extern const char TEXT_PHASE_LINEAR[], TEXT_PHASE_SMOOTH[], TEXT_PHASE_EXPONENTIAL[],
    TEXT_PHASE_CIRCLE[], TEXT_FACTOR[];
extern const char TEXT_STATE_TABLE[], TEXT_STATE_EXACT[], TEXT_STATE_INTEGRALS[];
extern const char TEXT_PRODMP_ROW[], TEXT_PRODMP_PATH[], TEXT_PROMP[], TEXT_DMP[], TEXT_DMP_PATH[];
extern const char TEXT_DECLARATIONS[], TEXT_SELF_TEST[], TEXT_MAIN[];

/* ---- the file -------------------------------------------------------------------------------- */

/* Whether a name can begin those of C functions. */
int export_name_is_fine(const char *name);

/*
 * Writes the policy in a store (what a method's export_policy put there) as C. TCE_E_NOT_FOUND,
 * TCE_E_VALUE: not such a store. Whether `out` could be written is the caller's to ask.
 */
tce_status export_c(const tce_store *store, const char *name, FILE *out);

#endif
