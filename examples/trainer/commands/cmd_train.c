/*
 * tce train: a new run, a run that continues, or a queue of runs, tasks times seeds.
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
#include "queue/display.h"
#include "queue/queue.h"
#include "queue/signals.h"
#include "report/plot.h"
#include "tools/blas.h"
#include "tools/shell.h"

static const char OPTIONS[] =
    "  --task LIST     task.name; several, e.g. reach,door-open, or all, are a queue of runs\n"
    "  --seed N        run.seed\n"
    "  --seeds LIST    a queue with each of these seeds, e.g. 1-5,25\n"
    "  --jobs N        runs of a queue at once; default: one per core\n"
    "  --array I/N     only every N-th run of a queue, from the I-th on: N processes on as many "
    "machines share the queue in --resume DIR\n"
    "  --task-library FILE\n"
    "                  task.library: a library of your own tasks; one that only a run folder names "
    "is not loaded\n"
    "  --python NAME   the task is an environment in Python: module:name, or a Gymnasium id. "
    "Python "
    "carries the run out; `tce train --python NAME --help` tells its options\n"
    "  --threads N     run.threads\n"
    "  --steps N       run.steps: end after so many environment steps\n"
    "  --out DIR       the run folder; default runs/<task>__<method>__<seed>__<time>. Of a queue: "
    "the folder around its runs\n"
    "  --resume DIR    continue the run or the queue in DIR; CONFIG is not needed then\n"
    "  --restart       with --resume of a run: begin again. What is there is moved to "
    "DIR/before-restart-<n> first, nothing is lost\n"
    "  --init-from RUN start from the policy and normaliser of another run (run.init_from)\n"
    "  --quiet         only warnings and errors\n"
    "  --help          this, and every setting\n"
    "\n"
    "CONFIG is a file, task/method in examples/configs, or a folder, which stands for its "
    "tce.yaml. In a LIST of tasks the\n"
    "folder's name may be left out: with metaworld, door-open is metaworld_door_open, and all is "
    "every metaworld_...\n"
    "\n"
    "Ctrl-C finishes the iteration and saves; a second one ends at once.\n";

enum { SEED, THREADS, STEPS, LIBRARY, INIT, TASK, N_OVERRIDES };

typedef struct train_options {
    const char *out, *resume, *seeds, *tasks;
    int n_jobs, quiet, restart;
    queue_part part; /* --array */
    int n;           /* CONFIG and overrides, those of the options last */
    char **arguments;
    char storage[N_OVERRIDES][TEXT_SIZE + 64]; /* overrides made of options */
} train_options;

/* ---- command line ---------------------------------------------------------------------------- */

/* --seed N and its like become overrides. */
static void add_override(train_options *o, int slot, const char *key, const char *value)
{
    snprintf(o->storage[slot], sizeof o->storage[slot], "%s=%s", key, value);
}

/* --init-from RUN: where it lies is known in any working directory. Returns as take_option. */
static int add_init(train_options *o, const char *run)
{
    char *path = realpath(run, NULL);
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
    { "seed", required_argument, NULL, 's' },
    { "threads", required_argument, NULL, 't' },
    { "steps", required_argument, NULL, 'n' },
    { "out", required_argument, NULL, 'o' },
    { "resume", required_argument, NULL, 'r' },
    { "seeds", required_argument, NULL, 'S' },
    { "jobs", required_argument, NULL, 'j' },
    { "array", required_argument, NULL, 'a' },
    { "task", required_argument, NULL, 'T' },
    { "quiet", no_argument, NULL, 'q' },
    { "help", no_argument, NULL, 'h' },
    { "task-library", required_argument, NULL, 'L' },
    { "restart", no_argument, NULL, 'R' },
    { "init-from", required_argument, NULL, 'i' },
    { 0 },
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
    case 'q':
        o->quiet = 1;
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
    if (o->seeds && o->storage[SEED][0])
        return fail_usage("train", "--seeds already names the seeds: leave out --seed");
    if (o->storage[INIT][0] && !config)
        return fail_usage("train", "--init-from needs a CONFIG, for the run that begins");
    if (!config && !o->resume)
        return fail_usage("train", "name a settings file, for instance reacher5/tce");
    if ((o->seeds || o->tasks) && (!config || !is_config(config)))
        return fail_usage(
            "train", "--task and --seeds go with a CONFIG; a queue that is resumed has its own");
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
    for (int i = 0; i < N_OVERRIDES; i++)
        if (o->storage[i][0])
            o->arguments[o->n++] = o->storage[i];
    return -1;
}

