/*
 * Environments in, episodes out: tasks and their libraries, and collections of episodes with a
 * policy.
 */
#ifndef TRAINER_COLLECT_H
#define TRAINER_COLLECT_H

#include <tce/tce.h>

#include "collect/agent.h"
#include "settings/settings.h"
#include "tools/memory.h"
#include "tools/metrics.h"
#include "tools/ranks.h"

/* What random numbers are for: the second part of every stream's key. */
enum {
    PURPOSE_POLICY_START = 1,
    PURPOSE_CRITIC_START = 2,
    PURPOSE_TRAIN_ENV = 3,
    PURPOSE_EVAL_ENV = 4,
    PURPOSE_PARAMETERS = 5,
    PURPOSE_TIME_POINTS = 6,
    PURPOSE_MINIBATCH = 7,
    PURPOSE_COLOURED_NOISE = 8,
    PURPOSE_ACTIONS = 9,
    PURPOSE_CRITIC_MINIBATCH = 10,
    PURPOSE_WARM_UP = 11,
    PURPOSE_REPLAY = 12,
    PURPOSE_UPDATE_NOISE = 13,
    PURPOSE_SAMPLED_EPISODES = 14
};

/* ---- a task and its episodes ----------------------------------------------------------------- */

/* The task library, kept open while any of its environments lives. */
typedef struct task {
    tce_env_library *library; /* NULL: the table belongs to someone else */
    const tce_env_vtable *vtable;
    void *user;     /* given to vtable->create */
    tce_pool *pool; /* threads for its environments; NULL: those of the run */
    int one_thread; /* its environments are used by the calling thread alone */
    /*
     * Processes that share its environments: all of them call the functions that collect, in the
     * same order, and get the same; NULL: this one has all
     */
    ranks *ranks;
    /* NULL, or told of the path [T, D] that an instance is about to be stepped along */
    void (*begin_path)(void *instance, size_t T, const double *pos, const double *vel);
} task;

/*
 * TCE_E_STATE when the settings have a library that only a run folder names, or an environment in
 * Python; the message says how to name it.
 */
tce_status task_library_check(const settings *s);
/* Opens the library of the settings, checked in this way; task_open also finds the task in it. */
tce_status task_library_open(const settings *s, task *out);
tce_status task_open(const settings *s, task *out);
void task_close(task *t);
/*
 * " --task-library FILE", for messages with a command to continue with; "" when the tasks are those
 * beside the program. Returns out.
 */
const char *task_library_words(const settings *s, char *out, size_t size);
/*
 * A task of the settings' library, which is open, by its name; TCE_E_NOT_FOUND with the names that
 * are like it, and how to list all.
 */
tce_status task_lookup(const settings *s, const task *t, const char *name,
                       const tce_env_vtable **out);

/* What an instance of the task says of itself. Its pointers are gone: sizes alone stay. */
tce_status task_read_spec(const task *t, const settings *s, tce_env_spec *out);
/*
 * Gives keys of the settings that nobody has set, and whose default depends on the task, their
 * values: an instance of the task tells its spec.
 */
tce_status task_suggest(const task *t, settings *s);

#define TASK_NAME 128

/* Names of tasks that a library has. */
typedef struct task_list {
    size_t n;
    char (*names)[TASK_NAME]; /* [n] */
} task_list;

/*
 * "a,b,c" -> their full names. Each is a task's name or, with a prefix, the rest of one; '-' stands
 * for '_'; "all" is every task with the prefix.
 * TCE_E_NOT_FOUND with the nearest name, TCE_E_VALUE: a task twice.
 */
tce_status task_list_parse(task_list *out, const settings *s, const char *prefix, const char *text);
void task_list_free(task_list *list);

/* Environments of this process that stand side by side: rows begin ... end - 1 of a batch. */
typedef struct episodes_part {
    size_t begin, end;
    tce_rollout *rollout; /* one environment at least, also where there are no rows */
} episodes_part;

/*
 * Environments and the arrays of E episodes, allocated once. Shapes: O_net inputs of a network, D
 * degrees of freedom, T steps, P parameters, M metrics of the task.
 */
