/*
 * Queues of `tce train`: settings times tasks times seeds.
 */
#define _XOPEN_SOURCE 700 /* realpath */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/together.h"
#include "commands/train.h"
#include "queue/signals.h"
#include "tools/blas.h"

/* ---- every combination ----------------------------------------------------------------------- */

/*
 * Value number i of "key=a,b,[c,d]" as an override "key=b"; commas in brackets are part of a value.
 * 0 when there are not so many.
 */
static int take_value(const char *grid, size_t i, char *out, size_t size)
{
    const size_t key = strcspn(grid, "=") + 1;
    const char *at = grid + key;
    for (size_t k = 0;; k++) {
        const char *begin = at;
        int depth = 0;
        for (; *at && (depth > 0 || *at != ','); at++)
            depth += (*at == '[') - (*at == ']');
        if (k == i) {
            snprintf(out, size, "%.*s%.*s", (int)key, grid, (int)(at - begin), begin);
            return 1;
        }
        if (*at++ == '\0')
            return 0;
    }
}

static tce_status check_grid(const char *grid)
{
    static const char *const OPTIONS[][2] = { { "run.seed", "--seeds" },
                                              { "task.name", "--task" } };
    char word[TEXT_SIZE];
    if (!strchr(grid, '=') || !strchr(grid, '.') || strlen(grid) >= sizeof word)
        return tce_fail(TCE_E_VALUE, "--grid %s, must be section.key=value,value", grid);
    for (size_t i = 0; i < sizeof OPTIONS / sizeof OPTIONS[0]; i++)
        if (strncmp(grid, OPTIONS[i][0], strcspn(grid, "=")) == 0)
            return tce_fail(TCE_E_VALUE, "--grid %s: write %s %s", grid, OPTIONS[i][1],
                            strchr(grid, '=') + 1);
    for (size_t i = 0; take_value(grid, i, word, sizeof word); i++)
        if (word[strlen(word) - 1] == '=')
            return tce_fail(TCE_E_VALUE, "--grid %s: value %zu is empty", grid, i + 1);
    return TCE_OK;
}

/* Settings of CONFIG number c with words over it; the overrides of the command line stand between. */
static tce_status add_settings(const train_options *o, int c, size_t n_words, char *const *words,
                               queue_plan *out)
{
    settings s;
    char prefix[TEXT_SIZE];
    int n = 0;
    char **all = calloc((size_t)o->n + n_words + 1, sizeof *all);
    if (!all)
        return tce_fail(TCE_E_NOMEM, "no memory for the settings of a queue");
    all[n++] = o->arguments[c];
    for (int i = o->n_configs; i < o->n; i++)
        all[n++] = o->arguments[i];
    for (size_t i = 0; i < n_words; i++)
        all[n++] = words[i];
    tce_status status = settings_from_arguments(&s, n, all);
    free(all);
    if (status == TCE_OK)
        status = config_prefix(METHODS, o->arguments[c], prefix, sizeof prefix);
    return status == TCE_OK ? queue_plan_add(out, &s, prefix, o->tasks) : status;
}

/* Every combination of the values of grids, the last one changing fastest. */
static tce_status add_combinations(const train_options *o, int c, queue_plan *out)
{
    char words[MAX_GRIDS][TEXT_SIZE], *list[MAX_GRIDS];
    size_t at[MAX_GRIDS] = { 0 };
    const size_t n = (size_t)o->n_grids;
    tce_status status = TCE_OK;
    for (size_t k = 0; k < n; k++) {
        list[k] = words[k];
        take_value(o->grids[k], 0, words[k], sizeof words[k]);
    }
    while (status == TCE_OK) {
        status = add_settings(o, c, n, list, out);
        size_t k = n;
        while (k > 0 && !take_value(o->grids[k - 1], ++at[k - 1], words[k - 1], sizeof words[0])) {
            k--;
            at[k] = 0;
            take_value(o->grids[k], 0, words[k], sizeof words[k]);
        }
        if (k == 0)
            break;
    }
    return status;
}

tce_status train_plan(const train_options *o, queue_plan *out)
{
    tce_status status = TCE_OK;
    for (int k = 0; status == TCE_OK && k < o->n_grids; k++)
        status = check_grid(o->grids[k]);
    for (int c = 0; status == TCE_OK && c < o->n_configs; c++)
        status = add_combinations(o, c, out);
    return status;
}

/* ---- a queue that is there ------------------------------------------------------------------- */

