/*
 * What the files of mp share: the handle, the clock of one path, basis rows.
 *
 * Every linear path is a product with rows: at one time, position (order 0), velocity (1) or
 * acceleration (2) of DoF d is
 *
 *     row . (y_b, y'_b, w_1 ... w_C),      row [2 + C]
 *
 * with the scales, the relative goal and the powers of tau inside the row. Rows are made in tiles
 * on the stack, so that a const handle needs no scratch memory. A DMP has no rows; mp_dmp.c
 * integrates it.
 */
#ifndef TCE_MP_INTERNAL_H
#define TCE_MP_INTERNAL_H

#include <tce/mp.h>

#include "base/internal.h"

enum {
    /* highest derivative + 1 */
    TCE__MP_ORDERS = 3,
    /* y1, y2, then the basis functions and the goal's: one order of a state */
    TCE__MP_STATE = 2 + TCE_MP_MAX_BASIS + 1,
    /* one row: two start columns, then the parameters' */
    TCE__MP_ROW = 2 + TCE_MP_MAX_BASIS + 1,
    /*
     * doubles in a tile of rows: 16 kB, so that the tiles of three orders fit a first-level cache
     * of 48 kB
     */
    TCE__MP_TILE = 2048,
    /* DoFs that the kernels treat at once: two vectors of four */
    TCE__MP_LANES = 8
};

struct tce_mp {
    tce_hooks hooks;
    tce_mp_options options; /* as read; weights_scales points to weights_scales below, or is NULL */
    size_t B, C, D, P;      /* C: columns of one DoF */
    size_t lead;            /* learnt tau and delay in front of the parameters: 0, 1 or 2 */
    size_t first;           /* first column that is left of (w_1 ... w_B, g) */
    double *weights_scales; /* [B] as given */
    double *scale;          /* [B + 1] what multiplies w_1 ... w_B, g */
    double *centre;         /* [B] in the phase */
    double *width;          /* [B] h_i */

    /* ProDMP, table: points k = 0 ... table_last, each [ORDERS, B + 3] */
    size_t table_last;
    double table_rate; /* tau_0 / dt: table positions a unit of scaled time */
    double *table;

    /* ProDMP, exact: panels between edges, and the integrals (I0, I1) up to each edge */
    size_t n_panels;
    double *edge;     /* [n_panels + 1] */
    double *integral; /* [n_panels + 1, 2, B] */
};

/* ---- phases and basis functions: mp_phase.c -------------------------------------------------- */

/* centres and widths, for the configured tau and delay */
void tce__mp_place_centres(tce_mp *mp);

/* basis argument at scaled time s; *out_slope (or NULL) its derivative by s */
double tce__mp_phase_at(const tce_mp *mp, double s, double *out_slope);

/*
 * what multiplies a DMP's and ProDMP's forcing at scaled time u >= 0; *out_slope (or NULL) its
 * derivative by u
 */
double tce__mp_factor_at(const tce_mp *mp, double u, double *out_slope);

/*
 * phi_1 ... phi_B at the basis argument x, out [B]; out_slope [B] (or NULL) their derivatives by x
 */
void tce__mp_basis_at(const tce_mp *mp, double x, double *out, double *out_slope);

/* ---- ProDMP's basis: mp_table.c, mp_exact.c -------------------------------------------------- */

/*
 * A state holds, for each order, y1, y2, Psi_1 ... Psi_B, Psi_g: [ORDERS, B + 3]. The fundamental
 * solutions y1, y2 may be taken from any origin o, y1 = exp(-alpha (u - o)/2): a path does not
 * depend on it. The table's origin is 0; an exact one's is its start.
 */
size_t tce__mp_state_size(const tce_mp *mp);

/* y1, y2 and the goal's basis function at u, three orders */
void tce__mp_fundamental(const tce_mp *mp, double u, double origin, double *out);

/* f_i(u) = x(u) phi_i(x(u)), [B] */
void tce__mp_forcing(const tce_mp *mp, double u, double *out);

/*
 * the three orders of Psi_1 ... Psi_B into a state, from the integrals I0, I1 and the integrand,
 * all [B]
 */
void tce__mp_put_basis(const tce_mp *mp, const double *I0, const double *I1, const double *f,
                       double *out);

/*
 * table [table_last + 1, ORDERS, B + 3], or NULL; largest [B + 1]: the maximum of each position
 * basis function
 */
void tce__mp_table_fill(const tce_mp *mp, double *table, double *largest);

/*
 * state at u; slope (or NULL): the derivatives of orders 0 and 1 by u, [2, B + 3]; n_orders 1 ... 3
 */
void tce__mp_table_state(const tce_mp *mp, double u, size_t n_orders, double *out, double *slope);

/* number of panels; edges [n + 1] and integrals [n + 1, 2, B] when edge is not NULL */
size_t tce__mp_exact_fill(const tce_mp *mp, double *edge, double *integral);
void tce__mp_exact_state(const tce_mp *mp, double u, double origin, size_t n_orders, double *out,
                         double *slope);

