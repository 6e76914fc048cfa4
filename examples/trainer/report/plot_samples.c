/*
 * The actions that a policy applies when it explores, in episodes that all begin with the same
 * start [rivals 10.3]. Their correlation, other than that of the noise alone, has what the state
 * feeds back, and the range that actions are clipped or squashed to.
 *
 * N environments go side by side through the R episodes. The numbers of an episode depend on its
 * index alone, except coloured noise, whose chunks belong to environments.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/coloured_noise.h"
#include "report/plot.h"

/* Environments side by side: as many as keep the threads busy. */
#define MOST_ENVS 32

typedef struct explorer {
    const policy_runner *p;
    agent agent; /* of the same file, for N observations */
    tce_rollout *envs;
    noise_stream noise; /* where it is coloured */
    memory arrays;
    size_t N, O, P, F, T; /* environments, observation, actions, features, steps of an episode */
    tce_random *streams;  /* [N] */
    tce_env_result *results;
    double *obs, *inputs;      /* [N, O], [N, O_net] */
    double *mean, *std;        /* [N, P]; std of one row where all states share it */
    double *normals, *actions; /* [N, P] */
    double *features;          /* [N, F] */
    double *matrices;          /* [N, F, P] of held noise */
    uint8_t *over;             /* [N] */
} explorer;

/* ---- life cycle ------------------------------------------------------------------------------ */

static tce_status create_envs(explorer *x, tce_pool *pool)
{
    const policy_runner *p = x->p;
    tce_rollout_options options;
    tce_rollout_options_init(&options, sizeof options);
    options.vtable = p->t.vtable;
    options.user = p->t.user;
    options.pool = p->t.one_thread ? NULL : p->t.pool ? p->t.pool : pool;
    options.settings = p->ep.task_options;
    options.seed = p->s.run.seed;
    options.purpose = PURPOSE_EVAL_ENV;
    options.n_envs = (int32_t)x->N;
    return tce_rollout_create(&options, NULL, &x->envs);
}

static tce_status create_noise(explorer *x)
{
    const exploration *e = &x->agent.exploration;
    const noise_stream_options options = { .beta = e->beta,
                                           .chunk = (size_t)e->chunk,
                                           .max_period = (size_t)e->max_period,
                                           .by_episode = 1,
                                           .n_envs = x->N,
                                           .n_actions = x->P,
                                           .seed = x->p->s.run.seed,
                                           .purpose = PURPOSE_SAMPLED_EPISODES };
    return e->form == EXPLORATION_COLOURED ? noise_stream_create(&x->noise, &options, &x->arrays)
                                           : TCE_OK;
}

static void take_arrays(explorer *x)
{
    memory *m = &x->arrays;
    const size_t N = x->N;
    x->streams = memory_take(m, N, sizeof *x->streams);
    x->results = memory_take(m, N, sizeof *x->results);
    x->obs = memory_doubles(m, N * x->O);
    x->inputs = memory_doubles(m, N * x->agent.O_net);
    x->mean = memory_doubles(m, N * x->P);
    x->std = memory_doubles(m, N * x->P);
    x->normals = memory_doubles(m, N * x->P);
    x->actions = memory_doubles(m, N * x->P);
    x->features = memory_doubles(m, N * x->F);
    x->matrices = memory_doubles(m, N * x->F * x->P);
    x->over = memory_take(m, N, 1);
}

static tce_status create(explorer *x, const policy_runner *p, size_t n_episodes, tce_pool *pool)
{
    memset(x, 0, sizeof *x);
    x->p = p;
    x->N = n_episodes < MOST_ENVS ? n_episodes : MOST_ENVS;
    tce_status status = agent_open(&x->agent, p->store, (int32_t)x->N, pool);
    if (status != TCE_OK)
        return status;
    x->O = x->agent.O;
    x->P = x->agent.P;
    x->T = x->agent.T;
    x->F = x->agent.exploration.form == EXPLORATION_HELD ? x->agent.exploration.n_features : 0;
    status = create_envs(x, pool);
    if (status == TCE_OK)
        status = create_noise(x);
    if (status != TCE_OK)
        return status;
    take_arrays(x);
    return x->arrays.failed ? tce_fail(TCE_E_NOMEM, "no memory for %zu environments", x->N)
                            : TCE_OK;
}

static void destroy(explorer *x)
{
    tce_rollout_free(x->envs);
    memory_free(&x->arrays);
    agent_close(&x->agent);
}

/* ---- acting ---------------------------------------------------------------------------------- */

/* Numbers of step t of the n episodes from the first one on, `size` for each: out [n, size] */
static void draw(const explorer *x, size_t first, size_t n, size_t t, size_t size, double *out)
{
    for (size_t i = 0; i < n; i++) {
        tce_random random;
        tce_random_start(&random, x->p->s.run.seed, PURPOSE_SAMPLED_EPISODES, first + i, t);
        tce_random_normals(&random, size, out + i * size);
    }
}

