/*
 * The loop of a run: iterate, evaluate, log, save, until the settings or the observer end it.
 *
 * What is saved and logged depends on the iteration alone, so a run that continues from a
 * checkpoint repeats what was lost, byte for byte.
 *
 * Ranks carry it out together: each iterates, evaluates, saves and loads in the same order as the
 * others, and the first one alone reads and writes files. They agree on a status after everything
 * that one of them may fail in, so that none waits for another that has left.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "tools/clock.h"
#include "tools/shell.h"

/* ---- the loop -------------------------------------------------------------------------------- */

typedef struct run {
    const char *folder;
    const settings *s;
    ranks *ranks;
    int32_t wished; /* what one of several ranks has wished, as of the last iteration */
    run_subject subject;
    episodes test;       /* of the subject */
    memory arrays;       /* of these, and the two below */
    metrics m;           /* the row of an iteration: columns of training, then of the evaluation */
    size_t n_train;      /* columns of training: those of the method, and dropped episodes */
    double *seconds;     /* [phases] in this iteration */
    double *all_seconds; /* [phases] since the start */
    const run_observer *observer;
    run_log log;
    journal rows; /* the subject's, where its method has rows */
    best_policy best;
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

static int own_wish(const run *r)
{
    return r->observer->wish ? r->observer->wish(r->observer->context) : RUN_GO_ON;
}

/* Ranks keep to what they have agreed on. */
static int wish(const run *r)
{
    return r->ranks ? r->wished : own_wish(r);
}

/* What one rank wishes, all do. */
static tce_status share_wish(run *r)
{
    r->wished = own_wish(r);
    return ranks_most(r->ranks, &r->wished);
}

/* Whether this process reads and writes files. */
static int writes(const run *r)
{
    return ranks_is_first(r->ranks);
}

static tce_status save(run *r)
{
    tce_status status = writes(r) ? run_log_mark(&r->log, &r->mark) : TCE_OK;
    status = ranks_agree(r->ranks, status);
    if (status == TCE_OK)
        status = checkpoint_save(r->folder, &r->subject, &r->mark, r->log.columns);
    if (status == TCE_OK)
        r->result->saved = r->mark.iteration;
    return status;
}

static void tell(run *r, int64_t dropped, int evaluated, const run_times *spent)
{
    const run_standing now = { .iteration = r->mark.iteration,
                               .iterations = r->s->run.iterations,
                               .env_steps = r->mark.env_steps,
                               .steps_limit = r->s->run.steps,
                               .dropped = dropped,
                               .evaluated = evaluated,
                               .last = finished(r) || wish(r),
                               .m = &r->m,
                               .phases = r->subject.way->phases,
                               .seconds = r->all_seconds,
                               .spent = spent };
    r->result->iteration = r->mark.iteration;
    r->result->env_steps = r->mark.env_steps;
    if (evaluated) {
        r->result->eval_success = metrics_get(&r->m, "eval_success");
        r->result->eval_return = metrics_get(&r->m, "eval_return");
    }
    if (r->observer->advance)
        r->observer->advance(r->observer->context, &now);
}

/* What an abandoned iteration has made must not be written. */
static tce_status check_wanted(const run *r)
{
    return wish(r) == RUN_ABANDON
               ? tce_fail(TCE_E_STATE, "the run was abandoned after iteration %lld",
                          (long long)r->mark.iteration)
               : TCE_OK;
}

/* Episodes with the mean policy; `number` keys their streams. */
static tce_status evaluate(run *r, uint64_t number)
{
    tce_status status = episodes_collect(&r->test, number, 0, NULL, NULL);
    if (status == TCE_OK)
        status = check_wanted(r);
    if (status != TCE_OK)
        return status;
    episodes_report(&r->test, r->m.values + r->n_train);
    return best_policy_offer(&r->best, r->subject.way->agent(r->subject.learner), (int64_t)number,
                             metrics_get(&r->m, "eval_success"), metrics_get(&r->m, "eval_return"));
}

/* Nothing is measured yet. */
static void clear_row(run *r)
{
    for (int32_t i = 0; i < r->m.n; i++)
        r->m.values[i] = NAN;
    memset(r->seconds, 0, method_n_phases(r->subject.way) * sizeof *r->seconds);
}

/*
 * The settings of a method that calm its training: "policy.learning_rate or critic.learning_rate".
 */
static const char *calming_settings(const settings_table *table, char *out, size_t size)
{
    const setting_row *found[8], *row;
    size_t n = 0;
    for (size_t i = 0; n < 8 && (row = settings_row(table, i)) != NULL; i++)
        if (strcmp(row->key, "learning_rate") == 0 || strcmp(row->key, "initial_std") == 0)
            found[n++] = row;
    out[0] = '\0';
    for (size_t k = 0; k < n; k++) {
        const size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s.%s",
                 k == 0      ? ""
                 : k + 1 < n ? ", "
                             : " or ",
                 found[k]->section, found[k]->key);
    }
    return out;
}

