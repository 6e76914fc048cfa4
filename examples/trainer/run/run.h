/*
 * A run and its folder: who may write in it, what is written while it goes, and how it continues
 * after any interruption.
 *
 *   config.yaml          effective settings
 *   progress.csv         one row per iteration
 *   timing.csv           seconds, one row per iteration
 *   events.out.tfevents.tce   the numbers of progress.csv for TensorBoard
 *   events.out.tfevents.settings   the settings for TensorBoard
 *   checkpoints/ckpt-<iteration>.safetensors   everything, the last few
 *   checkpoints/rows-<first row>.bin   the replay that they need, of methods that have one
 *   policy.safetensors   what a robot needs
 *   policy-best.safetensors   the same after the best evaluation so far
 *   lock                 held while a process writes
 *   curve.png, curve.csv at the end
 *
 * progress.csv, the policies and the checkpoints hold no clock times: they are the same bytes
 * for any number of threads and stops.
 */
#ifndef TRAINER_RUN_H
#define TRAINER_RUN_H

#include "methods/methods.h"
#include "run/tensorboard.h"
#include "tools/files.h"
#include "tools/messages.h"

#define RUN_PATH FILE_PATH

/* ---- folder ---------------------------------------------------------------------------------- */

/* <task>__<method>__<seed> */
void run_name(const settings *s, char *out, size_t size);

/*
 * parent/<task>__<method>__<seed>__<YYYYmmdd-HHMMSS>, not there yet: a number is added when it is.
 */
void run_folder_name(const settings *s, const char *parent, char *out, size_t size);

/* parent/<stem>__<YYYYmmdd-HHMMSS>, likewise. */
void run_folder_unique(const char *parent, const char *stem, char *out, size_t size);

/*
 * Makes the folder, its parents and checkpoints/ in it. TCE_E_IO with the system's reason and what
 * to do.
 */
tce_status run_folder_create(const char *folder);

/* Removes what killed processes had not finished writing. */
void run_folder_clean(const char *folder);

/* Takes the folder away again when nothing but the lock is in it. */
void run_folder_discard(const char *folder);

/* folder/name; fails when it is too long. */
tce_status run_path(const char *folder, const char *name, char out[RUN_PATH]);

/* Whether there is a config.yaml. */
int run_exists(const char *folder);

/*
 * What a name stands for: a file or folder; else one of the trained policies that come with the
 * program, as task/method-seed; else the name itself. The answer is `name` or in out.
 */
const char *run_find(const char *name, char out[RUN_PATH]);

/* What a folder tells of the run in it. */
typedef enum run_state {
    RUN_ABSENT, /* no run */
    /* a run that ended before its first row: nothing is lost when another takes its place */
    RUN_BEGUN,
    RUN_UNSAVED, /* rows, but there was never a checkpoint: the run can only begin again */
    /* there was a checkpoint: a policy, a checkpoint, whole or damaged, or rows beyond the first */
    RUN_TRAINED
} run_state;

/* methods: as for settings_read. */
run_state run_find_state(const char *folder, const settings_table *const *methods);

/*
 * Moves all that a run has left in its folder, except the lock, into before-restart-<n> in it;
 * config.yaml is copied. out: the name of the new folder; empty when there was nothing to move.
 */
tce_status run_set_aside(const char *folder, char out[RUN_PATH]);

/*
 * config.yaml or queue.yaml of a folder, over the defaults. An empty one is refused: the program
 * never left it.
 */
tce_status run_read_settings(const char *path, const settings_table *const *methods, settings *out);

/* Writes folder/name, complete or not at all: a reader sees the old content or the new. */
tce_status run_replace(const char *folder, const char *name,
                       void (*write)(FILE *file, const void *content), const void *content);
/* The same as one of several writers: see file_replace_as. */
tce_status run_replace_as(const char *folder, const char *name, const char *writer,
                          void (*write)(FILE *file, const void *content), const void *content);
/* The settings, in this way: of a run, or those that the runs of a queue share. */
tce_status run_write_settings(const char *folder, const settings *s);
tce_status run_write_shared_settings(const char *folder, const char *name, const char *writer,
                                     const settings *s);

/*
 * The folder belongs to this process until run_unlock or its death, also by kill -9. TCE_E_STATE,
 * with the other one's number, when another process has it. *out is RUN_NO_LOCK where the file
 * system has no locks: then nobody else must work in the folder.
 */
tce_status run_lock(const char *folder, int *out);
/* The same for one share of a folder, 0, 1, …: other shares may belong to other processes. */
tce_status run_lock_share(const char *folder, int64_t share, int *out);
void run_unlock(int lock);
/* The other process that has the folder or a share of it, RUN_LOCK_REMOTE, or 0. */
long run_lock_holder(const char *folder);

