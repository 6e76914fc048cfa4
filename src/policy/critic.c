/*
 * The value function: V(s) = network((s - mean)/sqrt(var + 1e-8)), with running statistics of
 * observations.
 *
 * N new rows with mean m_b and variance v_b (divisor N - 1) meet statistics of count n, which start
 * with n = 1e-4, mean 0, var 1:
 *     delta = m_b - mean,   mean <- mean + delta N/(n + N),
 *     var <- (var n + v_b N + delta^2 n N/(n + N))/(n + N),   n <- n + N
 */
#include <tce/critic.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "net/internal.h"

#define DEFAULT_WIDTH 256
/* Added to the variance, against columns that never change. */
#define VARIANCE_EPSILON 1e-8
/* Weight of the first statistics (mean 0, variance 1). */
#define FIRST_COUNT 1e-4

struct tce_critic {
    tce_hooks hooks;
    tce_net *net;
    size_t n_obs;
    size_t max_batch;
    int32_t normalise;
    double count;
    double *mean;     /* [n_obs] running statistics */
    double *variance; /* [n_obs] */
    double *std;      /* [n_obs] sqrt(variance + epsilon), what the network's input is divided by */
    double *new_mean; /* [n_obs] scratch of observe */
    double *new_variance; /* [n_obs] */
    uint32_t *rows;       /* [max_batch] permutation */
};

/* ---- life cycle ------------------------------------------------------------------------------ */

void tce_critic_options_init(tce_critic_options *options, size_t struct_size)
{
    const tce_critic_options defaults = {
        .n_obs = 1,
        .n_hidden = 2,
        .activation = TCE_NET_LEAKY_RELU,
        .precision = TCE_NET_FLOAT,
        .start = TCE_NET_ORTHOGONAL,
        .max_batch = 1,
        .normalise = TCE_CRITIC_NORMALISE,
    };
    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

static tce_critic *layout(tce_critic *plan, tce_net *net, tce__arena *arena)
{
    tce_critic *critic = tce__arena_take(arena, 1, sizeof *critic);

    plan->net = tce__net_layout(net, arena);
    plan->mean = tce__arena_doubles(arena, plan->n_obs);
    plan->variance = tce__arena_doubles(arena, plan->n_obs);
    plan->std = tce__arena_doubles(arena, plan->n_obs);
    plan->new_mean = tce__arena_doubles(arena, plan->n_obs);
    plan->new_variance = tce__arena_doubles(arena, plan->n_obs);
    plan->rows = tce__arena_take(arena, plan->max_batch, sizeof *plan->rows);
    return critic;
}

/* publishes statistics: [n_obs], [n_obs], count */
static void set_statistics(tce_critic *critic, const double *mean, const double *variance,
                           double count)
{
    for (size_t i = 0; i < critic->n_obs; i++) {
        critic->mean[i] = mean[i];
        critic->variance[i] = variance[i];
        critic->std[i] = sqrt(variance[i] + VARIANCE_EPSILON);
    }
    critic->count = count;
}

static void clear_statistics(tce_critic *critic)
{
    for (size_t i = 0; i < critic->n_obs; i++) {
        critic->new_mean[i] = 0.0;
        critic->new_variance[i] = 1.0;
    }
    set_statistics(critic, critic->new_mean, critic->new_variance, FIRST_COUNT);
}

tce_status tce_critic_create(const tce_critic_options *options, const tce_hooks *hooks,
                             tce_critic **out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    tce_critic_options opt;
    tce_critic_options_init(&opt, sizeof opt);
    status = tce__struct_read(options, "tce_critic_options", sizeof opt, &opt);
    if (status == TCE_OK)
        status = tce__check_int("n_obs", opt.n_obs, 1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("n_hidden", opt.n_hidden, 0, TCE__NET_MAX_HIDDEN);
    if (status == TCE_OK)
        status = tce__check_int("max_batch", opt.max_batch, 1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("normalise", opt.normalise, TCE_CRITIC_RAW, TCE_CRITIC_NORMALISED);
    if (status != TCE_OK)
        return status;

    /* the network; it only ever streams batches, so it remembers none */
    int32_t widths[TCE__NET_MAX_HIDDEN];
    tce_net_options net_opt;
    tce_net net;
    tce_net_options_init(&net_opt, sizeof net_opt);
    for (int32_t l = 0; l < opt.n_hidden; l++)
        widths[l] = opt.hidden ? opt.hidden[l] : DEFAULT_WIDTH;
    net_opt.n_in = opt.n_obs;
    net_opt.n_hidden = opt.n_hidden;
    net_opt.activation = opt.activation;
    net_opt.precision = opt.precision;
    net_opt.start = opt.start;
    net_opt.hidden = widths;
    net_opt.pool = opt.pool;
    status = tce__net_plan(&net_opt, (size_t)opt.max_batch, &net);
    if (status != TCE_OK)
        return status;

    tce_critic plan = {
        .n_obs = (size_t)opt.n_obs,
        .max_batch = (size_t)opt.max_batch,
        .normalise = opt.normalise,
    };
    tce__arena arena = { NULL, 0 };
    layout(&plan, &net, &arena);
    status = tce__block_create(hooks, "tce_critic", &arena, &plan.hooks);
    if (status != TCE_OK)
        return status;
    *out = layout(&plan, &net, &arena);
    **out = plan;
    tce__net_place(&net_opt, &net, plan.net);
    clear_statistics(*out);
    return TCE_OK;
}

void tce_critic_free(tce_critic *critic)
{
    if (critic)
        tce__block_free(&critic->hooks, critic);
}

tce_status tce_critic_start(tce_critic *critic, tce_random *random)
{
    tce_status status = tce__check_pointer("critic", critic);
    if (status == TCE_OK)
        status = tce_net_start(critic->net, random);
    if (status == TCE_OK)
        clear_statistics(critic);
    return status;
}

/* ---- normaliser ------------------------------------------------------------------------------ */

/* mean and variance (divisor n - 1; 0 for one row) of the columns of obs [n, n_obs] */
static void batch_statistics(size_t n, size_t n_obs, const double *obs, double *mean,
                             double *variance)
{
    for (size_t i = 0; i < n_obs; i++)
        mean[i] = variance[i] = 0.0;
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < n_obs; i++)
            mean[i] += obs[r * n_obs + i];
    for (size_t i = 0; i < n_obs; i++)
        mean[i] /= (double)n;

    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < n_obs; i++) {
            const double d = obs[r * n_obs + i] - mean[i];
            variance[i] += d * d;
        }
    }
    for (size_t i = 0; n > 1 && i < n_obs; i++)
        variance[i] /= (double)(n - 1);
}

