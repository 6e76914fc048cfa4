/*
 * The trainer in a process that is not the program: what Python calls. Private to this project; a
 * struct begins with its size only so that the bindings can be checked against it.
 *
 * A run writes the folder that `tce train` writes. Nothing here prints, exits, installs a handler
 * of signals or keeps a static: a process may train again and again, and in several threads at
 * once, each in a folder of its own. BLAS is the caller's to set to one thread. Failures are
 * statuses of libtce with its message.
 */
#ifndef TRAINER_TRAIN_H
#define TRAINER_TRAIN_H

#include <tce/tce.h>

TCE_BEGIN_C

/* ---- a task ---------------------------------------------------------------------------------- */

/* The task of a run: a table that the caller has, and which outlives what is made with it. */
typedef struct tce_train_task {
    size_t struct_size;
    const tce_env_vtable *vtable;
    void *user;         /* given to vtable->create */
    tce_pool *pool;     /* threads for its environments; NULL: those of the run */
    int32_t one_thread; /* 1: its environments are used by the calling thread alone */
    int32_t reserved;
    /*
     * NULL, or told of the path [T, D] that an instance is about to be stepped along, which stays
     * where it is until then
     */
    void (*begin_path)(void *instance, size_t T, const double *pos, const double *vel);
} tce_train_task;

/* ---- environments in other processes --------------------------------------------------------- */

/*
 * A worker is a process that has environments: number i of a run lives in worker i mod N. It reads
 * requests from a socket and answers each; arrays are in memory that both have.
 */
typedef struct tce_train_workers tce_train_workers;

/*
 * What a worker is asked to do. A request is four int32: what, environment, T, bytes that follow.
 */
enum {
    TCE_TRAIN_ASK_CREATE = 1, /* the settings follow; the memory's descriptor comes with it */
    TCE_TRAIN_ASK_DESTROY = 2,
    TCE_TRAIN_ASK_RESET = 3,
    TCE_TRAIN_ASK_STEP = 4,   /* along a path of T steps, to its end; the metrics after it */
    TCE_TRAIN_ASK_ACTION = 5, /* one step with a raw action */
    TCE_TRAIN_ASK_METRICS = 6,
    TCE_TRAIN_ASK_GET_STATE = 7,
    TCE_TRAIN_ASK_SET_STATE = 8 /* the observation after it */
};
/*
 * An answer is four int32: environment, status, steps that were taken, bytes of text that follow: a
 * message, a 0 and a traceback.
 */

/*
 * Where things are in the memory of an environment, in bytes: for both sides, and its size. T is
 * the spec's n_steps.
 */
typedef struct tce_train_layout {
    size_t struct_size;
    size_t random;  /* tce_random */
    size_t pos;     /* [T, D] the path, and out of a reset [D] */
    size_t vel;     /* [T, D] */
    size_t action;  /* [n_action] */
    size_t obs;     /* [T, O] */
    size_t results; /* [T] tce_env_result */
    size_t metrics; /* [M] */
    size_t state;   /* [n_state] */
    size_t size;
} tce_train_layout;

/* n_state: numbers in a state of the task; 0: it does not tell its state. */
TCE_API void tce_train_layout_of(const tce_env_spec *spec, size_t n_state, tce_train_layout *out);

typedef struct tce_train_workers_options {
    size_t struct_size;
    const char *name; /* of the task */
    const tce_env_spec
        *spec; /* of every environment; it and what it points to outlive the handle */
    size_t n_workers;
    const int32_t *sockets;   /* [n_workers] which the handle closes */
    const int32_t *processes; /* [n_workers] their numbers */
    size_t n_state;           /* of an environment; 0: it does not tell its state */
} tce_train_workers_options;

/* Takes over the sockets, also when it fails. */
TCE_API TCE_NODISCARD tce_status tce_train_workers_create(const tce_train_workers_options *options,
                                                          tce_train_workers **out);
/* Closes the sockets, which ends the processes. After all that was made with the task. */
TCE_API void tce_train_workers_free(tce_train_workers *workers);
/* The task whose environments the workers have. */
TCE_API void tce_train_workers_task(tce_train_workers *workers, tce_train_task *out);
/* The traceback of the last failure in a worker, "" when there was none. */
TCE_API const char *tce_train_workers_traceback(const tce_train_workers *workers);

/* ---- training -------------------------------------------------------------------------------- */

enum {
    TCE_TRAIN_NEW = 0, /* there is no run in the folder yet, or none that got anywhere */
    TCE_TRAIN_RESUME =
        1, /* from its last checkpoint, from the beginning when there never was one */
    TCE_TRAIN_RESTART = 2 /* from the beginning; what is there is set aside first */
};