/*
 * After a failure of an iteration: numbers that are not finite, or matrices that are no longer
 * positive definite, are what training that diverges leaves.
 */
static tce_status explain(const run *r, tce_status status, int64_t i)
{
    char remedies[256];
    if (status != TCE_E_VALUE && status != TCE_E_NOT_PD && status != TCE_E_NO_CONVERGE &&
        status != TCE_E_NOT_FINITE && status != TCE_E_SINGULAR)
        return status;
    return tce_fail(status, "training diverged in iteration %lld: %s; lower %s", (long long)i,
                    tce_error_message(), calming_settings(r->s->table, remedies, sizeof remedies));
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
    tce_status status = ranks_agree(r->ranks, way->iterate(r->subject.learner, i, &made));
    if (status == TCE_OK)
        status = share_wish(r);
    if (status == TCE_OK)
        status = check_wanted(r);
    if (status != TCE_OK)
        return explain(r, status, i);
    r->m.values[r->n_train - 1] = (double)made.dropped;
    r->mark.iteration = i;
    r->mark.env_steps += made.env_steps;
    for (size_t k = 0; way->phases[k]; k++)
        r->all_seconds[k] += r->seconds[k];

    const int evaluated = at_end(r) || (s->evaluate.every > 0 && i % s->evaluate.every == 0);
    r->mark.eval_success = NAN;
    if (evaluated) {
        const double evaluation = now_seconds();
        status = explain(r, evaluate(r, (uint64_t)i), i);
        spent.evaluation = now_seconds() - evaluation;
        r->mark.eval_success = metrics_get(&r->m, "eval_success");
    }
    spent.total = now_seconds() - start;
    if (status == TCE_OK && writes(r))
        status = run_log_row(&r->log, i, r->mark.env_steps, &r->m, &spent);
    status = ranks_agree(r->ranks, status);
    if (status == TCE_OK && (finished(r) || i % s->run.checkpoint_every == 0))
        status = save(r);
    if (status == TCE_OK)
        tell(r, made.dropped, evaluated, &spent);
    return status;
}

/* Goes back to the newest checkpoint that is whole; to the beginning when there never was one. */
static tce_status go_on(run *r, char **columns)
{
    const tce_status status = checkpoint_load(r->folder, &r->subject, &r->observer->say, &r->mark,
                                              columns);
    int32_t trained = status == TCE_E_NOT_FOUND && writes(r) &&
                      run_find_state(r->folder, r->subject.s->methods) == RUN_TRAINED;
    const tce_status shared = ranks_most(r->ranks, &trained);
    if (shared != TCE_OK)
        return shared;
    if (trained)
        return tce_fail(TCE_E_STATE,
                        "%s has been trained, but none of its checkpoints can be loaded: put an "
                        "intact one back into %s/checkpoints, or add --restart to train from the "
                        "beginning; the old files are then moved into %s/before-restart-<n>",
                        r->folder, r->folder, r->folder);
    if (status == TCE_E_NOT_FOUND) {
        messages_note(&r->observer->say, "%s has no checkpoint: it starts from the beginning",
                      r->folder);
        return TCE_OK;
    }
    if (status == TCE_OK)
        messages_note(&r->observer->say, "continues after iteration %lld of %s",
                      (long long)r->mark.iteration, r->folder);
    r->result->saved = status == TCE_OK ? r->mark.iteration : 0;
    return status;
}

static tce_status set_aside(run *r)
{
    char aside[RUN_PATH];
    const tce_status status = run_set_aside(r->folder, aside);
    if (status == TCE_OK && aside[0])
        messages_note(&r->observer->say, "what was in %s is in %s", r->folder, aside);
    return status;
}

/*
 * Logs and config.yaml, of the rank that writes. Old rows go before the settings that they were
 * written with: run_find_state reads one by the other.
 */
static tce_status open_files(run *r, const char *columns)
{
    const int fresh = r->mark.iteration == 0;
    int cut_short = 0;
    tce_status status = run_log_open(&r->log, r->folder, r->subject.way->phases,
                                     fresh ? NULL : &r->mark, columns, &cut_short);
    if (status == TCE_OK)
        status = run_write_settings(r->folder, r->s);
    if (status == TCE_OK)
        status = tensorboard_write_settings(r->folder, r->s);
    if (status == TCE_OK && cut_short)
        messages_warn(
            &r->observer->say,
            "%s/progress.csv is shorter than it was at the checkpoint: earlier rows are missing",
            r->folder);
    return status;
}

