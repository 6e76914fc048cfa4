/*
 * env: the contract between libtce and a task. A task is a table of functions; a task library is a
 * shared object that lists its tables.
 *
 * An environment is stepped either along a desired position and velocity, which its own controller
 * tracks, or by its raw action. Observations contain no desired values. An instance is never
 * touched by two threads at once; instances share nothing that is written.
 */
#ifndef TCE_ENV_H
#define TCE_ENV_H

#include <tce/random.h>
#include <tce/status.h>

TCE_BEGIN_C

/* Raised when the table changes so that old task libraries can no longer be used. */
#define TCE_ENV_ABI 1

/*
 * What a task looks like from outside; constant over the life of an instance. Pointers belong to
 * the instance. The caller sets struct_size and zeroes the rest; spec() fills in as much as fits.
 */
typedef struct tce_env_spec {
    size_t struct_size;
    int32_t n_obs;     /* O: numbers in an observation */
    int32_t n_dof;     /* D: numbers in a desired position; 0: tracks no paths, raw actions only */
    int32_t n_action;  /* numbers in a raw action; 0: step_action is not offered */
    int32_t n_steps;   /* T: steps of a whole episode */
    int32_t n_metrics; /* numbers from metrics() */
    int32_t n_context; /* observation entries that episodic black-box methods see; 0: all */
    double dt;         /* seconds per step */
    /*
     * [n_metrics]; "success" is 0 or 1 where a task has it. Names are distinct, printable UTF-8
     * without commas and quotes. A program may refuse names under which it logs its own numbers:
     * docs/api/env.md lists those of `tce train`.
     */
    const char *const *metric_names;
    const int32_t *context;    /* [n_context] indices into the observation */
    const double *action_low;  /* [n_action] */
    const double *action_high; /* [n_action] */
    /* 1: a reset depends on the episodes before it, through what get_state gives; 0: it does not */
    int32_t carries_state;
    /*
     * the D joint velocities are the observation entries velocity_end - D … velocity_end - 1;
     * 0: an observation does not show them
     */
    int32_t velocity_end;
} tce_env_spec;

/* The outcome of one step. */
typedef struct tce_env_result {
    double reward;
    int32_t terminated; /* the task is over */
    /* the time is up; libtce sets it at step n_steps, a task that ends earlier sets it itself */
    int32_t truncated;
    int32_t event; /* the deciding event has happened (sticky); 0 where a task has none */
    int32_t reserved;
} tce_env_result;

/*
 * A task. Functions return TCE_OK or a negative status, preferably through tce_fail(), which stores
 * a message with it. Entries marked optional may be NULL. struct_size and abi let libtce tell old
 * tables from new ones.
 */
typedef struct tce_env_vtable {
    size_t struct_size;
    int32_t abi; /* TCE_ENV_ABI */
    int32_t reserved;
    const char *name;        /* "reacher5": letters, digits, _ . -; does not begin with . or - */
    const char *description; /* one line */

    /*
     * settings: "key=value" lines, or NULL, valid during the call; user: the pointer given with the
     * table. *out: an instance, not NULL.
     */
    tce_status (*create)(void *user, const char *settings, void **out);
    void (*destroy)(void *instance);
    tce_status (*spec)(void *instance, tce_env_spec *out);

    /*
     * A new episode, drawn from `random` alone: out_obs [O]; the joint position and velocity where
     * desired paths start: out_pos, out_vel [D]. Earlier episodes must not influence it, unless
     * carries_state says that they do.
     */
    tce_status (*reset)(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel);
    /*
     * Optional when n_dof is 0: tracks pos, vel [D] for one step. On entry *out is zero except for
     * event, which has the value of the step before. A step draws no random numbers.
     */
    tce_status (*step)(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out);
    /* Optional when n_action is 0: the same with the raw action [n_action]. */
    tce_status (*step_action)(void *instance, const double *action, double *out_obs,
                              tce_env_result *out);
    /* Optional when n_metrics is 0: numbers about the episode so far. */
    tce_status (*metrics)(void *instance, double *out);

    /*
     * Optional, all three or none: the full physics and task state, for checkpoints, injection and
     * replay; n_state returns how many numbers it has. An episode that is continued from its state
     * in another instance gives the same bytes.
     */
    size_t (*n_state)(void *instance);
    tce_status (*get_state)(void *instance, double *out);
    tce_status (*set_state)(void *instance, const double *state, double *out_obs);
    /* Optional: a picture of the present state, rgb [height, width, 3]. */
    tce_status (*render)(void *instance, int32_t width, int32_t height, uint8_t *rgb);
} tce_env_vtable;