#define RUN_NO_LOCK (-1)
/* A process on another machine, whose number the file system does not tell. */
#define RUN_LOCK_REMOTE (-1L)

/*
 * The policy and normaliser of run.init_from into those of an agent that was just made; Adam starts
 * anew. TCE_E_SHAPE, TCE_E_VALUE: they are not of the same sizes, inputs or primitive; the message
 * says which. On all ranks.
 */
tce_status run_init(const settings *s, ranks *all, const agent *to);

/*
 * A file of the program's own, as own_store_load, that the first rank reads: on all ranks, with the
 * same status.
 */
tce_status run_load_store(ranks *all, const char *path, tce_store **out);

/* ---- logs ------------------------------------------------------------------------------------ */

/* How far the logs had come at a checkpoint. */
typedef struct run_mark {
    int64_t iteration;
    int64_t env_steps;
    int64_t progress_bytes;
    int64_t events_bytes;
    double eval_success; /* of this iteration; NaN: not evaluated */
} run_mark;

/* Seconds of an iteration: not in progress.csv, which is the same bytes on every machine. */
typedef struct run_times {
    const double *phases; /* the method's */
    double evaluation, total;
} run_times;

/* progress.csv, timing.csv and the event file. */
typedef struct run_log {
    const char *const *phases; /* of the method */
    FILE *progress, *timing;
    tensorboard *events;
    /*
     * of progress.csv after iteration and env_steps, "return,success,…"; NULL before the first row
     */
    char *columns;
    metrics start; /* row 0, written with the first one */
    char progress_path[RUN_PATH], timing_path[RUN_PATH];
} run_log;

/*
 * New, empty logs, or, with a mark and columns, the old ones cut to where the mark is. *cut_short:
 * progress.csv had fewer bytes than that.
 */
tce_status run_log_open(run_log *log, const char *folder, const char *const *phases,
                        const run_mark *mark, const char *columns, int *cut_short);
void run_log_close(run_log *log);

/* Evaluation of the untrained policy: iteration 0. Its row is written with the first one. */
tce_status run_log_start(run_log *log, const metrics *m);

/* One iteration. Whole lines, given to the system at once. */
tce_status run_log_row(run_log *log, int64_t iteration, int64_t env_steps, const metrics *m,
                       const run_times *spent);

/* Forces everything to disk and fills in the lengths. */
tce_status run_log_mark(run_log *log, run_mark *mark);

/*
 * The columns that progress.csv has after iteration and env_steps, by its header, the caller's to
 * free; NULL when there is no file or no whole line in it.
 */
tce_status run_log_header(const char *folder, char **out);

/* ---- the best policy ------------------------------------------------------------------------- */

/* The policy after the best evaluation of a run. Starts as { 0 }. */
typedef struct best_policy {
    tce_store *policy; /* what its file holds; NULL: nothing was evaluated yet */
    int64_t iteration;
    double success, value; /* of the evaluation: success, NaN where there is none, and return */
} best_policy;

/*
 * Keeps what the agent is now if its evaluation is better than any before: more success, or as much
 * with a higher return; the return alone where the task has no success metric.
 */
tce_status best_policy_offer(best_policy *b, const agent *a, int64_t iteration, double success,
                             double value);
/* policy-best.safetensors. */
tce_status best_policy_export(const best_policy *b, const char *folder);
/* Into a checkpoint, and from there: a store without one gives none. */
tce_status best_policy_save(const best_policy *b, tce_store *store);
tce_status best_policy_load(best_policy *b, const agent *a, const tce_store *store);
void best_policy_free(best_policy *b);

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* What a run trains. */
typedef struct run_subject {
    const settings *s;
    const method *way;
    void *learner;
    const metrics *row; /* all that it logs, by name */
    /*
     * in the folder's checkpoints/; NULL: the learner has none to keep, or this is not the rank
     * that keeps them
     */
    journal *rows;
    ranks *ranks;      /* that train it together, or NULL: the first one reads and writes files */
    best_policy *best; /* NULL: it is not kept */
} run_subject;

/*
 * Writes new rows of the replay, then ckpt-<iteration>, then the two policies, then removes
 * checkpoints beyond the newest run.checkpoint_keep, and rows that none of those left needs. All
 * ranks call it, and have the status of the one that writes.
 */
tce_status checkpoint_save(const char *folder, const run_subject *subject, const run_mark *mark,
                           const char *columns);