/* The agent that a new run begins with, and the evaluation of it that is row 0. */
static tce_status begin(run *r)
{
    tce_status status = TCE_OK;
    if (r->s->run.init_from[0])
        status = run_init(r->s, r->ranks, r->subject.way->agent(r->subject.learner));
    if (status == TCE_OK) {
        clear_row(r);
        status = evaluate(r, 0);
    }
    if (status == TCE_OK && writes(r))
        status = run_log_start(&r->log, &r->m);
    return ranks_agree(r->ranks, status);
}

/* Checkpoint, logs, config.yaml, and the evaluation that is row 0. */
static tce_status prepare(run *r, run_start start)
{
    char *columns = NULL;
    tce_status status = TCE_OK;
    if (writes(r))
        run_folder_clean(r->folder);
    if (start == RUN_RESTART && writes(r))
        status = set_aside(r);
    if (start == RUN_RESUME)
        status = go_on(r, &columns);
    status = ranks_agree(r->ranks, status);
    if (status == TCE_OK && writes(r))
        status = open_files(r, columns);
    free(columns);
    status = ranks_agree(r->ranks, status);
    return status == TCE_OK && r->mark.iteration == 0 ? begin(r) : status;
}

static tce_status add_column(run *r, const char *name)
{
    const int32_t before = r->m.n;
    metrics_put(&r->m, name, NAN);
    const tce_status status = metrics_check(&r->m);
    if (status == TCE_OK && r->m.n == before)
        return tce_fail(TCE_E_VALUE,
                        "two columns of progress.csv would be called %s: a metric of the task has "
                        "the name of a number that training writes; rename the metric in the task",
                        name);
    return status;
}

/* The episodes that evaluate, and a row of all that is logged. */
static tce_status create_parts(run *r, const method_context *c)
{
    const settings *s = c->s;
    const method *way = r->subject.way;
    const agent *a = way->agent(r->subject.learner);
    const episodes_options options = { s->evaluate.episodes, evaluation_environments(s, a),
                                       PURPOSE_EVAL_ENV, "eval_", s->evaluate.options };
    const size_t n_phases = method_n_phases(way);
    const char *const *names;
    const size_t n_own = way->columns(r->subject.learner, &names);
    r->n_train = n_own + 1;
    r->seconds = memory_doubles(&r->arrays, n_phases);
    r->all_seconds = memory_doubles(&r->arrays, n_phases);
    tce_status status = episodes_create(&r->test, c->t, s, c->pool, &options);
    if (status == TCE_OK)
        status = methods_check_metrics(s->methods, r->test.spec);
    if (status == TCE_OK)
        status = episodes_allocate(&r->test, a, &r->arrays);
    for (size_t i = 0; status == TCE_OK && i < n_own; i++)
        status = add_column(r, names[i]);
    if (status == TCE_OK)
        status = add_column(r, "dropped");
    for (size_t i = 0; status == TCE_OK && i < r->test.M + 2; i++)
        status = add_column(r, r->test.names[i]);
    return status;
}

static tce_status open_rows(run *r)
{
    char path[RUN_PATH];
    const tce_status status = run_path(r->folder, "checkpoints", path);
    return status == TCE_OK ? journal_open(&r->rows, path, r->subject.way->rows(r->subject.learner))
                            : status;
}

static tce_status train(run *r, run_start start)
{
    tce_status status = prepare(r, start);
    if (r->observer->start)
        r->observer->start(r->observer->context, r->mark.iteration, r->mark.env_steps);
    r->result->iteration = r->mark.iteration;
    r->result->env_steps = r->mark.env_steps;
    if (status == TCE_OK)
        status = share_wish(r);
    while (status == TCE_OK && !finished(r) && wish(r) == RUN_GO_ON)
        status = advance(r);
    if (status == TCE_OK)
        status = check_wanted(r);

    /*
     * what was left unsaved when it was asked to stop; or the policy, when a process was killed
     * between its last checkpoint and this
     */
    if (status == TCE_OK && r->result->saved < r->mark.iteration)
        status = save(r);
    else if (status == TCE_OK && r->mark.iteration > 0)
        status = ranks_agree(r->ranks,
                             writes(r) ? checkpoint_export(r->folder, &r->subject) : TCE_OK);
    r->result->interrupted = status == TCE_OK && !finished(r);
    return status;
}

