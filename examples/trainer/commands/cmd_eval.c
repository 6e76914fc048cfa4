/*
 * tce eval: what the mean policy of a run, or of each run of a queue, does on resets that training
 * never saw: return, metrics of the task, smoothness, episodes as files, video and picture.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/demos.h"
#include "commands/eval_rows.h"
#include "commands/still.h"
#include "commands/video.h"
#include "methods/methods.h"
#include "queue/queue.h"
#include "report/stats.h"
#include "run/policy_runner.h"
#include "commands/progress_line.h"
#include "tools/blas.h"
#include "tools/memory.h"

#define DEFAULT_EPISODES 200
#define FASTEST_VIDEO 60.0 /* frames per second; faster tasks show every second step, or fewer */
#define REST 0.5           /* seconds that the last state of an episode stays in view */

static const char OPTIONS[] =
    "  --episodes N        number of episodes [200]\n"
    "  --seed N            seed of the episodes' resets [the run's]\n"
    "  --threads N         number of threads [the run's]\n"
    "  --task-library FILE\n"
    "                      library of the run's task; one that only the "
    "run folder names is not loaded\n"
    "  --python NAME       the run's environment in Python, "
    "module:name or a Gymnasium id\n"
    "  --csv FILE          write one row per episode; for a queue, of all its "
    "runs. \"-\" is stdout, without the report\n"
    "  --json FILE         write the same as JSON, with the means\n"
    "  --paths FILE.csv    write desired paths and first observations, as "
    "`tce fit` takes them\n"
    "  --video FILE.mp4    film the first episodes; FILE.gif for a web page\n"
    "  --video-episodes N  how many episodes to film [5]\n"
    "  --picture FILE.png  draw the last state of the first episode\n"
    "  --moments N         show N moments of the episode in the picture, "
    "earlier ones fainter\n"
    "  --size WxH          size of video and picture in pixels [960x720]\n"
    "  --help              print this\n";

typedef struct eval_options {
    const char *folder, *video, *picture, *library, *paths, *csv, *json;
    int32_t episodes, video_episodes, threads; /* threads -1: the run's */
    int32_t width, height, moments;
    uint64_t seed;
    int has_seed;
    int quiet; /* episodes go to stdout: no report */
} eval_options;

/* ---- numbers --------------------------------------------------------------------------------- */

/*
 * Mean and its standard error, NaN for less than two, over the episodes that were not dropped; value
 * of episode e at x[e * stride].
 */
static double mean_of(const episodes *ep, const double *x, size_t stride, double *error)
{
    double n = 0.0, sum = 0.0, squares = 0.0;
    for (size_t e = 0; e < ep->E; e++)
        if (ep->lengths[e] > 0) {
            n += 1.0;
            sum += x[e * stride];
        }
    const double mean = sum / n;
    for (size_t e = 0; e < ep->E; e++)
        if (ep->lengths[e] > 0)
            squares += (x[e * stride] - mean) * (x[e * stride] - mean);
    *error = n > 1.0 ? sqrt(squares / (n - 1.0) / n) : NAN;
    return mean;
}

static void print_mean(const char *name, const episodes *ep, const double *x, size_t stride)
{
    double error;
    printf("  %-26s %11.5g", name, mean_of(ep, x, stride, &error));
    if (!isnan(error))
        printf(" +- %.2g", error);
    printf("\n");
}

/* A run of a queue in one line: return, and success where the task has it. */
static void print_line(const char *run, const policy_runner *p)
{
    const episodes *ep = &p->ep;
    double error;
    const double mean = mean_of(ep, ep->returns, 1, &error);
    printf("%s  return %.5g", run, mean);
    if (!isnan(error))
        printf(" +- %.2g", error);
    for (size_t k = 0; k < ep->M; k++)
        if (strcmp(ep->spec->metric_names[k], "success") == 0)
            printf("  success %.3f", mean_of(ep, ep->results + k, ep->M, &error));
    if (ep->n_dropped > 0)
        printf("  dropped %zu", ep->n_dropped);
    printf("\n");
    fflush(stdout);
}

/*
 * Jerk of the joints over all episodes, of the measured or the desired velocity. jerks: scratch [E,
 * 4].
 */
static void print_smoothness(const policy_runner *p, int measured, double *velocity, double *jerks)
{
    static const char *const NAMES[] = { "largest jerk", "mean squared jerk", "dimensionless jerk",
                                         "  as an integral" };
    const episodes *ep = &p->ep;
    for (size_t e = 0; e < ep->E; e++) {
        smoothness found;
        memset(&found, 0, sizeof found);
        if (!(measured ? episodes_measured_velocity : episodes_desired_velocity)(ep, e, velocity))
            return;
        stats_smoothness((size_t)ep->lengths[e], ep->D, velocity, ep->spec->dt, &found);
        memcpy(jerks + 4 * e, &found, 4 * sizeof *jerks);
    }
    printf("smoothness, %s velocities\n", measured ? "measured" : "desired");
    for (size_t i = 0; i < 4; i++)
        print_mean(NAMES[i], ep, jerks + i, 4);
}

