/*
 * net: multi-layer perceptrons with their gradient and their Adam, in float or double.
 *
 * Values cross the interface as double and are converted at the two ends. Batches are cut into
 * chunks that run on the pool, and weight gradients are summed over chunks in an order that depends
 * on the batch only: equal bytes for any number of threads. Parameters are ordered layer by layer:
 * weights [out, in], then biases [out].
 */
#ifndef TCE_NET_H
#define TCE_NET_H

#include <tce/pool.h>
#include <tce/random.h>
#include <tce/store.h>

TCE_BEGIN_C

typedef struct tce_net tce_net;

enum { TCE_NET_RELU = 0, TCE_NET_LEAKY_RELU = 1, TCE_NET_TANH = 2, TCE_NET_LINEAR = 3 };
enum { TCE_NET_FLOAT = 0, TCE_NET_DOUBLE = 1 };
/* ORTHOGONAL: gains below, biases 0. FAN_IN: weights and biases uniform in +-1/sqrt(inputs). */
enum { TCE_NET_ORTHOGONAL = 0, TCE_NET_FAN_IN = 1 };

typedef struct tce_net_options {
    size_t struct_size;
    int32_t n_in;     /* 1 */
    int32_t n_out;    /* 1 */
    int32_t n_hidden; /* 2: number of hidden layers, may be 0 */
    /* TCE_NET_LEAKY_RELU (slope 0.01), of the hidden layers; the output is linear */
    int32_t activation;
    int32_t precision; /* TCE_NET_FLOAT */
    int32_t start;     /* TCE_NET_ORTHOGONAL */
    int32_t max_batch; /* 1 */
    int32_t reserved;
    const int32_t *hidden; /* [n_hidden] widths; NULL: 128 each */
    double gain_hidden;    /* sqrt(2) */
    double gain_out;       /* 1 */
    tce_pool *pool;        /* NULL */
} tce_net_options;

typedef struct tce_adam_options {
    size_t struct_size;
    double learning_rate; /* 3e-4 */
    double l2;            /* 0: weight decay, added to the gradient */
    double beta1;         /* 0.9 */
    double beta2;         /* 0.999 */
    double epsilon;       /* 1e-8 */
} tce_adam_options;

TCE_API_EXPERIMENTAL void tce_net_options_init(tce_net_options *options, size_t struct_size);
TCE_API_EXPERIMENTAL void tce_adam_options_init(tce_adam_options *options, size_t struct_size);
/* TCE_E_VALUE, TCE_E_NOMEM. Parameters are 0 until start, set_parameters or load.   Since 0.2. */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_create(const tce_net_options *options,
                                                             const tce_hooks *hooks, tce_net **out);
TCE_API_EXPERIMENTAL void tce_net_free(tce_net *net);

/* Draws the first weights, and clears Adam.   No allocation.   Since 0.2. */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_start(tce_net *net, tce_random *random);

/*
 * x [n, n_in] -> out [n, n_out]. Remembers the batch for backward.   TCE_E_SHAPE: n > max_batch.
 * No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_forward(tce_net *net, size_t n,
                                                              const double *x, double *out);

/*
 * d_out [n, n_out] of the last forward: overwrites the parameter gradient; out_d_x [n, n_in] or
 * NULL.
 * TCE_E_STATE: no forward since the parameters changed.  TCE_E_SHAPE: another n.   No allocation.
 * Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_backward(tce_net *net, size_t n,
                                                               const double *d_out,
                                                               double *out_d_x);

/*
 * A loss for tce_net_pass: for rows begin … end-1 of the batch, given out [end-begin, n_out],
 * writes d_out of the same shape (gradient of the total loss) and adds these rows' part to *loss.
 * Runs on any worker; must touch only its own rows.
 */
typedef tce_status (*tce_net_loss)(void *context, size_t begin, size_t end, const double *out,
                                   double *d_out, double *loss);

/*
 * Forward, loss and backward chunk by chunk, while each chunk is in the cache: the fast way to
 * train. x [n, n_in], or with rows != NULL the rows x[rows[i]] (n of them), any n. Overwrites the
 * parameter gradient; out_loss (or NULL) is summed in a fixed order. When the loss fails its status
 * is returned, and gradient and out_loss stay as they were.   No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_pass(tce_net *net, size_t n, const double *x,
                                                           const uint32_t *rows, tce_net_loss loss,
                                                           void *context, double *out_loss);

/*
 * The same with the mean of squares to target [*, n_out] over all n * n_out entries (rows index
 * target too).
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_pass_mse(tce_net *net, size_t n,
                                                               const double *x,
                                                               const double *target,
                                                               const uint32_t *rows,
                                                               double *out_loss);

/* Euclidean norm of the parameter gradient, and the gradient times a factor (norm clip). */
TCE_API_EXPERIMENTAL double tce_net_gradient_norm(const tce_net *net);
TCE_API_EXPERIMENTAL void tce_net_scale_gradient(tce_net *net, double factor);

/*
 * One Adam step on the present gradient; rate_factor multiplies the learning rate (schedules).
 * TCE_E_NOT_FINITE: the gradient is NaN, infinite or so large that its square is; nothing changed.
 * TCE_E_VALUE: an option out of range. No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_adam_step(tce_net *net,
                                                                const tce_adam_options *adam,
                                                                double rate_factor);

/*
 * 1 - 0.99 min(done, total)/total: the published learning-rate schedule; 1 when total is 0.   Since
 * 0.2.
 */
TCE_API_EXPERIMENTAL double tce_linear_schedule(uint64_t done, uint64_t total);
/* min(1, bound/(norm + 1e-6)); 1 when bound <= 0.   Since 0.2. */
TCE_API_EXPERIMENTAL double tce_clip_factor(double norm, double bound);

/*
 * Parameters and gradient as doubles, [tce_net_num_parameters]. Setting leaves Adam alone.
 * TCE_E_VALUE: not finite in the network's precision.   No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL size_t tce_net_num_parameters(const tce_net *net);
TCE_API_EXPERIMENTAL void tce_net_get_parameters(const tce_net *net, double *out);
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_set_parameters(tce_net *net,
                                                                     const double *parameters);
TCE_API_EXPERIMENTAL void tce_net_get_gradient(const tce_net *net, double *out);

/*
 * All state under "<prefix>.…": layers.<l>.weight [out, in], layers.<l>.bias, adam.moment,
 * adam.square, adam.steps, activation. load converts between float and double. TCE_E_NOT_FOUND,
 * TCE_E_SHAPE: another network; TCE_E_VALUE: a number out of range or another activation; nothing
 * changed.   save allocates.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_save(const tce_net *net, tce_store *store,
                                                           const char *prefix);
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_load(tce_net *net, const tce_store *store,
                                                           const char *prefix);

TCE_END_C

#endif
