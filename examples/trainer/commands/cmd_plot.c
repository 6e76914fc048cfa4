/*
 * tce plot: statistics, curves, profile, smoothness and action correlation of runs, as CSV files
 * and pictures.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/progress_line.h"
#include "queue/queue.h"
#include "report/plot.h"
#include "tools/blas.h"
#include "tools/files.h"
#include "tools/memory.h"

static const char OPTIONS[] =
    "A RUN is a run folder, or a folder of run folders such as a queue. Runs of one task and "
    "method "
    "become one line; with several tasks there is\n"
    "also a line for all tasks of a method.\n\n"
    "  --out DIR        folder for the results [plots]\n"
    "  --metric NAME    column of progress.csv to plot [eval_success, or eval_return if "
    "the task has no success metric]\n"
    "  --x NAME         column to plot it against [env_steps]\n"
    "  --label TEXT     name of the runs that follow, instead of their method\n"
    "  --hold           a run that ended before the others keeps its last value\n"
    "  --smooth W       draw running means of each run's measurements, s <- W s + (1 - W) y, "
    "as in many publications [0: as measured]\n"
    "  --over FILE      draw published points over the curves: a CSV file with the columns "
    "source,method,environment_steps and the value last\n"
    "  --episodes N     episodes of each policy for smoothness and correlation; 0: none [100; with "
    "several tasks 0]\n"
    "  --samples N      for a policy that acts at every step: correlate the actions of N >= 2 "
    "exploring episodes from one start, which\n"
    "                   includes feedback through the state [0: correlate its noise]\n"
    "  --threads N      threads for these episodes; 0: all cores [0]\n"
    "  --task-library FILE\n"
    "                   library of the runs' tasks, for --episodes; one that only a run folder "
    "names is not loaded\n"
    "  --no-pictures    write only CSV files\n"
    "  --help           print this\n\n"
    "Writes curves.csv, profile.csv and summary.csv, with several tasks also aggregate_curves.csv "
    "and aggregate_profile.csv, with --episodes also\n"
    "smoothness.csv and correlation_*.csv; and pictures of them.\n";

/* More than anybody waits for. */
#define MAX_EPISODES 1000000
#define MAX_SAMPLES 100000
#define MAX_THREADS 1024

/* Of one task; those of many tasks would take hours, and correlation matrices of all gigabytes. */
#define DEFAULT_EPISODES 100

typedef struct plot_options {
    const char *out, *library;
    int hold, pictures;
    int32_t n_episodes; /* -1: not told */
    int32_t n_samples;
    int32_t n_threads;
    size_t n_over;
    const char **over; /* [n_over] files of points */
} plot_options;

/* A whole number in 0 … most; -1 when the text is anything else. */
static int32_t read_count(const char *text, long most)
{
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    return errno || end == text || *end || value < 0 || value > most ? -1 : (int32_t)value;
}

/* A number of at least 0 and below 1; -1 when the text is anything else. */
static double read_weight(const char *text)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    return end == text || *end || !(value >= 0.0 && value < 1.0) ? -1.0 : value;
}

/* Runs of one line should differ in their seeds only. */
static void warn_of_mixtures(const plot_data *data)
{
    for (size_t i = 0; i < data->tasks.n; i++) {
        const plot_group *g = &data->tasks.list[i];
        const setting_row *row = plot_difference(data, g);
        if (row)
            fprintf(stderr,
                    "tce plot: runs of %s on %s differ in %s.%s; --label tells them apart\n",
                    g->label, g->task, row->section, row->key);
        for (size_t a = 0; a < g->R; a++)
            for (size_t b = 0; b < a; b++)
                if (data->runs[g->runs[a]].s.run.seed == data->runs[g->runs[b]].s.run.seed)
                    fprintf(
                        stderr,
                        "tce plot: %s and %s have the same seed: they are not independent runs\n",
                        data->runs[g->runs[b]].folder, data->runs[g->runs[a]].folder);
    }
}