/*
 * The length of the entropy schedule is fixed when a run begins, whatever run.iterations becomes
 * later: schedule.entropy_iterations, where it is 0, is that of `then`, the settings of the
 * beginning, which may be s itself. What comes from run.iterations is written into config.yaml as a
 * remark, not as a setting: a new run that takes the file as its CONFIG has the length of its own
 * run.iterations.
 */
void run_keep_schedule(settings *s, const settings *then);
/* The other way round: a length that came from run.iterations is 0 again. */
void run_forget_schedule(settings *s);

/* All but the keys that may change, as lines "section.key=value"; the caller frees them. */
char *run_settings_lines(const settings *s);
/*
 * TCE_E_VALUE when a key differs that may not change within a run. One that the lines of `path`
 * lack had its default.
 */
tce_status run_compare_settings(const settings *s, const char *lines, const char *path);

/*
 * TCE_E_VALUE when a key differs that may not change within a run; `path` is where `then` comes
 * from.
 */
tce_status run_settings_agree(const settings *now, const settings *then, const char *path);

/*
 * Settings with which the run in a folder continues, or begins again: its own with the words
 * "section.key=value" [n], or those that *asked has already, which must then agree with its own.
 */
tce_status run_settings_resume(const char *folder, const settings_table *const *methods,
                               int restart, const settings *asked, size_t n,
                               const char *const *words, settings *out);

/* policy.safetensors and policy-best.safetensors alone. */
tce_status checkpoint_export(const char *folder, const run_subject *subject);

/*
 * Loads the newest checkpoint that is whole and fits learner, task and progress.csv, on all ranks.
 * Damaged ones before it are set aside as *.damaged, with a note. *columns is the caller's to free.
 * TCE_E_NOT_FOUND: there is none. TCE_E_VALUE: it was written with other settings; the message
 * names the key and both values. TCE_E_SHAPE: there are whole ones, but none that fits.
 */
tce_status checkpoint_load(const char *folder, const run_subject *subject, const messages *say,
                           run_mark *mark, char **columns);

/* ---- the run --------------------------------------------------------------------------------- */

/* How a run ended. */
typedef struct run_result {
    int64_t iteration, env_steps;
    int64_t saved;                    /* iteration of the last checkpoint; 0: none */
    double seconds;                   /* of this process */
    double eval_success, eval_return; /* last ones of this process; NaN: none */
    int trained;                      /* the learner was made, and training began */
    int interrupted;
} run_result;

/* How a run begins in its folder. */
typedef enum run_start {
    RUN_NEW,    /* there is no run yet, or one that completed no iteration */
    RUN_RESUME, /* from its last checkpoint; from the beginning when there never was one */
    RUN_RESTART /* from the beginning; what is there is set aside first */
} run_start;

/* Where a run stands after an iteration. */
typedef struct run_standing {
    int64_t iteration, iterations;
    int64_t env_steps, steps_limit;
    int64_t dropped; /* episodes of this iteration that were lost */
    int evaluated;   /* the iteration ended with an evaluation */
    int last;        /* no other will follow */
    const metrics *m;
    const char *const *phases; /* ends in NULL */
    const double *seconds;     /* [phases] since the start */
    const run_times *spent;    /* in this iteration */
} run_standing;

/* What an observer wants of a run. */
typedef enum run_wish {
    RUN_GO_ON,
    RUN_STOP,   /* after this iteration, saved */
    RUN_ABANDON /* now: the iteration under way is not to be counted */
} run_wish;

/* Who is told of a run, on the thread that trains. Functions may be NULL. Starts as { 0 }. */
typedef struct run_observer {
    messages say;
    void *context; /* of the functions below */
    /* iterations begin after this one */
    void (*start)(void *context, int64_t iteration, int64_t env_steps);
    /* an iteration is over and written */
    void (*advance)(void *context, const run_standing *now);
    /* a run_wish: asked before and after each iteration */
    int (*wish)(void *context);
    /* training is over, with or without success */
    void (*end)(void *context);
} run_observer;

/*
 * What a run needs to be told. All of it outlives the run. Where t->ranks train it together, all of
 * them carry the same plan out.
 */
typedef struct run_plan {
    const char *folder;
    const settings *s;
    const task *t;
    run_start start;
    const run_observer *observer;
} run_plan;

/*
 * A run from its first step to its last: folder, lock, threads, learner, training. The folder is
 * locked meanwhile; config.yaml is written after a checkpoint has agreed with the settings. Ends
 * when the settings say so, or when the observer wishes.
 * TCE_E_STATE: another process has the folder; RUN_NEW where there is a run; RUN_RESUME in a folder
 * that had a checkpoint and has none that loads; the observer abandoned the run. After a failure
 * *out still says what is saved.
 */
tce_status run_carry_out(const run_plan *plan, run_result *out);

#endif
