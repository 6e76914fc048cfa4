/*
 * tce bench: what an iteration costs and where the time goes.
 *
 * Whole iterations of a method run as in training. Their processor time (all threads, so that other
 * programs on the machine do not count) is compared with that of the environment alone: after each
 * iteration the mean policy plays as many episodes, and every thread at once, for itself, runs them
 * again straight through the task's functions, so that cores share what they share in training.
 * A method that collects steps instead of episodes has as many as an evaluation; each of its timed
 * iterations is followed by one with a clock around the physics, which tells how near its rollouts
 * come to bare mj_step calls on as many threads.
 * What is left is the method's and the library's own. Reported is the iteration whose rest is the
 * median share of it: its numbers belong together, and a moment when the machine was busy does not
 * count.
 *
 * Of several ranks the numbers are those of the first: its wall-clock and processor time, and what
 * it has received from the others.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/bench_tasks.h"
#include "commands/commands.h"
#include "commands/together.h"
#include "methods/methods.h"
#include "tools/blas.h"
#include "tools/memory.h"

#define DEFAULT_ITERATIONS 10
/* Iterations that are not timed, at most: until a method that learns later does. */
#define MOST_WARM_UP 10000

static const char OPTIONS[] =
    "  --tasks           instead, time a step of each task (or of --task) beside bare mj_step "
    "calls\n"
    "  --task NAME       task.name\n"
    "  --task-library FILE\n"
    "                    task.library: a library of your own tasks; one that only a run folder "
    "names is not loaded\n"
    "  --iterations N    how many iterations, or rounds of --tasks, to time; one before them is "
    "not "
    "timed,\n"
    "                    nor are those before a method begins to learn [10]\n"
    "  --threads N       run.threads\n"
    "  --json            print one JSON object instead of the table\n"
    "  --help            print this, and every setting\n";

/* What is measured of an iteration; the seconds of the method's phases follow. */
enum {
    WALL,
    PROCESSOR,
    STEPS,
    ENVIRONMENT,
    PHYSICS,   /* 0 where it is not known, as the next one */
    REACHED,   /* physics per thread / wall-clock time of the rollouts that it is of */
    RUN_CALLS, /* of ranks: collective calls and bytes received, for episodes and agreement */
    RUN_BYTES,
    POOL_CALLS, /* and for passes of networks */
    POOL_BYTES,
    N_NUMBERS
};

/* A learner that is timed, and episodes of its agent to run again. */
typedef struct bench {
    int64_t iterations;
    size_t n_threads;
    const settings *s;
    const method *way;
    ranks *ranks;
    tce_pool *pool;
    void *learner;
    tasks_step_cost_function step_cost; /* or NULL */
    episodes ep;
    memory arrays;
    size_t n_row;    /* N_NUMBERS and the phases */
    int64_t done;    /* iterations so far */
    double *rows;    /* [iterations, n_row], seconds and steps per iteration */
    double *spare;   /* [n_row] of an iteration with clocks in it */
    double *values;  /* [columns] of an iteration */
    double *seconds; /* [threads] of the replays */
    double *work;    /* [threads, n_work] of the replays */
    size_t n_work;
    int *same;        /* [threads] the replays brought the same returns */
    int same_rewards; /* all of them */
} bench;

static double clock_seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- environment alone ----------------------------------------------------------------------- */

static tce_status add_reward(void *context, void *instance, size_t t, double reward)
{
    double *sum = context;
    (void)instance, (void)t;
    *sum += reward;
    return TCE_OK;
}

/* All episodes again, by one thread for itself. */
static tce_status replay_all(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    const bench *b = context;
    const episodes *ep = &b->ep;
    double *work = b->work + chunk * b->n_work;
    void *instance = NULL;
    (void)begin, (void)end, (void)worker;
    b->same[chunk] = 1;
    tce_status status = ep->vtable->create(NULL, b->s->task.options, &instance);
    const double start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (size_t e = 0; status == TCE_OK && e < ep->E; e++) {
        double sum = 0.0;
        status = collect_replay(ep, e, instance, work, add_reward, &sum);
        if (status == TCE_OK && ep->M > 0)
            status = ep->vtable->metrics(instance, work + ep->O + 2 * ep->D);
        b->same[chunk] &= sum == ep->returns[e];
    }
    b->seconds[chunk] = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
    if (instance)
        ep->vtable->destroy(instance);
    return status;
}

