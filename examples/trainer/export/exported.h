/*
 * What the files of this room share: a policy on its way into a C file.
 */
#ifndef TRAINER_EXPORTED_H
#define TRAINER_EXPORTED_H

#include <tce/tce.h>

#include "collect/agent.h"
#include "export/c_file.h"

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

/* ---- the policy ------------------------------------------------------------------------------ */

enum { MAX_LAYERS = 65, N_CHOICES = 15 };

typedef struct exported {
    c_file c;
    const tce_store *store;
    export_basis basis;
    agent agent;
    int32_t activation, precision;
    size_t n_layers, width[MAX_LAYERS + 1];
    c_choice choices[N_CHOICES + 1];
} exported;

/* ---- what libtce computes, for the self-test: export_test.c ---------------------------------- */

/* Draws a context and parameters, lets the library compute, writes all of it. */
tce_status export_test(const exported *x);

#endif
