/*
 * A queue of runs, tasks times seeds, with one set of settings or several, in a folder around theirs:
 *
 *   queue.yaml    the settings that all of them share; further ones are queue-2.yaml, …
 *   queue.csv     one row per run, in the order in which they begin: task, seed, what has become of
 *                 it, its folder, why it failed, and, where there are several, its settings
 *   best.csv      of several settings, which is best, when all runs have ended
 *   lock          held by the process that works through the queue, or shared by those that work
 *                 through its parts
 *   queue-<i>-of-<n>.csv   the rows of a part, kept by the process that works through it
 *
 * The files are replaced as a whole at every change, so that a queue continues after any
 * interruption without being told anything. What they say of a run saves work, but nothing depends
 * on it: a run that is begun again although it is done ends at once.
 */
#ifndef TRAINER_QUEUE_H
#define TRAINER_QUEUE_H

#include "report/plot.h"
#include "run/run.h"
#include "tools/ranks.h"

#define MAX_QUEUE 10000
#define MAX_VARIANTS 1000
#define QUEUE_TEXT 512
#define QUEUE_FILE 64

enum {
    QUEUE_WAITING = 0,
    QUEUE_RUNNING = 1,
    QUEUE_DONE = 2,
    QUEUE_STOPPED = 3,
    QUEUE_FAILED = 4,
    N_QUEUE_STATES = 5
};

/* Settings that runs share. */
typedef struct queue_variant {
    settings s;
    /*
     * keys in which it differs from the others of its method, "policy.epochs=10 …"; empty: in none
     */
    char label[QUEUE_TEXT];
} queue_variant;

/* One run. */
typedef struct queue_entry {
    size_t variant; /* its settings */
    char task[TASK_NAME];
    uint64_t seed;
    int state;                /* QUEUE_… */
    char folder[QUEUE_TEXT];  /* its name in the queue's folder */
    char message[QUEUE_TEXT]; /* of a failure; else empty */
} queue_entry;

/*
 * Every count-th run, from the number-th on. Processes on several machines can work through the
 * parts of a queue at the same time: none changes a file that another one writes. queue.csv is
 * written by the first process, and another that finds none yet writes the same bytes.
 */
typedef struct queue_part {
    int number, count; /* 1 … count; 0 of 0: the whole queue */
} queue_part;

typedef struct queue {
    char folder[RUN_PATH];
    int n_jobs; /* at once; 0: as many as there are cores */
    queue_part part;
    size_t n_variants;
    queue_variant *variants; /* [n_variants] */
    size_t n;
    queue_entry *entries; /* [n] */
} queue;

/* "1-5,25" -> a list, the caller's to free. No seed twice. */
tce_status seeds_parse(const char *text, uint64_t **out, size_t *n);

/* What a queue is made of: settings with the tasks that they are for. Starts as { 0 }. */
typedef struct queue_plan {
    size_t n;
    settings *s;      /* [n] */
    task_list *tasks; /* [n] */
} queue_plan;

/* Adds settings, with the tasks that a text names, as task_list_parse; NULL: their own task. */
tce_status queue_plan_add(queue_plan *plan, const settings *s, const char *prefix,
                          const char *tasks);
void queue_plan_free(queue_plan *plan);

/*
 * All tasks of all settings with the first seed, then with the next: what is there early says
 * something about everything. Nothing is written yet. stamped: names of folders end in the time, so
 * that they are new; else they follow from task, settings and seed alone, and all who create this
 * queue name them alike. TCE_E_VALUE: two settings are the same.
 */
tce_status queue_create(queue *q, const char *folder, const queue_plan *plan, size_t n_seeds,
                        const uint64_t *seeds, int stamped);

/*
 * Runs that are done wait again, for settings that have become longer; and whatever runs with one
 * seed has, those with these seeds have too.
 */
tce_status queue_extend(queue *q, size_t n_seeds, const uint64_t *seeds);

/* Whether the folder has a queue. */
int queue_exists(const char *folder);

