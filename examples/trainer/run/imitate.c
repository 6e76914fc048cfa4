/*
 * Imitation. The covariance is that of residuals of cross-validation: with as few demonstrations as
 * people give, a network repeats those it was fitted to, and says nothing of the others.
 *
 *     C = (1 - w) S + (w + FLOOR^2) initial_std^2 I,    S = mean of r r' over the residuals r
 *
 * The weight w of the prior is the larger, the less n residuals tell; the floor keeps C positive
 * definite and exploration alive however many there are.
 */
#include "run/imitate.h"

#include <math.h>
#include <string.h>

#include "run/run.h"

#define FOLDS 5
#define EPOCHS 1500
#define RATE 3e-3
#define LAST_RATE 0.01 /* what is left of it after the last epoch */
#define RIDGE 1e-9     /* of the fit of a primitive, beside basis functions of about 1 */
#define FLOOR 0.1      /* least standard deviation, times initial_std */
#define N_CONTEXTS 128 /* that a mean without contexts is fitted to */

typedef struct imitator {
    const settings *s;
    const task *t;
    const agent *agent;
    const demonstrations *d;
    tce_policy *policy;    /* the agent's, for larger batches */
    size_t n_inputs;       /* rows of inputs and targets */
    double *inputs;        /* [n_inputs, O_net] */
    double *targets;       /* [n_inputs, P] */
    double *params;        /* [n, P] fitted */
    double *residuals;     /* [n, P] of paths left out */
    double *start;         /* weights before any fit */
    double *some_inputs;   /* [n_inputs, O_net] of a fold */
    double *some_targets;  /* [n_inputs, P] */
    double *mean, *d_mean; /* [n_inputs, P] */
    double *scale, *zeros; /* a scale of the policy */
    double *work;          /* of the fits */
    double *covariance;    /* [P, P] */
    double *path;          /* [T, D] */
    memory arrays;
} imitator;

/* ---- primitives ------------------------------------------------------------------------------ */

/* Squares of the differences between a given path and the one of its fitted parameters. */
static tce_status add_error(imitator *m, size_t e, double *sum, double *count)
{
    const demonstrations *d = m->d;
    const size_t T = (size_t)d->n_rows[e], D = d->D;
    const double *times = d->times + e * d->T, *pos = d->pos + e * d->T * D;
    double *velocity = m->work;
    for (size_t k = 0; k < D; k++)
        velocity[k] = (pos[D + k] - pos[k]) / (times[1] - times[0]);
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = T;
    grid.times = times;
    grid.init_time = times;
    grid.init_pos = pos;
    grid.init_vel = velocity;
    const tce_status status = tce_mp_trajectory(m->agent->mp, &grid, m->params + e * m->agent->P,
                                                m->path, NULL, NULL);
    for (size_t i = 0; status == TCE_OK && i < T * D; i++)
        *sum += (m->path[i] - pos[i]) * (m->path[i] - pos[i]);
    *count += (double)(T * D);
    return status;
}