tce_status tce_critic_observe(tce_critic *critic, size_t n, const double *obs)
{
    tce_status status = tce__check_pointer("critic", critic);
    if (status == TCE_OK)
        status = tce__check_finite("obs", n * critic->n_obs, obs);
    if (status != TCE_OK || critic->normalise == TCE_CRITIC_RAW || n == 0)
        return status;

    /* old and new together, in scratch */
    double *mean = critic->new_mean;
    double *variance = critic->new_variance;
    const double N = (double)n;
    const double total = critic->count + N;
    batch_statistics(n, critic->n_obs, obs, mean, variance);
    for (size_t i = 0; i < critic->n_obs; i++) {
        const double delta = mean[i] - critic->mean[i];
        mean[i] = critic->mean[i] + delta * N / total;
        const double shift = delta * delta * critic->count * N / total;
        variance[i] = (critic->variance[i] * critic->count + variance[i] * N + shift) / total;
        if (!isfinite(variance[i]))
            return tce_fail(TCE_E_VALUE, "obs column %zu is too large, its variance overflows", i);
    }
    set_statistics(critic, mean, variance, total);
    return TCE_OK;
}

tce_status tce_critic_normalise(const tce_critic *critic, size_t n, const double *obs, double *out)
{
    tce_status status = tce__check_pointer("critic", critic);
    if (status == TCE_OK)
        status = tce__check_pointer("obs", obs);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;

    const size_t n_obs = critic->n_obs;
    const int raw = critic->normalise == TCE_CRITIC_RAW;
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < n_obs; i++) {
            const double x = obs[r * n_obs + i];
            out[r * n_obs + i] = raw ? x : (x - critic->mean[i]) / critic->std[i];
        }
    return TCE_OK;
}

/* what the network loads: raw observations are normalised on the way */
static tce__net_input input_of(const tce_critic *critic, const double *obs, const uint32_t *rows)
{
    const int now = critic->normalise == TCE_CRITIC_NORMALISE;
    const tce__net_input input = { obs, rows, now ? critic->mean : NULL, now ? critic->std : NULL };
    return input;
}

/* ---- value and regression -------------------------------------------------------------------- */

static tce_status check_batch(const tce_critic *critic, size_t n)
{
    if (n > critic->max_batch)
        return tce_fail(TCE_E_SHAPE, "n = %zu rows, max_batch is %zu", n, critic->max_batch);
    return TCE_OK;
}

tce_status tce_critic_value(tce_critic *critic, size_t n, const double *obs, double *out)
{
    tce_status status = tce__check_pointer("critic", critic);
    if (status == TCE_OK)
        status = tce__check_pointer("obs", obs);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status == TCE_OK)
        status = check_batch(critic, n);
    if (status != TCE_OK)
        return status;

    const tce__net_input input = input_of(critic, obs, NULL);
    return tce__net_evaluate(critic->net, n, &input, out);
}

