/*
 * mp: movement primitives. ProDMP, ProMP and DMP behind one handle: parameters in, trajectories
 * out.
 *
 * A handle holds the basis, not the parameters. Queries take a const handle, so all threads may
 * share one. Parameters are ordered DoF by DoF: w_1 … w_B, goal; with learn_tau and learn_delay the
 * vector starts with tau, then delay. Mathematics: docs/api/mp.md.
 */
#ifndef TCE_MP_H
#define TCE_MP_H

#include <tce/random.h>
#include <tce/store.h>

TCE_BEGIN_C

typedef struct tce_mp tce_mp;

enum { TCE_MP_PRODMP = 0, TCE_MP_PROMP = 1, TCE_MP_DMP = 2 };

/*
 * The argument of the basis functions. NATURAL is linear for ProMP and exponential for DMP and
 * ProDMP; SMOOTH and RHYTHMIC are for ProMP and DMP only.
 */
enum { TCE_MP_PHASE_NATURAL = 0, TCE_MP_PHASE_SMOOTH = 1, TCE_MP_PHASE_RHYTHMIC = 2 };

/* A ProDMP's basis. TABLE: interpolated, as published. EXACT: by accurate quadrature. */
enum { TCE_MP_BASIS_TABLE = 0, TCE_MP_BASIS_EXACT = 1 };

/* Largest number of basis functions. */
#define TCE_MP_MAX_BASIS 256

/* Largest number of steps of dt that one query of a DMP takes. */
#define TCE_MP_MAX_STEPS 1000000

typedef struct tce_mp_options {
    size_t struct_size;
    int32_t kind;             /* TCE_MP_PRODMP */
    int32_t phase;            /* TCE_MP_PHASE_NATURAL */
    int32_t basis;            /* TCE_MP_BASIS_TABLE */
    int32_t n_dof;            /* 1 */
    int32_t n_basis;          /* 5 */
    int32_t n_basis_outside;  /* 0 */
    int32_t table_length;     /* 5, in units of tau */
    int32_t relative_goal;    /* booleans from here to learn_delay: 0, except auto_scale_basis */
    int32_t auto_scale_basis; /* 1 */
    int32_t disable_goal;
    int32_t disable_weights;
    int32_t learn_tau;
    int32_t learn_delay;
    int32_t reserved;
    double tau;                    /* 1, seconds */
    double delay;                  /* 0, seconds */
    double dt;                     /* 0.01, seconds: spacing of the table */
    double alpha;                  /* 25 */
    double alpha_phase;            /* 3 */
    double basis_bandwidth_factor; /* 3 */
    double weights_scale;          /* 1 */
    double goal_scale;             /* 1 */
    const double *weights_scales;  /* NULL, or [n_basis]: replaces weights_scale */
} tce_mp_options;

TCE_API void tce_mp_options_init(tce_mp_options *options, size_t struct_size);
/*
 * TCE_E_ARGUMENT: an unknown kind, phase or basis.  TCE_E_VALUE: a number out of range.
 * TCE_E_UNSUPPORTED: an option that the kind does not have.  TCE_E_SINGULAR: a basis function that
 * is 0 over the whole table cannot be auto-scaled.  TCE_E_NOMEM.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_mp_create(const tce_mp_options *options,
                                               const tce_hooks *hooks, tce_mp **out);
TCE_API void tce_mp_free(tce_mp *mp);

/* Sizes; each is 0 for NULL. */
TCE_API size_t tce_mp_n_params(const tce_mp *mp);
TCE_API size_t tce_mp_n_dof(const tce_mp *mp);
/* Columns of H for one DoF: how many of its parameters the path is linear in. */
TCE_API size_t tce_mp_n_columns(const tce_mp *mp);
/*
 * The options that a primitive was created with, by tce_mp_create or tce_mp_create_from.
 * weights_scales points into the handle, or is NULL. NULL for mp gives the defaults. Call
 * tce_mp_options_init on *out first.   Since 0.2.
 */
TCE_API void tce_mp_get_options(const tce_mp *mp, tce_mp_options *out);

/*
 * Where a batch of E paths starts and which times are asked for; start it from
 * TCE_INIT(tce_mp_grid). times is [E, T] when n_time_rows is E, and [T] for all episodes when it is
 * 1 (or 0); init_time is [E] or [1] according to n_init_times, in the same way. init_pos and
 * init_vel are [E, D]. NULL for init_time, init_pos or init_vel means zeros. A DMP is integrated
 * from init_time to times[0], times[1], … in one step each; a ProMP has no start.
 */
typedef struct tce_mp_grid {
    size_t struct_size;
    size_t E;
    size_t T;
    size_t n_time_rows;  /* 1 or E; 0 means 1 */
    size_t n_init_times; /* 1 or E; 0 means 1 */
    const double *times;
    const double *init_time;
    const double *init_pos;
    const double *init_vel;
} tce_mp_grid;

