/*
 * bench: how long libtce's main computations take in one thread, at the sizes of the published Box
 * Pushing task.
 *
 *     bench                    measures everything and prints a table: name, median seconds, calls,
 *                              note
 *     bench --serve            reads one name per line, measures that for a moment and answers with
 *                              its median seconds: lets bench.py and bench_rl.py take turns with
 *                              the peers. Also "product M N K": floats, [M, N] = [M, K] [K, N]
 *
 * The machine's own rates (dsyevd, sgemm) are measured beside, through LAPACK and the library's
 * linalg.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lapacke.h>

#include <tce/tce.h>

#include "linalg/linalg.h"

enum {
    E = 152,      /* episodes */
    T = 100,      /* steps */
    D = 7,        /* joints */
    B = 8,        /* basis functions */
    P = 63,       /* D (B + 1) */
    K = 25,       /* time points: 24 segments of dimension 14 */
    ROWS = 15200, /* E * T observations */
    INPUTS = 29,
    WIDTH = 256,
    SMALL_ROWS = 128, /* of a minibatch of PPO and SAC */
    SMALL_INPUTS = 3,
    SMALL_WIDTH = 64,
    SGEMM = 1024,    /* size of the sgemm that stands for the machine's rate */
    MAX_CALLS = 4096 /* most calls in one measurement */
};

static const double DT = 0.02;
static const double TURN_SECONDS = 0.05; /* one measurement in --serve */
static const double FULL_SECONDS = 1.0;  /* one measurement of the table */

/* Everything that the measured calls read and write. */
static struct {
    tce_mp *mp;
    tce_segment *segment;
    tce_trpl *project_batch;
    tce_trpl *project_one;
    tce_net *net;
    tce_net *small[2], *wide[2]; /* with relu or linear, and with tanh */
    tce_mp_grid grid;
    double *times, *params, *init_pos, *init_vel, *pos, *vel, *acc;
    double *mean, *L, *old_mean, *old_L, *out_mean, *out_L, *d_mean, *d_L;
    double *log_prob, *advantages;
    double *x, *target, *out_x;
    double *S, *C; /* [P, P]: a symmetric matrix, and its eigenvectors */
    float *fA, *fC;
    double init_time;
    size_t query;
} data;

/*
 * Processor time of this program, which has one thread: what else runs on the machine does not
 * count.
 */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(tce_status status)
{
    if (status != TCE_OK) {
        fprintf(stderr, "bench: %s: %s\n", tce_status_name(status), tce_error_message());
        exit(1);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (block == NULL) {
        fprintf(stderr, "bench: no memory\n");
        exit(1);
    }
    return block;
}

/* ---- what is measured ------------------------------------------------------------------------ */

static void trajectory(void)
{
    must(tce_mp_trajectory(data.mp, &data.grid, data.params, data.pos, data.vel, NULL));
}

static void query(void)
{
    data.query = (data.query + 1) % T;
    must(tce_mp_query(data.mp, data.times[data.query], data.params, 0.0, data.init_pos,
                      data.init_vel, data.acc, data.acc + D, NULL));
}

static void segment(void)
{
    const tce_segment_paths paths = { .struct_size = sizeof paths,
                                      .E = E,
                                      .positions = data.pos,
                                      .mean = data.mean,
                                      .L = data.L,
                                      .init_pos = data.init_pos,
                                      .init_vel = data.init_vel,
                                      .log_prob_old = data.log_prob,
                                      .advantages = data.advantages,
                                      .out_d_mean = data.d_mean,
                                      .out_d_L = data.d_L };
    must(tce_segment_surrogate(data.segment, &paths, NULL));
}

static void project(tce_trpl *trpl, size_t n)
{
    const tce_trpl_bounds bounds = { sizeof bounds, 0.05, 0.0005, 0.0 };
    must(tce_trpl_project(trpl, n, data.mean, data.L, data.old_mean, data.old_L, &bounds,
                          data.out_mean, data.out_L));
    must(tce_trpl_backward(trpl, n, data.d_mean, data.d_L, data.out_mean, data.out_L));
}

static void projection(void)
{
    project(data.project_one, 1);
}

static void projection_batch(void)
{
    project(data.project_batch, E);
}

static void epoch(void)
{
    tce_adam_options adam;
    double loss;

    tce_adam_options_init(&adam, sizeof adam);
    must(tce_net_pass_mse(data.net, ROWS, data.x, data.target, NULL, &loss));
    must(tce_net_adam_step(data.net, &adam));
}

static void small_pass(tce_net *net)
{
    double loss;
    must(tce_net_pass_mse(net, SMALL_ROWS, data.x, data.target, NULL, &loss));
}

static void pass_relu(void)
{
    small_pass(data.small[0]);
}

static void pass_tanh(void)
{
    small_pass(data.small[1]);
}

/* one number in, WIDTH activations: little else is done */
static void activations_linear(void)
{
    must(tce_net_forward(data.wide[0], SMALL_ROWS, data.x, data.out_x));
}

static void activations_tanh(void)
{
    must(tce_net_forward(data.wide[1], SMALL_ROWS, data.x, data.out_x));
}

/*
 * LAPACK's symmetric eigensolver with vectors, which a projection without its own dual would need
 */
static void eigen(void)
{
    static double work[1 + 6 * P + 2 * P * P];
    static lapack_int integers[3 + 5 * P];
    double values[P];

    memcpy(data.C, data.S, P * P * sizeof(double));
    if (LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', P, data.C, P, values, work,
                            sizeof work / sizeof *work, integers,
                            sizeof integers / sizeof *integers) != 0)
        exit(EXIT_FAILURE);
}