static tce_status print_report(const policy_runner *p)
{
    const episodes *ep = &p->ep;
    int failed = 0;
    double *jerks = array_of_doubles(4 * ep->E, &failed);
    double *velocity = array_of_doubles(ep->T * ep->D, &failed);
    if (!failed) {
        printf("%s, %s, seed %" PRIu64 ": mean policy, %zu episode%s\n", p->s.task.name,
               p->s.table->name, p->s.run.seed, ep->E,
               ep->E == 1 ? "" : "s (mean +- standard error)");
        if (ep->n_dropped > 0)
            printf("  dropped                    %11zu\n", ep->n_dropped);
        print_mean("return", ep, ep->returns, 1);
        for (size_t k = 0; k < ep->M; k++)
            print_mean(ep->spec->metric_names[k], ep, ep->results + k, ep->M);
        print_smoothness(p, 1, velocity, jerks);
        print_smoothness(p, 0, velocity, jerks);
    }
    free(jerks);
    free(velocity);
    return failed ? tce_fail(TCE_E_NOMEM, "no memory for %zu episodes", ep->E) : TCE_OK;
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* What episodes are drawn into while they are replayed. */
typedef struct film {
    const tce_env_vtable *env;
    const eval_options *o;
    const episodes *ep;
    void *instance;
    double *work; /* of the replay */
    uint8_t *rgb;
    video *video; /* NULL: none */
    size_t e;     /* the episode that is shown */
    size_t skip;  /* steps per frame */
    double rate;  /* frames per second */
    progress_line steps;
} film;

static tce_status show(void *context, void *instance, size_t t, double reward)
{
    film *f = context;
    const size_t length = (size_t)f->ep->lengths[f->e];
    const int frames = t == 0 ? 1 : t == length ? (int)(REST * f->rate) : t % f->skip == 0;
    (void)reward;
    if (t > 0)
        progress_line_add(&f->steps, 1);
    if (!f->video || frames == 0)
        return TCE_OK;
    tce_status status = f->env->render(instance, f->o->width, f->o->height, f->rgb);
    for (int i = 0; status == TCE_OK && i < frames; i++)
        status = video_frame(f->video, f->rgb);
    return status;
}

static tce_status make_film(film *f, const policy_runner *p)
{
    const eval_options *o = f->o;
    const size_t n = o->video ? (size_t)o->video_episodes : 0;
    size_t n_steps = 0;
    f->skip = (size_t)ceil(1.0 / (FASTEST_VIDEO * f->ep->spec->dt) - 1e-9);
    f->rate = 1.0 / (f->ep->spec->dt * (double)f->skip);
    for (size_t e = 0; e < n && e < f->ep->E; e++)
        n_steps += (size_t)f->ep->lengths[e];
    progress_line_start(&f->steps, "filming", n_steps, "steps");
    tce_status status = f->env->create(NULL, p->ep.task_options, &f->instance);
    if (status == TCE_OK && o->video)
        status = video_open(o->video, o->width, o->height, f->rate, &f->video);
    for (f->e = 0; status == TCE_OK && f->e < n && f->e < f->ep->E; f->e++) {
        status = collect_replay(f->ep, f->e, f->instance, f->work, show, f);
    }
    if (status == TCE_OK && o->picture && f->ep->E > 0)
        status = still_write(o->picture, f->env, f->ep, 0, f->instance, f->work, (size_t)o->moments,
                             o->width, o->height);
    progress_line_end(&f->steps);
    if (f->video) {
        const tce_status closed = video_close(f->video);
        status = status == TCE_OK ? closed : status;
    }
    return status;
}

static tce_status film_episodes(const policy_runner *p, const eval_options *o)
{
    film f = { .env = p->t.vtable, .o = o, .ep = &p->ep };
    if (!f.env->render)
        return tce_fail(TCE_E_UNSUPPORTED, "the task %s cannot be drawn", p->s.task.name);
    int failed = 0;
    f.work = array_of_doubles(p->ep.O + 2 * p->ep.D, &failed);
    f.rgb = array_of((size_t)o->width * (size_t)o->height, 3, &failed);
    const tce_status status = failed ? tce_fail(TCE_E_NOMEM, "no memory for a picture")
                                     : make_film(&f, p);
    if (f.instance)
        f.env->destroy(f.instance);
    free(f.work);
    free(f.rgb);
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Plays the episodes of a run or a policy in it, and adds them to the rows. */
static tce_status play(policy_runner *p, const char *run, const eval_options *o, tce_pool **pool,
                       eval_rows *rows)
{
    tce_status status = policy_runner_load(p, run, METHODS, o->library, NULL);
    if (status != TCE_OK)
        return status;
    const uint64_t seed = p->s.run.seed;
    p->s.run.seed = o->has_seed ? o->seed : p->s.run.seed;
    tce_pool_options options;
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = o->threads >= 0 ? o->threads : p->s.run.threads;
    status = tce_pool_create(&options, NULL, pool);
    if (status == TCE_OK)
        status = policy_runner_create(p, o->episodes, *pool);
    progress_line played;
    progress_line_start(&played, "playing", 0, "episodes");
    if (status == TCE_OK)
        status = policy_runner_run(p, progress_line_show, &played);
    progress_line_end(&played);
    return status == TCE_OK ? eval_rows_add(rows, run, &p->s, seed, &p->ep) : status;
}

/* The files that were written, below the report. */
static void print_files(const eval_options *o)
{
    const char *const files[] = { o->paths, o->video, o->picture };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i])
            printf("%s\n", files[i]);
}