/* Processor seconds of one step of the task. */
static tce_status time_step(bench *b, uint64_t number, double *out)
{
    tce_status status = episodes_collect(&b->ep, number, 0, NULL, NULL);
    if (status == TCE_OK)
        status = tce_pool_run(b->pool, b->n_threads, 1, replay_all, b);
    *out = 0.0;
    for (size_t k = 0; status == TCE_OK && k < b->n_threads; k++) {
        *out += b->seconds[k] / ((double)b->n_threads * (double)b->ep.n_steps);
        b->same_rewards &= b->same[k];
    }
    return status;
}

/* ---- whole iterations ------------------------------------------------------------------------ */

static double own_share(const double *row)
{
    return (row[PROCESSOR] - row[ENVIRONMENT]) / row[PROCESSOR];
}

/* by the share of what is left */
static int ascending(const void *a, const void *b)
{
    const double x = own_share(a), y = own_share(b);
    return (x > y) - (x < y);
}

/* The next iteration of the learner, and what it took. */
static tce_status time_learner(bench *b, double *row)
{
    memset(row, 0, b->n_row * sizeof *row);
    progress made = { .values = b->values, .seconds = row + N_NUMBERS };
    const ranks_traffic own = ranks_own_traffic(b->ranks);
    const ranks_traffic pool = ranks_traffic_of_pools(b->ranks);
    const double wall = clock_seconds(CLOCK_MONOTONIC);
    const double processor = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const tce_status status = b->way->iterate(b->learner, ++b->done, &made);
    row[WALL] = clock_seconds(CLOCK_MONOTONIC) - wall;
    row[PROCESSOR] = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
    row[STEPS] = (double)made.env_steps;
    row[RUN_CALLS] = (double)(ranks_own_traffic(b->ranks).calls - own.calls);
    row[RUN_BYTES] = (double)(ranks_own_traffic(b->ranks).bytes - own.bytes);
    row[POOL_CALLS] = (double)(ranks_traffic_of_pools(b->ranks).calls - pool.calls);
    row[POOL_BYTES] = (double)(ranks_traffic_of_pools(b->ranks).bytes - pool.bytes);
    return status;
}

/* Every phase but the update is of the rollouts. */
static double rollout_seconds(const bench *b, const double *row)
{
    double sum = 0.0;
    for (size_t k = 0; b->way->phases[k]; k++)
        if (strcmp(b->way->phases[k], "update") != 0)
            sum += row[N_NUMBERS + k];
    return sum;
}

/* One more iteration, for PHYSICS and REACHED of `row`. */
static tce_status time_physics(bench *b, double *row)
{
    tasks_step_cost cost;
    if (!b->step_cost || b->way->plans)
        return TCE_OK;
    b->step_cost(1, &cost);
    const tce_status status = time_learner(b, b->spare);
    b->step_cost(0, &cost);
    row[PHYSICS] = cost.seconds / b->spare[STEPS] * row[STEPS];
    row[REACHED] = cost.seconds / (double)b->n_threads / rollout_seconds(b, b->spare);
    return status;
}

static tce_status time_iteration(bench *b, double *row)
{
    double step = 0.0;
    tce_status status = time_learner(b, row);
    if (status == TCE_OK)
        status = time_step(b, (uint64_t)b->done, &step);
    row[ENVIRONMENT] = step * row[STEPS];
    return status == TCE_OK ? time_physics(b, row) : status;
}

static int every_phase_took_time(const bench *b, const double *row)
{
    for (size_t k = N_NUMBERS; k < b->n_row; k++)
        if (row[k] <= 0.0)
            return 0;
    return 1;
}