static void sgemm(void)
{
    tce__gemm_float(TCE__NO_TRANS, TCE__NO_TRANS, SGEMM, SGEMM, SGEMM, 1.0f, data.fA, SGEMM,
                    data.fA, SGEMM, 0.0f, data.fC, SGEMM);
}

/* The product that bench_rl.py asks for: floats, at most SGEMM rows and columns. */
static struct {
    int m, n, k;
} shape;

static void product(void)
{
    tce__gemm_float(TCE__NO_TRANS, TCE__NO_TRANS, shape.m, shape.n, shape.k, 1.0f, data.fA, shape.k,
                    data.fA, shape.n, 0.0f, data.fC, shape.n);
}

typedef struct {
    const char *name;
    void (*call)(void);
    int inner; /* calls between two looks at the clock */
    const char *note;
} measurement;

static const measurement MEASUREMENTS[] = {
    { "trajectory", trajectory, 1, "position and velocity, 152 x 100 x 7, 8 basis functions" },
    { "query", query, 100, "one time, 7 joints, position and velocity" },
    { "segment", segment, 1,
      "loss and gradients, 152 x 24 segments of dimension 14, shared covariance" },
    { "projection", projection, 1, "KL, n = 63, with gradient, one mean" },
    { "projection_batch", projection_batch, 1,
      "KL, n = 63, with gradient, 152 means, shared covariance" },
    { "eigen", eigen, 1, "LAPACK's dsyevd, 63 x 63, with vectors" },
    { "epoch", epoch, 1, "float, 15200 x 29 -> 256 -> 256 -> 1: forward, backward, Adam" },
    { "pass_relu", pass_relu, 10, "float, 128 x 3 -> 64 -> 64 -> 1 with relu: forward, backward" },
    { "pass_tanh", pass_tanh, 10, "the same with tanh" },
    { "activations_linear", activations_linear, 10, "float, 128 x 1 -> 256 -> 1, linear: forward" },
    { "activations_tanh", activations_tanh, 10, "the same with tanh" },
    { "sgemm", sgemm, 1, "1024 x 1024 x 1024" },
};

static const measurement PRODUCT = { "product", product, 10, "of a shape" };

