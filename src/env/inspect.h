/*
 * What the files of inspections share: environments on trial, and calls into them that report what
 * is wrong.
 */
#ifndef TCE_ENV_INSPECT_H
#define TCE_ENV_INSPECT_H

#include "env/internal.h"

/* Room for one sentence. */
#define TCE__INSPECT_MESSAGE 900

/* Numbers before and behind each output, to see whether they are written. */
#define TCE__INSPECT_GUARD 64

/* Kinds of findings; each is reported once. */
enum {
    TCE__INSPECT_MAKE,
    TCE__INSPECT_SPEC,
    TCE__INSPECT_RESERVED,
    TCE__INSPECT_RESET,
    TCE__INSPECT_STEP,
    TCE__INSPECT_OVERRUN,
    TCE__INSPECT_KEPT,
    TCE__INSPECT_FINITE,
    TCE__INSPECT_METRICS,
    TCE__INSPECT_SUCCESS,
    TCE__INSPECT_FLAGS,
    TCE__INSPECT_EVENT,
    TCE__INSPECT_DRAWS,
    TCE__INSPECT_REPEATS,
    TCE__INSPECT_LEFTOVER,
    TCE__INSPECT_SHARED,
    TCE__INSPECT_BEFORE_RESET,
    TCE__INSPECT_AFTER_END,
    TCE__INSPECT_STATE,
    TCE__INSPECT_CONTINUED,
    TCE__INSPECT_STARTS,
    TCE__INSPECT_CONTEXT,
    TCE__INSPECT_JUMP,
    TCE__INSPECT_IGNORED,
    TCE__INSPECT_NO_PATHS
};

/*
 * How an episode is driven: away from its start slowly, along the velocity of its start, or by raw
 * actions.
 */
enum { TCE__DRIVE_SWAY, TCE__DRIVE_HOLD, TCE__DRIVE_ACTIONS };

/*
 * Outputs that calls are given. Each entry of the table has arrays of its own, steps two in turns,
 * so that a task that writes to those of an earlier call is found.
 */
enum {
    TCE__OUT_RESET_OBS,
    TCE__OUT_RESET_POS,
    TCE__OUT_RESET_VEL,
    TCE__OUT_STEP_OBS,
    TCE__OUT_NEXT_STEP_OBS,
    TCE__OUT_SET_OBS,
    TCE__OUT_METRICS,
    TCE__OUT_STATE,
    TCE__N_OUT
};

typedef struct tce__output {
    double *room; /* [TCE__INSPECT_GUARD + n + TCE__INSPECT_GUARD] */
    size_t n;
    int given; /* to the present call */
} tce__output;

/* One environment and where it is in its episode. */
typedef struct tce__actor {
    void *instance;
    tce_random random; /* given to reset, kept where it was to see whether steps draw from it */
    tce_random after;  /* as reset left it */
    double *start_pos; /* [D] */
    double *start_vel; /* [D] */
    int32_t event;
    int32_t t; /* steps taken */
    int over;
} tce__actor;

/* What one step of the recorded episode brought. */
typedef struct tce__inspect_step {
    double reward;
    int32_t over;
    int32_t event;
} tce__inspect_step;

typedef struct tce__inspection {
    tce_env_inspect_options options;
    tce_env_vtable table;
    tce_env_spec spec;
    tce_hooks hooks;
    size_t O, D, A, M, S, T;
    uint64_t reported; /* kinds, as bits */
    int32_t n_faults;
    int drive; /* TCE__DRIVE_SWAY, or TCE__DRIVE_ACTIONS where the task tracks no paths */
    tce__actor actors[3];

    tce__output outputs[TCE__N_OUT];
    int odd; /* which array the next step is given */

    /* copies of the outputs of the last call */
    double *obs;     /* [O] */
    double *pos;     /* [D] */
    double *vel;     /* [D] */
    double *metrics; /* [M] */
    double *state;   /* [S] */

    /* the recorded episode */
    double *all_obs;          /* [T+1, O] */
    tce__inspect_step *steps; /* [T] */
    double *end_metrics;      /* [M] */
    double *first_pos;        /* [D] */
    double *first_vel;        /* [D] */
    int32_t length;           /* 0: there is none */

    double *first_state; /* [S] of a new environment, for tasks that carry state */
    double *mid_state;   /* [S] after mid_t steps of the recorded episode */
    int32_t mid_t;       /* -1: there is none */
    double *want_pos;    /* [D] */
    double *want_vel;    /* [D] */
    double *action;      /* [A] */
    double *before;      /* [O] the observation one step ago */
    double *change;      /* [O] by the step before the last */
} tce__inspection;

/* ---- calls (env_inspect_calls.c) ------------------------------------------------------------- */

/*
 * Reports a finding unless one of its kind was; returns 0. All of the following return 1, or 0
 * after a finding.
 */
int tce__inspect_say(tce__inspection *in, int kind, int32_t severity, const char *format, ...);

/* Tells the caller which call into the task comes next; step: 0 for calls that are not steps. */
void tce__inspect_trace(const tce__inspection *in, const char *call, int32_t step);

/* The arrays for outputs, as no call has written to them. */
void tce__inspect_clear_outputs(tce__inspection *in);

/* Whether x [n] has the same bytes as `before`; else `text` says where not. Reports nothing. */
int tce__inspect_same(size_t n, const double *x, const double *before, const char *name, int32_t t,
                      char *text, size_t size);

/* set_state, which gives in->obs; get_state, which gives in->state. */
int tce__inspect_put_state(tce__inspection *in, tce__actor *a, const double *state);
int tce__inspect_take_state(tce__inspection *in, tce__actor *a);

/* Starts the episode of a stream; its start is in in->obs and in the actor. */
int tce__inspect_begin(tce__inspection *in, tce__actor *a, uint64_t stream);

/* One step, and what must hold of it alone; in->obs is its observation. */
int tce__inspect_advance(tce__inspection *in, tce__actor *a, int drive, tce_env_result *result);

/* Metrics, into in->metrics; at the end of an episode they have to be finite. */
int tce__inspect_measure(tce__inspection *in, tce__actor *a);

/* A step that must be refused; kind says why. */
int tce__inspect_refused(tce__inspection *in, tce__actor *a, int drive, int kind);

#endif