enum {
    TCE_TRAIN_GO_ON = 0,
    TCE_TRAIN_STOP = 1,   /* after this iteration, saved */
    TCE_TRAIN_ABANDON = 2 /* now: the iteration under way does not count */
};

/* Where a run stands after an iteration. Arrays are valid during the call. */
typedef struct tce_train_standing {
    size_t struct_size;
    int64_t iteration;
    int64_t iterations;
    int64_t env_steps;
    int64_t steps_limit; /* 0: none */
    int64_t dropped;     /* episodes of this iteration that were lost */
    int32_t evaluated;   /* the iteration ended with an evaluation */
    int32_t last;        /* no other will follow */
    size_t n_values;
    const char *const *names; /* [n_values] columns of progress.csv after iteration and env_steps */
    const double *values;     /* [n_values] NaN: not measured in this iteration */
    size_t n_phases;
    const char *const *phases; /* [n_phases] "simulation", … */
    const double *seconds;     /* [n_phases] since the start */
} tce_train_standing;

typedef struct tce_train_options {
    size_t struct_size;
    const tce_train_task *task;
    const char *folder; /* NULL: a new one in runs/ */
    int32_t start;      /* TCE_TRAIN_NEW, … */
    int32_t
        has_config;   /* path and words are all of the settings; 0: they change those of the run */
    const char *path; /* a YAML file, or NULL */
    size_t n_words;   /* over it */
    const char *const *words; /* [n_words] "section.key=value" */
    /* the task's, from which defaults are chosen; NULL: an instance tells it */
    const tce_env_spec *spec;
    /* called by the thread that trains; NULL: not */
    void *context;
    void (*note)(void *context, const char *sentence);
    void (*warn)(void *context, const char *sentence);
    void (*advance)(void *context, const tce_train_standing *now);
} tce_train_options;

/* How a run ended. */
typedef struct tce_train_result {
    size_t struct_size;
    int64_t iteration;
    int64_t env_steps;
    int64_t saved;       /* iteration of the last checkpoint; 0: none */
    double seconds;      /* of this call */
    double eval_success; /* the last ones of this call; NaN: none */
    double eval_return;
    int32_t interrupted; /* stopped before its end */
    int32_t reserved;
} tce_train_result;

/*
 * Whether the method that these options choose plans the path of a whole episode (1) or chooses an
 * action per step (0). Reads the settings as tce_train_create does, but needs no task.
 */
TCE_API TCE_NODISCARD tce_status tce_train_plans(const tce_train_options *options, int32_t *out);

typedef struct tce_train tce_train;

/*
 * Reads the settings and chooses the folder; writes nothing. Only the task and what its pool needs
 * must outlive the handle. TCE_E_VALUE, TCE_E_NOT_FOUND, …: the settings.
 */
TCE_API TCE_NODISCARD tce_status tce_train_create(const tce_train_options *options,
                                                  tce_train **out);
TCE_API void tce_train_free(tce_train *train);
TCE_API const char *tce_train_folder(const tce_train *train);
/* All settings as config.yaml has them. */
TCE_API const char *tce_train_settings(const tce_train *train);

/*
 * Trains to the end of the settings, or until it is stopped; once. task: NULL, or another table for
 * the same task, such as one whose environments are in workers. *out also tells after a failure
 * what is saved. TCE_E_STATE: the folder is in use, has a run already, or had a checkpoint and none
 * that loads; the run was abandoned.
 */
TCE_API TCE_NODISCARD tce_status tce_train_run(tce_train *train, const tce_train_task *task,
                                               tce_train_result *out);
/* TCE_TRAIN_STOP or TCE_TRAIN_ABANDON, from any thread; a wish never becomes smaller. */
TCE_API void tce_train_stop(tce_train *train, int32_t wish);

/* Demonstrated paths; each begins with its start position. */
typedef struct tce_train_demos {
    size_t struct_size;
    size_t n; /* paths */
    size_t T; /* rows of the longest */
    size_t D;
    size_t O;
    const int32_t *n_rows; /* [n] rows of each path, at least 2 */
    const double *times;   /* [n, T] seconds since the reset, increasing */
    const double *pos;     /* [n, T, D] */
    const double *obs;     /* [n, O] first observations; NULL: the paths suit every context */
} tce_train_demos;

