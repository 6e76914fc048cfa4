/*
 * tce train: a new run, a run that goes on, or several seeds side by side.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "plot.h"
#include "run.h"

static const char OPTIONS[] = "  --seed N        run.seed\n"
                              "  --threads N     run.threads\n"
                              "  --steps N       run.steps: end after so many environment steps\n"
                              "  --out DIR       the run folder; default runs/<task>__<method>__<seed>__<time>\n"
                              "  --resume DIR    go on with the run in DIR; CONFIG is not needed then\n"
                              "  --seeds LIST    several runs, e.g. 1-5,25; --out is then the folder around them\n"
                              "  --jobs N        of these so many at once; default: one a core\n"
                              "  --quiet         only warnings and errors\n"
                              "  --help          this, and every setting\n"
                              "\n"
                              "Ctrl-C finishes the iteration and saves; a second one ends at once.\n";

typedef struct train_options {
    const char *out, *resume, *seeds;
    int n_jobs, quiet;
    int n;                /* CONFIG and overrides, those of the options last */
    char **arguments;
    char storage[3][128]; /* overrides made of options */
} train_options;

/* ---- command line ------------------------------------------------------------------------------ */

/* --seed N and its like become overrides. */
static void add_override(train_options *o, int slot, const char *key, const char *value)
{
    snprintf(o->storage[slot], sizeof o->storage[slot], "%s=%s", key, value);
}

static int read_jobs(const char *text, int *out)
{
    char *end;
    const long n = strtol(text, &end, 10);
    *out = (int)n;
    return end != text && *end == '\0' && n >= 1 && n <= 1024;
}

/* Returns -1 when the command may begin, else the exit status. */
static int parse(train_options *o, int argc, char **argv)
{
    static const struct option LONG[] = {
        { "seed", required_argument, NULL, 's' },  { "threads", required_argument, NULL, 't' }, { "steps", required_argument, NULL, 'n' },
        { "out", required_argument, NULL, 'o' },   { "resume", required_argument, NULL, 'r' },  { "seeds", required_argument, NULL, 'S' },
        { "jobs", required_argument, NULL, 'j' },  { "quiet", no_argument, NULL, 'q' },         { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "hqo:s:j:", LONG, NULL)) != -1) {
        switch (c) {
        case 's': add_override(o, 0, "run.seed", optarg); break;
        case 't': add_override(o, 1, "run.threads", optarg); break;
        case 'n': add_override(o, 2, "run.steps", optarg); break;
        case 'o': o->out = optarg; break;
        case 'r': o->resume = optarg; break;
        case 'S': o->seeds = optarg; break;
        case 'q': o->quiet = 1; break;
        case 'h': return print_help("train", OPTIONS, 1);
        case 'j':
            if (!read_jobs(optarg, &o->n_jobs))
                return fail_usage("train", "--jobs %s, must be a whole number from 1 to 1024", optarg);
            break;
        default: return fail_usage("train", "no such option, or its value is missing");
        }
    }
    if (o->resume && o->out)
        return fail_usage("train", "--resume names the run folder already: leave --out away");
    if (o->seeds && (o->resume || o->storage[0][0]))
        return fail_usage("train", "--seeds starts new runs and tells their seeds: leave --resume and --seed away");
    if (o->n_jobs && !o->seeds)
        return fail_usage("train", "--jobs goes with --seeds");
    if (optind == argc && !o->resume)
        return fail_usage("train", "name a settings file, for instance reacher5/tce");

    o->arguments = calloc((size_t)(argc - optind + 3), sizeof *o->arguments);
    if (!o->arguments)
        return fail_usage("train", "no memory");
    for (int i = optind; i < argc; i++)
        o->arguments[o->n++] = argv[i];
    for (int i = 0; i < 3; i++)
        if (o->storage[i][0])
            o->arguments[o->n++] = o->storage[i];
    return -1;
}

/* Settings of a run that goes on: its own, with overrides, or those of a CONFIG, which must agree. */
static tce_status settings_to_resume(settings *s, const train_options *o)
{
    char path[RUN_PATH];
    settings own;
    const int has_config = o->n > 0 && !strchr(o->arguments[0], '=');
    tce_status status = run_path(o->resume, "config.yaml", path);
    if (status == TCE_OK && !run_exists(o->resume))
        return has_config ? settings_from_arguments(s, o->n, o->arguments)
                          : tce_fail(TCE_E_NOT_FOUND, "%s has no config.yaml, so it is no run folder: name a run folder, or also a CONFIG to begin the run "
                                                      "with", o->resume);
    settings_init(&own);
    if (status == TCE_OK)
        status = settings_load(&own, path);
    if (status != TCE_OK)
        return status;
    if (has_config) {
        status = settings_from_arguments(s, o->n, o->arguments);
    } else {
        *s = own;
        for (int i = 0; status == TCE_OK && i < o->n; i++)
            status = settings_override(s, o->arguments[i]);
        if (status == TCE_OK)
            status = settings_check(s);
    }
    return status == TCE_OK ? run_settings_agree(s, &own, path) : status;
}