/* What makes lines over all tasks hard to compare. */
static void warn_of_aggregates(const plot_data *data)
{
    for (size_t i = 0; i < data->aggregates.n; i++) {
        const plot_group *g = &data->aggregates.list[i];
        if (g->n_left_out > 0)
            fprintf(stderr,
                    "tce plot: the tasks of %s do not all have the same number of runs: the "
                    "figures over all tasks use the first %zu of each task and leave out %zu\n",
                    g->label, g->R, g->n_left_out);
    }
    const char *lonely = plot_lonely_task(data);
    if (lonely)
        fprintf(stderr,
                "tce plot: not every method has runs of %s: the methods cannot be compared over "
                "all tasks\n",
                lonely);
}

static tce_status write_all(const plot_data *data, const plot_options *o)
{
    const int32_t n_episodes = o->n_episodes >= 0       ? o->n_episodes
                               : data->aggregates.n > 0 ? 0
                                                        : DEFAULT_EPISODES;
    tce_status status = folder_make(o->out);
    if (status == TCE_OK) {
        plot_clear(o->out);
        status = plot_write_statistics(data, o->out);
    }
    if (status == TCE_OK && o->n_over > 0)
        status = plot_write_points(data, o->out, o->n_over, o->over);
    if (status == TCE_OK && n_episodes > 0) {
        tce_pool_options options;
        tce_pool *pool = NULL;
        tce_pool_options_init(&options, sizeof options);
        options.n_threads = o->n_threads;
        status = tce_pool_create(&options, NULL, &pool);
        if (status == TCE_OK)
            status = plot_write_policies(data, o->out, o->library, n_episodes, pool);
        tce_pool_free(pool);
    }
    if (status == TCE_OK && o->pictures) {
        printf("\n");
        fflush(stdout);
        status = plot_draw(o->out, 0);
    }
    return status;
}

/* What the command line says: folders [n] with the label that each goes by. */
typedef struct plot_arguments {
    plot_options options;
    const char *metric, *x_name;
    double smooth;
    size_t n;
    const char **folders, **labels;
    const char *label; /* of the folders that follow */
    int help;
} plot_arguments;

static const struct option LONG[] = {
    { "help", no_argument, NULL, 'h' },
    { "out", required_argument, NULL, 'o' },
    { "metric", required_argument, NULL, 'm' },
    { "x", required_argument, NULL, 'x' },
    { "label", required_argument, NULL, 'l' },
    { "over", required_argument, NULL, 'v' },
    { "hold", no_argument, NULL, 'k' },
    { "episodes", required_argument, NULL, 'e' },
    { "samples", required_argument, NULL, 'S' },
    { "threads", required_argument, NULL, 't' },
    { "no-pictures", no_argument, NULL, 'n' },
    { "smooth", required_argument, NULL, 's' },
    { "task-library", required_argument, NULL, 'L' },
    { 0 },
};

static void add_folder(plot_arguments *a, const char *folder)
{
    a->folders[a->n] = folder;
    a->labels[a->n++] = a->label;
}

/* One option or folder. EXIT_FINE, or EXIT_USAGE after saying why. */
static int take_option(plot_arguments *a, int c, char **argv)
{
    plot_options *o = &a->options;
    switch (c) {
    case 1:
        add_folder(a, optarg);
        break;
    case 'h':
        a->help = 1;
        break;
    case 'o':
        o->out = optarg;
        break;
    case 'L':
        o->library = optarg;
        break;
    case 'm':
        a->metric = optarg;
        break;
    case 'x':
        a->x_name = optarg;
        break;
    case 'l':
        a->label = optarg;
        break;
    case 'v':
        o->over[o->n_over++] = optarg;
        break;
    case 'k':
        o->hold = 1;
        break;
    case 'e':
        o->n_episodes = read_count(optarg, MAX_EPISODES);
        break;
    case 'S':
        o->n_samples = read_count(optarg, MAX_SAMPLES);
        break;
    case 't':
        o->n_threads = read_count(optarg, MAX_THREADS);
        break;
    case 'n':
        o->pictures = 0;
        break;
    case 's':
        a->smooth = read_weight(optarg);
        break;
    default:
        return fail_option("plot", argv, LONG, 0);
    }
    return EXIT_FINE;
}

