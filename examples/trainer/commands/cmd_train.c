/*
 * tce train: a new run, a run that continues, or a queue of runs.
 */
#define _XOPEN_SOURCE 700 /* realpath */

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/together.h"
#include "commands/train.h"
#include "queue/display.h"
#include "queue/json_log.h"
#include "queue/signals.h"
#include "report/plot.h"
#include "tools/blas.h"
#include "tools/shell.h"

static const char OPTIONS[] =
    "  --task LIST     task.name; several tasks, e.g. reach,door-open, or all, make a queue of "
    "runs\n"
    "  --seed N        run.seed\n"
    "  --seeds LIST    make a queue with each of these seeds, e.g. 1-5,25\n"
    "  --grid KEY=LIST make a queue with each of these values of a setting, e.g. "
    "policy.epochs=10,30; several --grid: every combination\n"
    "  --jobs N        how many runs of a queue run at once; default: one per core\n"
    "  --array I/N     only every N-th run of a queue, from the I-th on: N processes on as many "
    "machines share the queue in --resume DIR\n"
    "  --task-library FILE\n"
    "                  task.library: a library of your own tasks; one that only a run folder names "
    "is not loaded\n"
    "  --python NAME   the task is an environment in Python: module:name, or a Gymnasium id. "
    "Python runs the training; `tce train --python NAME --help` lists its options\n"
    "  --threads N     run.threads\n"
    "  --steps N       run.steps: end after this many environment steps\n"
    "  --out DIR       the run folder; default runs/<task>__<method>__<seed>__<time>. For a queue: "
    "the folder that contains its runs\n"
    "  --resume DIR    continue the run or the queue in DIR; no CONFIG is needed then\n"
    "  --extend        with --resume of a queue: also continue its finished runs, e.g. with a new "
    "run.iterations; --seeds adds seeds\n"
    "  --restart       with --resume of a run: begin again. The old files are first moved to "
    "DIR/before-restart-<n>, so nothing is lost\n"
    "  --init-from RUN start from the policy and normaliser of another run (run.init_from)\n"
    "  --log-json FILE append one JSON object per iteration to FILE, flushed; with \"-\" they go "
    "to "
    "stdout, and nothing else does\n"
    "  --quiet         print only warnings and errors\n"
    "  --help          print this, and every setting\n"
    "\n"
    "CONFIG is a file, task/method in examples/configs, or a folder, which stands for its "
    "tce.yaml; several make a queue. In a LIST of tasks the\n"
    "folder's name may be left out: with metaworld, door-open means metaworld_door_open, and all "
    "means every metaworld_...\n"
    "\n"
    "Ctrl-C finishes the iteration and saves; a second one ends the program at once.\n";

/* ---- command line ---------------------------------------------------------------------------- */

/* --seed N and its like become overrides. */
static void add_override(train_options *o, int slot, const char *key, const char *value)
{
    snprintf(o->storage[slot], sizeof o->storage[slot], "%s=%s", key, value);
}

/* --init-from RUN: where it lies is known in any working directory. Returns as take_option. */
static int add_init(train_options *o, const char *run)
{
    char found[RUN_PATH];
    char *path = realpath(run_find(run, found), NULL);
    if (!path || strlen(path) >= TEXT_SIZE) {
        free(path);
        return fail_usage("train", "--init-from %s: no such run folder or policy file", run);
    }
    add_override(o, INIT, "run.init_from", path);
    free(path);
    return -1;
}

static int read_jobs(const char *text, int *out)
{
    char *end;
    const long n = strtol(text, &end, 10);
    *out = (int)n;
    return end != text && *end == '\0' && n >= 1 && n <= 1024;
}

static const struct option LONG[] = {
    { "seed", required_argument, NULL, 's' },     { "threads", required_argument, NULL, 't' },
    { "steps", required_argument, NULL, 'n' },    { "out", required_argument, NULL, 'o' },
    { "resume", required_argument, NULL, 'r' },   { "seeds", required_argument, NULL, 'S' },
    { "jobs", required_argument, NULL, 'j' },     { "array", required_argument, NULL, 'a' },
    { "task", required_argument, NULL, 'T' },     { "quiet", no_argument, NULL, 'q' },
    { "help", no_argument, NULL, 'h' },           { "task-library", required_argument, NULL, 'L' },
    { "restart", no_argument, NULL, 'R' },        { "init-from", required_argument, NULL, 'i' },
    { "log-json", required_argument, NULL, 'l' }, { "grid", required_argument, NULL, 'g' },
    { "extend", no_argument, NULL, 'e' },         { 0 },
};