/*
 * Paths of E parameter vectors, [E, P] -> [E, T, D]; any output may be NULL.
 *
 * Velocity and acceleration of a ProMP are forward differences over the given times, with the last
 * one repeated. The acceleration of a DMP is the right-hand side of its equation at that time.
 * Before the delay, acceleration is 0.
 * TCE_E_SHAPE: E or T is 0, or a row count is neither 1 nor E.  TCE_E_VALUE: a time beyond the
 * table, a start velocity before the delay (ProDMP), tau <= 0, equal neighbouring times (ProMP,
 * velocity), NaN.  TCE_E_SINGULAR: the start lies so late that its initial conditions underflow.
 * TCE_E_NOT_FINITE: a time so far before the start that the path overflows.   No allocation.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_mp_trajectory(const tce_mp *mp, const tce_mp_grid *grid,
                                                   const double *params, double *out_pos,
                                                   double *out_vel, double *out_acc);

/*
 * Vector-Jacobian product: d_params [E, P] = sum over T, D of d_pos dpos/dparams + d_vel
 * dvel/dparams. d_pos or d_vel may be NULL (zeros). With learn_tau and learn_delay it is the
 * derivative of the path as interpolated. Statuses as above.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status
tce_mp_trajectory_backward(const tce_mp *mp, const tce_mp_grid *grid, const double *params,
                           const double *d_pos, const double *d_vel, double *out_d_params);

/*
 * One path at one time, for control loops: params [P], init_pos and init_vel [D] or NULL, outputs
 * [D] or NULL. The numbers are those of tce_mp_trajectory. ProDMP and ProMP take constant time (a
 * ProMP's velocity is the forward difference over the next dt). A DMP is integrated from init_time
 * to time in steps of dt, the last one shorter, so that the cost grows with time - init_time:
 * TCE_E_VALUE when time < init_time or when it takes more than TCE_MP_MAX_STEPS steps.
 * Other statuses as above.   No allocation, no locks.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_mp_query(const tce_mp *mp, double time, const double *params,
                                              double init_time, const double *init_pos,
                                              const double *init_vel, double *out_pos,
                                              double *out_vel, double *out_acc);

/*
 * Rows of the scaled basis: position = offset + out_pos_basis . params of that DoF, and likewise
 * for velocity and acceleration. times [T]; outputs [T, columns] or NULL. Only for ProDMP and ProMP
 * without learnt tau or delay (TCE_E_UNSUPPORTED otherwise). No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_mp_basis(const tce_mp *mp, size_t T, const double *times,
                                              double init_time, double *out_pos_basis,
                                              double *out_vel_basis, double *out_acc_basis);

/*
 * Covariance [D*T, D*T] (ordered by DoF, then by time) and standard deviation [T, D] of the paths
 * of parameters ~ N(., L L'), L [P, P]; reg times the largest diagonal entry is added to the
 * diagonal. `order` 0: position, 1: velocity. Outputs may be NULL. Works for the same primitives as
 * tce_mp_basis.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_mp_covariance(const tce_mp *mp, size_t T, const double *times,
                                                   double init_time, const double *L, double reg,
                                                   int32_t order, double *out_cov, double *out_std);

/* Doubles of scratch that tce_mp_fit and tce_mp_condition need; 0 for NULL.   Since 0.2. */
TCE_API size_t tce_mp_work_size(const tce_mp *mp);

/*
 * Ridge regression to a demonstration: demo [T, D] at times [T], out_params [P]. T >= 2, times
 * increase, reg >= 0. The fitted path starts where the demonstration does: to repeat it, give
 * times[0] as init_time and the first difference as init_vel.
 * TCE_E_UNSUPPORTED with learnt tau or delay.  TCE_E_SINGULAR: the normal equations have no unique
 * solution, or goal_scale is 0 (DMP). work [tce_mp_work_size(mp)].   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_mp_fit(const tce_mp *mp, size_t T, const double *times,
                                            const double *demo, double reg, double *work,
                                            double *out_params);

/*
 * A point that the path should pass through: DoF `dof` has the value `value` at `time`, with a
 * standard deviation of `tolerance`.
 */
typedef struct tce_mp_via {
    double time;
    double value;
    double tolerance; /* > 0 */
    int32_t dof;
    int32_t order; /* 0: position, 1: velocity */
} tce_mp_via;

/*
 * Conditions a Gaussian over parameters, N(mean, L L'), on all via-points. init_pos, init_vel [D];
 * mean, out_mean [P]; L, out_L [P, P]; outputs may be the inputs. Works for the same primitives as
 * tce_mp_basis. TCE_E_NOT_PD: a diagonal entry of L is <= 0. work [tce_mp_work_size(mp)].   No
 * allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_mp_condition(const tce_mp *mp, size_t n_via,
                                                  const tce_mp_via *via, double init_time,
                                                  const double *init_pos, const double *init_vel,
                                                  const double *mean, const double *L, double *work,
                                                  double *out_mean, double *out_L);

/*
 * One primitive with its parameters and start, as tce_mp_query takes them; start it from
 * TCE_INIT(tce_mp_plan).
 */
typedef struct tce_mp_plan {
    size_t struct_size;
    const tce_mp *mp;
    const double *params;
    const double *init_pos;
    const double *init_vel;
    double init_time;
} tce_mp_plan;

/*
 * Blends one primitive into another between the times `from` and `to`: y = (1 - s) y_a + s
 * y_b with s = 10z^3 - 15z^4 + 6z^5, so that position, velocity and acceleration stay continuous.
 * Both are evaluated as by tce_mp_query, a only before `to` and b only after `from`. Outputs [T, D]
 * or NULL. TCE_E_SHAPE: a and b have different D.  TCE_E_VALUE: from >= to.   No allocation.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_mp_blend(const tce_mp_plan *a, const tce_mp_plan *b,
                                              double from, double to, size_t T, const double *times,
                                              double *out_pos, double *out_vel, double *out_acc);

/*
 * Saves the options under "<prefix>.…", and creates a primitive from them, so that an exported
 * policy carries its primitive.   Both allocate.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_mp_save(const tce_mp *mp, tce_store *store,
                                             const char *prefix);
TCE_API TCE_NODISCARD tce_status tce_mp_create_from(const tce_store *store, const char *prefix,
                                                    const tce_hooks *hooks, tce_mp **out);

TCE_END_C

#endif