/* Takes the folder away again when no queue has come into it and nothing else is there. */
void queue_discard(const char *folder);

/*
 * All files; where several have a row for the same run, the newest counts. TCE_E_NOT_FOUND,
 * TCE_E_CORRUPT with the line, TCE_E_IO, TCE_E_NOMEM, or what is wrong with the settings.
 */
tce_status queue_load(queue *q, const char *folder, const settings_table *const *methods);
/* Names the settings by the keys in which they differ, after they were changed. */
tce_status queue_label(queue *q);
/* "TCE policy.epochs=10": the method where they differ, and the label. Returns out. */
const char *queue_name(const queue *q, size_t variant, char *out, size_t size);
/* "queue.yaml", "queue-2.yaml", …; and whether a text is such a name. */
void queue_settings_name(size_t variant, char *out, size_t size);
int queue_is_settings(const char *name);
/* queue.csv, or the file of the part that the queue was reduced to. */
tce_status queue_save(const queue *q);
/* queue.yaml and its like. */
tce_status queue_save_settings(const queue *q);
void queue_free(queue *q);

/* "3/8" -> a part. */
tce_status queue_part_parse(const char *text, queue_part *out);
/*
 * queue.yaml and queue.csv of a queue that will be worked through in parts, by the process that
 * will take this one.
 */
tce_status queue_begin_parts(const queue *q, queue_part part);
/* Leaves the runs of the part in the queue; there may be none. Nothing is written. */
void queue_take_part(queue *q, queue_part part);
/* Parts whose numbers or counts differ have different shares of the folder's lock. */
int64_t queue_part_share(queue_part part);
/* "queue-3-of-8.csv"; of the whole "queue.csv". */
void queue_file_name(queue_part part, char out[QUEUE_FILE]);
/* Overwrites what queue.csv says of runs by what files of parts say that are as new or newer. */
tce_status queue_merge_parts(queue *q);
/* Removes the files of parts: queue.csv, which was saved, has all that they say. */
void queue_remove_parts(const queue *q);
/* Reads the rows of one file. The folder and entries [MAX_QUEUE] of q are there. */
tce_status queue_read_rows(queue *q, const char *name);

/* "waiting", "running", "done", "stopped", "failed" */
const char *queue_state_name(int state);

/*
 * Labels of the runs in a folder, for plots: of run i, its folder's name and what follows the method;
 * none where the folder is not a queue of several settings. Free with free.
 */
tce_status queue_run_labels(const char *folder, size_t *n, plot_run_label **out);

/* Path of a run. */
tce_status queue_run_path(const queue *q, const queue_entry *entry, char out[RUN_PATH]);

/* ---- working through it ---------------------------------------------------------------------- */

/*
 * Writes the queue's files, runs what is not done, each run as a process of its own, and keeps
 * queue.csv up to date. Shows what is running, unless quiet; what failed comes on stderr at the end.
 * log: NULL, or where the runs write their iterations as JSON. The folder is locked. *out: the exit
 * code that tells what has become of the runs. A status other than TCE_OK: the queue itself could
 * not continue.
 */
tce_status jobs_run(queue *q, int quiet, const char *log, int *out);

/* What a rank needs to know of a run. */
typedef struct job_order {
    queue_entry entry;
    int32_t threads; /* 0: as many as there are cores that the rank may use */
    char library[TEXT_SIZE];
} job_order;

/* Begins or continues a run of a queue in this process, in a thread that the caller made. */
typedef tce_status job_train(void *context, const job_order *order, const run_observer *observer,
                             run_result *out);

/*
 * jobs_run on the ranks of a job, as many runs at once as there are ranks: called by the first one
 * while the others call jobs_serve. A signal that comes to any rank stops all.
 */
tce_status jobs_run_on_ranks(queue *q, ranks *r, job_train *train_one, void *context, int quiet,
                             int *out);
/* Carries out what the first rank hands out, until that has returned. */
tce_status jobs_serve(ranks *r, job_train *train_one, void *context);

#endif
