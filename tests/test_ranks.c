/*
 * ranks: pools that span processes. The processes are threads here, each with a pool of its own,
 * and bytes go from one to the other by a barrier.
 */
#include <check.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tce/net.h>

#include "base/internal.h"
#include "support.h"

/* Seconds a test may take; sanitizers on a busy machine need more than Check's 4. */
#define TIMEOUT 300

/* Numbers of ranks: powers of two and not, fewer and more than there are parts. */
static const int32_t RANKS[] = { 1, 2, 3, 4, 5, 7, 8, 12, 19, 38, 64, 65, 152 };
enum { N_RANKS = sizeof RANKS / sizeof RANKS[0], MOST_RANKS = 152 };

/* ---- ranks that are threads ------------------------------------------------------------------ */

typedef struct world {
    int32_t n;
    pthread_barrier_t barrier;
    const void *data[MOST_RANKS];
    const size_t *at[MOST_RANKS];
} world;

/* One of them: what it does, with a pool. */
typedef struct member {
    world *w;
    int32_t rank;
    int32_t n_threads;
    size_t n_calls; /* of the callbacks */
    void (*act)(const struct member *self, tce_pool *pool, void *context);
    void *context;
} member;

/* Copies piece `of` that every rank has published; the barrier keeps the arrays still. */
static void publish(const member *m, const void *data, const size_t *at)
{
    m->w->data[m->rank] = data;
    m->w->at[m->rank] = at;
    pthread_barrier_wait(&m->w->barrier);
}

static tce_status exchange(void *user, const void *send, const size_t *send_at, void *receive,
                           const size_t *receive_at)
{
    member *m = user;
    world *w = m->w;

    m->n_calls++;
    publish(m, send, send_at);
    for (int32_t s = 0; s < w->n; s++) {
        const size_t *at = w->at[s] + m->rank;
        ck_assert_uint_eq(at[1] - at[0], receive_at[s + 1] - receive_at[s]);
        if (at[1] > at[0])
            memcpy((char *)receive + receive_at[s], (const char *)w->data[s] + at[0],
                   at[1] - at[0]);
    }
    pthread_barrier_wait(&w->barrier);
    return TCE_OK;
}

static tce_status gather(void *user, void *all, const size_t *at)
{
    member *m = user;
    world *w = m->w;

    m->n_calls++;
    publish(m, all, at);
    for (int32_t s = 0; s < w->n; s++) {
        ck_assert_uint_eq(w->at[s][s + 1] - w->at[s][s], at[s + 1] - at[s]);
        if (s != m->rank && at[s + 1] > at[s])
            memcpy((char *)all + at[s], (const char *)w->data[s] + at[s], at[s + 1] - at[s]);
    }
    pthread_barrier_wait(&w->barrier);
    return TCE_OK;
}

static void *live(void *argument)
{
    member *m = argument;
    tce_pool_options options;
    tce_pool *pool = NULL;

    tce_pool_options_init(&options, sizeof options);
    options.n_threads = m->n_threads;
    options.rank = m->rank;
    options.n_ranks = m->w->n;
    options.user = m;
    options.exchange = exchange;
    options.gather = gather;
    ok(tce_pool_create(&options, NULL, &pool));
    m->act(m, pool, m->context);
    tce_pool_free(pool);
    return NULL;
}