enum { N_MEASUREMENTS = sizeof MEASUREMENTS / sizeof MEASUREMENTS[0] };

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of a call over at least `least` seconds and three calls. */
static double measure(const measurement *m, double least, size_t *out_calls)
{
    static double samples[MAX_CALLS];
    const double end = seconds() + least;
    size_t n = 0;

    m->call();
    while (n < MAX_CALLS && (n < 3 || seconds() < end)) {
        const double before = seconds();
        for (int i = 0; i < m->inner; i++)
            m->call();
        samples[n++] = (seconds() - before) / m->inner;
    }
    qsort(samples, n, sizeof samples[0], compare);
    *out_calls = n * (size_t)m->inner;
    return samples[n / 2];
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static double *normals(tce_random *random, size_t n, double scale)
{
    double *x = allocate(n, sizeof *x);
    tce_random_normals(random, n, x);
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
    return x;
}

/* A lower factor near `diagonal` times the identity. */
static double *factor(tce_random *random, double diagonal, double spread)
{
    double *L = normals(random, P * P, spread);
    for (size_t i = 0; i < P; i++) {
        L[i * P + i] += diagonal;
        for (size_t j = i + 1; j < P; j++)
            L[i * P + j] = 0.0;
    }
    return L;
}

static void set_up_mp(tce_random *random)
{
    tce_mp_options options;

    tce_mp_options_init(&options, sizeof options);
    options.n_dof = D;
    options.n_basis = B;
    options.tau = 2.0;
    options.dt = DT;
    options.alpha = 10.0;
    options.weights_scale = 0.3;
    options.goal_scale = 0.3;
    must(tce_mp_create(&options, NULL, &data.mp));

    data.times = allocate(T, sizeof(double));
    for (size_t t = 0; t < T; t++)
        data.times[t] = DT * (double)(t + 1);
    data.params = normals(random, E * P, 1.0);
    data.init_pos = normals(random, E * D, 0.5);
    data.init_vel = normals(random, E * D, 0.1);
    data.pos = allocate(E * T * D, sizeof(double));
    data.vel = allocate(E * T * D, sizeof(double));
    data.acc = allocate(2 * D, sizeof(double));

    data.grid = TCE_INIT(tce_mp_grid);
    data.grid.E = E;
    data.grid.T = T;
    data.grid.n_time_rows = 1;
    data.grid.n_init_times = 1;
    data.grid.times = data.times;
    data.grid.init_time = &data.init_time;
    data.grid.init_pos = data.init_pos;
    data.grid.init_vel = data.init_vel;
    trajectory();
}

static void set_up_gaussians(tce_random *random)
{
    data.old_mean = normals(random, E * P, 0.1);
    data.old_L = factor(random, 1.0, 0.02);
    data.mean = normals(random, E * P, 0.1);
    data.L = factor(random, 0.95, 0.03);
    data.out_mean = allocate(E * P, sizeof(double));
    data.out_L = allocate(P * P, sizeof(double));
    data.d_mean = normals(random, E * P, 1.0);
    data.d_L = factor(random, 0.0, 1.0);
}

static void set_up_segment(tce_random *random)
{
    tce_segment_options options;
    int32_t pairs[2 * T];
    size_t J;

    must(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, K, 0, NULL, pairs, &J));
    tce_segment_options_init(&options, sizeof options);
    options.mp = data.mp;
    options.max_episodes = E;
    options.max_steps = T;
    options.max_pairs = (int32_t)J;
    must(tce_segment_create(&options, NULL, &data.segment));
    must(tce_segment_set_pairs(data.segment, 1, T, data.times, &data.init_time, J, pairs));
    data.log_prob = allocate(E * J, sizeof(double));
    data.advantages = normals(random, E * J, 1.0);
    const tce_segment_paths paths = { .struct_size = sizeof paths,
                                      .E = E,
                                      .positions = data.pos,
                                      .mean = data.mean,
                                      .L = data.L,
                                      .init_pos = data.init_pos,
                                      .init_vel = data.init_vel,
                                      .out_log_prob = data.log_prob };
    must(tce_segment_log_prob(data.segment, &paths));
}

static tce_trpl *set_up_projection(int32_t max_batch)
{
    tce_trpl_options options;
    tce_trpl *trpl;

    tce_trpl_options_init(&options, sizeof options);
    options.dim = P;
    options.max_batch = max_batch;
    must(tce_trpl_create(&options, NULL, &trpl));
    return trpl;
}

static tce_net *network(tce_random *random, int32_t rows, int32_t inputs, int32_t n_hidden,
                        int32_t width, int32_t activation)
{
    const int32_t hidden[2] = { width, width };
    tce_net_options options;
    tce_net *net;

    tce_net_options_init(&options, sizeof options);
    options.n_in = inputs;
    options.n_hidden = n_hidden;
    options.hidden = hidden;
    options.activation = activation;
    options.max_batch = rows;
    must(tce_net_create(&options, NULL, &net));
    must(tce_net_start(net, random));
    return net;
}

