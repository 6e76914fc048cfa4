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

static volatile sig_atomic_t caught, in_folder;

static void on_signal(int number)
{
    if (caught || !in_folder)
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

void run_enters_folder(void)
{
    in_folder = 1;
}

int run_signal(void)
{
    return caught;
}

/* ---- the loop -------------------------------------------------------------------------------- */

typedef struct run {
    const char *folder;
    const settings *s;
    run_subject subject;
    episodes test;   /* of the subject */
    memory arrays;   /* of these, and the two below */
    metrics m;       /* the row of an iteration: columns of the method, then of the evaluation */
    size_t n_train;  /* columns of the method */
    double *seconds; /* [phases] in this iteration */
    double *all_seconds; /* [phases] since the start */
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
        status = checkpoint_save(r->folder, &r->subject, &r->mark, r->log.columns);
    if (status == TCE_OK)
        r->result->saved = r->mark.iteration;
    return status;
}

static void show(run *r, int64_t dropped, int evaluated)
{
    const display_state state = { r->mark.iteration,
                                  r->s->run.iterations,
                                  r->mark.env_steps,
                                  r->s->run.steps,
                                  dropped,
                                  &r->m,
                                  r->subject.way->phases,
                                  r->all_seconds };
    r->result->iteration = r->mark.iteration;
    r->result->env_steps = r->mark.env_steps;
    if (evaluated) {
        r->result->eval_success = metrics_get(&r->m, "eval_success");
        r->result->eval_return = metrics_get(&r->m, "eval_return");
    }
    display_update(r->d, &state, evaluated, finished(r) || run_signal());
}

/* Episodes with the mean policy; `number` keys their streams. */
static tce_status evaluate(run *r, uint64_t number)
{
    const tce_status status = episodes_collect(&r->test, number, 0, NULL, NULL);
    if (status == TCE_OK)
        episodes_report(&r->test, r->m.values + r->n_train);
    return status;
}

/* Nothing is measured yet. */
static void clear_row(run *r)
{
    for (int32_t i = 0; i < r->m.n; i++)
        r->m.values[i] = NAN;
    memset(r->seconds, 0, method_n_phases(r->subject.way) * sizeof *r->seconds);
}

/*
 * After a failure of an iteration: numbers that are not finite, or matrices that are no longer
 * positive definite, are what training that diverges leaves.
 */
static tce_status explain(tce_status status, int64_t i)
{
    if (status != TCE_E_VALUE && status != TCE_E_NOT_PD && status != TCE_E_NO_CONVERGE &&
        status != TCE_E_NOT_FINITE && status != TCE_E_SINGULAR)
        return status;
    return tce_fail(status,
                    "training diverged in iteration %lld: %s; lower policy.learning_rate, "
                    "critic.learning_rate or policy.initial_std",
                    (long long)i, tce_error_message());
}

/* One iteration with all that follows it. */
static tce_status advance(run *r)
{
    const settings *s = r->s;
    const method *way = r->subject.way;
    const double start = now_seconds();
    const int64_t i = r->mark.iteration + 1;
    progress made = { .values = r->m.values, .seconds = r->seconds };
    run_times spent = { r->seconds, 0.0, 0.0 };
    clear_row(r);
    tce_status status = way->iterate(r->subject.learner, i, &made);
    if (status != TCE_OK)
        return explain(status, i);
    r->mark.iteration = i;
    r->mark.env_steps += made.env_steps;
    for (size_t k = 0; way->phases[k]; k++)
        r->all_seconds[k] += r->seconds[k];

    const int evaluated = at_end(r) || (s->evaluate.every > 0 && i % s->evaluate.every == 0);
    r->mark.eval_success = NAN;
    if (evaluated) {
        const double evaluation = now_seconds();
        status = explain(evaluate(r, (uint64_t)i), i);
        spent.evaluation = now_seconds() - evaluation;
        r->mark.eval_success = metrics_get(&r->m, "eval_success");
    }
    spent.total = now_seconds() - start;
    if (status == TCE_OK)
        status = run_log_row(&r->log, i, r->mark.env_steps, &r->m, &spent);
    if (status == TCE_OK && (finished(r) || i % s->run.checkpoint_every == 0))
        status = save(r);
    if (status == TCE_OK)
        show(r, made.dropped, evaluated);
    return status;
}

/* Goes back to the newest checkpoint that is whole; to the beginning when there never was one. */
static tce_status go_on(run *r, char **columns)
{
    const tce_status status = checkpoint_load(r->folder, &r->subject, r->d, &r->mark, columns);
    if (status == TCE_E_NOT_FOUND &&
        run_find_state(r->folder, r->subject.s->methods) == RUN_TRAINED)
        return tce_fail(TCE_E_STATE,
                        "%s has been trained, but none of its checkpoints can be loaded: put a "
                        "whole one back into %s/checkpoints, or add --restart to train from the "
                        "beginning; the old files are then moved into %s/before-restart-<n>",
                        r->folder, r->folder, r->folder);
    if (status == TCE_E_NOT_FOUND) {
        display_note(r->d, "%s has no checkpoint: it starts from the beginning", r->folder);
        return TCE_OK;
    }
    if (status == TCE_OK)
        display_note(r->d, "continues after iteration %lld of %s", (long long)r->mark.iteration,
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
        status = run_log_open(&r->log, r->folder, r->subject.way->phases, fresh ? NULL : &r->mark,
                              columns, &cut_short);
    if (status == TCE_OK)
        status = run_write_settings(r->folder, "config.yaml", r->s);
    free(columns);
    if (status == TCE_OK && cut_short)
        display_warn(
            r->d,
            "%s/progress.csv is shorter than it was at the checkpoint: earlier rows are missing",
            r->folder);

    if (status == TCE_OK && fresh) {
        clear_row(r);
        status = evaluate(r, 0);
        if (status == TCE_OK)
            status = run_log_start(&r->log, &r->m);
    }
    return status;
}

static tce_status add_column(run *r, const char *name)
{
    const int32_t before = r->m.n;
    metrics_put(&r->m, name, NAN);
    const tce_status status = metrics_check(&r->m);
    if (status == TCE_OK && r->m.n == before)
        return tce_fail(TCE_E_VALUE,
                        "two columns of progress.csv would be called %s: a metric of the task has "
                        "the name of a number that training writes, rename it in the task",
                        name);
    return status;
}

/* The episodes that evaluate, and a row of all that is logged. */
static tce_status create_parts(run *r, const method_context *c)
{
    const settings *s = c->s;
    const method *way = r->subject.way;
    const episodes_options options = { s->evaluate.episodes, s->collect.environments,
                                       PURPOSE_EVAL_ENV, "eval_", s->evaluate.options };
    const size_t n_phases = method_n_phases(way);
    const char *const *names;
    r->n_train = way->columns(r->subject.learner, &names);
    r->seconds = memory_doubles(&r->arrays, n_phases);
    r->all_seconds = memory_doubles(&r->arrays, n_phases);
    tce_status status = episodes_create(&r->test, c->t, s, c->pool, &options);
    if (status == TCE_OK)
        status = episodes_allocate(&r->test, way->agent(r->subject.learner), &r->arrays);
    for (size_t i = 0; status == TCE_OK && i < r->n_train; i++)
        status = add_column(r, names[i]);
    for (size_t i = 0; status == TCE_OK && i < r->test.M + 2; i++)
        status = add_column(r, r->test.names[i]);
    return status;
}

static tce_status train(run *r, run_start start)
{
    tce_status status = prepare(r, start);
    display_start(r->d, r->mark.iteration, r->mark.env_steps);
    r->result->iteration = r->mark.iteration;
    r->result->env_steps = r->mark.env_steps;
    while (status == TCE_OK && !finished(r) && !run_signal())
        status = advance(r);

    /*
     * what a signal left unsaved; or the policy, when a process was killed between its last
     * checkpoint and this
     */
    if (status == TCE_OK && r->result->saved < r->mark.iteration)
        status = save(r);
    else if (status == TCE_OK && r->mark.iteration > 0)
        status = checkpoint_export(r->folder, &r->subject);
    r->result->interrupted = status == TCE_OK && !finished(r);
    return status;
}

tce_status run_train(const char *folder, const method_context *c, const method *way, void *learner,
                     run_start start, display *d, run_result *out)
{
    const double began = now_seconds();
    run r;
    memset(&r, 0, sizeof r);
    memset(out, 0, sizeof *out);
    out->eval_success = out->eval_return = NAN;
    r.folder = folder;
    r.s = c->s;
    r.subject = (run_subject){ c->s, way, learner, &r.test, &r.m };
    r.d = d;
    r.result = out;
    r.mark.eval_success = NAN;

    tce_status status = create_parts(&r, c);
    if (status == TCE_OK)
        status = train(&r, start);
    out->seconds = now_seconds() - began;
    run_log_close(&r.log);
    episodes_free(&r.test);
    metrics_free(&r.m);
    memory_free(&r.arrays);
    display_end(d);
    return status;
}