/* Lets n ranks act; returns how often the callbacks of one were called, which all agree about. */
static size_t together(int32_t n, int32_t n_threads,
                       void (*act)(const member *self, tce_pool *pool, void *context),
                       void *context)
{
    static world w;
    static member members[MOST_RANKS];
    pthread_t threads[MOST_RANKS];

    w.n = n;
    ck_assert_int_eq(pthread_barrier_init(&w.barrier, NULL, (unsigned)n), 0);
    for (int32_t r = 0; r < n; r++) {
        members[r] = (member){ &w, r, n_threads, 0, act, context };
        ck_assert_int_eq(pthread_create(&threads[r], NULL, live, &members[r]), 0);
    }
    for (int32_t r = 0; r < n; r++)
        pthread_join(threads[r], NULL);
    for (int32_t r = 1; r < n; r++)
        ck_assert_uint_eq(members[r].n_calls, members[0].n_calls);
    pthread_barrier_destroy(&w.barrier);
    return members[0].n_calls;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Parts [n_parts, n], and their sums in one process. */
typedef struct sums {
    size_t n_parts;
    size_t n;
    const float *x;
    const float *want;
    const double *x_double;
    const double *want_double;
} sums;

/* This rank's parts of x in an array that is large enough; all else is not a number. */
static void *own_parts(const tce__parts *parts, const tce_pool *pool, size_t row, const void *x)
{
    const size_t size = tce__parts_room(pool, parts->n) * row;
    char *own = malloc(size);

    ck_assert_ptr_nonnull(own);
    memset(own, 0xff, size);
    memcpy(own + parts->first * row, (const char *)x + parts->first * row,
           (parts->last - parts->first) * row);
    return own;
}

static void add_up(const member *self, tce_pool *pool, void *context)
{
    const sums *s = context;
    const tce__parts parts = tce__parts_of(pool, s->n_parts * 256, SIZE_MAX >> 20);
    float *x = own_parts(&parts, pool, s->n * sizeof *x, s->x);
    double *y = own_parts(&parts, pool, s->n * sizeof *y, s->x_double);

    (void)self;
    ck_assert_uint_eq(parts.n, s->n_parts);
    ok(tce__parts_sum_float(&parts, s->n, x, x));
    ck_assert_int_eq(memcmp(x, s->want, s->n * sizeof *x), 0);
    ok(tce__parts_sum(&parts, s->n, y, y));
    ck_assert_int_eq(memcmp(y, s->want_double, s->n * sizeof *y), 0);
    free(x);
    free(y);
}

START_TEST(sums_have_the_bytes_of_one_process_on_any_number_of_ranks)
{
    static const size_t COLUMNS[] = { 15, 1024, 1601 };
    enum { MOST_PARTS = 64, MOST = 1601 };
    static float x[MOST_PARTS * MOST], copy[MOST_PARTS * MOST], want[MOST];
    static double y[MOST_PARTS * MOST], copy_double[MOST_PARTS * MOST], want_double[MOST];
    tce_random random;

    tce_random_start(&random, 5, 0, 0, 0);
    for (size_t i = 0; i < MOST_PARTS * MOST; i++) {
        y[i] = test_normal(&random);
        x[i] = (float)y[i];
    }
    for (size_t n_parts = 1; n_parts <= MOST_PARTS; n_parts *= 2)
        for (size_t c = 0; c < sizeof COLUMNS / sizeof COLUMNS[0]; c++) {
            const sums s = { n_parts, COLUMNS[c], x, want, y, want_double };
            const tce__parts here = tce__parts_here(NULL, n_parts);
            memcpy(copy, x, sizeof x);
            memcpy(copy_double, y, sizeof y);
            ok(tce__parts_sum_float(&here, s.n, copy, want));
            ok(tce__parts_sum(&here, s.n, copy_double, want_double));
            for (size_t r = 0; r < N_RANKS; r++)
                together(RANKS[r], 1, add_up, (void *)&s);
        }
}
END_TEST

/* ---- networks -------------------------------------------------------------------------------- */

enum { IN = 6, WIDTH = 72, OUT = 3, ROWS = 4200, N_STEPS = 3, N_SUMS = 2, MOST_TRAINING = 19 };

/* What a few steps of training bring, and what they are given. */
typedef struct lesson {
    int32_t precision;
    const double *x;      /* [ROWS, IN] */
    const double *target; /* [ROWS, OUT] */
    size_t fail_at;       /* the loss fails for this row; SIZE_MAX: never */
    int32_t fail_above;   /* and only on ranks above this one */
} lesson;

typedef struct trained {
    double losses[N_STEPS][N_SUMS];
    double out[ROWS * OUT];
    double hidden[ROWS * WIDTH];
    double d_x[ROWS * IN];
    double gradient[IN * WIDTH + WIDTH * WIDTH + 2 * WIDTH + OUT * WIDTH + OUT];
    double weights[IN * WIDTH + WIDTH * WIDTH + 2 * WIDTH + OUT * WIDTH + OUT];
} trained;

static tce_net *new_net(int32_t precision, tce_pool *pool)
{
    static const int32_t HIDDEN[] = { WIDTH, WIDTH };
    tce_net_options options;
    tce_net *net = NULL;
    tce_random random;

    tce_net_options_init(&options, sizeof options);
    options.n_in = IN;
    options.n_out = OUT;
    options.hidden = HIDDEN;
    options.activation = TCE_NET_TANH;
    options.precision = precision;
    options.max_batch = ROWS;
    options.pool = pool;
    ok(tce_net_create(&options, NULL, &net));
    tce_random_start(&random, 8, 0, 0, 0);
    ok(tce_net_start(net, &random));
    return net;
}

static tce_status squares(void *context, size_t begin, size_t end, const double *out, double *d_out,
                          double *totals)
{
    const lesson *l = context;

    for (size_t i = 0; i < (end - begin) * OUT; i++) {
        const double error = out[i] - l->target[begin * OUT + i];
        d_out[i] = 2.0 * error / ROWS;
        totals[0] += error * error;
        totals[1] += error;
    }
    if (begin <= l->fail_at && l->fail_at < end)
        return tce_fail(TCE_E_NOT_FINITE, "rows %zu to %zu are bad", begin, end);
    return TCE_OK;
}

static void train(const lesson *l, tce_pool *pool, trained *t)
{
    tce_net *net = new_net(l->precision, pool);
    double *work = malloc(tce_net_work_size(net, ROWS) * sizeof *work);
    tce_adam_options adam;

    ck_assert_ptr_nonnull(work);
    tce_adam_options_init(&adam, sizeof adam);
    for (int step = 0; step < N_STEPS; step++) {
        ok(tce_net_pass(net, ROWS, l->x, NULL, squares, (void *)l, N_SUMS, t->losses[step]));
        ok(tce_net_adam_step(net, &adam));
    }
    ok(tce_net_evaluate(net, ROWS, l->x, work, t->out));
    ok(tce_net_forward(net, ROWS, l->x, t->out));
    ok(tce_net_hidden(net, ROWS, t->hidden));
    ok(tce_net_backward(net, ROWS, l->target, t->d_x));
    ok(tce_net_backward_input(net, ROWS, l->target, t->d_x));
    tce_net_get_gradient(net, t->gradient);
    tce_net_get_weights(net, t->weights);
    free(work);
    tce_net_free(net);
}

static double rows_in[ROWS * IN], rows_out[ROWS * OUT];

static lesson new_lesson(int32_t precision)
{
    tce_random random;

    tce_random_start(&random, 6, 0, 0, 0);
    for (size_t i = 0; i < ROWS * IN; i++)
        rows_in[i] = test_normal(&random);
    for (size_t i = 0; i < ROWS * OUT; i++)
        rows_out[i] = test_normal(&random);
    return (lesson){ precision, rows_in, rows_out, SIZE_MAX, -1 };
}

typedef struct comparison {
    lesson l;
    trained want;
} comparison;

static void train_and_compare(const member *self, tce_pool *pool, void *context)
{
    const comparison *c = context;
    trained *got = calloc(1, sizeof *got);

    (void)self;
    ck_assert_ptr_nonnull(got);
    train(&c->l, pool, got);
    ck_assert_int_eq(memcmp(got, &c->want, sizeof *got), 0);
    free(got);
}

START_TEST(networks_have_the_bytes_of_one_process_on_any_number_of_ranks_and_threads)
{
    static comparison c;

    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        c.l = new_lesson(precision);
        train(&c.l, NULL, &c.want);
        for (size_t r = 0; RANKS[r] <= MOST_TRAINING; r++) {
            const size_t n_calls = together(RANKS[r], 1 + RANKS[r] % 2, train_and_compare, &c);
            ck_assert(RANKS[r] == 1 ? n_calls == 0 : n_calls > 0);
        }
    }
}
END_TEST