typedef struct episodes {
    /*
     * Episodes run in rounds of N environments, and B of them at once: a round where this process
     * has all environments, or where they carry state from one episode to the next. Else ranks
     * share all E episodes, each of which has an environment of its own then.
     */
    episodes_part *parts; /* [n_parts] of this process, in order; none goes beyond a round */
    size_t n_parts, B;
    ranks *ranks;   /* or NULL */
    size_t *shares; /* [ranks + 1] rows that each rank runs of those at once */
    const tce_env_vtable *vtable;
    void (*begin_path)(void *instance, size_t T, const double *pos,
                       const double *vel); /* or NULL */
    const tce_env_spec *spec;
    const agent *agent; /* whose episodes they are */
    const char *prefix;
    char task_options[2 * TEXT_SIZE]; /* that the environments were made with */
    uint64_t seed, purpose;           /* of the streams */
    uint64_t number;                  /* of the last collection */
    size_t E, N;                      /* episodes in all, environments: rounds of N */
    size_t T, D, O, O_net, P, M;
    double *times;    /* [T] = dt (1 … T) */
    double *inputs;   /* [E, O_net] policy inputs: the first observation */
    double *init_pos; /* [E, D] */
    double *init_vel; /* [E, D] */
    double *mean;     /* [E, P] */
    double *factor;   /* [1 or E, P, P] */
    double *params;   /* [E, P], drawn or the mean */
    /* NULL, or [E, P] taken instead of drawing: to repeat recorded episodes. The caller's. */
    const double *given_params;
    /*
     * NULL, or what draws in place of the policy's distribution when exploring: outputs of the
     * policy for episodes first … first + n - 1, of which `inputs` has the rows, into their rows of
     * params
     */
    tce_status (*draw)(void *context, struct episodes *ep, size_t first, size_t n);
    void *draw_context;
    double *pos, *vel;            /* [E, T, D] desired paths; NULL: the agent acts at every step, */
    double *actions;              /* [E, T, P] so; else NULL */
    double *act_work;             /* of the agent */
    tce_random *streams;          /* [B] of the resets */
    tce_env_result *step_results; /* [B] */
    double *step_actions;         /* [B, P] */
    uint8_t *lost;                /* [B] */
    double *obs;                  /* [E, T+1, O] */
    double *present_obs;          /* [B, O], of those that run */
    double *rewards;              /* [E, T] */
    uint8_t *terminated;          /* [E, T] */
    uint8_t *dones;               /* [E, T]: terminated, or the time is up */
    uint8_t *events;              /* [E, T] */
    int32_t *lengths;             /* [E] */
    double *results;              /* [E, M] metrics of the task */
    double *returns;              /* [E] undiscounted */
    /*
     * [N, numbers of a state], where a task carries them: of the environments before the
     * collection, which in evaluations are those that they were made with
     */
    double *states;
    const char **names; /* [M + 2]: return, the task's metrics, length, with the prefix */
    size_t n_dropped;   /* episodes lost to a fault in the last collection */
    int64_t n_steps;    /* environment steps taken in the last collection */
} episodes;

/*
 * A collection: its size, the purpose of its streams, and what its columns are called ("",
 * "eval_").
 */
typedef struct episodes_options {
    int32_t n_episodes;
    int32_t n_envs; /* the last round may be a part of these */
    uint64_t purpose;
    const char *prefix;
    /* options of the task after those of the settings, which they overrule; NULL: none */
    const char *task_options;
} episodes_options;

/*
 * Environments that evaluations with an agent are given. One that acts at every step has so many
 * that its networks see rows of some length and all threads have work, however few environments
 * train. Along paths they are those of training.
 */
int32_t evaluation_environments(const settings *s, const agent *a);

/* Creates the environments; then, for an agent, the arrays, which are m's to free. */
tce_status episodes_create(episodes *ep, const task *t, const settings *s, tce_pool *pool,
                           const episodes_options *options);
tce_status episodes_allocate(episodes *ep, const agent *a, memory *m);
/*
 * Bytes that the arrays of n_episodes in n_envs environments will take. Of the agent, policy and
 * primitive may still be missing.
 */
double episodes_bytes(const tce_env_spec *spec, const agent *a, int32_t n_episodes, int32_t n_envs);
void episodes_free(episodes *ep);

/*
 * Called after each round with its first episode and its number of episodes (running normalisers);
 * may be NULL.
 */
typedef tce_status (*after_round)(void *context, const episodes *ep, size_t first, size_t n);

/*
 * Collects E episodes with the agent's policy, drawn (explore) or with its mean; one that acts at
 * every step has its mean here, and explores in stepping.h. `number` counts collections and keys
 * the random streams: episode e of an evaluation draws from (seed, purpose, e, number), whatever
 * the number of environments; of training, environment i from (seed, purpose, i, its episodes so
 * far).
 */
tce_status episodes_collect(episodes *ep, uint64_t number, int explore, after_round hook,
                            void *context);

/* Network inputs of all T+1 states of episodes first … first+n-1: out [n, T+1, O_net]. */
void episodes_inputs(const episodes *ep, size_t first, size_t n, double *out);

/*
 * Means over episodes that were not dropped, as `names` calls them: out [M + 2]. Once per
 * collection.
 */
void episodes_report(const episodes *ep, double *out);

/*
 * Velocities of episode e before each of its steps, [lengths[e], D]: desired ones, 0 when the agent
 * plans no path; measured ones, 0 when the observation does not show them.
 */
int episodes_desired_velocity(const episodes *ep, size_t e, double *out);
int episodes_measured_velocity(const episodes *ep, size_t e, double *out);

/* What a replay shows: the instance after its reset (t = 0) and after each of its steps. */
typedef tce_status (*replay_seen)(void *context, void *instance, size_t t, double reward);

/*
 * Episode e of the last collection once more, in another instance of its task: the same reset, the
 * same path or actions. Where a task carries state from episode to episode, those of the same
 * environment before it are run first, unseen. work [O + 2 D].
 */
tce_status collect_replay(const episodes *ep, size_t e, void *instance, double *work,
                          replay_seen seen, void *context);

/*
 * Into a checkpoint and back: what the environments carry from one episode to the next, an array
 * called name; nothing for most tasks.
 */
tce_status episodes_save(const episodes *ep, tce_store *store, const char *name);
tce_status episodes_load(episodes *ep, const tce_store *store, const char *name);

#endif
