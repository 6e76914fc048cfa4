/*
 * A run as a handle: settings from words, then training, with what it tells passed on.
 */
#include "embed/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed/embed.h"
#include "methods/methods.h"
#include "report/plot.h"
#include "run/imitate.h"
#include "run/run.h"
#include "settings/suggest.h"

struct tce_train {
    settings s;
    task t;
    run_start start;
    char folder[RUN_PATH];
    char *yaml;                /* the settings as text */
    int wish;                  /* atomic: a run_wish */
    tce_train_options options; /* its functions and their context */
};

task embed_task(const tce_train_task *given)
{
    return (task){ .vtable = given->vtable,
                   .user = given->user,
                   .pool = given->pool,
                   .one_thread = given->one_thread,
                   .begin_path = given->begin_path };
}

/* ---- settings -------------------------------------------------------------------------------- */

/* The folder has a run that is to be continued or begun again. */
static int has_run(const tce_train_options *o)
{
    return o->folder && o->start != TCE_TRAIN_NEW && run_exists(o->folder);
}

/* What is asked for: the settings of the run, changed by the words, or all of them again. */
static tce_status read_asked(const tce_train_options *o, settings *out)
{
    const settings_source from = { o->path, o->n_words, o->words, "config" };
    if (has_run(o) && !o->has_config && !o->path)
        return run_settings_resume(o->folder, METHODS, o->start == TCE_TRAIN_RESTART, NULL,
                                   o->n_words, o->words, out);
    return settings_read_from(out, METHODS, &from);
}

static tce_status read_settings(const tce_train_options *o, tce_train *t)
{
    settings asked;
    tce_status status = read_asked(o, &asked);
    if (status == TCE_OK)
        status = settings_check(&asked);
    if (status == TCE_OK)
        status = o->spec ? settings_suggest(&asked, o->spec) : task_suggest(&t->t, &asked);
    if (status == TCE_OK && has_run(o) && o->start == TCE_TRAIN_RESUME &&
        (o->has_config || o->path))
        return run_settings_resume(o->folder, METHODS, 0, &asked, 0, NULL, &t->s);
    t->s = asked;
    return status;
}

tce_status tce_train_plans(const tce_train_options *options, int32_t *out)
{
    settings asked;
    const tce_status status = read_asked(options, &asked);
    if (status == TCE_OK)
        *out = method_of(&asked)->plans;
    return status;
}

static tce_status write_yaml(tce_train *t)
{
    settings plain = t->s;
    size_t size = 0;
    FILE *text = open_memstream(&t->yaml, &size);
    if (!text)
        return tce_fail(TCE_E_NOMEM, "no memory for the settings");
    run_forget_schedule(&plain);
    settings_dump(&plain, text);
    return fclose(text) == 0 ? TCE_OK : tce_fail(TCE_E_NOMEM, "no memory for the settings");
}

/* ---- what it tells --------------------------------------------------------------------------- */

static void advance(void *context, const run_standing *now)
{
    const tce_train *t = context;
    size_t n_phases = 0;
    while (now->phases[n_phases])
        n_phases++;
    const tce_train_standing told = { .struct_size = sizeof told,
                                      .iteration = now->iteration,
                                      .iterations = now->iterations,
                                      .env_steps = now->env_steps,
                                      .steps_limit = now->steps_limit,
                                      .dropped = now->dropped,
                                      .evaluated = now->evaluated,
                                      .last = now->last,
                                      .n_values = (size_t)now->m->n,
                                      .names = now->m->names,
                                      .values = now->m->values,
                                      .n_phases = n_phases,
                                      .phases = now->phases,
                                      .seconds = now->seconds };
    t->options.advance(t->options.context, &told);
}

static int wish(void *context)
{
    const tce_train *t = context;
    return __atomic_load_n(&t->wish, __ATOMIC_RELAXED);
}

/* ---- the handle ------------------------------------------------------------------------------ */

tce_status tce_train_create(const tce_train_options *options, tce_train **out)
{
    *out = NULL;
    tce_train *t = calloc(1, sizeof *t);
    if (!t)
        return tce_fail(TCE_E_NOMEM, "no memory for a run");
    t->options = *options;
    t->t = embed_task(options->task);
    t->start = options->start == TCE_TRAIN_RESUME    ? RUN_RESUME
               : options->start == TCE_TRAIN_RESTART ? RUN_RESTART
                                                     : RUN_NEW;
    tce_status status = read_settings(options, t);
    if (status == TCE_OK)
        status = write_yaml(t);
    if (status == TCE_OK && options->folder && strlen(options->folder) >= sizeof t->folder)
        status = tce_fail(TCE_E_VALUE, "out: a path of %zu characters is too long",
                          strlen(options->folder));
    if (status != TCE_OK) {
        tce_train_free(t);
        return status;
    }
    run_keep_schedule(&t->s, &t->s);
    if (options->folder)
        snprintf(t->folder, sizeof t->folder, "%s", options->folder);
    else
        run_folder_name(&t->s, "runs", t->folder, sizeof t->folder);
    *out = t;
    return TCE_OK;
}

void tce_train_free(tce_train *train)
{
    if (!train)
        return;
    free(train->yaml);
    free(train);
}

const char *tce_train_folder(const tce_train *train)
{
    return train->folder;
}

const char *tce_train_settings(const tce_train *train)
{
    return train->yaml;
}

tce_status tce_train_run(tce_train *train, const tce_train_task *task, tce_train_result *out)
{
    const tce_train_options *o = &train->options;
    if (task)
        train->t = embed_task(task);
    const run_observer observer = { .say = { o->context, o->note, o->warn },
                                    .context = train,
                                    .advance = o->advance ? advance : NULL,
                                    .wish = wish };
    const run_plan plan = { train->folder, &train->s, &train->t, train->start, &observer };
    run_result r;
    const tce_status status = run_carry_out(&plan, &r);
    *out = (tce_train_result){ .struct_size = sizeof *out,
                               .iteration = r.iteration,
                               .env_steps = r.env_steps,
                               .saved = r.saved,
                               .seconds = r.seconds,
                               .eval_success = r.eval_success,
                               .eval_return = r.eval_return,
                               .interrupted = r.interrupted };
    return status;
}

tce_status tce_train_imitate(tce_train *train, const tce_train_demos *demos,
                             tce_train_imitation *out)
{
    const demonstrations given = { .n = demos->n,
                                   .T = demos->T,
                                   .D = demos->D,
                                   .O = demos->O,
                                   .n_rows = demos->n_rows,
                                   .times = demos->times,
                                   .pos = demos->pos,
                                   .obs = demos->obs };
    imitation done;
    const tce_status status = run_imitate(train->folder, &train->s, &train->t, &given, &done);
    *out = (tce_train_imitation){ .struct_size = sizeof *out,
                                  .path_error = done.path_error,
                                  .parameter_error = done.parameter_error,
                                  .std = done.std };
    return status;
}

void tce_train_stop(tce_train *train, int32_t wished)
{
    int before = __atomic_load_n(&train->wish, __ATOMIC_RELAXED);
    while (before < wished && !__atomic_compare_exchange_n(&train->wish, &before, wished, 0,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

tce_status tce_train_curve(const char *folder)
{
    return plot_curve(folder);
}