/*
 * TCE_OK when a table can be used by this library. TCE_E_VERSION: size or abi of another libtce.
 * TCE_E_ARGUMENT: no name or a bad one, or a required entry is NULL.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_env_check(const tce_env_vtable *vtable);

/* ---- whether a task keeps its contract ------------------------------------------------------- */

/* A fault breaks training or makes runs unrepeatable; a remark may describe what is intended. */
enum { TCE_ENV_REMARK = 0, TCE_ENV_FAULT = 1 };

/* A finding: a sentence that says what is wrong and what to do, valid during the call. */
typedef void (*tce_env_report)(void *context, int32_t severity, const char *message);

/*
 * The call that is about to be made: the name of an entry of the table, and the number of the step
 * in its episode, counted from 1; 0 when the call is not a step.
 */
typedef void (*tce_env_trace)(void *context, const char *call, int32_t step);

typedef struct tce_env_inspect_options {
    size_t struct_size;
    const tce_env_vtable *vtable;
    void *user;           /* given to vtable->create */
    const char *settings; /* given to vtable->create */
    uint64_t seed;        /* 1; of the streams that episodes are drawn from */
    /* called with each finding when it is made; NULL: findings are only counted */
    tce_env_report report;
    void *context; /* given to report and trace */
    /* called before each call into the task, to tell where it hangs or crashes; or NULL */
    tce_env_trace trace;
    /*
     * [n_reserved] names that no metric may have, because the caller logs its own numbers under
     * them; one that ends in '*' stands for all names that begin with it
     */
    const char *const *reserved;
    size_t n_reserved;
} tce_env_inspect_options;

TCE_API void tce_env_inspect_options_init(tce_env_inspect_options *options, size_t struct_size);
/*
 * Runs about five episodes of a task in up to three environments and reports what breaks its
 * contract: tables and specs that make no sense or change, metrics with unusable names; resets that
 * do not repeat for equal streams, steps that draw from the stream, environments that differ after
 * use or disturb each other; outputs that are not written, not finite or overrun, and outputs of
 * earlier calls that are written; flags and events that contradict each other; steps that are
 * accepted before a reset or after an end; episodes that do not start where reset says; states that
 * do not restore an episode. Each kind of finding is reported once. *out_n_faults may be NULL. A
 * task without findings may still be wrong: docs/api/env.md says what is examined. Returns TCE_OK
 * whatever was found.  TCE_E_ARGUMENT, TCE_E_VERSION: options.  TCE_E_NOMEM. Frees all that it
 * allocates.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_env_inspect(const tce_env_inspect_options *options,
                                                 const tce_hooks *hooks, int32_t *out_n_faults);

/* ---- task libraries -------------------------------------------------------------------------- */

/*
 * What a task library exports under the name "tce_tasks": tables [*n], and the TCE_ENV_ABI it was
 * compiled with.
 */
typedef const tce_env_vtable *const *(*tce_tasks_function)(int32_t *abi, size_t *n);

typedef struct tce_env_library tce_env_library;

/*
 * Loads a task library (dlopen) and checks every table in it; the system's loader searches for a
 * path without a slash.
 * TCE_E_NOT_FOUND: no such file.  TCE_E_LIBRARY: the loader refused (the message has its reason),
 * there is no "tce_tasks", or it lists no task or the same one twice.  TCE_E_VERSION: compiled for
 * another TCE_ENV_ABI.  TCE_E_ARGUMENT: a table without a required entry.  TCE_E_NOMEM. The library
 * stays loaded until it is freed; free all of its environments first.   Allocates.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_env_library_open(const char *path, const tce_hooks *hooks,
                                                      tce_env_library **out);
TCE_API void tce_env_library_free(tce_env_library *library);
TCE_API size_t tce_env_library_n_tasks(const tce_env_library *library);
/* NULL when i is too large. */
TCE_API const tce_env_vtable *tce_env_library_at(const tce_env_library *library, size_t i);
/*
 * TCE_E_NOT_FOUND: no task of that name; tce_env_library_at gives all names.   No allocation.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_env_library_find(const tce_env_library *library,
                                                      const char *name, const tce_env_vtable **out);

TCE_END_C

#endif
