/*
 * The runs of a queue while a process works through it, and what the user sees of them.
 */
#ifndef TRAINER_JOBS_H
#define TRAINER_JOBS_H

#include <sys/types.h>

#include "queue/queue.h"

/* Bytes of the name of a run. */
#define JOB_NAME (TASK_NAME + 2 * QUEUE_TEXT)

/* How far a run has come, by its progress.csv. */
typedef struct job_progress {
    long offset; /* bytes read */
    size_t success_column, return_column;
    long long iteration, env_steps;
    double success, value; /* of the last evaluation; NaN: none */
} job_progress;

/* One run. */
typedef struct queue_job {
    queue_entry *entry;
    int running, ended; /* in this process */
    pid_t process;      /* of processes; 0: none */
    int32_t rank;       /* of ranks: who has it */
    double started, seconds;
    FILE *messages; /* its stderr while it runs */
    job_progress progress;
    char folder[RUN_PATH];
} queue_job;

/* What is shown of n runs. */
typedef struct jobs_display {
    const queue *q;
    size_t n;
    queue_job *jobs; /* [n] */
    int quiet, terminal;
    int one_task;          /* then names are seeds */
    size_t width;          /* of the longest name of a task */
    size_t name_width;     /* of the longest name of settings; 0: all have the same */
    int n_lines;           /* that stand on the terminal and will be redrawn */
    double started, shown; /* seconds */
    double first_share;    /* of the work, done at the start */
} jobs_display;

/* A queue while a process works through it. */
typedef struct jobs {
    queue *q;
    queue_job *list; /* [q->n] */
    int threads;     /* of a run whose settings leave them open */
    FILE *failures;  /* what the failed runs said, one after the other */
    jobs_display display;
} jobs;

/* Who carries runs out. */
typedef struct job_runner {
    size_t n;      /* at once */
    void *context; /* of the functions */
    tce_status (*start)(void *context, queue_job *j);
    /* Calls job_ended for runs that have, and sets *ended where there are any. */
    tce_status (*collect)(void *context, int *ended);
    /* Tells those that run to save and end. */
    void (*stop)(void *context);
} job_runner;

/*
 * threads: of a run whose settings leave them open. TCE_E_NOMEM, TCE_E_IO. jobs_close follows in any
 * case.
 */
tce_status jobs_open(jobs *w, queue *q, int threads);
void jobs_close(jobs *w);

/* The settings that a run shares with others, and its threads. */
const settings *job_settings(const jobs *w, const queue_job *j);
int job_threads(const jobs *w, const settings *s);

/* See jobs_run of queue.h. */
tce_status jobs_work_through(jobs *w, const job_runner *runner, int quiet, int *out);

/* A run has ended: done, stopped, or failed, with a message in its entry. */
void job_ended(jobs *w, queue_job *j, int state);

/* Reads what the run has written since the last time. */
void job_progress_update(job_progress *p, const char *folder);

void jobs_display_init(jobs_display *d, const queue *q, queue_job *jobs, int quiet);

/*
 * On a terminal, now and then: reads how far the runs are; how many runs are done, running,
 * waiting, failed, and a line for each that runs.
 */
void jobs_display_update(jobs_display *d);

/* A run has ended. */
void jobs_display_ended(jobs_display *d, const queue_job *j);

/* All runs, when nothing runs any more. */
void jobs_display_table(jobs_display *d);

/*
 * Where there are several settings: which is best, by success and then by return of the last
 * evaluations of their finished runs, on stdout unless quiet, and as best.csv.
 */
tce_status jobs_best(const jobs_display *d);

/* "seed 3", or with its task and its settings where there are several. */
void job_name(const jobs_display *d, const queue_job *j, char *out, size_t size);

#endif