static tce_status fit_paths(imitator *m, double *path_error)
{
    const demonstrations *d = m->d;
    double sum = 0.0, count = 0.0;
    tce_status status = TCE_OK;
    for (size_t e = 0; status == TCE_OK && e < d->n; e++) {
        status = tce_mp_fit(m->agent->mp, (size_t)d->n_rows[e], d->times + e * d->T,
                            d->pos + e * d->T * d->D, RIDGE, m->work, m->params + e * m->agent->P);
        if (status == TCE_OK)
            status = add_error(m, e, &sum, &count);
        if (status != TCE_OK)
            return tce_fail(status, "demonstration %zu: %s", e + 1, tce_error_message());
    }
    *path_error = sqrt(sum / count);
    return status;
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* What the policy sees in the demonstrations. */
static void take_contexts(imitator *m)
{
    const agent *a = m->agent;
    for (size_t e = 0; e < m->d->n; e++)
        agent_input(a, m->d->obs + e * a->O, 0.0, m->inputs + e * a->O_net);
    memcpy(m->targets, m->params, m->d->n * a->P * sizeof *m->targets);
}

/* What it sees in resets, and the mean of the demonstrations for all of them. */
static tce_status draw_contexts(imitator *m)
{
    const agent *a = m->agent;
    double *obs = m->path;
    void *instance = NULL;
    tce_status status = m->t->vtable->create(m->t->user, m->s->task.options, &instance);
    for (size_t i = 0; status == TCE_OK && i < m->n_inputs; i++) {
        tce_random random;
        tce_random_start(&random, m->s->run.seed, PURPOSE_TRAIN_ENV, 0, i);
        status = m->t->vtable->reset(instance, &random, obs, m->work, m->work + a->D);
        if (status == TCE_OK)
            agent_input(a, obs, 0.0, m->inputs + i * a->O_net);
    }
    if (instance)
        m->t->vtable->destroy(instance);
    for (size_t k = 0; k < a->P; k++) {
        double sum = 0.0;
        for (size_t e = 0; e < m->d->n; e++)
            sum += m->params[e * a->P + k];
        for (size_t i = 0; i < m->n_inputs; i++)
            m->targets[i * a->P + k] = sum / (double)m->d->n;
    }
    return status;
}

/* ---- the mean -------------------------------------------------------------------------------- */

/* Fits the mean network to n rows, from the first weights on. */
static tce_status fit_mean(imitator *m, size_t n, const double *inputs, const double *targets)
{
    const size_t P = m->agent->P;
    tce_adam_options adam = m->s->policy.adam;
    tce_random none;
    tce_random_start(&none, 0, 0, 0, 0);
    tce_status status = tce_policy_start(m->policy, &none); /* which clears Adam */
    if (status == TCE_OK)
        status = tce_policy_set_weights(m->policy, m->start);
    for (int epoch = 0; status == TCE_OK && epoch < EPOCHS; epoch++) {
        const double done = (double)epoch / EPOCHS;
        adam.learning_rate = RATE * (1.0 - done * (1.0 - LAST_RATE));
        status = tce_policy_predict(m->policy, n, inputs, m->mean, m->scale);
        for (size_t i = 0; i < n * P; i++)
            m->d_mean[i] = (m->mean[i] - targets[i]) / (double)n;
        if (status == TCE_OK)
            status = tce_policy_backward(m->policy, n, m->d_mean, m->zeros);
        if (status == TCE_OK)
            status = tce_policy_adam_step(m->policy, &adam);
    }
    return status;
}

/* Residuals of the demonstrations e = fold, fold + FOLDS, … when the others are fitted. */
static tce_status leave_out(imitator *m, size_t fold, size_t n_folds)
{
    const size_t P = m->agent->P, O = m->agent->O_net;
    size_t n = 0;
    for (size_t e = 0; e < m->d->n; e++)
        if (e % n_folds != fold) {
            memcpy(m->some_inputs + n * O, m->inputs + e * O, O * sizeof *m->inputs);
            memcpy(m->some_targets + n * P, m->targets + e * P, P * sizeof *m->targets);
            n++;
        }
    tce_status status = fit_mean(m, n, m->some_inputs, m->some_targets);
    for (size_t e = fold; status == TCE_OK && e < m->d->n; e += n_folds) {
        status = tce_policy_predict(m->policy, 1, m->inputs + e * O, m->mean, m->scale);
        for (size_t k = 0; k < P; k++)
            m->residuals[e * P + k] = m->params[e * P + k] - m->mean[k];
    }
    return status;
}

/* Without contexts, the mean of the others is what each is predicted to be. */
static void leave_out_of_mean(imitator *m)
{
    const size_t n = m->d->n, P = m->agent->P;
    for (size_t i = 0; i < n * P; i++)
        m->residuals[i] = (m->params[i] - m->targets[i % P]) * (double)n / (double)(n - 1);
}

static tce_status find_residuals(imitator *m)
{
    const size_t n_folds = m->d->n < FOLDS ? m->d->n : FOLDS;
    tce_status status = TCE_OK;
    if (m->d->n < 2)
        return TCE_OK; /* nothing to tell: initial_std decides */
    if (!m->d->obs)
        leave_out_of_mean(m);
    for (size_t fold = 0; m->d->obs && status == TCE_OK && fold < n_folds; fold++)
        status = leave_out(m, fold, n_folds);
    return status;
}

/* ---- the covariance -------------------------------------------------------------------------- */

/* Mean of r r' over the residuals. */
static void second_moments(const imitator *m, double *S)
{
    const size_t n = m->d->n, P = m->agent->P;
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) {
            double sum = 0.0;
            for (size_t e = 0; e < n; e++)
                sum += m->residuals[e * P + i] * m->residuals[e * P + j];
            S[i * P + j] = sum / (double)n;
        }
}