static void set_up_net(tce_random *random)
{
    data.net = network(random, ROWS, INPUTS, 2, WIDTH, TCE_NET_LEAKY_RELU);
    data.small[0] = network(random, SMALL_ROWS, SMALL_INPUTS, 2, SMALL_WIDTH, TCE_NET_RELU);
    data.small[1] = network(random, SMALL_ROWS, SMALL_INPUTS, 2, SMALL_WIDTH, TCE_NET_TANH);
    data.wide[0] = network(random, SMALL_ROWS, 1, 1, WIDTH, TCE_NET_LINEAR);
    data.wide[1] = network(random, SMALL_ROWS, 1, 1, WIDTH, TCE_NET_TANH);
    data.out_x = allocate(SMALL_ROWS, sizeof(double));
    data.x = normals(random, (size_t)ROWS * INPUTS, 1.0);
    data.target = normals(random, ROWS, 1.0);
}

static void set_up(void)
{
    tce_random random;

    tce_blas_set_threads(1);
    tce_random_start(&random, 1, 0, 0, 0);
    set_up_mp(&random);
    set_up_gaussians(&random);
    set_up_segment(&random);
    data.project_one = set_up_projection(1);
    data.project_batch = set_up_projection(E);
    set_up_net(&random);

    data.S = allocate(P * P, sizeof(double));
    tce__syrk_lower(TCE__NO_TRANS, P, P, 1.0, data.L, P, 0.0, data.S, P);
    data.C = allocate(P * P, sizeof(double));
    data.fA = allocate((size_t)SGEMM * SGEMM, sizeof(float));
    data.fC = allocate((size_t)SGEMM * SGEMM, sizeof(float));
    for (size_t i = 0; i < (size_t)SGEMM * SGEMM; i++)
        data.fA[i] = (float)tce_random_uniform(&random);
}

static void tear_down(void)
{
    void *blocks[] = { data.times,    data.params,     data.init_pos, data.init_vel, data.pos,
                       data.vel,      data.acc,        data.mean,     data.L,        data.old_mean,
                       data.old_L,    data.out_mean,   data.out_L,    data.d_mean,   data.d_L,
                       data.log_prob, data.advantages, data.x,        data.target,   data.out_x,
                       data.S,        data.C,          data.fA,       data.fC };

    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        free(blocks[i]);
    tce_net_free(data.net);
    for (int i = 0; i < 2; i++) {
        tce_net_free(data.small[i]);
        tce_net_free(data.wide[i]);
    }
    tce_trpl_free(data.project_one);
    tce_trpl_free(data.project_batch);
    tce_segment_free(data.segment);
    tce_mp_free(data.mp);
}

/* "product M N K" into shape; 0: it is something else, or too large for the arrays. */
static int read_shape(const char *line)
{
    const size_t most = (size_t)SGEMM * SGEMM;

    if (sscanf(line, "product %d %d %d", &shape.m, &shape.n, &shape.k) != 3 || shape.m < 1 ||
        shape.n < 1 || shape.k < 1)
        return 0;
    const size_t m = (size_t)shape.m, n = (size_t)shape.n, k = (size_t)shape.k;
    return m <= most && n <= most && k <= most && m * k <= most && k * n <= most && m * n <= most;
}

/* Answers each name on standard input with its median time, until the input ends. */
static int serve(void)
{
    char line[64];

    while (fgets(line, sizeof line, stdin) != NULL) {
        const measurement *found = NULL;
        size_t calls;

        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < N_MEASUREMENTS; i++)
            if (strcmp(line, MEASUREMENTS[i].name) == 0)
                found = &MEASUREMENTS[i];
        if (read_shape(line))
            found = &PRODUCT;
        if (found == NULL) {
            fprintf(stderr, "bench: no measurement \"%s\"\n", line);
            return 1;
        }
        printf("%.9e\n", measure(found, TURN_SECONDS, &calls));
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;

    set_up();
    if (argc > 1 && strcmp(argv[1], "--serve") == 0) {
        status = serve();
    } else {
        printf("name\tseconds\tcalls\tnote\n");
        for (size_t i = 0; i < N_MEASUREMENTS; i++) {
            size_t calls;
            const double median = measure(&MEASUREMENTS[i], FULL_SECONDS, &calls);
            printf("%s\t%.4e\t%zu\t%s\n", MEASUREMENTS[i].name, median, calls,
                   MEASUREMENTS[i].note);
        }
    }
    tear_down();
    return status;
}