/* Each rank fails in a row of its own, except the first ones. */
static void fail_apart(const member *self, tce_pool *pool, void *context)
{
    lesson l = *(const lesson *)context;
    tce_net *net = new_net(l.precision, pool);
    double got[N_SUMS] = { 7.0, 7.0 };

    if (self->rank <= l.fail_above)
        l.fail_at = SIZE_MAX;
    ck_assert_int_eq(tce_net_pass(net, ROWS, l.x, NULL, squares, &l, N_SUMS, got),
                     TCE_E_NOT_FINITE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "rows 3937 to 4200 are bad"));
    ck_assert(got[0] == 7.0 && got[1] == 7.0);

    /* and the next pass is fine on all of them */
    l.fail_at = SIZE_MAX;
    ok(tce_net_pass(net, ROWS, l.x, NULL, squares, &l, N_SUMS, got));
    tce_net_free(net);
}

START_TEST(all_ranks_have_the_status_and_message_of_the_one_that_failed)
{
    lesson l = new_lesson(TCE_NET_FLOAT);

    /* a row of the last part, which the last rank computes */
    l.fail_at = ROWS - 1;
    for (int32_t n = 2; n <= 8; n++) {
        l.fail_above = n - 2;
        together(n, 1, fail_apart, &l);
    }
}
END_TEST