tce_status tce_critic_fit_epoch(tce_critic *critic, size_t n, const double *obs,
                                const double *target, size_t n_minibatches, tce_random *random,
                                const tce_adam_options *adam, double rate_factor, double clip_norm,
                                double *out_loss)
{
    tce_adam_options opt;
    tce_status status = tce__check_pointer("critic", critic);
    if (status == TCE_OK)
        status = tce__check_pointer("obs", obs);
    if (status == TCE_OK)
        status = tce__check_pointer("target", target);
    if (status == TCE_OK)
        status = check_batch(critic, n);
    if (status == TCE_OK && (n_minibatches < 1 || n_minibatches > n))
        status = tce_fail(TCE_E_SHAPE, "n_minibatches = %zu, must be in 1 ... n = %zu",
                          n_minibatches, n);
    if (status == TCE_OK && n_minibatches > 1)
        status = tce__check_pointer("random", random);
    if (status == TCE_OK)
        status = tce__adam_read(adam, rate_factor, &opt);
    if (status != TCE_OK)
        return status;

    /* the first n mod M parts are one longer */
    tce_net *net = critic->net;
    const size_t M = n_minibatches;
    double total = 0.0;
    size_t begin = 0;
    if (M > 1)
        tce_random_permutation(random, n, critic->rows);
    for (size_t part = 0; part < M; part++) {
        const size_t size = n / M + (part < n % M);
        const tce__net_input input = input_of(critic, obs, M > 1 ? critic->rows + begin : NULL);
        double loss;

        status = tce__net_pass_mse(net, size, &input, target, &loss);
        const double norm = status == TCE_OK ? tce_net_gradient_norm(net) : 0.0;
        if (status == TCE_OK)
            status = tce__adam_check_norm(net->kernels, norm);
        if (status != TCE_OK)
            return status;

        const double clip = tce_clip_factor(norm, clip_norm);
        if (clip < 1.0)
            tce_net_scale_gradient(net, clip);
        tce__net_adam(net, &opt, rate_factor);
        total += loss * (double)size;
        begin += size;
    }
    if (out_loss)
        *out_loss = total / (double)n;
    return TCE_OK;
}

/* ---- state ----------------------------------------------------------------------------------- */

void tce_critic_statistics(const tce_critic *critic, double *out_mean, double *out_var,
                           double *out_count)
{
    if (!critic)
        return;
    if (out_mean)
        memcpy(out_mean, critic->mean, critic->n_obs * sizeof *out_mean);
    if (out_var)
        memcpy(out_var, critic->variance, critic->n_obs * sizeof *out_var);
    if (out_count)
        *out_count = critic->count;
}

size_t tce_critic_num_parameters(const tce_critic *critic)
{
    return critic ? critic->net->n_parameters : 0;
}

void tce_critic_get_parameters(const tce_critic *critic, double *out)
{
    if (critic)
        tce_net_get_parameters(critic->net, out);
}

tce_status tce_critic_set_parameters(tce_critic *critic, const double *parameters)
{
    const tce_status status = tce__check_pointer("critic", critic);
    if (status != TCE_OK)
        return status;
    return tce_net_set_parameters(critic->net, parameters);
}

/* the network under "<prefix>.net"; "<prefix>.mean", ".variance" [n_obs], ".count" */
tce_status tce_critic_save(const tce_critic *critic, tce_store *store, const char *prefix)
{
    char net[TCE__FIELD_NAME_SIZE];
    tce_status status = tce__check_pointer("critic", critic);
    if (status == TCE_OK)
        status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__field_name(prefix, "net", net);
    if (status == TCE_OK)
        status = tce_net_save(critic->net, store, net);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "mean", TCE_STORE_F64, critic->n_obs, 0,
                                critic->mean);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "variance", TCE_STORE_F64, critic->n_obs, 0,
                                critic->variance);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "count", TCE_STORE_F64, 1, 0, &critic->count);
    return status;
}

tce_status tce_critic_load(tce_critic *critic, const tce_store *store, const char *prefix)
{
    char net[TCE__FIELD_NAME_SIZE];
    tce_status status = tce__check_pointer("critic", critic);
    if (status == TCE_OK)
        status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__field_name(prefix, "net", net);

    /* everything is checked before anything changes */
    if (status == TCE_OK)
        status = tce__net_load_check(critic->net, store, net);
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "mean", critic->n_obs, 0, -DBL_MAX, DBL_MAX);
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "variance", critic->n_obs, 0, 0.0, DBL_MAX);
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "count", 1, 0, DBL_MIN, DBL_MAX);
    if (status != TCE_OK)
        return status;

    double count;
    status = tce__net_load_read(critic->net, store, net);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "mean", TCE_STORE_F64, critic->n_obs,
                                 critic->new_mean);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "variance", TCE_STORE_F64, critic->n_obs,
                                 critic->new_variance);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "count", TCE_STORE_F64, 1, &count);
    if (status == TCE_OK)
        set_statistics(critic, critic->new_mean, critic->new_variance, count);
    return status;
}