/* The best share of the prior: variance of S over its distance from the prior (Ledoit, Wolf). */
static double prior_weight(const imitator *m, const double *S, double prior)
{
    const size_t n = m->d->n, P = m->agent->P;
    double variance = 0.0, distance = 0.0;
    if (n < 2)
        return 1.0;
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) {
            const double s = S[i * P + j], away = s - (i == j ? prior : 0.0);
            for (size_t e = 0; e < n; e++) {
                const double r = m->residuals[e * P + i] * m->residuals[e * P + j] - s;
                variance += r * r / (double)(n * n);
            }
            distance += away * away;
        }
    return variance < distance ? variance / distance : 1.0;
}

static void estimate_covariance(imitator *m)
{
    const size_t P = m->agent->P;
    const double std = m->s->policy.options.initial_std, prior = std * std;
    second_moments(m, m->covariance);
    const double weight = prior_weight(m, m->covariance, prior);
    for (size_t i = 0; i < P * P; i++)
        m->covariance[i] *= 1.0 - weight;
    for (size_t i = 0; i < P; i++)
        m->covariance[i * P + i] += (weight + FLOOR * FLOOR) * prior;
}

/* C = L L' in place, zeros above the diagonal. C has at least its prior on the diagonal. */
static void factorise(size_t P, double *C)
{
    for (size_t j = 0; j < P; j++) {
        for (size_t k = 0; k < j; k++)
            for (size_t i = j; i < P; i++)
                C[i * P + j] -= C[i * P + k] * C[j * P + k];
        const double pivot = sqrt(C[j * P + j]);
        for (size_t i = j; i < P; i++)
            C[i * P + j] /= pivot;
        for (size_t i = 0; i < j; i++)
            C[i * P + j] = 0.0;
    }
}

static tce_status set_covariance(imitator *m, double *std)
{
    const size_t P = m->agent->P;
    double logs = 0.0;
    estimate_covariance(m);
    if (tce_policy_scale_size(m->policy) == P) {
        for (size_t i = 0; i < P; i++)
            m->covariance[i] = sqrt(m->covariance[i * P + i]);
        for (size_t i = 0; i < P; i++)
            logs += log(m->covariance[i]);
    } else {
        factorise(P, m->covariance);
        for (size_t i = 0; i < P; i++)
            logs += log(m->covariance[i * P + i]);
    }
    *std = exp(logs / (double)P);
    return tce_policy_set_covariance(m->policy, m->covariance);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static tce_status check(const settings *s, const agent *a, const demonstrations *d)
{
    if (a->acts || a->output != AGENT_PLAIN || tce_policy_n_factors(a->policy, 2) > 1)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "demonstrations can be fitted for methods with a Gaussian over the "
                        "parameters of a primitive and one covariance for all contexts: set "
                        "run.method tce or bbrl, policy.covariance full or diagonal");
    if (d->D != a->D)
        return tce_fail(TCE_E_SHAPE, "the demonstrations have %zu positions, the task %s has %zu",
                        d->D, s->task.name, a->D);
    if (d->obs && d->O != a->O)
        return tce_fail(TCE_E_SHAPE,
                        "the demonstrations have %zu numbers in an observation, the task %s has "
                        "%zu",
                        d->O, s->task.name, a->O);
    return TCE_OK;
}

/* The agent's policy once more, for so many rows at once. */
static tce_status copy_policy(imitator *m)
{
    tce_policy_options options;
    tce_store *store = NULL;
    tce_policy_options_init(&options, sizeof options);
    options.max_batch = (int32_t)m->n_inputs;
    tce_status status = tce_store_create(NULL, &store);
    if (status == TCE_OK)
        status = tce_policy_save(m->agent->policy, store, "policy");
    if (status == TCE_OK)
        status = tce_policy_create_from(store, "policy", &options, NULL, &m->policy);
    tce_store_free(store);
    return status;
}

