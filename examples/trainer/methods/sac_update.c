/*
 * The order inside an update, and what runs at the same time:
 *
 *     actor at o' and at o; log alpha
 *     for each critic: its target at [o', a']
 *     y
 *     for each critic: regression to y, Adam, then its value at [o, a_pi]
 *     for each critic: gradient of -min_j Q_j with respect to a_pi; its target follows
 *     actor
 *
 * The actor does not change before its own step, so o' may come first; what is remembered for its
 * gradient is o, the last.
 */
#include "methods/sac_update.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 64 };

/* ---- life cycle ------------------------------------------------------------------------------ */

/* hooks: NULL, or those of memory.h */
static tce_status create_actor(const sac_options *o, const tce_hooks *hooks, tce_policy **out)
{
    tce_policy_options policy;
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = o->n_obs;
    policy.n_dims = o->n_actions;
    policy.form = TCE_POLICY_DIAGONAL_CONTEXTUAL;
    policy.spread = TCE_POLICY_EXP_CLIPPED;
    policy.shared_body = 1;
    policy.n_hidden = o->n_hidden;
    policy.hidden = o->hidden;
    policy.activation = o->activation;
    policy.precision = o->precision;
    policy.start = o->start;
    policy.max_batch = o->batch_size > o->max_rows ? o->batch_size : o->max_rows;
    policy.log_std_low = o->log_std_low;
    policy.log_std_high = o->log_std_high;
    policy.pool = o->pool;
    return tce_policy_create(&policy, hooks, out);
}

static tce_status create_critic(const sac_options *o, const tce_hooks *hooks, tce_net **out)
{
    tce_net_options net;
    tce_net_options_init(&net, sizeof net);
    net.n_in = o->n_obs + o->n_actions;
    net.n_hidden = o->n_critic_hidden;
    net.hidden = o->critic_hidden;
    net.activation = o->critic_activation;
    net.precision = o->precision;
    net.start = o->start;
    net.max_batch = net.max_pass = o->batch_size;
    net.pool = o->pool;
    return tce_net_create(&net, hooks, out);
}

static void take_arrays(sac *s, const sac_options *o, memory *m)
{
    const size_t M = (size_t)o->batch_size, O = (size_t)o->n_obs, A = (size_t)o->n_actions;
    const size_t W = M * (O + A);
    s->M = M, s->O = O, s->A = A;
    s->first_log_alpha = o->first_log_alpha;
    s->pool = o->pool;
    s->batch = (sac_batch){ .obs = memory_doubles(m, M * O),
                            .actions = memory_doubles(m, M * A),
                            .rewards = memory_doubles(m, M),
                            .noise = memory_doubles(m, M * A) };
    if (o->bootstrap) {
        s->batch.next_obs = memory_doubles(m, M * O);
        s->batch.ends = memory_doubles(m, M);
        s->batch.next_noise = memory_doubles(m, M * A);
        s->next_actions = memory_doubles(m, M * A);
        s->next_log_prob = memory_doubles(m, M);
        s->next_inputs = memory_doubles(m, W);
    }
    s->mean = memory_doubles(m, M * A);
    s->std = memory_doubles(m, M * A);
    s->d_mean = memory_doubles(m, M * A);
    s->d_std = memory_doubles(m, M * A);
    s->d_actions = memory_doubles(m, M * A);
    s->policy_actions = memory_doubles(m, M * A);
    s->log_prob = memory_doubles(m, M);
    s->inputs = memory_doubles(m, W);
    s->policy_inputs = memory_doubles(m, W);
    s->y = memory_doubles(m, M);
    s->d_log_prob = memory_doubles(m, M);
    for (int j = 0; j < 2; j++) {
        s->q[j] = memory_doubles(m, M);
        s->next_q[j] = memory_doubles(m, M);
        s->policy_q[j] = memory_doubles(m, M);
        s->d_q[j] = memory_doubles(m, M);
        s->d_inputs[j] = memory_doubles(m, W);
        s->work[j] = memory_doubles(m, tce_net_work_size(s->critic[j], M));
    }
    s->gauss_work = memory_doubles(m, tce_gauss_work_size(M, A));
}