/* The value of the option that came last. */
static int check_option(const plot_arguments *a, int c)
{
    if ((c == 'e' && a->options.n_episodes < 0) || a->options.n_threads < 0)
        return fail_usage("plot", "\"%s\" must be a whole number, at least 0, and not so large",
                          optarg);
    if (a->options.n_samples < 0 || a->options.n_samples == 1)
        return fail_usage("plot", "--samples \"%s\" must be a whole number from 2 to %d, or 0",
                          optarg, MAX_SAMPLES);
    if (a->smooth < 0.0)
        return fail_usage("plot", "--smooth \"%s\" must be a number of at least 0 and below 1",
                          optarg);
    if (c == 'l' && (a->label[0] == '\0' || strlen(a->label) >= LABEL_SIZE))
        return fail_usage("plot", "--label must have 1 to %d characters", LABEL_SIZE - 1);
    return EXIT_FINE;
}

/* EXIT_FINE, or EXIT_USAGE after saying why. */
static int read_arguments(int argc, char **argv, plot_arguments *a)
{
    /* "-": folders come in order with the options, since a label holds for those after it */
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "-ho:", LONG, NULL)) != -1) {
        int code = take_option(a, c, argv);
        if (code == EXIT_FINE)
            code = check_option(a, c);
        if (code != EXIT_FINE || a->help)
            return code;
    }
    /* what stands behind "--" */
    for (; optind < argc; optind++)
        add_folder(a, argv[optind]);

    const plot_options *o = &a->options;
    if (a->n == 0)
        return fail_usage("plot", "no RUN given");
    if (strlen(a->metric) >= METRIC_NAME)
        return fail_usage("plot", "--metric: a name of %zu characters is too long",
                          strlen(a->metric));
    if (o->n_over > 0 && strcmp(a->x_name, "env_steps") != 0)
        return fail_usage("plot", "--over has points over environment steps: leave out --x");
    return o->out[0] ? EXIT_FINE : fail_usage("plot", "--out is empty");
}

static void warn(void *context, const char *sentence)
{
    (void)context;
    fprintf(stderr, "tce plot: %s\n", sentence);
}

static tce_status plot_runs(const plot_arguments *a)
{
    plot_data data;
    memset(&data, 0, sizeof data);
    snprintf(data.metric, sizeof data.metric, "%s", a->metric);
    data.x_name = a->x_name;
    data.holds_runs = queue_exists;
    data.run_labels = queue_run_labels;
    data.methods = METHODS;
    data.smooth = a->smooth;
    data.n_samples = (size_t)a->options.n_samples;
    data.out = stdout;
    data.say.warn = warn;
    progress_line played;
    progress_line_start(&played, "playing", 0, "episodes");
    data.played = progress_line_show;
    data.played_context = &played;
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < a->n; i++)
        status = plot_add(&data, a->folders[i], a->labels[i]);
    if (status == TCE_OK)
        status = plot_form_groups(&data, a->options.hold);
    if (status == TCE_OK) {
        warn_of_mixtures(&data);
        warn_of_aggregates(&data);
        status = write_all(&data, &a->options);
    }
    progress_line_end(&played);
    plot_free(&data);
    return status;
}

int cmd_plot(int argc, char **argv)
{
    plot_arguments a = { .options = { .out = "plots", .pictures = 1, .n_episodes = -1 },
                         .metric = "",
                         .x_name = "env_steps" };
    int failed = 0;
    a.folders = array_of((size_t)argc, sizeof *a.folders, &failed);
    a.labels = array_of((size_t)argc, sizeof *a.labels, &failed);
    a.options.over = array_of((size_t)argc, sizeof *a.options.over, &failed);
    int code = EXIT_FAILED;
    if (failed)
        fprintf(stderr, "tce: no memory for the arguments\n");
    else
        code = read_arguments(argc, argv, &a);

    if (code == EXIT_FINE && a.help)
        code = print_help("plot", OPTIONS, 0);
    else if (code == EXIT_FINE) {
        code = blas_begin() == TCE_OK && plot_runs(&a) == TCE_OK ? EXIT_FINE : fail();
    }
    free(a.folders);
    free(a.labels);
    free(a.options.over);
    return code;
}