/* The learner is there; the folder is locked. */
static tce_status run_learner(const run_plan *plan, const method_context *c, void *learner,
                              run_result *out)
{
    const double began = now_seconds();
    run r;
    memset(&r, 0, sizeof r);
    r.folder = plan->folder;
    r.s = c->s;
    const method *way = method_of(c->s);
    r.ranks = c->t->ranks;
    const int keeps_rows = way->rows && writes(&r);
    r.subject = (run_subject){ c->s,    way,    learner, &r.m, keeps_rows ? &r.rows : NULL,
                               r.ranks, &r.best };
    r.observer = plan->observer;
    r.result = out;
    r.mark.eval_success = NAN;

    tce_status status = create_parts(&r, c);
    if (status == TCE_OK && keeps_rows)
        status = open_rows(&r);
    status = ranks_agree(r.ranks, status);
    if (status == TCE_OK)
        status = train(&r, plan->start);
    out->seconds = now_seconds() - began;
    run_log_close(&r.log);
    journal_close(&r.rows);
    best_policy_free(&r.best);
    episodes_free(&r.test);
    metrics_free(&r.m);
    memory_free(&r.arrays);
    if (r.observer->end)
        r.observer->end(r.observer->context);
    return status;
}

/* Ranks on machines that were set up apart may have other tasks. */
static tce_status compare_tasks(const task *t, const settings *s)
{
    char text[256];
    tce_env_spec spec = TCE_INIT(tce_env_spec);
    if (!t->ranks)
        return TCE_OK;
    const tce_status status = ranks_agree(t->ranks, task_read_spec(t, s, &spec));
    snprintf(text, sizeof text,
             "%.100s: %d numbers in an observation, %d degrees of freedom, %d in an action, %d "
             "metrics, %d steps of %.17g s",
             t->vtable->name, (int)spec.n_obs, (int)spec.n_dof, (int)spec.n_action,
             (int)spec.n_metrics, (int)spec.n_steps, spec.dt);
    return status == TCE_OK ? ranks_same(t->ranks, "the task", text,
                                         "install the same task library on all machines")
                            : status;
}

/* Threads and learner; each with its end. */
static tce_status run_locked(const run_plan *plan, run_result *out)
{
    tce_pool_options options;
    tce_pool *pool = NULL;
    void *learner = NULL;
    const method *way = method_of(plan->s);
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = plan->s->run.threads;
    ranks_join_pool(plan->t->ranks, &options);
    tce_status status = compare_tasks(plan->t, plan->s);
    if (status == TCE_OK)
        status = tce_pool_create(&options, NULL, &pool);
    const method_context c = { plan->s, plan->t, pool };
    if (status == TCE_OK)
        status = way->create(&c, &learner);
    status = ranks_agree(plan->t->ranks, status);
    out->trained = status == TCE_OK;
    if (status == TCE_OK)
        status = run_learner(plan, &c, learner, out);
    way->destroy(learner);
    tce_pool_free(pool);
    return status;
}

/* The folder is this run's, and may be begun in. */
static tce_status enter_folder(const run_plan *plan, int *lock)
{
    const char *folder = plan->folder;
    char word[SHELL_WORD];
    tce_status status = run_folder_create(folder);
    if (status == TCE_OK)
        status = run_lock(folder, lock);
    if (status != TCE_OK)
        return status;
    if (*lock == RUN_NO_LOCK)
        messages_warn(&plan->observer->say,
                      "the file system of %s has no locks: make sure that no other process works "
                      "in this folder",
                      folder);
    if (plan->start == RUN_NEW && run_find_state(folder, plan->s->methods) > RUN_BEGUN)
        return tce_fail(
            TCE_E_STATE,
            "%s has a run already: continue it with --resume %s, or choose another --out", folder,
            shell_word(folder, word, sizeof word));
    if (plan->start == RUN_NEW)
        messages_note(&plan->observer->say, "%s", folder);
    if (plan->t->ranks)
        messages_note(&plan->observer->say,
                      "%d ranks; if one dies, start the job again with --resume %s",
                      (int)ranks_count(plan->t->ranks), shell_word(folder, word, sizeof word));
    return TCE_OK;
}

/* The folder first: a second process is refused before any work. */
tce_status run_carry_out(const run_plan *plan, run_result *out)
{
    const int writes = ranks_is_first(plan->t->ranks);
    int lock = -1;
    memset(out, 0, sizeof *out);
    out->eval_success = out->eval_return = NAN;
    tce_status status = writes ? enter_folder(plan, &lock) : TCE_OK;
    const int entered = writes && status == TCE_OK;
    status = ranks_agree(plan->t->ranks, status);
    if (status == TCE_OK)
        status = run_locked(plan, out);
    if (entered)
        run_folder_discard(plan->folder);
    run_unlock(lock);
    return status;
}
