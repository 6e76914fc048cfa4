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

/* ---- the network of the mean: export_network.c ----------------------------------------------- */

enum { MAX_LAYERS = 65 };

typedef struct export_network {
    int32_t activation, precision;
    size_t n_layers, width[MAX_LAYERS + 2];
    size_t n_weights;
    double *weights; /* layer by layer: [out, in], then biases [out] */
} export_network;

/* Its first n_outputs outputs. Allocates; free in any case. */
tce_status export_network_read(export_network *n, const tce_store *store, size_t n_outputs);
void export_network_free(export_network *n);

/*
 * By how much rounding moves the outputs for inputs [width[0]], as standard deviations out
 * [n_outputs]: by that much do two programs differ that add in different orders.
 */
tce_status export_network_rounding(const export_network *n, const double *inputs, double *out);

/* ---- the policy ------------------------------------------------------------------------------ */

enum { N_CHOICES = 19 };

typedef struct exported {
    c_file c;
    const tce_store *store;
    export_basis basis; /* zeros where the policy acts at every step */
    export_network network;
    agent agent;
    c_choice choices[N_CHOICES + 1];
} exported;

/* ---- what libtce computes, for the self-test: export_test.c ---------------------------------- */

/*
 * Draws a context and parameters, or observations, lets the library compute, and writes all of it.
 */
tce_status export_test(const exported *x);

#endif