typedef struct item {
    const lesson *l;
    tce_net *net;
    double out[ROWS * OUT];
} item;

static tce_status forward_item(void *context, size_t chunk, size_t begin, size_t end,
                               int32_t worker)
{
    item *i = context;

    (void)chunk, (void)begin, (void)end, (void)worker;
    return tce_net_forward(i->net, ROWS, i->l->x, i->out);
}

static void run_inside(const member *self, tce_pool *pool, void *context)
{
    const lesson *l = context;
    item i = { .l = l, .net = new_net(l->precision, pool) };

    ok(tce_pool_run(pool, 1, 1, forward_item, &i));
    ok(tce_net_forward(i.net, 256, l->x, i.out));
    ck_assert_uint_eq(self->n_calls, 0);

    /* what was computed inside does not fit a backward outside */
    ok(tce_pool_run(pool, 1, 1, forward_item, &i));
    ck_assert_int_eq(tce_net_backward(i.net, ROWS, l->target, NULL), TCE_E_STATE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "inside an item of a pool"));
    tce_net_free(i.net);
}

START_TEST(items_of_a_pool_and_small_batches_never_exchange)
{
    lesson l = new_lesson(TCE_NET_FLOAT);

    for (int32_t n_threads = 1; n_threads <= 2; n_threads++)
        ck_assert_uint_eq(together(3, n_threads, run_inside, &l), 0);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(a_pool_of_ranks_needs_its_place_and_its_callbacks)
{
    tce_pool_options options;
    tce_pool *pool = NULL;
    member nobody = { .rank = 0 };

    tce_pool_options_init(&options, sizeof options);
    options.n_threads = 1;
    options.n_ranks = 3;
    options.rank = 3;
    options.user = &nobody;
    options.exchange = exchange;
    options.gather = gather;
    ck_assert_int_eq(tce_pool_create(&options, NULL, &pool), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "rank = 3"));
    options.rank = 2;
    options.gather = NULL;
    ck_assert_int_eq(tce_pool_create(&options, NULL, &pool), TCE_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "gather"));
    options.gather = gather;
    options.exchange = NULL;
    ck_assert_int_eq(tce_pool_create(&options, NULL, &pool), TCE_E_ARGUMENT);
    options.n_ranks = -1;
    ck_assert_int_eq(tce_pool_create(&options, NULL, &pool), TCE_E_VALUE);
    ck_assert_ptr_null(pool);
}
END_TEST

/* ---- suite ----------------------------------------------------------------------------------- */

int main(void)
{
    Suite *suite = suite_create("ranks");
    TCase *property = test_case(suite, "property", TIMEOUT);
    TCase *errors = test_case(suite, "errors", TIMEOUT);

    tce_blas_set_threads(1);
    tcase_add_test(property, sums_have_the_bytes_of_one_process_on_any_number_of_ranks);
    tcase_add_test(property,
                   networks_have_the_bytes_of_one_process_on_any_number_of_ranks_and_threads);
    tcase_add_test(property, items_of_a_pool_and_small_batches_never_exchange);
    tcase_add_test(errors, all_ranks_have_the_status_and_message_of_the_one_that_failed);
    tcase_add_test(errors, a_pool_of_ranks_needs_its_place_and_its_callbacks);

    return test_run(suite);
}