/* Noise of a matrix that is drawn again every few steps: actions += Theta' z */
static tce_status add_held(explorer *x, size_t first, size_t n, size_t t)
{
    const size_t F = x->F, P = x->P;
    const double *std = x->agent.exploration.std;
    const tce_status status = tce_policy_hidden(x->agent.policy, n, x->features);
    if (status != TCE_OK)
        return status;
    if (t % (size_t)x->agent.exploration.every == 0) {
        draw(x, first, n, t, F * P, x->matrices);
        for (size_t k = 0; k < n * F * P; k++)
            x->matrices[k] *= std[k % (F * P)];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < F; f++)
            for (size_t d = 0; d < P; d++)
                x->actions[i * P + d] += x->features[i * F + f] * x->matrices[(i * F + f) * P + d];
    return TCE_OK;
}

/* Noise of the policy's own deviations: actions += sigma e */
static void add_scaled(explorer *x, size_t first, size_t n, size_t t)
{
    const size_t P = x->P, rows = tce_policy_n_factors(x->agent.policy, n);
    if (x->agent.exploration.form == EXPLORATION_COLOURED)
        noise_stream_next(&x->noise, x->normals);
    else
        draw(x, first, n, t, P, x->normals);
    for (size_t k = 0; k < n * P; k++)
        x->actions[k] += x->std[rows > 1 ? k : k % P] * x->normals[k];
}

/* Actions of step t, as the environments take them. */
static tce_status act(explorer *x, size_t first, size_t n, size_t t)
{
    const agent *a = &x->agent;
    for (size_t i = 0; i < n; i++)
        agent_input(a, x->obs + i * x->O, a->dt * (double)t, x->inputs + i * a->O_net);
    tce_status status = agent_normalise(a, n, x->inputs);
    if (status == TCE_OK)
        status = tce_policy_predict(a->policy, n, x->inputs, x->mean, x->std);
    if (status != TCE_OK)
        return status;
    memcpy(x->actions, x->mean, n * x->P * sizeof *x->actions);
    if (a->exploration.form == EXPLORATION_HELD)
        status = add_held(x, first, n, t);
    else
        add_scaled(x, first, n, t);
    agent_output(a, n, x->actions);
    return status;
}

/* Episodes first … first + n - 1: samples [n, T, P]; *steps: of the shortest episode so far. */
static tce_status explore(explorer *x, size_t first, size_t n, size_t *steps, double *samples)
{
    const size_t T = x->T, P = x->P;
    for (size_t i = 0; i < n; i++) {
        /* the start of the first episode that the mean policy has played */
        tce_random_start(&x->streams[i], x->p->s.run.seed, PURPOSE_EVAL_ENV, 0,
                         POLICY_RUNNER_COLLECTION);
        if (x->noise.work)
            noise_stream_end(&x->noise, i);
    }
    memset(x->over, 0, x->N);
    tce_status status = tce_rollout_reset_where(x->envs, n, NULL, x->streams, x->obs, NULL, NULL);
    for (size_t t = 0; status == TCE_OK && t < *steps; t++) {
        status = act(x, first, n, t);
        for (size_t i = 0; i < n; i++)
            memcpy(samples + (i * T + t) * P, x->actions + i * P, P * sizeof *samples);
        if (status == TCE_OK)
            status = tce_rollout_step(x->envs, n, x->actions, x->obs, x->results);
        for (size_t i = 0; status == TCE_OK && i < n; i++)
            if (x->results[i].terminated || x->results[i].truncated)
                *steps = t + 1;
    }
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------ */

/* samples [R, T, P] -> [R, steps, P], in place */
static void cut(size_t R, size_t T, size_t steps, size_t P, double *samples)
{
    for (size_t r = 1; r < R && steps < T; r++)
        memmove(samples + r * steps * P, samples + r * T * P, steps * P * sizeof *samples);
}

static tce_status explore_all(explorer *x, size_t R, size_t *out_steps, double *samples)
{
    tce_status status = TCE_OK;
    *out_steps = x->T;
    for (size_t first = 0; status == TCE_OK && first < R; first += x->N) {
        const size_t n = R - first < x->N ? R - first : x->N;
        status = explore(x, first, n, out_steps, samples + first * x->T * x->P);
    }
    if (status == TCE_OK)
        cut(R, x->T, *out_steps, x->P, samples);
    return status;
}

tce_status plot_sample_actions(const policy_runner *p, size_t n_episodes, tce_pool *pool,
                               size_t *out_steps, double **out)
{
    explorer x;
    int failed = 0;
    double *samples = NULL;
    tce_status status = create(&x, p, n_episodes, pool);
    if (status == TCE_OK)
        status = memory_check((double)n_episodes * (double)(x.T * x.P * sizeof *samples),
                              "this number of episodes", "lower --samples");
    if (status == TCE_OK)
        samples = array_of_doubles(n_episodes * x.T * x.P, &failed);
    if (failed)
        status = tce_fail(TCE_E_NOMEM, "no memory for %zu episodes: lower --samples", n_episodes);
    if (status == TCE_OK)
        status = explore_all(&x, n_episodes, out_steps, samples);
    destroy(&x);
    if (status == TCE_OK)
        *out = samples;
    else
        free(samples);
    return status;
}