/* One rank that is decides for all. */
static int is_warming_up(const bench *b, tce_status *status)
{
    int32_t warming_up = !every_phase_took_time(b, b->rows);
    *status = ranks_most(b->ranks, &warming_up);
    return *status == TCE_OK && warming_up;
}

/* The first iterations, up to one with all phases, touch all memory and do not count. */
static tce_status time_iterations(bench *b)
{
    double step;
    b->same_rewards = 1;
    tce_status status = time_learner(b, b->rows);
    while (status == TCE_OK && is_warming_up(b, &status) && b->done < MOST_WARM_UP)
        status = time_learner(b, b->rows);
    if (status == TCE_OK)
        status = time_step(b, (uint64_t)b->done, &step);
    for (int64_t i = 0; status == TCE_OK && i < b->iterations; i++)
        status = time_iteration(b, b->rows + (size_t)i * b->n_row);
    if (status == TCE_OK)
        qsort(b->rows, (size_t)b->iterations, b->n_row * sizeof *b->rows, ascending);
    return status;
}

static const double *median_row(const bench *b)
{
    return b->rows + (size_t)(b->iterations - 1) / 2 * b->n_row;
}

/* The largest share of bare mj_step calls that rollouts reached: what disturbs them lowers it. */
static double best_reached(const bench *b)
{
    double best = 0.0;
    for (int64_t i = 0; i < b->iterations; i++)
        best = fmax(best, b->rows[(size_t)i * b->n_row + REACHED]);
    return best;
}

/* ---- report ---------------------------------------------------------------------------------- */

static void print_json(const bench *b)
{
    const double *row = median_row(b);
    printf("{\"task\": \"%s\", \"method\": \"%s\", \"threads\": %zu, \"iterations\": %" PRId64
           ", \"episodes\": %zu, \"seconds\": %.9g, ",
           b->s->task.name, b->s->table->name, b->n_threads, b->iterations, b->ep.E, row[WALL]);
    for (size_t k = 0; b->way->phases[k]; k++)
        printf("\"%s\": %.9g, ", b->way->phases[k], row[N_NUMBERS + k]);
    printf("\"processor_seconds\": %.9g, \"environment_seconds\": %.9g, ", row[PROCESSOR],
           row[ENVIRONMENT]);
    if (row[PHYSICS] > 0.0)
        printf("\"mj_step_seconds\": %.9g, \"rollouts_reached\": %.6g, "
               "\"rollouts_reached_best\": %.6g, ",
               row[PHYSICS], row[REACHED], best_reached(b));
    printf("\"own_share\": %.6g, \"env_steps\": %.0f, \"steps_per_second\": %.9g, "
           "\"env_microseconds_per_step\": %.6g, \"replay_same\": %s, \"ranks\": %d, ",
           own_share(row), row[STEPS], row[STEPS] / row[WALL], 1e6 * row[ENVIRONMENT] / row[STEPS],
           b->same_rewards ? "true" : "false", (int)ranks_count(b->ranks));
    printf("\"run_calls\": %.0f, \"run_bytes\": %.0f, \"network_calls\": %.0f, "
           "\"network_bytes\": %.0f}\n",
           row[RUN_CALLS], row[RUN_BYTES], row[POOL_CALLS], row[POOL_BYTES]);
}

static void print_part(const char *name, double seconds, double of, const char *note)
{
    printf("  %-15s %10.4f s  %5.1f %%  %s\n", name, seconds, 100.0 * seconds / of, note);
}

/* What ranks share of an iteration, and what they repeat. */
static void print_ranks(const bench *b)
{
    const double *row = median_row(b);
    const double mega = 1e-6;
    printf("\n%d ranks: what they share per iteration, and what the first one receives\n",
           (int)ranks_count(b->ranks));
    printf("  %-15s split by %s, %.0f exchanges, %.3f MB\n", "simulation",
           b->way->plans ? "episode" : "environment", row[RUN_CALLS], mega * row[RUN_BYTES]);
    if (row[POOL_CALLS] > 0.0)
        printf("  %-15s passes over many rows split by row, %.0f exchanges, %.3f MB\n", "networks",
               row[POOL_CALLS], mega * row[POOL_BYTES]);
    else
        printf("  %-15s repeated on every rank: too few rows to be worth sending\n", "networks");
    printf("  %-15s repeated on every rank\n", "all else");
}