/* All that can be had, then what is missing: the remedy is the last line, where it is seen. */
static tce_status evaluate(policy_runner *p, const eval_options *asked, tce_pool **pool,
                           eval_rows *rows)
{
    eval_options possible = *asked;
    const eval_options *o = &possible;
    if (asked->video && video_check() != TCE_OK)
        possible.video = NULL;
    tce_status status = play(p, o->folder, o, pool, rows);
    if (status == TCE_OK && !o->quiet)
        status = print_report(p);
    if (status == TCE_OK && o->paths)
        status = demos_write(o->paths, &p->ep);
    if (status == TCE_OK && (o->video || o->picture))
        status = film_episodes(p, o);
    if (status == TCE_OK && asked->video && !o->video) {
        status = video_check();
        status = tce_fail(status, "%s was not made: %s", asked->video, tce_error_message());
    }
    if (status == TCE_OK && !o->quiet)
        print_files(o);
    return status;
}

static tce_status evaluate_one(const eval_options *o, eval_rows *rows)
{
    policy_runner p;
    tce_pool *pool = NULL;
    const tce_status status = evaluate(&p, o, &pool, rows);
    policy_runner_close(&p);
    tce_pool_free(pool);
    return status;
}

/* A run of a queue; one that has no policy yet is left out with a word. */
static tce_status evaluate_entry(const char *run, const eval_options *o, eval_rows *rows)
{
    policy_runner p;
    tce_pool *pool = NULL;
    tce_status status = play(&p, run, o, &pool, rows);
    if (status == TCE_OK && !o->quiet)
        print_line(run, &p);
    if (status == TCE_E_NOT_FOUND) {
        fprintf(stderr, "tce: left out: %s\n", tce_error_message());
        status = TCE_OK;
    }
    policy_runner_close(&p);
    tce_pool_free(pool);
    return status;
}

static tce_status evaluate_queue(const eval_options *o, eval_rows *rows)
{
    queue q;
    char run[RUN_PATH];
    tce_status status = queue_load(&q, o->folder, METHODS);
    if (status != TCE_OK)
        return status;
    for (size_t i = 0; status == TCE_OK && i < q.n; i++) {
        status = queue_run_path(&q, &q.entries[i], run);
        if (status == TCE_OK)
            status = evaluate_entry(run, o, rows);
    }
    if (status == TCE_OK && rows->n == 0)
        status = tce_fail(TCE_E_NOT_FOUND, "no run of %s has a policy yet", o->folder);
    queue_free(&q);
    return status;
}

static tce_status write_rows(const eval_options *o, const eval_rows *rows)
{
    tce_status status = o->csv ? eval_rows_csv(rows, o->csv) : TCE_OK;
    if (status == TCE_OK && o->json)
        status = eval_rows_json(rows, o->json);
    return status;
}

/* A whole number in least … most. */
static int read_number(const char *text, int64_t least, int64_t most, int64_t *out)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    *out = value;
    return errno == 0 && end != text && *end == '\0' && value >= least && value <= most;
}