/* The options' overrides over settings that come from a folder. */
static tce_status override_all(settings *s, const train_options *o)
{
    tce_status status = TCE_OK;
    for (int i = 0; status == TCE_OK && i < o->n; i++)
        status = settings_override(s, o->arguments[i]);
    return status == TCE_OK ? settings_check(s) : status;
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
    if (status != TCE_OK || strcmp(name ? name + 1 : config, "queue.yaml") != 0)
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

static int train_in(const char *folder, const settings *s, run_start start, display *d)
{
    run_result result = { 0 };
    run_observer observer;
    order o = { .kind = ORDER_TRAIN, .start = start, .s = *s };
    snprintf(o.folder, sizeof o.folder, "%s", folder);
    display_observe(d, &observer);
    signals_enter_folder();
    tce_status status = together_order(&o);
    if (status == TCE_OK)
        status = train_together(&o, &observer, &result);
    if (status != TCE_OK)
        return report_failure(d, status, folder, s, &result);
    if (result.interrupted)
        return report_interrupt(d, folder, s, &result);
    if (plot_run(folder) != TCE_OK)
        display_warn(d, "no curve.png: %s", tce_error_message());
    report_end(d, folder, s, &result);
    return EXIT_FINE;
}

/* ---- a queue --------------------------------------------------------------------------------- */

/* The queue in a folder is the one that the command line asks for. */
static tce_status check_same(const queue *asked, const queue *there)
{
    int same = asked->n == there->n;
    for (size_t i = 0; same && i < asked->n; i++)
        same = strcmp(asked->entries[i].task, there->entries[i].task) == 0 &&
               asked->entries[i].seed == there->entries[i].seed;
    return same ? TCE_OK
                : tce_fail(TCE_E_VALUE,
                           "%s has a queue of other tasks or seeds (see its queue.csv): leave "
                           "--task and --seeds away, or choose "
                           "another folder",
                           there->folder);
}

/*
 * Goes on with a queue that is there. asked: what CONFIG and lists would make of it, with its
 * settings; NULL without a CONFIG.
 */
static tce_status continue_queue(const train_options *o, const queue *asked, queue *q, settings *s)
{
    settings own;
    tce_status status = queue_load(q, o->resume, METHODS, &own);
    if (status != TCE_OK)
        return status;
    if (asked) {
        /* these two are the runs' own */
        snprintf(s->task.name, sizeof s->task.name, "%s", own.task.name);
        s->run.seed = own.run.seed;
        status = check_same(asked, q);
    } else {
        *s = own;
        status = override_all(s, o);
    }
    char path[RUN_PATH];
    if (status == TCE_OK)
        status = task_library_check(s);
    if (status == TCE_OK)
        status = run_path(o->resume, "queue.yaml", path);
    run_keep_schedule(&own, &own);
    run_keep_schedule(s, &own);
    return status == TCE_OK ? run_settings_agree(s, &own, path) : status;
}

/* The queue's own files first, then its runs. The folder is locked. */
static int work_through(const train_options *o, queue *asked, settings *s)
{
    queue q;
    memset(&q, 0, sizeof q);
    const int there = queue_exists(o->resume ? o->resume : asked->folder);
    tce_status status = there ? continue_queue(o, asked, &q, s) : TCE_OK;
    queue *chosen = there ? &q : asked;
    if (status == TCE_OK && o->n_jobs)
        chosen->n_jobs = o->n_jobs;
    run_keep_schedule(s, s);
    if (status == TCE_OK && o->part.count && !there)
        status = queue_begin_parts(chosen, o->part, s);
    if (status == TCE_OK)
        queue_take_part(chosen, o->part);
    int code = EXIT_FINE;
    if (status == TCE_OK && chosen->n > 0)
        status = jobs_run(chosen, s, o->quiet, &code);
    else if (status == TCE_OK && !o->quiet)
        printf("part %d of %d has no runs: the queue in %s has fewer\n", o->part.number,
               o->part.count, chosen->folder);
    queue_free(&q);
    return status == TCE_OK ? code : fail();
}

/* asked: NULL to continue the queue in o->resume. */
static int train_queue(const train_options *o, queue *asked, settings *s)
{
    const char *folder = asked ? asked->folder : o->resume;
    int lock = -1, code = EXIT_FAILED;
    if (o->restart)
        return fail_usage(
            "train",
            "--restart is for a single run, and %s is a queue: name one of its runs, or "
            "begin the queue in another folder",
            folder);
    if (together())
        return fail_usage("train", "a queue of runs is started by tce, without mpirun");
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
        code = work_through(o, asked, s);
        /* that of a part may just have come into being for another one */
        if (o->part.count == 0)
            queue_discard(folder);
    }
    run_unlock(lock);
    return code;
}