tce_status sac_create(sac *s, const sac_options *options, memory *m)
{
    memset(s, 0, sizeof *s);
    tce_status status = create_actor(options, NULL, &s->actor);
    for (int j = 0; status == TCE_OK && j < 2; j++) {
        status = create_critic(options, NULL, &s->critic[j]);
        if (status == TCE_OK && options->bootstrap)
            status = create_critic(options, NULL, &s->target[j]);
    }
    if (status != TCE_OK)
        return status;
    take_arrays(s, options, m);
    return m->failed ? tce_fail(TCE_E_NOMEM, "no memory for minibatches of %d rows",
                                (int)options->batch_size)
                     : TCE_OK;
}

tce_status sac_measure(const sac_options *options, memory *m)
{
    sac s;
    tce_hooks hooks;
    memset(&s, 0, sizeof s);
    memory_hooks(m, &hooks);
    tce_status status = memory_measured(create_actor(options, &hooks, &s.actor));
    for (int j = 0; status == TCE_OK && j < (options->bootstrap ? 4 : 2); j++)
        status = memory_measured(create_critic(options, &hooks, &s.critic[0]));

    /* a critic of one row tells what its work space takes */
    sac_options small = *options;
    small.batch_size = 1;
    if (status == TCE_OK)
        status = create_critic(&small, NULL, &s.critic[0]);
    s.critic[1] = s.critic[0];
    take_arrays(&s, options, m);
    tce_net_free(s.critic[0]);
    return status;
}

void sac_free(sac *s)
{
    tce_policy_free(s->actor);
    for (int j = 0; j < 2; j++) {
        tce_net_free(s->critic[j]);
        tce_net_free(s->target[j]);
    }
    memset(s, 0, sizeof *s);
}

tce_status sac_start(sac *s, tce_random *actor, tce_random *critics)
{
    tce_status status = tce_policy_start(s->actor, actor);
    for (int j = 0; status == TCE_OK && j < 2; j++) {
        status = tce_net_start(s->critic[j], critics);
        if (status == TCE_OK && s->target[j])
            status = tce_net_average(s->target[j], s->critic[j], 1.0);
    }
    s->log_alpha = s->first_log_alpha;
    memset(s->alpha_moments, 0, sizeof s->alpha_moments);
    s->n_alpha_steps = 0;
    return status;
}

/* ---- parts of an update ---------------------------------------------------------------------- */