/* One option. Returns -1, or the exit status when there is nothing more to do. */
static int take_option(train_options *o, int c, char **argv)
{
    switch (c) {
    case 's':
        add_override(o, SEED, "run.seed", optarg);
        break;
    case 't':
        add_override(o, THREADS, "run.threads", optarg);
        break;
    case 'n':
        add_override(o, STEPS, "run.steps", optarg);
        break;
    case 'L':
        add_override(o, LIBRARY, "task.library", optarg);
        break;
    case 'i':
        return add_init(o, optarg);
    case 'T':
        o->tasks = optarg;
        break;
    case 'o':
        o->out = optarg;
        break;
    case 'r':
        o->resume = optarg;
        break;
    case 'S':
        o->seeds = optarg;
        break;
    case 'l':
        /* empty: none, as a queue tells its runs */
        o->log = optarg[0] ? optarg : NULL;
        o->quiet |= strcmp(optarg, "-") == 0;
        break;
    case 'q':
        o->quiet = 1;
        break;
    case 'g':
        if (o->n_grids == MAX_GRIDS)
            return fail_usage("train", "more than %d times --grid", MAX_GRIDS);
        o->grids[o->n_grids++] = optarg;
        break;
    case 'e':
        o->extend = 1;
        break;
    case 'R':
        o->restart = 1;
        break;
    case 'h':
        return print_help("train", OPTIONS, 1);
    case 'j':
        if (!read_jobs(optarg, &o->n_jobs))
            return fail_usage("train", "--jobs %s, must be a whole number from 1 to 1024", optarg);
        break;
    case 'a':
        if (queue_part_parse(optarg, &o->part) != TCE_OK)
            return fail_usage("train", "%s", tce_error_message());
        break;
    default:
        return fail_option("train", argv, LONG, 1);
    }
    return -1;
}

/* Options that do not go together. config: the first word, or NULL. Returns as take_option. */
static int check_options(const train_options *o, const char *config)
{
    if (o->resume && o->out)
        return fail_usage("train", "--resume already names the run folder: leave out --out");
    if (o->restart && !o->resume)
        return fail_usage("train", "--restart needs --resume DIR, the run that is to begin again");
    if (o->part.count && !o->resume)
        return fail_usage("train", "--array needs --resume DIR, the folder of the queue, which "
                                   "all parts name alike; it need not exist yet");
    if (o->part.count && o->restart)
        return fail_usage("train", "--restart is for a single run, --array for a queue");
    if (o->part.count && o->extend)
        return fail_usage("train", "--extend needs the whole queue: leave out --array");
    if (o->seeds && o->storage[SEED][0])
        return fail_usage("train", "--seeds already names the seeds: leave out --seed");
    if (o->storage[INIT][0] && !config)
        return fail_usage("train", "--init-from needs a CONFIG, for the run that begins");
    if (!config && !o->resume)
        return fail_usage("train", "name a settings file, for instance reacher5/tce");
    if (o->extend && (!o->resume || (config && is_config(config)) || !queue_exists(o->resume)))
        return fail_usage("train",
                          "--extend goes with --resume DIR, a queue, and without a CONFIG");
    if (o->extend && (o->tasks || o->n_grids > 0))
        return fail_usage("train", "--extend adds seeds alone: begin another queue for other tasks "
                                   "or settings");
    if ((o->seeds || o->tasks || o->n_grids > 0) && !o->extend && (!config || !is_config(config)))
        return fail_usage("train", "--task, --seeds and --grid go with a CONFIG; a queue that is "
                                   "resumed has its own (--extend adds seeds)");
    return -1;
}

/* Returns -1 when the command may begin, else the exit status. */
static int parse(train_options *o, int argc, char **argv)
{
    int c, code = -1;
    optind = 1;
    while (code < 0 && (c = getopt_long(argc, argv, "hqo:s:j:", LONG, NULL)) != -1)
        code = take_option(o, c, argv);
    if (code < 0)
        code = check_options(o, optind < argc ? argv[optind] : NULL);
    if (code >= 0)
        return code;

    o->arguments = calloc((size_t)(argc - optind + N_OVERRIDES), sizeof *o->arguments);
    if (!o->arguments)
        return fail_usage("train", "no memory");
    for (int i = optind; i < argc; i++)
        o->arguments[o->n++] = argv[i];
    while (o->n_configs < o->n && is_config(o->arguments[o->n_configs]))
        o->n_configs++;
    for (int i = 0; i < N_OVERRIDES; i++)
        if (o->storage[i][0])
            o->arguments[o->n++] = o->storage[i];
    return -1;
}

/* Settings of a run that begins. */
static tce_status settings_of_arguments(settings *s, const train_options *o)
{
    const tce_status status = settings_from_arguments(s, o->n, o->arguments);
    return status == TCE_OK ? settings_for_task(s) : status;
}

