/*
 * tce bench: what an iteration costs and where the time goes.
 *
 * Whole iterations of a method run as in training. Their processor time (all threads, so that other
 * programs on the machine do not count) is compared with two parts that are measured alone, right
 * after each iteration, by every thread at once for itself, so that cores share what they share in
 * training:
 *     environment   its episodes once more: same resets, same desired paths, straight through the
 *                   task's functions
 *     products      the matrix products of the networks' passes and of the segment likelihoods,
 *                   same shapes and as many, straight through cblas_?gemm
 * What is left is the trainer's and the library's own: primitive, factorisations, projection, Adam,
 * activations, copies, threads. Reported is the iteration whose rest is the median share of it: its
 * numbers belong together, and a moment when the machine was busy does not count.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/bench_tasks.h"
#include "commands/commands.h"
#include "methods/episodic.h"
#include "tools/memory.h"

#define DEFAULT_ITERATIONS 10
/* Seconds that a set of products is repeated for. */
#define LEAST_SECONDS 0.02
/*
 * How a network cuts a batch: chunks of 64 to 256 rows, at least 16 of them where there are enough
 * rows.
 */
#define LEAST_ROWS 64
#define MOST_ROWS 256
#define CHUNKS 16

static const char OPTIONS[] =
    "  --tasks           a step of each task (of --task alone) beside bare mj_step calls instead\n"
    "  --task NAME       task.name\n"
    "  --task-library FILE\n"
    "                    task.library: a library of your own tasks; one that only a run folder "
    "names is not loaded\n"
    "  --iterations N    iterations, or rounds of --tasks, that are timed, after one that is not "
    "[10]\n"
    "  --threads N       run.threads\n"
    "  --json            one JSON object instead of the table\n"
    "  --help            this, and every setting\n";

typedef struct bench {
    int64_t iterations;
    int32_t threads;
    double wall, processor;            /* seconds an iteration */
    double simulation, critic, policy; /* of wall */
    double steps;                      /* environment steps an iteration */
    double environment;                /* processor seconds an iteration, replayed */
    double products;  /* the same of the networks' products; NaN: no cblas to call */
    double gflops;    /* rate of these, of one thread beside the others */
    int same_rewards; /* the replay brought what the iteration saw */
} bench;

static double clock_seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- environment alone ----------------------------------------------------------------------- */

/*
 * Episode e: reset from its own stream, then its desired path. *same: the return is the iteration's
 * to the bit.
 */
static tce_status replay_episode(const tce_env_vtable *vtable, void *instance, const learner *l,
                                 uint64_t number, size_t e, double *work, int *same)
{
    const episodes *ep = &l->train;
    const size_t n_rounds = (ep->E + ep->N - 1) / ep->N;
    double *obs = work, *pos = work + ep->O, *vel = pos + ep->D;
    tce_random random;
    tce_random_start(&random, l->s.run.seed, PURPOSE_TRAIN_ENV, e % ep->N,
                     number * n_rounds + e / ep->N);
    tce_status status = vtable->reset(instance, &random, obs, pos, vel);
    double sum = 0.0;
    int32_t event = 0;
    for (int32_t t = 0; status == TCE_OK && t < ep->lengths[e]; t++) {
        const size_t at = (e * ep->T + (size_t)t) * ep->D;
        tce_env_result result = { 0 };
        result.event = event;
        status = vtable->step(instance, ep->pos + at, ep->vel + at, obs, &result);
        sum += result.reward;
        event = result.event;
    }
    *same &= sum == l->returns[e];
    return status;
}