/* The queue in a folder is the one that the command line asks for. */
static tce_status check_same(const queue *asked, const queue *there)
{
    int same = asked->n == there->n && asked->n_variants == there->n_variants;
    for (size_t i = 0; same && i < asked->n; i++)
        same = strcmp(asked->entries[i].task, there->entries[i].task) == 0 &&
               asked->entries[i].seed == there->entries[i].seed &&
               asked->entries[i].variant == there->entries[i].variant;
    return same
               ? TCE_OK
               : tce_fail(TCE_E_VALUE,
                          "%s has a queue with other tasks, seeds or settings (see its queue.csv): "
                          "leave out --task, --seeds and --grid, or choose another folder",
                          there->folder);
}

/* The command line's overrides over settings that come from a folder. */
static tce_status override_all(settings *s, const train_options *o)
{
    tce_status status = TCE_OK;
    for (int i = 0; status == TCE_OK && i < o->n; i++)
        status = settings_override(s, o->arguments[i]);
    return status == TCE_OK ? settings_check(s) : status;
}

/* Settings of a queue that continues: its own with overrides, or those given, which must agree. */
static tce_status continue_settings(const train_options *o, const settings *asked,
                                    const char *folder, size_t variant, settings *s)
{
    settings own = *s;
    char name[QUEUE_TEXT], path[RUN_PATH];
    tce_status status = TCE_OK;
    if (asked) {
        *s = *asked;
        /* these two are the runs' own */
        snprintf(s->task.name, sizeof s->task.name, "%s", own.task.name);
        s->run.seed = own.run.seed;
    } else {
        status = override_all(s, o);
    }
    queue_settings_name(variant, name, sizeof name);
    if (status == TCE_OK)
        status = task_library_check(s);
    if (status == TCE_OK)
        status = run_path(folder, name, path);
    run_keep_schedule(&own, &own);
    run_keep_schedule(s, &own);
    return status == TCE_OK ? run_settings_agree(s, &own, path) : status;
}

/* The list of --seeds, or the one seed of the settings. *list is the caller's to free. */
static tce_status list_seeds(const train_options *o, uint64_t **list, size_t *n)
{
    *list = NULL;
    *n = 0;
    return o->seeds ? seeds_parse(o->seeds, list, n) : TCE_OK;
}

static tce_status extend(const train_options *o, queue *q)
{
    uint64_t *seeds;
    size_t n;
    tce_status status = list_seeds(o, &seeds, &n);
    if (status == TCE_OK)
        status = queue_extend(q, n, seeds);
    free(seeds);
    return status;
}

/* asked: what CONFIG and lists would make of it; NULL without a CONFIG. */
static tce_status continue_queue(const train_options *o, const queue *asked, queue *q)
{
    tce_status status = queue_load(q, o->resume, METHODS);
    if (status == TCE_OK && asked)
        status = check_same(asked, q);
    for (size_t v = 0; status == TCE_OK && v < q->n_variants; v++)
        status = continue_settings(o, asked ? &asked->variants[v].s : NULL, o->resume, v,
                                   &q->variants[v].s);
    if (status == TCE_OK)
        status = queue_label(q);
    return status == TCE_OK && o->extend ? extend(o, q) : status;
}

/* ---- working --------------------------------------------------------------------------------- */

tce_status queue_together(const order *o)
{
    return jobs_serve(together(), train_entry, (void *)o->folder);
}

/* As processes of this machine, or on ranks. */
static tce_status run_queue(const train_options *o, queue *q, int *code)
{
    if (!together())
        return jobs_run(q, o->quiet, o->log, code);
    order given = { .kind = ORDER_QUEUE, .s = q->variants[0].s };
    snprintf(given.folder, sizeof given.folder, "%s", q->folder);
    const tce_status status = together_order(&given);
    return status == TCE_OK
               ? jobs_run_on_ranks(q, together(), train_entry, given.folder, o->quiet, code)
               : status;
}