static double mean_of(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* [x, y] row by row */
static void join(size_t n, size_t n_x, const double *x, size_t n_y, const double *y, double *out)
{
    for (size_t i = 0; i < n; i++, out += n_x + n_y) {
        memcpy(out, x + i * n_x, n_x * sizeof *x);
        memcpy(out + n_x, y + i * n_y, n_y * sizeof *y);
    }
}

static tce_gauss gaussian_of(const sac *s)
{
    tce_gauss g = TCE_INIT(tce_gauss);
    g.n = g.n_scales = s->M;
    g.dim = s->A;
    g.form = TCE_GAUSS_DIAGONAL;
    g.mean = s->mean;
    g.scale = s->std;
    return g;
}

/* a ~ pi(o) from the noise, its log-density, and what the critics see of it */
static tce_status act(sac *s, const double *obs, const double *noise, double *out_actions,
                      double *out_log_prob, double *out_inputs)
{
    tce_status status = tce_policy_predict(s->actor, s->M, obs, s->mean, s->std);
    const tce_gauss g = gaussian_of(s);
    if (status == TCE_OK)
        status = tce_gauss_squash(&g, noise, out_actions, out_log_prob);
    if (status == TCE_OK)
        join(s->M, s->O, obs, s->A, out_actions, out_inputs);
    return status;
}

void sac_target(size_t n, const double *const next_q[2], const double *next_log_prob,
                const double *rewards, const double *ends, double gamma, double alpha, double *out)
{
    /* y = r + (1 - end) gamma (min_j Q'_j - alpha log pi') */
    for (size_t i = 0; i < n; i++)
        out[i] = rewards[i] + (1.0 - ends[i]) * gamma *
                                  (fmin(next_q[0][i], next_q[1][i]) - alpha * next_log_prob[i]);
}

tce_status sac_temperature(sac *s, const sac_rates *rates, size_t n, const double *log_prob,
                           double *out_loss, double *out_gradient)
{
    /* L = -log alpha mean(log pi + H) */
    const double gradient = -(mean_of(n, log_prob) + rates->target_entropy);
    *out_loss = s->log_alpha * gradient;
    *out_gradient = gradient;
    if (rates->fixed_alpha)
        return TCE_OK;
    const tce_status status = tce_adam_update(&rates->critic, s->n_alpha_steps + 1, 1, &gradient,
                                              &s->log_alpha, &s->alpha_moments[0],
                                              &s->alpha_moments[1]);
    if (status == TCE_OK)
        s->n_alpha_steps++;
    return status;
}

/* ---- the critics, one item each -------------------------------------------------------------- */

typedef struct critic_job {
    sac *s;
    const sac_rates *rates;
    double loss[2];
} critic_job;

static tce_status evaluate_target(void *context, size_t j, size_t begin, size_t end, int32_t worker)
{
    const critic_job *job = context;
    sac *s = job->s;
    (void)begin, (void)end, (void)worker;
    return tce_net_evaluate(s->target[j], s->M, s->next_inputs, s->work[j], s->next_q[j]);
}

typedef struct regression {
    const double *y;
    double *q;
    double weight; /* 1/M */
} regression;

/* 1/2 mean (Q - y)^2 */
static tce_status regression_loss(void *context, size_t begin, size_t end, const double *out,
                                  double *d_out, double *sums)
{
    const regression *r = context;
    for (size_t i = begin; i < end; i++) {
        const double error = out[i - begin] - r->y[i];
        r->q[i] = out[i - begin];
        d_out[i - begin] = r->weight * error;
        sums[0] += 0.5 * r->weight * error * error;
    }
    return TCE_OK;
}

static tce_status train_critic(void *context, size_t j, size_t begin, size_t end, int32_t worker)
{
    critic_job *job = context;
    sac *s = job->s;
    regression r = { s->y, s->q[j], 1.0 / (double)s->M };
    (void)begin, (void)end, (void)worker;
    tce_status status = tce_net_pass(s->critic[j], s->M, s->inputs, NULL, regression_loss, &r, 1,
                                     &job->loss[j]);
    if (status == TCE_OK)
        status = tce_net_adam_step(s->critic[j], &job->rates->critic);
    if (status == TCE_OK)
        status = tce_net_forward(s->critic[j], s->M, s->policy_inputs, s->policy_q[j]);
    return status;
}

static tce_status follow_minimum(void *context, size_t j, size_t begin, size_t end, int32_t worker)
{
    const critic_job *job = context;
    sac *s = job->s;
    const double *other = s->policy_q[1 - j];
    (void)begin, (void)end, (void)worker;

    /* d(-min_j Q_j)/dQ_j; of two equal ones the first counts */
    for (size_t i = 0; i < s->M; i++) {
        const double q = s->policy_q[j][i];
        const int smaller = j == 0 ? q <= other[i] : q < other[i];
        s->d_q[j][i] = smaller ? -1.0 / (double)s->M : 0.0;
    }
    tce_status status = tce_net_backward_input(s->critic[j], s->M, s->d_q[j], s->d_inputs[j]);
    if (status == TCE_OK && s->target[j])
        status = tce_net_average(s->target[j], s->critic[j], job->rates->polyak);
    return status;
}

/* ---- the actor ------------------------------------------------------------------------------- */

static tce_status train_actor(sac *s, const sac_rates *rates, double alpha)
{
    const size_t W = s->O + s->A;
    const tce_gauss g = gaussian_of(s);
    for (size_t i = 0; i < s->M; i++) {
        s->d_log_prob[i] = alpha / (double)s->M;
        for (size_t a = 0; a < s->A; a++) {
            const size_t at = i * W + s->O + a;
            s->d_actions[i * s->A + a] = s->d_inputs[0][at] + s->d_inputs[1][at];
        }
    }
    tce_status status = tce_gauss_squash_backward(&g, s->batch.noise, s->d_actions, s->d_log_prob,
                                                  s->gauss_work, s->d_mean, s->d_std);
    if (status == TCE_OK)
        status = tce_policy_backward(s->actor, s->M, s->d_mean, s->d_std);
    if (status == TCE_OK)
        status = tce_policy_adam_step(s->actor, &rates->actor);
    return status;
}

/* ---- an update ------------------------------------------------------------------------------- */

/* y: what the critics are to learn, from what follows, or, where everything ends, the rewards */
static tce_status compute_targets(sac *s, critic_job *job, double alpha)
{
    const sac_batch *b = &s->batch;
    if (!s->target[0]) {
        memcpy(s->y, b->rewards, s->M * sizeof *s->y);
        return TCE_OK;
    }
    const double *const next_q[2] = { s->next_q[0], s->next_q[1] };
    const tce_status status = tce_pool_run(s->pool, 2, 1, evaluate_target, job);
    if (status == TCE_OK)
        sac_target(s->M, next_q, s->next_log_prob, b->rewards, b->ends, job->rates->gamma, alpha,
                   s->y);
    return status;
}

tce_status sac_update(sac *s, const sac_rates *rates, sac_report *out)
{
    const sac_batch *b = &s->batch;
    critic_job job = { s, rates, { 0.0 } };
    const double alpha = exp(s->log_alpha);
    double gradient;
    tce_status status = TCE_OK;

    if (s->target[0])
        status = act(s, b->next_obs, b->next_noise, s->next_actions, s->next_log_prob,
                     s->next_inputs);
    if (status == TCE_OK)
        status = act(s, b->obs, b->noise, s->policy_actions, s->log_prob, s->policy_inputs);
    if (status == TCE_OK)
        status = sac_temperature(s, rates, s->M, s->log_prob, &out->alpha_loss, &gradient);
    if (status == TCE_OK)
        status = compute_targets(s, &job, alpha);
    if (status != TCE_OK)
        return status;

    join(s->M, s->O, b->obs, s->A, b->actions, s->inputs);
    status = tce_pool_run(s->pool, 2, 1, train_critic, &job);
    if (status == TCE_OK)
        status = tce_pool_run(s->pool, 2, 1, follow_minimum, &job);
    if (status == TCE_OK)
        status = train_actor(s, rates, alpha);
    if (status != TCE_OK)
        return status;

    out->alpha = alpha;
    out->critic_loss = job.loss[0] + job.loss[1];
    out->entropy = -mean_of(s->M, s->log_prob);
    out->value = mean_of(s->M, s->q[0]);
    out->actor_loss = 0.0;
    for (size_t i = 0; i < s->M; i++)
        out->actor_loss += alpha * s->log_prob[i] - fmin(s->policy_q[0][i], s->policy_q[1][i]);
    out->actor_loss /= (double)s->M;
    return TCE_OK;
}

/* ---- store ----------------------------------------------------------------------------------- */

static tce_status put_numbers(tce_store *store, const char *prefix, const char *name, size_t n,
                              const double *x)
{
    char full[NAME_SIZE];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    return tce_store_put(store, full, TCE_STORE_F64, 1, &n, x);
}

tce_status sac_save(const sac *s, tce_store *store, const char *prefix)
{
    const double alpha[4] = { s->log_alpha, s->alpha_moments[0], s->alpha_moments[1],
                              (double)s->n_alpha_steps };
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%s.actor", prefix);
    tce_status status = tce_policy_save(s->actor, store, name);
    for (int j = 0; status == TCE_OK && j < 2; j++) {
        snprintf(name, sizeof name, "%s.critic%d", prefix, j + 1);
        status = tce_net_save(s->critic[j], store, name);
        snprintf(name, sizeof name, "%s.target%d", prefix, j + 1);
        if (status == TCE_OK && s->target[j])
            status = tce_net_save(s->target[j], store, name);
    }
    return status == TCE_OK ? put_numbers(store, prefix, "alpha", 4, alpha) : status;
}

tce_status sac_load(sac *s, const tce_store *store, const char *prefix)
{
    double alpha[4];
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%s.alpha", prefix);
    tce_status status = tce_store_read(store, name, TCE_STORE_F64, 4, alpha);
    for (int i = 0; status == TCE_OK && i < 4; i++)
        if (!isfinite(alpha[i]) || (i >= 2 && alpha[i] < 0.0))
            status = tce_fail(TCE_E_CORRUPT, "%s[%d] = %g", name, i, alpha[i]);
    snprintf(name, sizeof name, "%s.actor", prefix);
    if (status == TCE_OK)
        status = tce_policy_load(s->actor, store, name);
    for (int j = 0; status == TCE_OK && j < 2; j++) {
        snprintf(name, sizeof name, "%s.critic%d", prefix, j + 1);
        status = tce_net_load(s->critic[j], store, name);
        snprintf(name, sizeof name, "%s.target%d", prefix, j + 1);
        if (status == TCE_OK && s->target[j])
            status = tce_net_load(s->target[j], store, name);
    }
    if (status != TCE_OK)
        return status;
    s->log_alpha = alpha[0];
    s->alpha_moments[0] = alpha[1];
    s->alpha_moments[1] = alpha[2];
    s->n_alpha_steps = (uint64_t)alpha[3];
    return TCE_OK;
}
