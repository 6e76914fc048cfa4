/*
 * A queue of runs, tasks times seeds, in a folder around theirs:
 *
 *   queue.yaml    the settings that all of them share
 *   queue.csv     one row per run, in the order in which they begin: task, seed, what has become of
 *                 it, its folder, why it failed
 *   lock          held by the process that works through the queue
 *
 * Both files are replaced as a whole at every change, so that a queue continues after any
 * interruption without being told anything.
 */
#ifndef TRAINER_QUEUE_H
#define TRAINER_QUEUE_H

#include "run/run.h"

#define MAX_QUEUE 10000
#define QUEUE_TEXT 512

enum {
    QUEUE_WAITING = 0,
    QUEUE_RUNNING = 1,
    QUEUE_DONE = 2,
    QUEUE_STOPPED = 3,
    QUEUE_FAILED = 4,
    N_QUEUE_STATES = 5
};

/* One run. */
typedef struct queue_entry {
    char task[TASK_NAME];
    uint64_t seed;
    int state;                /* QUEUE_… */
    char folder[QUEUE_TEXT];  /* its name in the queue's folder */
    char message[QUEUE_TEXT]; /* of a failure; else empty */
} queue_entry;

typedef struct queue {
    char folder[RUN_PATH];
    int n_jobs; /* at once; 0: as many as there are cores */
    size_t n;
    queue_entry *entries; /* [n] */
} queue;

/* "1-5,25" -> a list, the caller's to free. No seed twice. */
tce_status seeds_parse(const char *text, uint64_t **out, size_t *n);

/*
 * Every task with the first seed, then with the next: what is there early says something about all
 * tasks. Nothing is written yet.
 */
tce_status queue_create(queue *q, const char *folder, const settings *s, const task_list *tasks,
                        size_t n_seeds, const uint64_t *seeds);

/* Whether the folder has a queue. */
int queue_exists(const char *folder);

/* Takes the folder away again when no queue has come into it and nothing else is there. */
void queue_discard(const char *folder);

/*
 * Both files. TCE_E_NOT_FOUND, TCE_E_CORRUPT with the line, TCE_E_IO, TCE_E_NOMEM, or what is wrong
 * with the settings.
 */
tce_status queue_load(queue *q, const char *folder, const settings_table *const *methods,
                      settings *s);
/* queue.csv. */
tce_status queue_save(const queue *q);
void queue_free(queue *q);

/* "waiting", "running", "done", "stopped", "failed" */
const char *queue_state_name(int state);

/* Path of a run. */
tce_status queue_run_path(const queue *q, const queue_entry *entry, char out[RUN_PATH]);

/* ---- working through it ---------------------------------------------------------------------- */

/*
 * Writes queue.yaml and queue.csv, runs what is not done, each run as a process of its own, and
 * keeps queue.csv up to date. Shows
 * what is running, unless quiet; what failed comes on stderr at the end. The folder is locked.
 * *out: the exit code that tells what has become of the runs. A status other than TCE_OK: the queue
 * itself could not continue.
 */
tce_status jobs_run(queue *q, const settings *s, int quiet, int *out);

#endif
