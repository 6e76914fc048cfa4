/*
 * The loop of a run: iterate, evaluate, log, save, until the settings or a signal end it.
 *
 * What is saved and logged depends on the iteration alone, so a run that goes on from a checkpoint
 * repeats what was lost, byte for byte.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/run.h"
#include "tools/clock.h"

#define EXIT_BY_SIGNAL 130

/* ---- signals --------------------------------------------------------------------------------- */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    if (caught)
        _exit(EXIT_BY_SIGNAL);
    caught = number;
}

void run_catch_signals(void)
{
    static const int STOPPING[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < sizeof STOPPING / sizeof STOPPING[0]; i++) {
        struct sigaction before;
        /* nohup stays nohup */
        if (sigaction(STOPPING[i], NULL, &before) != 0 || before.sa_handler != SIG_IGN)
            sigaction(STOPPING[i], &action, NULL);
    }
    /* a closed pipe or a size limit is an error of the call, not the end of the run */
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

int run_signal(void)
{
    return caught;
}

/* ---- the loop -------------------------------------------------------------------------------- */

typedef struct run {
    const char *folder;
    const settings *s;
    const method *way;
    learner *l;
    display *d;
    run_log log;
    run_mark mark;
    run_result *result;
} run;

/* Iterations or steps are used up. */
static int at_end(const run *r)
{
    return r->mark.iteration >= r->s->run.iterations ||
           (r->s->run.steps > 0 && r->mark.env_steps >= r->s->run.steps);
}

/* At the end, or good enough. */
static int finished(const run *r)
{
    return at_end(r) ||
           (r->s->run.stop_success > 0.0 && r->mark.eval_success >= r->s->run.stop_success);
}

static tce_status save(run *r)
{
    tce_status status = run_log_mark(&r->log, &r->mark);
    if (status == TCE_OK)
        status = checkpoint_save(r->folder, r->s, r->way, r->l, &r->mark, r->log.columns);
    if (status == TCE_OK)
        r->result->saved = r->mark.iteration;
    return status;
}

static void show(run *r, const metrics *m, const timings *spent, int evaluated)
{
    const display_state state = {
        r->mark.iteration, r->s->run.iterations, r->mark.env_steps, r->s->run.steps, m, spent
    };
    r->result->iteration = r->mark.iteration;
    r->result->env_steps = r->mark.env_steps;
    if (evaluated) {
        r->result->eval_success = metrics_get(m, "eval_success");
        r->result->eval_return = metrics_get(m, "eval_return");
    }
    display_update(r->d, &state, evaluated, finished(r) || run_signal());
}

/* One iteration with all that follows it; its numbers go into m. */
static tce_status advance_with(run *r, metrics *m)
{
    const settings *s = r->s;
    const double start = now_seconds();
    const int64_t i = r->mark.iteration + 1;
    timings spent = { 0 };
    tce_status status = r->way->iterate(r->l, i, m, &spent);
    if (status != TCE_OK)
        return status;
    r->mark.iteration = i;
    r->mark.env_steps += m->steps;

    const int evaluated = at_end(r) || (s->evaluate.every > 0 && i % s->evaluate.every == 0);
    r->mark.eval_success = NAN;
    if (evaluated) {
        status = r->way->evaluate(r->l, (uint64_t)i, m, &spent);
        r->mark.eval_success = metrics_get(m, "eval_success");
    }
    if (status == TCE_OK)
        status = metrics_check(m);
    if (status == TCE_OK)
        status = run_log_row(&r->log, i, r->mark.env_steps, m, &spent, now_seconds() - start);
    if (status == TCE_OK && (finished(r) || i % s->run.checkpoint_every == 0))
        status = save(r);
    if (status == TCE_OK)
        show(r, m, &spent, evaluated);
    return status;
}

static tce_status advance(run *r)
{
    metrics m = { 0 };
    const tce_status status = advance_with(r, &m);
    metrics_free(&m);
    return status;
}

/* Goes back to the newest checkpoint that is whole; to the beginning when there never was one. */
static tce_status go_on(run *r, char **columns)
{
    const tce_status status = checkpoint_load(r->folder, r->s, r->way, r->l, r->d, &r->mark,
                                              columns);
    if (status == TCE_E_NOT_FOUND && run_find_state(r->folder) == RUN_TRAINED)
        return tce_fail(TCE_E_STATE,
                        "%s was trained, and has no checkpoint that loads: put one back into "
                        "%s/checkpoints, or begin again with --restart "
                        "beside --resume, which first moves what is there into a folder "
                        "before-restart-<n> in it",
                        r->folder, r->folder);
    if (status == TCE_E_NOT_FOUND) {
        display_note(r->d, "%s has no checkpoint to go on from: starts from the beginning",
                     r->folder);
        return TCE_OK;
    }
    if (status == TCE_OK)
        display_note(r->d, "goes on after iteration %lld of %s", (long long)r->mark.iteration,
                     r->folder);
    r->result->saved = status == TCE_OK ? r->mark.iteration : 0;
    return status;
}

static tce_status set_aside(run *r)
{
    char aside[RUN_PATH];
    const tce_status status = run_set_aside(r->folder, aside);
    if (status == TCE_OK && aside[0])
        display_note(r->d, "what was in %s is in %s", r->folder, aside);
    return status;
}

/* Checkpoint, logs, config.yaml, and the evaluation that is row 0. */
static tce_status prepare(run *r, run_start start)
{
    char *columns = NULL;
    int cut_short = 0;
    run_folder_clean(r->folder);
    tce_status status = start == RUN_RESUME    ? go_on(r, &columns)
                        : start == RUN_RESTART ? set_aside(r)
                                               : TCE_OK;
    const int fresh = r->mark.iteration == 0;

    /*
     * old rows go before the settings that they were written with: run_find_state reads one by the
     * other
     */
    if (status == TCE_OK)
        status = run_log_open(&r->log, r->folder, fresh ? NULL : &r->mark, columns, &cut_short);
    if (status == TCE_OK)
        status = run_write_settings(r->folder, "config.yaml", r->s);
    free(columns);
    if (status == TCE_OK && cut_short)
        display_warn(
            r->d,
            "%s/progress.csv is shorter than it was at the checkpoint: earlier rows are missing",
            r->folder);

    if (status == TCE_OK && fresh) {
        metrics m = { 0 };
        timings spent = { 0 };
        status = r->way->evaluate(r->l, 0, &m, &spent);
        if (status == TCE_OK)
            status = metrics_check(&m);
        if (status == TCE_OK)
            status = run_log_start(&r->log, &m);
        metrics_free(&m);
    }
    return status;
}

tce_status run_train(const char *folder, const settings *s, learner *l, run_start start, display *d,
                     run_result *out)
{
    const double began = now_seconds();
    run r;
    memset(&r, 0, sizeof r);
    memset(out, 0, sizeof *out);
    out->eval_success = out->eval_return = NAN;
    r.folder = folder;
    r.s = s;
    r.way = method_of(s);
    r.l = l;
    r.d = d;
    r.result = out;
    r.mark.eval_success = NAN;

    tce_status status = prepare(&r, start);
    display_start(d, r.mark.iteration, r.mark.env_steps);
    out->iteration = r.mark.iteration;
    out->env_steps = r.mark.env_steps;
    while (status == TCE_OK && !finished(&r) && !run_signal())
        status = advance(&r);

    /*
     * what a signal left unsaved; or the policy, when a process was killed between its last
     * checkpoint and this
     */
    if (status == TCE_OK && out->saved < r.mark.iteration)
        status = save(&r);
    else if (status == TCE_OK && r.mark.iteration > 0)
        status = checkpoint_export(folder, r.way, l);
    out->interrupted = status == TCE_OK && !finished(&r);
    out->seconds = now_seconds() - began;
    run_log_close(&r.log);
    display_end(d);
    return status;
}
