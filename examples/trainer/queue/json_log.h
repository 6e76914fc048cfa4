/*
 * A file with one JSON object per iteration, for programs that watch a run:
 *
 *   {"run": "runs/x", "iteration": 3, "env_steps": 4800, "return": -1.5, "eval_success": null, …,
 *    "seconds": {"simulation": 0.1, …, "evaluation": 0.0, "total": 0.2}}
 *
 * Each line reaches the system as a whole, before the next iteration begins. Lines are added to what
 * is there: a run that continues after a kill writes the iterations since its checkpoint again.
 */
#ifndef TRAINER_JSON_LOG_H
#define TRAINER_JSON_LOG_H

#include "run/run.h"

typedef struct json_log {
    FILE *file; /* NULL: no log */
    const char *path, *folder;
    run_observer told; /* who else is told of the run */
    int failed;        /* a line could not be written, which was said once */
} json_log;

/* Opens the file of a run in `folder`; "-" is stdout. Both texts outlive the log. TCE_E_IO. */
tce_status json_log_open(json_log *log, const char *path, const char *folder);

/* An observer that writes each iteration and then tells `told`, which it replaces. */
void json_log_observe(json_log *log, run_observer *told);

void json_log_close(json_log *log);

#endif