static tce_status allocate(imitator *m)
{
    const agent *a = m->agent;
    const size_t n = m->n_inputs, P = a->P;
    const size_t n_path = m->d->T * a->D, n_work = tce_mp_work_size(a->mp);
    memory *arrays = &m->arrays;
    m->inputs = memory_doubles(arrays, n * a->O_net);
    m->targets = memory_doubles(arrays, n * P);
    m->params = memory_doubles(arrays, m->d->n * P);
    m->residuals = memory_doubles(arrays, m->d->n * P);
    m->start = memory_doubles(arrays, tce_policy_n_weights(a->policy));
    m->some_inputs = memory_doubles(arrays, n * a->O_net);
    m->some_targets = memory_doubles(arrays, n * P);
    m->mean = memory_doubles(arrays, n * P);
    m->d_mean = memory_doubles(arrays, n * P);
    m->scale = memory_doubles(arrays, P * P);
    m->zeros = memory_doubles(arrays, P * P);
    m->covariance = memory_doubles(arrays, P * P);
    m->work = memory_doubles(arrays, n_work > 2 * a->D ? n_work : 2 * a->D);
    m->path = memory_doubles(arrays, n_path > a->O ? n_path : a->O);
    return arrays->failed ? tce_fail(TCE_E_NOMEM, "no memory for %zu demonstrations", m->d->n)
                          : copy_policy(m);
}

/* The agent's policy becomes one that imitates. */
static tce_status imitate(imitator *m, imitation *out)
{
    const agent *a = m->agent;
    tce_status status = allocate(m);
    if (status != TCE_OK)
        return status;
    tce_policy_get_weights(a->policy, m->start);
    status = fit_paths(m, &out->path_error);
    if (status == TCE_OK && m->d->obs)
        take_contexts(m);
    else if (status == TCE_OK)
        status = draw_contexts(m);
    if (status == TCE_OK)
        status = agent_normalise(a, m->n_inputs, m->inputs);
    if (status == TCE_OK)
        status = find_residuals(m);
    if (status == TCE_OK)
        status = fit_mean(m, m->n_inputs, m->inputs, m->targets);
    if (status == TCE_OK)
        status = set_covariance(m, &out->std);
    if (status != TCE_OK)
        return status;
    double sum = 0.0;
    for (size_t i = 0; i < m->d->n * a->P; i++)
        sum += m->residuals[i] * m->residuals[i];
    out->parameter_error = sqrt(sum / (double)(m->d->n * a->P));
    tce_policy_get_weights(m->policy, m->start);
    return tce_policy_set_weights(a->policy, m->start);
}

/* The learner of the settings, whose agent is what a run would start with. */
static tce_status imitate_in(const char *folder, const method_context *c, const demonstrations *d,
                             imitation *out)
{
    const method *way = method_of(c->s);
    void *learner = NULL;
    tce_status status = way->create(c, &learner);
    if (status == TCE_OK) {
        const agent *a = way->agent(learner);
        imitator m = { .s = c->s, .t = c->t, .agent = a, .d = d };
        m.n_inputs = d->obs ? d->n : N_CONTEXTS;
        status = check(c->s, a, d);
        if (status == TCE_OK)
            status = imitate(&m, out);
        tce_policy_free(m.policy);
        memory_free(&m.arrays);
    }
    const run_subject subject = { c->s, way, learner, NULL, NULL, NULL, NULL };
    if (status == TCE_OK)
        status = run_write_settings(folder, c->s);
    if (status == TCE_OK)
        status = checkpoint_export(folder, &subject);
    way->destroy(learner);
    return status;
}

tce_status run_imitate(const char *folder, const settings *s, const task *t,
                       const demonstrations *d, imitation *out)
{
    tce_pool_options options;
    tce_pool *pool = NULL;
    int lock = -1;
    memset(out, 0, sizeof *out);
    tce_status status = run_folder_create(folder);
    if (status == TCE_OK)
        status = run_lock(folder, &lock);
    if (status != TCE_OK)
        return status;
    if (run_find_state(folder, s->methods) != RUN_ABSENT)
        status = tce_fail(TCE_E_STATE, "%s has a run already: choose another folder", folder);
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = 1;
    if (status == TCE_OK)
        status = tce_pool_create(&options, NULL, &pool);
    const method_context c = { s, t, pool };
    if (status == TCE_OK)
        status = imitate_in(folder, &c, d, out);
    tce_pool_free(pool);
    run_folder_discard(folder);
    run_unlock(lock);
    return status;
}
