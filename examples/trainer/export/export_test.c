/*
 * Numbers of an exported policy's self-test: what libtce computes for one drawn context, and for
 * two paths of the same drawn parameters, from rest at time 0 and on the way from a drawn state;
 * or, of a policy that acts at every step, for drawn observations.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/exported.h"
#include "tools/memory.h"

/* times of each test path */
#define TEST_TIMES 9
#define TEST_OBSERVATIONS 4
#define TEST_SEED 20
/*
 * Of what the C file computes, relative to max(1, size), unless the network's rounding, which sums
 * in another order, needs more.
 */
#define FLOAT_TOLERANCE 1e-6
#define DOUBLE_TOLERANCE 1e-12
#define DEVIATIONS 2.0

/* ---- inputs and outputs ---------------------------------------------------------------------- */

/* inputs [O_net]: n_context drawn, around what a normaliser has seen; a time of 0 after them */
static void draw_inputs(const exported *x, tce_random *random, double *inputs, double *scratch)
{
    const agent *a = &x->agent;
    tce_random_normals(random, a->n_context, inputs);
    if (!a->normaliser)
        return;
    tce_normaliser_statistics(a->normaliser, NULL, scratch, NULL);
    for (size_t i = 0; i < a->n_context; i++)
        inputs[i] *= 2.0 * sqrt(scratch[i]);
    tce_normaliser_statistics(a->normaliser, scratch, NULL, NULL);
    for (size_t i = 0; i < a->n_context; i++)
        inputs[i] += scratch[i];
}

/* Numbers of scratch that the functions below need. */
static size_t scratch_size(const exported *x)
{
    return agent_work(&x->agent, 1) + x->agent.P;
}

/* inputs [O_net] -> parameters or actions out [P] */
static tce_status compute_outputs(const exported *x, const double *inputs, double *scratch,
                                  double *out)
{
    const agent *a = &x->agent;
    memcpy(scratch, inputs, a->O_net * sizeof *scratch);
    tce_status status = agent_normalise(a, 1, scratch);
    if (status == TCE_OK)
        status = tce_policy_mean(a->policy, 1, scratch, scratch + a->O_net, out);
    if (status != TCE_OK)
        return status;
    agent_output(a, 1, out);
    for (size_t p = 0; p < a->P; p++)
        if (!isfinite(out[p]))
            return tce_fail(
                TCE_E_NOT_FINITE,
                "output %zu of the policy is %g for the inputs of its test: its weights "
                "are too large",
                p, out[p]);
    return TCE_OK;
}

/*
 * The tolerance of a test: at least so many standard deviations of the rounding for the inputs that
 * compute_outputs has left in scratch, as the network got them.
 */
static tce_status allow_rounding(const exported *x, double *scratch, double *tolerance)
{
    const agent *a = &x->agent;
    double *deviations = scratch + a->O_net;
    const tce_status status = export_network_rounding(&x->network, scratch, deviations);
    for (size_t p = 0; status == TCE_OK && p < a->P; p++) {
        const double slope = a->output == AGENT_TANH ? 0.5 * (a->high[p] - a->low[p]) : 1.0;
        *tolerance = fmax(*tolerance, DEVIATIONS * slope * deviations[p]);
    }
    return status;
}

static double first_tolerance(const exported *x)
{
    return x->network.precision == TCE_NET_FLOAT ? FLOAT_TOLERANCE : DOUBLE_TOLERANCE;
}

/* ---- movements ------------------------------------------------------------------------------- */

typedef struct test_numbers {
    double *context, *mean, *params; /* [inputs], [P], [P] */
    double *scratch;                 /* of compute_outputs */
    double tolerance;
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
    t->context = array_of_doubles(x->agent.O_net, &failed);
    t->mean = array_of_doubles(P, &failed);
    t->params = array_of_doubles(P, &failed);
    t->scratch = array_of_doubles(scratch_size(x), &failed);
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
    double *const arrays[] = { t->context,   t->mean, t->params, t->scratch,   t->start_pos,
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
    draw_inputs(x, &random, t->context, t->scratch);
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
    t->tolerance = first_tolerance(x);
    tce_status status = compute_outputs(x, t->context, t->scratch, t->mean);
    if (status == TCE_OK)
        status = allow_rounding(x, t->scratch, &t->tolerance);
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
    c_file_real(&x->c, "TOLERANCE", t->tolerance);
    c_file_int(&x->c, "STEPS", x->agent.T);
    c_file_real(&x->c, "STEP", x->agent.dt);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        c_file_array(&x->c, "double", arrays[i].name, arrays[i].n, arrays[i].values);
}

static tce_status test_movement(const exported *x)
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

/* ---- steps ----------------------------------------------------------------------------------- */

static tce_status test_steps(const exported *x)
{
    const size_t O = x->agent.O_net, P = x->agent.P;
    int failed = 0;
    double *observations = array_of_doubles(TEST_OBSERVATIONS * O, &failed);
    double *actions = array_of_doubles(TEST_OBSERVATIONS * P, &failed);
    double *scratch = array_of_doubles(scratch_size(x), &failed);
    tce_status status = failed ? tce_fail(TCE_E_NOMEM, "no memory for a test of %zu numbers", O + P)
                               : TCE_OK;
    double tolerance = first_tolerance(x);
    tce_random random;
    tce_random_start(&random, TEST_SEED, 0, 0, 0);
    for (size_t k = 0; status == TCE_OK && k < TEST_OBSERVATIONS; k++) {
        double *inputs = observations + k * O;
        draw_inputs(x, &random, inputs, scratch);
        if (x->agent.time_input)
            inputs[O - 1] = (double)k * x->agent.dt;
        status = compute_outputs(x, inputs, scratch, actions + k * P);
        if (status == TCE_OK)
            status = allow_rounding(x, scratch, &tolerance);
    }
    if (status == TCE_OK) {
        c_file_int(&x->c, "TEST_OBSERVATIONS", TEST_OBSERVATIONS);
        c_file_real(&x->c, "TOLERANCE", tolerance);
        c_file_array(&x->c, "double", "test_observation", TEST_OBSERVATIONS * O, observations);
        c_file_array(&x->c, "double", "test_action", TEST_OBSERVATIONS * P, actions);
    }
    free(observations);
    free(actions);
    free(scratch);
    return status;
}

tce_status export_test(const exported *x)
{
    return x->agent.acts ? test_steps(x) : test_movement(x);
}