/* A run that its queue begins has the queue's entropy schedule, whenever it begins. */
static tce_status settings_to_begin(settings *s, const train_options *o)
{
    const char *config = o->arguments[0], *name = strrchr(config, '/');
    settings own;
    tce_status status = settings_of_arguments(s, o);
    if (status != TCE_OK || !queue_is_settings(name ? name + 1 : config))
        return status;
    status = run_read_settings(config, METHODS, &own);
    if (status == TCE_OK)
        run_keep_schedule(s, &own);
    return status;
}

/*
 * Settings of a run that continues: its own, with overrides, or those of a CONFIG, which must agree
 * unless the run begins again.
 */
static tce_status settings_to_resume(settings *s, const train_options *o)
{
    settings asked;
    const int has_config = o->n > 0 && is_config(o->arguments[0]);
    if (!run_exists(o->resume))
        return has_config ? settings_to_begin(s, o)
                          : tce_fail(TCE_E_NOT_FOUND,
                                     "%s has neither config.yaml nor queue.csv, so it is neither "
                                     "a run folder nor a queue: name another folder, or add a "
                                     "CONFIG to begin a run there",
                                     o->resume);
    if (has_config && o->restart)
        return settings_of_arguments(s, o);
    const tce_status status = has_config ? settings_of_arguments(&asked, o) : TCE_OK;
    return status == TCE_OK
               ? run_settings_resume(o->resume, METHODS, o->restart, has_config ? &asked : NULL,
                                     (size_t)o->n, (const char *const *)o->arguments, s)
               : status;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void report_end(display *d, const char *folder, const settings *s, const run_result *r)
{
    char spent[32], success[32] = "", library[SHELL_WORD + 32], word[SHELL_WORD];
    display_duration(r->seconds, spent, sizeof spent);
    /* not every task knows success */
    if (!isnan(r->eval_success))
        snprintf(success, sizeof success, "success %.3f, ", r->eval_success);
    display_note(d, "done: %" PRId64 " iterations, %" PRId64 " environment steps, %s", r->iteration,
                 r->env_steps, spent);
    if (!isnan(r->eval_return))
        display_note(d, "mean policy, %d episodes: %sreturn %.4g", (int)s->evaluate.episodes,
                     success, r->eval_return);
    task_library_words(s, library, sizeof library);
    shell_word(folder, word, sizeof word);
    display_note(d, "%s    (tce eval %s%s, tce plot %s%s)", folder, word, library, word, library);
}

/* What is saved after a failure, and how to continue. */
static int report_failure(display *d, tce_status status, const char *folder, const settings *s,
                          const run_result *r)
{
    char library[SHELL_WORD + 32], word[SHELL_WORD];
    display_end(d);
    fail();
    if (r->trained && (status == TCE_E_ENV || status == TCE_E_ENV_NAN))
        fprintf(stderr, "tce: collect.on_fault=drop leaves such episodes out and counts them\n");
    if (r->saved > 0)
        fprintf(stderr,
                "tce: saved up to iteration %" PRId64 "; continue with:  tce train --resume %s%s\n",
                r->saved, shell_word(folder, word, sizeof word),
                task_library_words(s, library, sizeof library));
    return EXIT_FAILED;
}

static int report_interrupt(display *d, const char *folder, const settings *s, const run_result *r)
{
    char library[SHELL_WORD + 32], word[SHELL_WORD];
    display_end(d);
    if (r->saved > 0)
        fprintf(stderr,
                "tce: stopped and saved after iteration %" PRId64
                "; continue with:  tce train --resume %s%s\n",
                r->saved, shell_word(folder, word, sizeof word),
                task_library_words(s, library, sizeof library));
    else
        fprintf(stderr, "tce: stopped before the first iteration was done\n");
    return EXIT_INTERRUPTED;
}

tce_status train_together(const order *o, const run_observer *observer, run_result *out)
{
    task t;
    memset(out, 0, sizeof *out);
    tce_status status = ranks_agree(together(), task_open(&o->s, &t));
    t.ranks = together();
    const run_plan plan = { o->folder, &o->s, &t, o->start, observer };
    if (status == TCE_OK)
        status = run_carry_out(&plan, out);
    task_close(&t);
    return status;
}

/* log: NULL, or where iterations are written as JSON. */
static int train_in(const char *folder, const settings *s, run_start start, const char *log,
                    display *d)
{
    run_result result = { 0 };
    run_observer observer;
    order o = { .kind = ORDER_TRAIN, .start = start, .s = *s };
    snprintf(o.folder, sizeof o.folder, "%s", folder);
    json_log lines = { 0 };
    if (log && json_log_open(&lines, log, folder) != TCE_OK)
        return fail();
    display_observe(d, &observer);
    if (log)
        json_log_observe(&lines, &observer);
    signals_enter_folder();
    tce_status status = together_order(&o);
    if (status == TCE_OK)
        status = train_together(&o, &observer, &result);
    json_log_close(&lines);
    if (status != TCE_OK)
        return report_failure(d, status, folder, s, &result);
    if (result.interrupted)
        return report_interrupt(d, folder, s, &result);
    together_leave();
    if (plot_run(folder) != TCE_OK)
        display_warn(d, "no curve.png: %s", tce_error_message());
    report_end(d, folder, s, &result);
    return EXIT_FINE;
}

/* ---- a run of a queue, on one rank ----------------------------------------------------------- */

/* What its process would be told on the command line. */
enum { ENTRY_WORDS = 5 };

tce_status train_entry(void *context, const job_order *order, const run_observer *observer,
                       run_result *out)
{
    const char *queue = context;
    const queue_entry *entry = &order->entry;
    char storage[ENTRY_WORDS][RUN_PATH], *words[ENTRY_WORDS], folder[RUN_PATH], name[QUEUE_FILE];
    train_options o = { .resume = folder, .arguments = words, .n_configs = 1, .n = ENTRY_WORDS };
    settings s;
    task t;
    memset(out, 0, sizeof *out);
    queue_settings_name(entry->variant, name, sizeof name);
    tce_status status = run_path(queue, entry->folder, folder);
    if (status == TCE_OK)
        status = run_path(queue, name, storage[0]);
    snprintf(storage[1], RUN_PATH, "task.name=%s", entry->task);
    snprintf(storage[2], RUN_PATH, "run.seed=%" PRIu64, entry->seed);
    snprintf(storage[3], RUN_PATH, "run.threads=%d", (int)order->threads);
    snprintf(storage[4], RUN_PATH, "task.library=%s", order->library);
    for (int i = 0; i < ENTRY_WORDS; i++)
        words[i] = storage[i];
    if (status == TCE_OK)
        status = settings_to_resume(&s, &o);
    if (status == TCE_OK)
        status = task_open(&s, &t);
    if (status != TCE_OK)
        return status;
    run_keep_schedule(&s, &s);
    const run_plan plan = { folder, &s, &t, RUN_RESUME, observer };
    status = run_carry_out(&plan, out);
    task_close(&t);
    /* numbers alone: drawing would start a process */
    if (status == TCE_OK && !out->interrupted && plot_curve(folder) != TCE_OK)
        messages_warn(&observer->say, "no curve.csv: %s", tce_error_message());
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int start_run(const train_options *o)
{
    settings s;
    display d;
    char folder[RUN_PATH];
    tce_status status = o->resume ? settings_to_resume(&s, o) : settings_of_arguments(&s, o);
    if (status == TCE_OK)
        status = blas_begin();
    if (status != TCE_OK)
        return fail();
    if (o->n_jobs)
        return fail_usage("train", "--jobs needs a queue: --seeds, --grid, several tasks or "
                                   "CONFIGs, or --resume of a queue");
    if (o->part.count)
        return fail_usage("train", "--array needs a queue: --seeds, --grid, several tasks or "
                                   "CONFIGs, or --resume of a queue");
    run_keep_schedule(&s, &s);
    display_init(&d, o->quiet);
    if (o->resume || o->out)
        snprintf(folder, sizeof folder, "%s", o->resume ? o->resume : o->out);
    else
        run_folder_name(&s, "runs", folder, sizeof folder);
    return train_in(folder, &s,
                    o->restart  ? RUN_RESTART
                    : o->resume ? RUN_RESUME
                                : RUN_NEW,
                    o->log, &d);
}

/* A single task, which --task names. */
static int start_task(train_options *o, const char *task_name)
{
    add_override(o, TASK, "task.name", task_name);
    o->arguments[o->n++] = o->storage[TASK];
    return start_run(o);
}

/* With lists: a queue, or one run of a single task. */
static int start_listed(train_options *o)
{
    queue_plan plan = { 0 };
    int code;
    if (train_plan(o, &plan) != TCE_OK)
        code = fail();
    else if (plan.n > 1 || plan.tasks[0].n > 1 || o->seeds || o->n_grids > 0)
        code = train_queue_new(o, &plan);
    else
        code = start_task(o, plan.tasks[0].names[0]);
    queue_plan_free(&plan);
    return code;
}

int cmd_train(int argc, char **argv)
{
    train_options o = { 0 };
    int code = parse(&o, argc, argv);
    if (code < 0) {
        signals_catch();
        if (o.n_configs > 0 && (o.seeds || o.tasks || o.n_grids > 0 || o.n_configs > 1))
            code = start_listed(&o);
        else if (o.resume && queue_exists(o.resume))
            code = train_queue_again(&o);
        else
            code = start_run(&o);
    }
    free(o.arguments);
    return code;
}