/* ---- rows: mp_rows.c ------------------------------------------------------------------------- */

/* The clock and the initial conditions of one path, or of all paths that share them. */
typedef struct tce__mp_start {
    double tau;
    double delay;
    double u;   /* scaled start time, >= 0 (ProDMP) */
    double det; /* y1_b y2'_b - y2_b y1'_b */
    double state[2 * TCE__MP_STATE];
    double slope[2 * TCE__MP_STATE]; /* its derivative by u, with learnt tau or delay */
} tce__mp_start;

/* tau and delay of one parameter vector [P] */
double tce__mp_tau(const tce_mp *mp, const double *params);
double tce__mp_delay(const tce_mp *mp, const double *params);

/*
 * params: for tau and delay only, may be NULL when they are not learnt. TCE_E_SINGULAR when det
 * underflows.
 */
tce_status tce__mp_start_at(const tce_mp *mp, const double *params, double init_time,
                            tce__mp_start *out);

/* length of a row, and how many fit a tile */
size_t tce__mp_row_size(const tce_mp *mp);
size_t tce__mp_tile_rows(const tce_mp *mp);

/*
 * rows[k] [n, row_size] or NULL, k = 0 ... 2, at times[begin] ... times[begin + n - 1] of times
 * [T]; n <= tile_rows
 */
void tce__mp_rows(const tce_mp *mp, const tce__mp_start *start, size_t T, const double *times,
                  size_t begin, size_t n, double *const rows[TCE__MP_ORDERS]);

/* their derivatives, orders 0 and 1, by tau (by delay when by_delay) */
void tce__mp_rows_slope(const tce_mp *mp, const tce__mp_start *start, size_t T, const double *times,
                        size_t begin, size_t n, int by_delay, double *const rows[2]);

/* rows at one time, as tce_mp_query means them: a ProMP's differences are over the next dt */
void tce__mp_rows_at(const tce_mp *mp, const tce__mp_start *start, double time,
                     double *const rows[TCE__MP_ORDERS]);

/* ---- checks: mp_check.c ---------------------------------------------------------------------- */

/* The caller's grid after the checks. */
typedef struct tce__mp_batch {
    tce_mp_grid grid;
    int shared_times; /* all rows of times are equal */
    int shared_start; /* and so are the start times, and tau and delay are not learnt */
} tce__mp_batch;

/*
 * All argument checks of a batch; params [E, P]; n_orders: 1 + the highest derivative that is
 * wanted.
 */
tce_status tce__mp_check_batch(const tce_mp *mp, const tce_mp_grid *grid, const double *params,
                               size_t n_orders, tce__mp_batch *out);

/*
 * The clock of one path: tau > 0, start within the table, a start velocity (init_vel [D] or NULL)
 * after the delay. e: which episode it is, for the message.
 */
tce_status tce__mp_check_clock(const tce_mp *mp, const double *params, double init_time,
                               const double *init_vel, size_t e);
tce_status tce__mp_check_time(const tce_mp *mp, const double *params, double init_time,
                              const char *name, size_t i, double time);
/* A DMP at one time: not before its start, and within TCE_MP_MAX_STEPS steps of dt after it. */
tce_status tce__mp_check_steps(const tce_mp *mp, double init_time, const char *name, size_t i,
                               double time);

/* TCE_E_UNSUPPORTED for a DMP and with learnt tau or delay */
tce_status tce__mp_check_linear(const tce_mp *mp, const char *call);

/*
 * That, and times [T] for rows from init_time on; differences: whether a ProMP's velocity is
 * wanted.
 */
tce_status tce__mp_check_rows(const tce_mp *mp, const char *call, size_t T, const double *times,
                              double init_time, int differences);

/* pieces of a batch */
const double *tce__mp_batch_times(const tce__mp_batch *batch, size_t e);
double tce__mp_batch_init_time(const tce__mp_batch *batch, size_t e);

/* after a numerical failure (status <= TCE_E_NOT_PD): out [n] = NaN unless NULL */
void tce__mp_spoil(tce_status status, size_t n, double *out);

/* ---- DMP: mp_dmp.c --------------------------------------------------------------------------- */

/* All paths of a batch: params [E, P], out[k] and d_... [E, T, D] or NULL. */
void tce__mp_dmp_paths(const tce_mp *mp, const tce__mp_batch *batch, const double *params,
                       double *const out[TCE__MP_ORDERS]);
void tce__mp_dmp_backward(const tce_mp *mp, const tce__mp_batch *batch, const double *params,
                          const double *d_pos, const double *d_vel, double *out_d_params);
/*
 * DoFs begin ... begin + n - 1 (n <= LANES) at `time`, from init_time in steps of dt; out[k] [n] or
 * NULL
 */
void tce__mp_dmp_at(const tce_mp *mp, double time, const double *params, double init_time,
                    const double *init_pos, const double *init_vel, size_t begin, size_t n,
                    double *const out[TCE__MP_ORDERS]);

#endif