static const struct option LONG[] = { { "episodes", required_argument, NULL, 'n' },
                                      { "seed", required_argument, NULL, 's' },
                                      { "threads", required_argument, NULL, 't' },
                                      { "video", required_argument, NULL, 'v' },
                                      { "picture", required_argument, NULL, 'p' },
                                      { "video-episodes", required_argument, NULL, 'e' },
                                      { "moments", required_argument, NULL, 'm' },
                                      { "size", required_argument, NULL, 'z' },
                                      { "help", no_argument, NULL, 'h' },
                                      { "task-library", required_argument, NULL, 'l' },
                                      { "paths", required_argument, NULL, 'P' },
                                      { "csv", required_argument, NULL, 'C' },
                                      { "json", required_argument, NULL, 'J' },
                                      { 0 } };

/* --seed, read as the setting is. */
static int take_seed(eval_options *o, const char *text)
{
    settings scratch;
    tce_status status = settings_init(&scratch, METHODS, NULL);
    if (status == TCE_OK)
        status = settings_set(&scratch, "run", "seed", text, "--seed");
    if (status != TCE_OK)
        return fail_usage("eval", "%s", tce_error_message());
    o->seed = scratch.run.seed;
    o->has_seed = 1;
    return -1;
}

/* One option, with its value in optarg. -1 when it is read, else the exit status. */
static int take_option(eval_options *o, int c, char **argv)
{
    int64_t number = 0;
    char end;
    switch (c) {
    case 'h':
        return print_help("eval", OPTIONS, 0);
    case 'v':
        o->video = optarg;
        return -1;
    case 'p':
        o->picture = optarg;
        return -1;
    case 'P':
        o->paths = optarg;
        return -1;
    case 'l':
        o->library = optarg;
        return -1;
    case 'C':
    case 'J':
        *(c == 'C' ? &o->csv : &o->json) = optarg;
        o->quiet |= strcmp(optarg, "-") == 0;
        return -1;
    case 'z':
        if (sscanf(optarg, "%" SCNd32 "x%" SCNd32 "%c", &o->width, &o->height, &end) != 2 ||
            o->width < 16 || o->height < 16 || o->width > 8192 || o->height > 8192)
            return fail_usage("eval", "--size %s: must be WxH, 16 to 8192 each", optarg);
        return -1;
    case 'm':
        if (!read_number(optarg, STILL_LEAST_MOMENTS, STILL_MOST_MOMENTS, &number))
            return fail_usage("eval", "--moments %s: must be %d to %d", optarg, STILL_LEAST_MOMENTS,
                              STILL_MOST_MOMENTS);
        o->moments = (int32_t)number;
        return -1;
    case 's':
        return take_seed(o, optarg);
    case 'n':
    case 'e':
    case 't':
        if (!read_number(optarg, c == 't' ? 0 : 1, 1000000, &number))
            return fail_usage("eval", "\"%s\" is not a number of %s", optarg,
                              c == 't' ? "threads" : "episodes");
        *(c == 't' ? &o->threads : c == 'n' ? &o->episodes : &o->video_episodes) = (int32_t)number;
        return -1;
    default:
        return fail_option("eval", argv, LONG, 0);
    }
}

/* -1 when the options are read, else the exit status. */
static int read_options(int argc, char **argv, eval_options *o)
{
    static char found[RUN_PATH];
    *o = (eval_options){
        .episodes = DEFAULT_EPISODES, .video_episodes = 5, .threads = -1, .moments = 1
    };
    o->width = 960;
    o->height = 720;
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "h", LONG, NULL)) != -1;) {
        const int ended = take_option(o, c, argv);
        if (ended >= 0)
            return ended;
    }
    if (argc - optind != 1)
        return fail_usage("eval", "name one run folder; %d are given", argc - optind);
    o->folder = run_find(argv[optind], found);
    if (queue_exists(o->folder) && (o->video || o->picture || o->paths))
        return fail_usage("eval",
                          "%s is a queue: --video, --picture and --paths are for one of its runs",
                          o->folder);
    return -1;
}

int cmd_eval(int argc, char **argv)
{
    eval_options o;
    const int ended = read_options(argc, argv, &o);
    if (ended >= 0)
        return ended;
    if (blas_begin() != TCE_OK)
        return fail();
    eval_rows rows = { 0 };
    tce_status status = queue_exists(o.folder) ? evaluate_queue(&o, &rows)
                                               : evaluate_one(&o, &rows);
    /* episodes that were played are written, whatever a film has lacked */
    if (rows.n > 0 && (o.csv || o.json)) {
        char reason[1024];
        snprintf(reason, sizeof reason, "%s", tce_error_message());
        const tce_status written = write_rows(&o, &rows);
        if (status == TCE_OK)
            status = written;
        else if (written == TCE_OK)
            status = tce_fail(status, "%s", reason);
    }
    const int result = status == TCE_OK ? EXIT_FINE : fail();
    eval_rows_free(&rows);
    return result;
}