/* A new queue, or one that is there and the same. */
static int start_queue(const train_options *o, settings *s, const char *prefix, task_list *tasks)
{
    char folder[RUN_PATH], stem[2 * TEXT_SIZE];
    uint64_t *seeds = NULL;
    size_t n_seeds = 1;
    queue asked;
    memset(&asked, 0, sizeof asked);
    if (o->seeds && seeds_parse(o->seeds, &seeds, &n_seeds) != TCE_OK)
        return fail_usage("train", "%s", tce_error_message());
    snprintf(stem, sizeof stem, "%.*s__%s", tasks->n > 1 ? (int)strlen(prefix) - 1 : TASK_NAME,
             tasks->n > 1 ? prefix : tasks->names[0], s->table->name);
    if (o->resume || o->out)
        snprintf(folder, sizeof folder, "%s", o->resume ? o->resume : o->out);
    else
        run_folder_unique("runs", stem, folder, sizeof folder);

    const tce_status status = queue_create(&asked, folder, s, tasks, n_seeds,
                                           seeds ? seeds : &s->run.seed, o->part.count == 0);
    const int code = status == TCE_OK ? train_queue(o, &asked, s) : fail();
    queue_free(&asked);
    free(seeds);
    return code;
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
        return fail_usage("train",
                          "--jobs needs a queue: --seeds, several tasks, or --resume of a queue");
    if (o->part.count)
        return fail_usage("train",
                          "--array needs a queue: --seeds, several tasks, or --resume of a queue");
    run_keep_schedule(&s, &s);
    display_init(&d, o->quiet);
    if (o->resume || o->out)
        snprintf(folder, sizeof folder, "%s", o->resume ? o->resume : o->out);
    else
        run_folder_name(&s, "runs", folder, sizeof folder);
    return train_in(folder, &s, o->restart ? RUN_RESTART : o->resume ? RUN_RESUME : RUN_NEW, &d);
}

/* With --task or --seeds: one run, or a queue. */
static int start_listed(train_options *o)
{
    settings s;
    char prefix[TEXT_SIZE];
    task_list tasks;
    tce_status status = settings_from_arguments(&s, o->n, o->arguments);
    if (status == TCE_OK)
        status = config_prefix(METHODS, o->arguments[0], prefix, sizeof prefix);
    if (status == TCE_OK)
        status = task_list_parse(&tasks, &s, prefix, o->tasks ? o->tasks : s.task.name);
    if (status != TCE_OK)
        return fail();

    int code;
    if (tasks.n > 1 || o->seeds) {
        code = start_queue(o, &s, prefix, &tasks);
    } else {
        add_override(o, TASK, "task.name", tasks.names[0]);
        o->arguments[o->n++] = o->storage[TASK];
        code = start_run(o);
    }
    task_list_free(&tasks);
    return code;
}

int cmd_train(int argc, char **argv)
{
    train_options o = { 0 };
    int code = parse(&o, argc, argv);
    if (code < 0) {
        signals_catch();
        settings s;
        if (o.seeds || o.tasks)
            code = start_listed(&o);
        else if (o.resume && queue_exists(o.resume))
            code = train_queue(&o, NULL, &s);
        else
            code = start_run(&o);
    }
    free(o.arguments);
    return code;
}
