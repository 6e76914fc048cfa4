/*
 * Numbers of an exported policy's self-test: what libtce computes for one drawn context, and for
 * two paths of the same drawn parameters, from rest at time 0 and on the way from a drawn state.
 */
#include <math.h>
#include <stdlib.h>

#include "export/exported.h"
#include "tools/memory.h"

/* times of each test path */
#define TEST_TIMES 9
#define TEST_SEED 20
/* of what the C file computes, relative to max(1, size); a float network sums in another order */
#define FLOAT_TOLERANCE 1e-6
#define DOUBLE_TOLERANCE 1e-12

typedef struct test_numbers {
    double *context, *mean, *params; /* [inputs], [P], [P] */
    double *factor;                  /* [P, P], what the policy predicts beside the mean */
    double start[2];
    double times[2 * TEST_TIMES];
    double *start_pos, *start_vel; /* [2, D] */
    double *pos, *vel;             /* [2, TEST_TIMES, D] */
    double *query_pos, *query_vel; /* [2, D] at the last time */
} test_numbers;

static tce_status allocate(const exported *x, test_numbers *t)
{
    const size_t D = x->basis.D, P = x->basis.P;
    int failed = 0;
    t->context = array_of_doubles(x->width[0], &failed);
    t->mean = array_of_doubles(P, &failed);
    t->params = array_of_doubles(P, &failed);
    t->factor = array_of_doubles(P * P, &failed);
    t->start_pos = array_of_doubles(2 * D, &failed);
    t->start_vel = array_of_doubles(2 * D, &failed);
    t->pos = array_of_doubles(2 * TEST_TIMES * D, &failed);
    t->vel = array_of_doubles(2 * TEST_TIMES * D, &failed);
    t->query_pos = array_of_doubles(2 * D, &failed);
    t->query_vel = array_of_doubles(2 * D, &failed);
    return failed ? tce_fail(TCE_E_NOMEM, "no memory for a test of %zu parameters", P) : TCE_OK;
}

static void release(test_numbers *t)
{
    double *const arrays[] = { t->context,   t->mean, t->params, t->factor,    t->start_pos,
                               t->start_vel, t->pos,  t->vel,    t->query_pos, t->query_vel };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
}

/* Path k from its start to a little past its end, and its last time once more as a query. */
static tce_status compute_path(const exported *x, double end, size_t k, test_numbers *t)
{
    const size_t D = x->basis.D;
    double *const times = t->times + k * TEST_TIMES;
    for (int i = 0; i < TEST_TIMES; i++)
        times[i] = t->start[k] + (end - t->start[k]) * (double)i / TEST_TIMES;
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = TEST_TIMES;
    grid.times = times;
    grid.init_time = &t->start[k];
    grid.init_pos = t->start_pos + k * D;
    grid.init_vel = t->start_vel + k * D;
    const tce_status status = tce_mp_trajectory(x->agent.mp, &grid, t->params,
                                                t->pos + k * TEST_TIMES * D,
                                                t->vel + k * TEST_TIMES * D, NULL);
    if (status != TCE_OK)
        return status;
    return tce_mp_query(x->agent.mp, times[TEST_TIMES - 1], t->params, t->start[k], grid.init_pos,
                        grid.init_vel, t->query_pos + k * D, t->query_vel + k * D, NULL);
}

static tce_status compute(const exported *x, test_numbers *t)
{
    const export_basis *b = &x->basis;
    const tce_mp_options *o = &b->options;
    tce_random random;
    tce_random_start(&random, TEST_SEED, 0, 0, 0);
    tce_random_normals(&random, x->agent.n_context, t->context);
    tce_random_normals(&random, b->P, t->params);

    /* learnt ones near the configured ones: not every drawn duration makes sense */
    const double tau = o->learn_tau ? 1.05 * o->tau : o->tau;
    const double delay = o->learn_delay ? o->delay + 0.1 * o->tau : o->delay;
    if (o->learn_tau)
        t->params[0] = tau;
    if (o->learn_delay)
        t->params[b->lead - 1] = delay;
    t->start[0] = 0.0;
    t->start[1] = delay + 0.3 * tau;
    tce_random_normals(&random, 2 * b->D, t->start_pos);
    tce_random_normals(&random, b->D, t->start_vel + b->D);

    const double end = delay + tau * fmin(1.2, (double)o->table_length);
    tce_status status = tce_policy_predict(x->agent.policy, 1, t->context, t->mean, t->factor);
    for (size_t k = 0; status == TCE_OK && k < 2; k++)
        status = compute_path(x, end, k, t);
    return status;
}

static void write(const exported *x, const test_numbers *t)
{
    const size_t D = x->basis.D, P = x->basis.P;
    const struct {
        const char *name;
        size_t n;
        const double *values;
    } arrays[] = {
        { "test_context", x->agent.n_context, t->context },
        { "test_mean", P, t->mean },
        { "test_params", P, t->params },
        { "test_start", 2, t->start },
        { "test_times", 2 * TEST_TIMES, t->times },
        { "test_start_pos", 2 * D, t->start_pos },
        { "test_start_vel", 2 * D, t->start_vel },
        { "test_pos", 2 * TEST_TIMES * D, t->pos },
        { "test_vel", 2 * TEST_TIMES * D, t->vel },
        { "test_query_pos", 2 * D, t->query_pos },
        { "test_query_vel", 2 * D, t->query_vel },
    };
    c_file_int(&x->c, "TEST_TIMES", TEST_TIMES);
    c_file_real(&x->c, "TOLERANCE",
                x->precision == TCE_NET_FLOAT ? FLOAT_TOLERANCE : DOUBLE_TOLERANCE);
    c_file_int(&x->c, "STEPS", x->agent.T);
    c_file_real(&x->c, "STEP", x->agent.dt);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        c_file_array(&x->c, "double", arrays[i].name, arrays[i].n, arrays[i].values);
}

tce_status export_test(const exported *x)
{
    test_numbers t;
    tce_status status = allocate(x, &t);
    if (status == TCE_OK)
        status = compute(x, &t);
    if (status == TCE_OK)
        write(x, &t);
    release(&t);
    return status;
}