/* ---- a run ------------------------------------------------------------------------------------- */

static void report_end(display *d, const char *folder, const settings *s, const run_result *r)
{
    char spent[32];
    display_duration(r->seconds, spent, sizeof spent);
    display_note(d, "done: %" PRId64 " iterations, %" PRId64 " environment steps, %s", r->iteration, r->env_steps, spent);
    if (!isnan(r->eval_return))
        display_note(d, "mean policy, %d episodes: success %.3f, return %.4g", (int)s->evaluate.episodes, r->eval_success, r->eval_return);
    display_note(d, "%s    (tce eval %s, tce plot %s)", folder, folder, folder);
}

/* What is saved after a failure, and how to go on. */
static int report_failure(display *d, tce_status status, const char *folder, const run_result *r)
{
    display_end(d);
    fail();
    if (status == TCE_E_ENV || status == TCE_E_ENV_NAN)
        fprintf(stderr, "tce: collect.on_fault=drop leaves such episodes out and counts them\n");
    if (r->saved > 0)
        fprintf(stderr, "tce: saved up to iteration %" PRId64 "; go on with:  tce train --resume %s\n", r->saved, folder);
    return EXIT_FAILED;
}

static int report_interrupt(display *d, const char *folder, const run_result *r)
{
    display_end(d);
    if (r->saved > 0)
        fprintf(stderr, "tce: stopped and saved after iteration %" PRId64 "; go on with:  tce train --resume %s\n", r->saved, folder);
    else
        fprintf(stderr, "tce: stopped before the first iteration was done\n");
    return EXIT_INTERRUPTED;
}

/* Learner and threads are there; the folder is locked. */
static int train(const char *folder, const settings *s, learner *l, int resume, display *d)
{
    run_result result;
    const tce_status status = run_train(folder, s, l, resume, d, &result);
    if (status != TCE_OK)
        return report_failure(d, status, folder, &result);
    if (result.interrupted)
        return report_interrupt(d, folder, &result);
    if (plot_run(folder) != TCE_OK)
        display_warn(d, "no curve.png: %s", tce_error_message());
    report_end(d, folder, s, &result);
    return EXIT_FINE;
}

/* Threads, learner, training; each with its end. */
static int train_locked(const char *folder, const settings *s, const task *t, int resume, display *d)
{
    tce_pool_options options;
    tce_pool *pool = NULL;
    learner *l = NULL;
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = s->run.threads;
    tce_status status = tce_pool_create(&options, NULL, &pool);
    if (status == TCE_OK)
        status = method_of(s)->create(s, t, pool, &l);
    const int code = status == TCE_OK ? train(folder, s, l, resume, d) : fail();
    if (l)
        method_of(s)->destroy(l);
    tce_pool_free(pool);
    return code;
}

/* The folder first: whoever comes second learns it before any work. */
static int train_in(const char *folder, const settings *s, int resume, display *d)
{
    task t;
    int lock = -1;
    if (task_open(s, &t) != TCE_OK)
        return fail();
    int code = EXIT_FINE;
    if (run_folder_create(folder) != TCE_OK || run_lock(folder, &lock) != TCE_OK) {
        code = fail();
    } else if (!resume && run_exists(folder)) {
        fprintf(stderr, "tce: %s has a run already: go on with --resume %s, or choose another --out\n", folder, folder);
        code = EXIT_FAILED;
    } else {
        if (!resume)
            display_note(d, "%s", folder);
        code = train_locked(folder, s, &t, resume, d);
        run_folder_discard(folder);
    }
    run_unlock(lock);
    task_close(&t);
    return code;
}

static int train_seeds(const settings *s, const train_options *o)
{
    jobs_options jobs = { s, NULL, 0, o->n_jobs, o->out ? o->out : "runs", o->n, o->arguments, o->quiet };
    uint64_t *seeds = NULL;
    if (seeds_parse(o->seeds, &seeds, &jobs.n_seeds) != TCE_OK)
        return fail_usage("train", "%s", tce_error_message());
    jobs.seeds = seeds;
    const int code = jobs_run(&jobs);
    free(seeds);
    return code;
}

static int start(const train_options *o)
{
    settings s;
    display d;
    char folder[RUN_PATH];
    const tce_status status = o->resume ? settings_to_resume(&s, o) : settings_from_arguments(&s, o->n, o->arguments);
    if (status != TCE_OK)
        return fail();
    run_catch_signals();
    if (o->seeds)
        return train_seeds(&s, o);

    display_init(&d, o->quiet);
    tce_blas_set_threads(1);
    if (o->resume || o->out)
        snprintf(folder, sizeof folder, "%s", o->resume ? o->resume : o->out);
    else
        run_folder_name(&s, "runs", folder, sizeof folder);
    return train_in(folder, &s, o->resume != NULL, &d);
}

int cmd_train(int argc, char **argv)
{
    train_options o = { 0 };
    int code = parse(&o, argc, argv);
    if (code < 0)
        code = start(&o);
    free(o.arguments);
    return code;
}