/* The queue's own files first, then its runs. The folder is locked. */
static int work_through(const train_options *o, queue *asked)
{
    queue q;
    memset(&q, 0, sizeof q);
    const int there = queue_exists(o->resume ? o->resume : asked->folder);
    tce_status status = there ? continue_queue(o, asked, &q) : TCE_OK;
    queue *chosen = there ? &q : asked;
    if (status == TCE_OK && o->n_jobs)
        chosen->n_jobs = o->n_jobs;
    for (size_t v = 0; status == TCE_OK && v < chosen->n_variants; v++)
        run_keep_schedule(&chosen->variants[v].s, &chosen->variants[v].s);
    if (status == TCE_OK && o->part.count && !there)
        status = queue_begin_parts(chosen, o->part);
    if (status == TCE_OK)
        queue_take_part(chosen, o->part);
    int code = EXIT_FINE;
    if (status == TCE_OK && chosen->n > 0)
        status = run_queue(o, chosen, &code);
    else if (status == TCE_OK && !o->quiet)
        printf("part %d of %d has no runs: the queue in %s has fewer\n", o->part.number,
               o->part.count, chosen->folder);
    queue_free(&q);
    return status == TCE_OK ? code : fail();
}

/* asked: NULL to continue the queue in o->resume. */
static int train_queue(const train_options *o, queue *asked)
{
    const char *folder = asked ? asked->folder : o->resume;
    int lock = -1, code = EXIT_FAILED;
    if (o->log && strcmp(o->log, "-") == 0)
        return fail_usage("train", "--log-json of a queue needs a file: its runs have no stdout");
    if (o->restart)
        return fail_usage(
            "train",
            "--restart is for a single run, and %s is a queue: name one of its runs, or "
            "begin the queue in another folder",
            folder);
    if (together() && o->n_jobs)
        return fail_usage("train", "under mpirun a queue has as many runs at once as there are "
                                   "ranks: leave out --jobs");
    if (together() && o->log)
        return fail_usage("train", "--log-json of a queue: ranks on several machines cannot share "
                                   "a file; read the runs' progress.csv");
    signals_enter_folder();
    if (asked && folder_make(folder) != TCE_OK)
        return fail();
    const tce_status locked = o->part.count
                                  ? run_lock_share(folder, queue_part_share(o->part), &lock)
                                  : run_lock(folder, &lock);
    if (locked != TCE_OK) {
        code = fail();
    } else if (run_exists(folder) || (!o->resume && queue_exists(folder))) {
        fprintf(stderr, "tce: %s has a %s already: %schoose another --out\n", folder,
                run_exists(folder) ? "run" : "queue",
                run_exists(folder) ? "" : "continue it with --resume, or ");
    } else {
        code = work_through(o, asked);
        /* that of a part may just have come into being for another one */
        if (o->part.count == 0)
            queue_discard(folder);
    }
    run_unlock(lock);
    return code;
}

int train_queue_again(const train_options *o)
{
    return train_queue(o, NULL);
}

/* "reacher5__tce": the task, or the folder of the settings; "queue" where these differ. */
static void name_stem(const train_options *o, const queue_plan *plan, char *out, size_t size)
{
    char prefix[TEXT_SIZE] = "queue_";
    const task_list *tasks = &plan->tasks[0];
    int same_task = tasks->n == 1, same_method = 1;
    for (size_t v = 1; v < plan->n; v++) {
        same_task = same_task && plan->tasks[v].n == 1 &&
                    strcmp(plan->tasks[v].names[0], tasks->names[0]) == 0;
        same_method = same_method && plan->s[v].table == plan->s[0].table;
    }
    if (!same_task && o->n_configs == 1)
        (void)config_prefix(METHODS, o->arguments[0], prefix, sizeof prefix);
    snprintf(out, size, "%.*s%s%s", same_task ? TASK_NAME : (int)strlen(prefix) - 1,
             same_task ? tasks->names[0] : prefix, same_method ? "__" : "",
             same_method ? plan->s[0].table->name : "");
}

int train_queue_new(const train_options *o, const queue_plan *plan)
{
    char folder[RUN_PATH], stem[2 * TEXT_SIZE];
    uint64_t *seeds = NULL;
    size_t n_seeds = 0;
    queue asked;
    memset(&asked, 0, sizeof asked);
    if (list_seeds(o, &seeds, &n_seeds) != TCE_OK)
        return fail_usage("train", "%s", tce_error_message());
    name_stem(o, plan, stem, sizeof stem);
    if (o->resume || o->out)
        snprintf(folder, sizeof folder, "%s", o->resume ? o->resume : o->out);
    else
        run_folder_unique("runs", stem, folder, sizeof folder);

    const tce_status status = queue_create(&asked, folder, plan, seeds ? n_seeds : 1,
                                           seeds ? seeds : &plan->s[0].run.seed,
                                           o->part.count == 0);
    const int code = status == TCE_OK ? train_queue(o, &asked) : fail();
    queue_free(&asked);
    free(seeds);
    return code;
}