/* The episodes of collection `number`; *same as above. */
static tce_status time_environment(const tce_env_vtable *vtable, const learner *l, uint64_t number,
                                   double *seconds, int *same)
{
    const episodes *ep = &l->train;
    void *instance = NULL;
    int failed = 0;
    double *work = array_of_doubles(ep->O + 2 * ep->D + ep->M, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for an observation");
    tce_status status = vtable->create(NULL, l->s.task.options, &instance);
    const double start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (size_t e = 0; status == TCE_OK && e < ep->E; e++) {
        status = replay_episode(vtable, instance, l, number, e, work, same);
        if (status == TCE_OK && vtable->metrics && ep->M > 0)
            status = vtable->metrics(instance, work + ep->O + 2 * ep->D);
    }
    *seconds = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
    if (instance)
        vtable->destroy(instance);
    free(work);
    return status;
}

/* ---- matrix products alone ------------------------------------------------------------------- */

typedef void (*gemm_float)(int order, int ta, int tb, int m, int n, int k, float alpha,
                           const float *A, int lda, const float *B, int ldb, float beta, float *C,
                           int ldc);
typedef void (*gemm_double)(int order, int ta, int tb, int m, int n, int k, double alpha,
                            const double *A, int lda, const double *B, int ldb, double beta,
                            double *C, int ldc);
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

/* The products of a network of some widths, and memory for the largest operands. */
typedef struct products {
    gemm_float f;
    gemm_double d;
    int is_float;
    int n_layers;
    int32_t width[MAX_LIST + 2];
    void *a, *b, *c;
    double operations;
} products;

static void multiply(products *p, int ta, int tb, int m, int n, int k)
{
    const int lda = ta == PLAIN ? k : m, ldb = tb == PLAIN ? n : k;
    p->operations += 2.0 * m * n * k;
    if (p->is_float)
        p->f(ROW_MAJOR, ta, tb, m, n, k, 1.0F, p->a, lda, p->b, ldb, 0.0F, p->c, n);
    else
        p->d(ROW_MAJOR, ta, tb, m, n, k, 1.0, p->a, lda, p->b, ldb, 0.0, p->c, n);
}

/*
 * One chunk forward, and backward when asked. Layers with one output are dot products in the
 * library and not counted here.
 */
static void one_chunk(products *p, int rows, int backward)
{
    for (int l = 0; l < p->n_layers; l++)
        if (p->width[l + 1] > 1)
            multiply(p, PLAIN, TRANSPOSED, rows, p->width[l + 1], p->width[l]);
    for (int l = p->n_layers; backward && l-- > 0;) {
        if (p->width[l + 1] == 1)
            continue;
        multiply(p, TRANSPOSED, PLAIN, p->width[l + 1], p->width[l], rows);
        if (l > 0)
            multiply(p, PLAIN, PLAIN, rows, p->width[l], p->width[l + 1]);
    }
}

/* Seconds of one pass over a batch; *operations is added to. */
static double time_pass(products *p, size_t batch, int backward, double *operations)
{
    size_t rows = LEAST_ROWS;
    while (rows < MOST_ROWS && batch > rows * CHUNKS)
        rows *= 2;
    const int repeats_of_chunk = (int)(batch / rows), rest = (int)(batch % rows);
    int passes = 0;
    p->operations = 0.0;
    const double start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    double now = start;
    for (; now - start < LEAST_SECONDS; passes++, now = clock_seconds(CLOCK_THREAD_CPUTIME_ID)) {
        for (int i = 0; i < repeats_of_chunk; i++)
            one_chunk(p, (int)rows, backward);
        if (rest > 0)
            one_chunk(p, rest, backward);
    }
    *operations = p->operations / passes;
    return (now - start) / passes;
}

/*
 * Finds cblas in the program and takes memory for operands of at most n rows and columns. *missing:
 * no cblas to call.
 */
static tce_status products_create(products *p, size_t n, int *missing)
{
    memset(p, 0, sizeof *p);
    void *program = dlopen(NULL, RTLD_NOW);
    if (program) {
        *(void **)&p->f = dlsym(program, "cblas_sgemm");
        *(void **)&p->d = dlsym(program, "cblas_dgemm");
    }
    *missing = !p->f || !p->d;
    int failed = 0;
    p->a = array_of_doubles(n * n, &failed);
    p->b = array_of_doubles(n * n, &failed);
    p->c = array_of_doubles(n * n, &failed);
    return failed ? tce_fail(TCE_E_NOMEM, "no memory for matrices of %zu rows", n) : TCE_OK;
}

static void products_free(products *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Adds n_full passes forward and backward and n_forward passes forward only of a network. */
static tce_status add_network(double *seconds, const settings *s, size_t n_in,
                              const setting_ints *hidden, size_t n_out, size_t batch, double n_full,
                              double n_forward, double *operations)
{
    size_t widest = larger(larger(n_in, n_out), MOST_ROWS);
    for (int i = 0; i < hidden->n; i++)
        widest = larger(widest, (size_t)hidden->v[i]);
    products p;
    int missing;
    const tce_status status = products_create(&p, widest, &missing);
    if (missing)
        *seconds = NAN;
    if (status == TCE_OK && !missing) {
        p.is_float = s->policy.precision == TCE_NET_FLOAT;
        p.n_layers = hidden->n + 1;
        p.width[0] = (int32_t)n_in;
        for (int i = 0; i < hidden->n; i++)
            p.width[i + 1] = hidden->v[i];
        p.width[p.n_layers] = (int32_t)n_out;
        double full = 0.0, forward = 0.0;
        *seconds += n_full * time_pass(&p, batch, 1, &full);
        *seconds += n_forward * time_pass(&p, batch, 0, &forward);
        *operations += n_full * full + n_forward * forward;
    }
    products_free(&p);
    return status;
}

/*
 * The products of a likelihood of J segments and its gradients, for n episodes that share a
 * covariance; see src/segment/likelihood.c.
 */
static void one_likelihood(products *p, int n, int D, int C, int J)
{
    const int K = J + 1, dim = 2 * D;
    for (int d = 1; d <= D; d++) {
        multiply(p, PLAIN, PLAIN, K, d * C, C);
        multiply(p, PLAIN, TRANSPOSED, K, n, C);
        multiply(p, TRANSPOSED, PLAIN, n, C, K);
        multiply(p, TRANSPOSED, PLAIN, C, d * C, K);
    }
    for (int j = 0; j < J; j++) {
        multiply(p, PLAIN, PLAIN, dim, n, dim);
        multiply(p, TRANSPOSED, PLAIN, dim, n, dim);
        multiply(p, PLAIN, TRANSPOSED, dim, dim, n);
        multiply(p, PLAIN, PLAIN, dim, D * C, dim);
    }
}

/* Adds one likelihood with gradients for each policy epoch. */
static tce_status add_likelihoods(double *seconds, const settings *s, const episodes *ep,
                                  double *operations)
{
    const int contextual = s->policy.covariance == TCE_POLICY_FULL_CONTEXTUAL;
    const int n = contextual ? 1 : (int)ep->E, groups = contextual ? (int)ep->E : 1;
    const int J = (int)s->objective.time_points - 1;
    products p;
    int missing;
    const tce_status status = products_create(&p, larger(larger(ep->E, ep->P), (size_t)J + 1),
                                              &missing);
    if (status == TCE_OK && !missing) {
        int repeats = 0;
        const double start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
        double now = start;
        for (; now - start < LEAST_SECONDS; repeats++, now = clock_seconds(CLOCK_THREAD_CPUTIME_ID))
            for (int g = 0; g < groups; g++)
                one_likelihood(&p, n, (int)ep->D, (int)(ep->P / ep->D), J);
        *seconds += (double)s->policy.epochs * (now - start) / repeats;
        *operations += (double)s->policy.epochs * p.operations / repeats;
    }
    products_free(&p);
    return status;
}

static tce_status time_products(const learner *l, double *seconds, double *operations)
{
    const settings *s = &l->s;
    const episodes *ep = &l->train;
    const int each_step = s->run.method == METHOD_TCE;

    /*
     * values once, then the epochs in minibatches; the mean for the roll-out, for each epoch and at
     * the end
     */
    const size_t rows = each_step ? (size_t)ep->n_steps : ep->E;
    const size_t parts = (size_t)s->critic.minibatches < rows ? (size_t)s->critic.minibatches
                                                              : rows;
    *seconds = *operations = 0.0;
    tce_status status = add_network(seconds, s, ep->O_net, &s->critic.hidden, 1, rows / parts,
                                    (double)s->critic.epochs * (double)parts, (double)parts,
                                    operations);
    if (status == TCE_OK)
        status = add_network(seconds, s, ep->O_net, &s->policy.hidden, ep->P, ep->E,
                             s->policy.epochs, 2.0, operations);
    if (status == TCE_OK && s->policy.covariance == TCE_POLICY_FULL_CONTEXTUAL)
        status = add_network(seconds, s, ep->O_net, &s->policy.hidden, ep->P * (ep->P + 1) / 2,
                             ep->E, s->policy.epochs, 2.0, operations);
    if (status == TCE_OK && each_step)
        status = add_likelihoods(seconds, s, ep, operations);
    return status;
}

/* ---- whole iterations, each with its parts --------------------------------------------------- */

/* What is measured of an iteration. */
enum {
    WALL,
    PROCESSOR,
    SIMULATION,
    CRITIC,
    POLICY,
    STEPS,
    ENVIRONMENT,
    PRODUCTS,
    GFLOPS,
    N_NUMBERS
};

static double rest_of(const double *numbers)
{
    return (numbers[PROCESSOR] - numbers[ENVIRONMENT] -
            (isnan(numbers[PRODUCTS]) ? 0.0 : numbers[PRODUCTS])) /
           numbers[PROCESSOR];
}

/* by the share of what is left */
static int ascending(const void *a, const void *b)
{
    const double x = rest_of(a), y = rest_of(b);
    return (x > y) - (x < y);
}

/* The parts of iteration i as one thread measures them. */
typedef struct parts {
    double environment, products, operations;
    int same;
} parts;

typedef struct parts_job {
    const tce_env_vtable *vtable;
    const learner *l;
    uint64_t number;
    parts *all; /* one a thread */
} parts_job;

static tce_status time_parts(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    const parts_job *job = context;
    parts *p = &job->all[chunk];
    (void)begin, (void)end, (void)worker;
    p->same = 1;
    const tce_status status = time_environment(job->vtable, job->l, job->number, &p->environment,
                                               &p->same);
    return status == TCE_OK ? time_products(job->l, &p->products, &p->operations) : status;
}

/* Iteration i and its parts, into numbers [N_NUMBERS]. */
static tce_status time_iteration(const method *way, const task *t, learner *l, tce_pool *pool,
                                 int64_t i, double *numbers, bench *b)
{
    metrics m = { 0 };
    timings spent = { 0 };
    const size_t n = (size_t)b->threads;
    int failed = 0;
    parts *all = array_of(n, sizeof *all, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for the parts of %zu threads", n);
    const double wall = clock_seconds(CLOCK_MONOTONIC);
    const double processor = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    tce_status status = way->iterate(l, i, &m, &spent);
    numbers[WALL] = clock_seconds(CLOCK_MONOTONIC) - wall;
    numbers[PROCESSOR] = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
    numbers[SIMULATION] = spent.simulation;
    numbers[CRITIC] = spent.critic;
    numbers[POLICY] = spent.policy;
    numbers[STEPS] = (double)l->train.n_steps;
    metrics_free(&m);
    parts_job job = { t->vtable, l, (uint64_t)i, all };
    if (status == TCE_OK)
        status = tce_pool_run(pool, n, 1, time_parts, &job);
    numbers[ENVIRONMENT] = numbers[PRODUCTS] = 0.0;
    for (size_t k = 0; k < n; k++) {
        numbers[ENVIRONMENT] += all[k].environment / (double)n;
        numbers[PRODUCTS] += all[k].products / (double)n;
        b->same_rewards &= all[k].same;
    }
    numbers[GFLOPS] = numbers[PRODUCTS] > 0.0 ? 1e-9 * all[0].operations / numbers[PRODUCTS] : 0.0;
    free(all);
    return status;
}

static tce_status time_iterations(const method *way, const task *t, learner *l, tce_pool *pool,
                                  bench *b)
{
    const size_t n = (size_t)b->iterations;
    int failed = 0;
    double *all = array_of_doubles(N_NUMBERS * n, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for the numbers of %zu iterations", n);

    /* the first touches all memory, and does not count */
    b->same_rewards = 1;
    tce_status status = time_iteration(way, t, l, pool, 1, all, b);
    for (size_t i = 0; status == TCE_OK && i < n; i++)
        status = time_iteration(way, t, l, pool, (int64_t)i + 2, all + i * N_NUMBERS, b);
    qsort(all, n, N_NUMBERS * sizeof *all, ascending);

    double *const out[N_NUMBERS] = { &b->wall,        &b->processor, &b->simulation,
                                     &b->critic,      &b->policy,    &b->steps,
                                     &b->environment, &b->products,  &b->gflops };
    for (size_t k = 0; status == TCE_OK && k < N_NUMBERS; k++)
        *out[k] = all[(n - 1) / 2 * N_NUMBERS + k];
    free(all);
    return status;
}

/* ---- report ---------------------------------------------------------------------------------- */

static double own_share(const bench *b)
{
    return (b->processor - b->environment - (isnan(b->products) ? 0.0 : b->products)) /
           b->processor;
}

static void print_json(const settings *s, const bench *b)
{
    printf("{\"task\": \"%s\", \"method\": \"%s\", \"threads\": %d, \"iterations\": %" PRId64
           ", \"episodes\": %d, ",
           s->task.name, method_of(s)->name, (int)b->threads, b->iterations,
           (int)s->collect.episodes);
    printf("\"seconds\": %.9g, \"simulation\": %.9g, \"critic\": %.9g, \"policy\": %.9g, ", b->wall,
           b->simulation, b->critic, b->policy);
    printf("\"processor_seconds\": %.9g, \"environment_seconds\": %.9g, ", b->processor,
           b->environment);
    if (!isnan(b->products))
        printf("\"gemm_seconds\": %.9g, \"gemm_gflops\": %.6g, ", b->products, b->gflops);
    printf("\"own_share\": %.6g, \"env_steps\": %.0f, \"steps_per_second\": %.9g, "
           "\"env_microseconds_per_step\": %.6g, \"replay_same\": %s}\n",
           own_share(b), b->steps, b->steps / b->wall, 1e6 * b->environment / b->steps,
           b->same_rewards ? "true" : "false");
}

static void print_part(const char *name, double seconds, double of, const char *note)
{
    printf("  %-15s %10.4f s  %5.1f %%  %s\n", name, seconds, 100.0 * seconds / of, note);
}

static void print_table(const settings *s, const bench *b)
{
    const double products = isnan(b->products) ? 0.0 : b->products;
    char note[512];
    printf("%s, %s, %d episodes an iteration, %d threads; the median of %" PRId64 " iterations\n\n",
           s->task.name, method_of(s)->name, (int)s->collect.episodes, (int)b->threads,
           b->iterations);
    printf("time by the clock\n");
    snprintf(note, sizeof note, "%.0f environment steps, %.0f steps/s", b->steps,
             b->steps / b->wall);
    print_part("iteration", b->wall, b->wall, note);
    print_part("simulation", b->simulation, b->wall,
               "roll-outs with their policy, paths and normaliser");
    print_part("critic", b->critic, b->wall, "values, advantages, epochs");
    print_part("policy", b->policy, b->wall, "epochs: likelihoods, projection, networks");

    printf("\nprocessor time, all threads\n");
    print_part("iteration", b->processor, b->processor, "");
    snprintf(note, sizeof note,
             "%.2f us a step: the same episodes again, through the task's functions alone%s",
             1e6 * b->environment / b->steps,
             b->same_rewards ? "" : " (rewards differ: approximate)");
    print_part("environment", b->environment, b->processor, note);
    snprintf(note, sizeof note,
             isnan(b->products)
                 ? "not measured: no cblas in the program"
                 : "the matrix products of networks and likelihoods alone, %.1f GFLOP/s",
             b->gflops);
    print_part("gemm", products, b->processor, note);
    print_part("everything else", b->processor - b->environment - products, b->processor,
               "the trainer's and the library's own");
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_bench(const settings *s, const task *t, bench *b, int json)
{
    tce_pool_options options;
    tce_pool *pool = NULL;
    learner *l = NULL;
    const method *way = method_of(s);
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = s->run.threads;
    tce_status status = tce_pool_create(&options, NULL, &pool);
    if (status == TCE_OK) {
        b->threads = (int32_t)tce_pool_threads(pool);
        status = way->create(s, t, pool, &l);
    }
    if (status == TCE_OK)
        status = time_iterations(way, t, l, pool, b);
    if (l)
        way->destroy(l);
    tce_pool_free(pool);
    if (status != TCE_OK)
        return fail();
    if (json)
        print_json(s, b);
    else
        print_table(s, b);
    return EXIT_FINE;
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
        status = task_open(&s, &t);
    if (status != TCE_OK)
        return fail();

    bench b;
    memset(&b, 0, sizeof b);
    b.iterations = o.iterations;
    tce_blas_set_threads(1);
    const int result = run_bench(&s, &t, &b, o.json);
    task_close(&t);
    return result;
}