/* How well a policy was fitted to demonstrations. */
typedef struct tce_train_imitation {
    size_t struct_size;
    double path_error;      /* root mean square of fitted minus given positions */
    double parameter_error; /* of predicted minus fitted parameters of paths left out of the fit */
    double std;             /* geometric mean of the policy's standard deviations */
} tce_train_imitation;

/*
 * Instead of training: fits a policy to demonstrations and leaves config.yaml and the policy in the
 * folder, for run.init_from. TCE_E_UNSUPPORTED: the method has no Gaussian over the
 * parameters of a primitive with one covariance for all contexts. TCE_E_SHAPE: sizes of another
 * task. TCE_E_STATE: the folder has a run.
 */
TCE_API TCE_NODISCARD tce_status tce_train_imitate(tce_train *train, const tce_train_demos *demos,
                                                   tce_train_imitation *out);

/* Writes curve.csv into a run folder: what its picture shows. */
TCE_API TCE_NODISCARD tce_status tce_train_curve(const char *folder);

/* ---- a trained policy ------------------------------------------------------------------------ */

typedef struct tce_train_agent tce_train_agent;

typedef struct tce_train_sizes {
    size_t struct_size;
    int32_t n_obs;     /* O: numbers in an observation of the task */
    int32_t n_context; /* C: entries of it that the policy sees */
    int32_t n_dof;     /* D */
    int32_t n_params;  /* P */
    int32_t n_steps;   /* T */
    int32_t acts;      /* 1: the P outputs are the action of a step; 0: parameters of mp */
    double dt;
    const int32_t *context; /* [n_context] their places in the observation; NULL: all of it */
    const char *task;       /* its name; "": not known */
    const tce_mp *mp;       /* NULL where it acts */
} tce_train_sizes;

/* Opens a policy.safetensors for up to max_batch observations at once. */
TCE_API TCE_NODISCARD tce_status tce_train_agent_open(const char *path, int32_t max_batch,
                                                      tce_train_agent **out);
TCE_API void tce_train_agent_free(tce_train_agent *agent);
TCE_API void tce_train_agent_sizes(const tce_train_agent *agent, tce_train_sizes *out);
/* Parameters or actions of the mean policy at a time of the episode: obs [n, O] -> out [n, P]. */
TCE_API TCE_NODISCARD tce_status tce_train_agent_act(tce_train_agent *agent, size_t n,
                                                     const double *obs, double time, double *out);
TCE_API TCE_NODISCARD tce_status tce_train_agent_save(const tce_train_agent *agent,
                                                      const char *path);

/* What a policy of parameters is made of, as its trainer gives it. */
typedef struct tce_train_parts {
    size_t struct_size;
    tce_policy *policy;
    tce_mp *mp;
    int32_t n_obs;          /* O: numbers in an observation */
    int32_t n_context;      /* entries of it that the policy sees; 0: all, and the time after them
                               where it has one input more */
    const int32_t *context; /* [n_context] their places */
    int32_t n_steps;
    int32_t reserved;
    double dt;
    const char *task; /* its name, or "" */
} tce_train_parts;

/*
 * Writes a policy.safetensors, which tce_train_agent_open and `tce export` read. TCE_E_SHAPE,
 * TCE_E_VALUE: the parts do not fit each other; nothing is written.
 */
TCE_API TCE_NODISCARD tce_status tce_train_agent_write(const tce_train_parts *parts,
                                                       const char *path);

/* ---- evaluation ------------------------------------------------------------------------------ */

typedef struct tce_train_player tce_train_player;

typedef struct tce_train_player_options {
    size_t struct_size;
    const tce_train_task *task;
    const char *folder;
    int32_t n_episodes;
    int32_t n_threads; /* -1: the run's */
    uint64_t seed;
    int32_t has_seed; /* 0: the run's */
    int32_t reserved;
} tce_train_player_options;

/*
 * Environments for the mean policy of a run folder: the episodes that `tce eval` plays with this
 * seed.
 */
TCE_API TCE_NODISCARD tce_status tce_train_player_create(const tce_train_player_options *options,
                                                         tce_train_player **out);
TCE_API void tce_train_player_free(tce_train_player *player);
TCE_API size_t tce_train_player_n_metrics(const tce_train_player *player);
/* The name of metric i < M. */
TCE_API const char *tce_train_player_metric(const tce_train_player *player, size_t i);
/* Plays all episodes: returns [E], lengths [E] (0: the episode was lost), metrics [E, M]. */
TCE_API TCE_NODISCARD tce_status tce_train_player_run(tce_train_player *player, double *returns,
                                                      int32_t *lengths, double *metrics);

TCE_END_C

#endif