static void print_table(const bench *b)
{
    const double *row = median_row(b);
    char note[256], of_ranks[64] = "";
    if (b->ranks)
        snprintf(of_ranks, sizeof of_ranks, "%d ranks of ", (int)ranks_count(b->ranks));
    printf("%s, %s, %.0f environment steps per iteration, %s%zu threads; the median of %" PRId64
           " iterations\n\n",
           b->s->task.name, b->s->table->name, row[STEPS], of_ranks, b->n_threads, b->iterations);
    printf("wall-clock time\n");
    snprintf(note, sizeof note, "%.0f environment steps per second", row[STEPS] / row[WALL]);
    print_part("iteration", row[WALL], row[WALL], note);
    for (size_t k = 0; b->way->phases[k]; k++)
        print_part(b->way->phases[k], row[N_NUMBERS + k], row[WALL], "");

    printf("\nprocessor time, all threads\n");
    print_part("iteration", row[PROCESSOR], row[PROCESSOR], "");
    snprintf(note, sizeof note, "%.2f us per step, through the task's functions alone%s",
             1e6 * row[ENVIRONMENT] / row[STEPS],
             b->same_rewards ? "" : " (rewards differ: approximate)");
    print_part("environment", row[ENVIRONMENT], row[PROCESSOR], note);
    if (row[PHYSICS] > 0.0) {
        snprintf(note, sizeof note,
                 "%.2f us per step; by the clock, rollouts reach %.1f %% of it, at best %.1f %%",
                 1e6 * row[PHYSICS] / row[STEPS], 100.0 * row[REACHED], 100.0 * best_reached(b));
        print_part("mj_step alone", row[PHYSICS], row[PROCESSOR], note);
    }
    print_part("everything else", row[PROCESSOR] - row[ENVIRONMENT], row[PROCESSOR],
               "the method's and the library's own");
    if (b->ranks)
        print_ranks(b);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Threads, learner, episodes, arrays. */
static tce_status create(bench *b, const task *t)
{
    const settings *s = b->s;
    const int32_t n_episodes = s->collect.episodes > 0 ? s->collect.episodes : s->evaluate.episodes;
    const episodes_options episodes = { n_episodes, s->collect.environments, PURPOSE_EVAL_ENV, "",
                                        NULL };
    const char *const *names;
    tce_pool_options options;
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = s->run.threads;
    ranks_join_pool(t->ranks, &options);
    tce_status status = tce_pool_create(&options, NULL, &b->pool);
    const method_context c = { s, t, b->pool };
    if (status == TCE_OK)
        status = b->way->create(&c, &b->learner);
    if (status == TCE_OK)
        status = episodes_create(&b->ep, t, s, b->pool, &episodes);
    if (status == TCE_OK)
        status = episodes_allocate(&b->ep, b->way->agent(b->learner), &b->arrays);
    if (status != TCE_OK)
        return status;

    b->step_cost = step_cost_of(t->vtable);
    b->n_threads = tce_pool_n_threads(b->pool);
    b->n_row = N_NUMBERS + method_n_phases(b->way);
    b->n_work = b->ep.O + 2 * b->ep.D + b->ep.M;
    b->rows = memory_doubles(&b->arrays, (size_t)b->iterations * b->n_row);
    b->spare = memory_doubles(&b->arrays, b->n_row);
    b->values = memory_doubles(&b->arrays, b->way->columns(b->learner, &names));
    b->seconds = memory_doubles(&b->arrays, b->n_threads);
    b->work = memory_doubles(&b->arrays, b->n_threads * b->n_work);
    b->same = memory_take(&b->arrays, b->n_threads, sizeof *b->same);
    return b->arrays.failed
               ? tce_fail(TCE_E_NOMEM, "no memory for the numbers of %" PRId64 " iterations",
                          b->iterations)
               : TCE_OK;
}

static tce_status measure(bench *b, const task *t)
{
    const tce_status status = ranks_agree(t->ranks, create(b, t));
    return status == TCE_OK ? time_iterations(b) : status;
}

static void free_bench(bench *b)
{
    episodes_free(&b->ep);
    b->way->destroy(b->learner);
    memory_free(&b->arrays);
    tce_pool_free(b->pool);
}

static bench begin(const order *o, const task *t)
{
    const bench b = {
        .iterations = o->iterations, .s = &o->s, .way = method_of(&o->s), .ranks = t->ranks
    };
    return b;
}

tce_status bench_together(const order *o, const task *t)
{
    bench b = begin(o, t);
    const tce_status status = measure(&b, t);
    free_bench(&b);
    return status;
}

static int run_bench(const settings *s, task *t, int64_t iterations, int json)
{
    const order o = { .kind = ORDER_BENCH, .iterations = iterations, .s = *s };
    tce_status status = together_order(&o);
    t->ranks = together();
    bench b = begin(&o, t);
    status = ranks_agree(t->ranks, status);
    if (status == TCE_OK)
        status = measure(&b, t);
    const int result = status == TCE_OK ? EXIT_FINE : fail();
    if (result == EXIT_FINE && json)
        print_json(&b);
    else if (result == EXIT_FINE)
        print_table(&b);
    free_bench(&b);
    return result;
}

/* --task and --threads become overrides. */
typedef struct bench_options {
    int64_t iterations;
    int json, tasks;
    const char *task, *threads, *library;
} bench_options;

/* Returns -1 when the command may begin, else the exit status. */
static int parse(bench_options *o, int argc, char **argv)
{
    static const struct option LONG[] = {
        { "help", no_argument, NULL, 'h' },
        { "task", required_argument, NULL, 'k' },
        { "iterations", required_argument, NULL, 'i' },
        { "threads", required_argument, NULL, 't' },
        { "json", no_argument, NULL, 'j' },
        { "tasks", no_argument, NULL, 'a' },
        { "task-library", required_argument, NULL, 'L' },
        { 0 },
    };
    int c;
    char *end;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", LONG, NULL)) != -1) {
        switch (c) {
        case 'h':
            return print_help("bench", OPTIONS, 1);
        case 'k':
            o->task = optarg;
            break;
        case 't':
            o->threads = optarg;
            break;
        case 'L':
            o->library = optarg;
            break;
        case 'j':
            o->json = 1;
            break;
        case 'a':
            o->tasks = 1;
            break;
        case 'i':
            o->iterations = strtol(optarg, &end, 10);
            if (end == optarg || *end || o->iterations < 1 || o->iterations > 1000000)
                return fail_usage(
                    "bench", "--iterations %s, must be a whole number from 1 to 1000000", optarg);
            break;
        default:
            return fail_option("bench", argv, LONG, 1);
        }
    }
    return -1;
}

int cmd_bench(int argc, char **argv)
{
    bench_options o = { DEFAULT_ITERATIONS, 0, 0, NULL, NULL, NULL };
    const int code = parse(&o, argc, argv);
    if (code >= 0)
        return code;
    settings s;
    tce_status status = settings_from_arguments(&s, argc - optind, argv + optind);
    if (status == TCE_OK && o.task)
        status = settings_set(&s, "task", "name", o.task, "command line");
    if (status == TCE_OK && o.library)
        status = settings_name_library(&s, o.library);
    if (status == TCE_OK && o.threads)
        status = settings_set(&s, "run", "threads", o.threads, "command line");
    if (status == TCE_OK && o.tasks)
        return bench_tasks(&s, o.task, o.iterations, o.json);
    task t;
    if (status == TCE_OK)
        status = blas_begin();
    if (status == TCE_OK)
        status = task_open(&s, &t);
    if (status != TCE_OK)
        return fail();
    if (task_suggest(&t, &s) != TCE_OK) {
        task_close(&t);
        return fail();
    }

    const int result = run_bench(&s, &t, o.iterations, o.json);
    task_close(&t);
    return result;
}
