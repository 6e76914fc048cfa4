/*
 * net: multi-layer perceptrons with their gradients and an Adam optimiser, in float or double.
 *
 * Values cross the interface as double and are converted at the two ends. Batches are cut into
 * parts that run on the pool, and the gradients of parts are added in an order that depends on the
 * batch only: equal bytes for any number of threads. The weights of a network as one vector are
 * ordered layer by layer: matrix [out, in], then biases [out].
 */
#ifndef TCE_NET_H
#define TCE_NET_H

#include <tce/adam.h>
#include <tce/pool.h>
#include <tce/random.h>
#include <tce/store.h>

TCE_BEGIN_C

typedef struct tce_net tce_net;

enum { TCE_NET_RELU = 0, TCE_NET_LEAKY_RELU = 1, TCE_NET_TANH = 2, TCE_NET_LINEAR = 3 };
enum { TCE_NET_FLOAT = 0, TCE_NET_DOUBLE = 1 };
/* Largest number of sums of a loss. */
enum { TCE_NET_MAX_SUMS = 16 };
/* ORTHOGONAL: gains below, biases 0. FAN_IN: weights and biases uniform in +-1/sqrt(inputs). */
enum { TCE_NET_ORTHOGONAL = 0, TCE_NET_FAN_IN = 1 };

typedef struct tce_net_options {
    size_t struct_size;
    int32_t n_in;     /* 1 */
    int32_t n_out;    /* 1 */
    int32_t n_hidden; /* 2: number of hidden layers, may be 0 */
    /* TCE_NET_LEAKY_RELU (slope 0.01), of the hidden layers; the output is linear */
    int32_t activation;
    int32_t precision;     /* TCE_NET_FLOAT */
    int32_t start;         /* TCE_NET_ORTHOGONAL */
    int32_t max_batch;     /* 1: largest number of rows in forward */
    int32_t max_pass;      /* 0: any; else the largest number of rows in pass, which saves memory */
    const int32_t *hidden; /* [n_hidden] widths; NULL: 128 each */
    double gain_hidden;    /* sqrt(2) */
    double gain_out;       /* 1 */
    tce_pool *pool;        /* NULL */
} tce_net_options;

TCE_API_EXPERIMENTAL void tce_net_options_init(tce_net_options *options, size_t struct_size);
/* TCE_E_VALUE, TCE_E_NOMEM. Weights are 0 until start, set_weights or load.   Since 0.2. */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_create(const tce_net_options *options,
                                                             const tce_hooks *hooks, tce_net **out);
TCE_API_EXPERIMENTAL void tce_net_free(tce_net *net);

/* Draws the first weights, and clears Adam.   No allocation.   Since 0.2. */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_start(tce_net *net, tce_random *random);

/*
 * x [n, n_in] -> out [n, n_out] for any n, without remembering anything: for shared networks,
 * targets and robots. work has tce_net_work_size(net, n) doubles; calls that overlap need different
 * ones. No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_evaluate(const tce_net *net, size_t n,
                                                               const double *x, double *work,
                                                               double *out);
TCE_API_EXPERIMENTAL size_t tce_net_work_size(const tce_net *net, size_t n);

/*
 * x [n, n_in] -> out [n, n_out]. Remembers the batch for backward.   TCE_E_SHAPE: n > max_batch.
 * No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_forward(tce_net *net, size_t n,
                                                              const double *x, double *out);

/*
 * The last hidden layer of the last forward, after its activation (the inputs where there is no
 * hidden layer): out [n, width].
 * TCE_E_STATE: no forward since the weights changed.  TCE_E_SHAPE: n is not that of forward.
 * Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_hidden(const tce_net *net, size_t n,
                                                             double *out);

/*
 * Takes the gradient d_out [n, n_out] with respect to the last forward's output; overwrites the
 * gradient of the weights, and writes out_d_x [n, n_in] unless it is NULL. TCE_E_STATE: no forward
 * since the weights changed.  TCE_E_SHAPE: n is not that of forward.   No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_backward(tce_net *net, size_t n,
                                                               const double *d_out,
                                                               double *out_d_x);
/* The gradient of the inputs alone; that of the weights does not change.   Since 0.2. */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_backward_input(tce_net *net, size_t n,
                                                                     const double *d_out,
                                                                     double *out_d_x);

/*
 * A loss for tce_net_pass: for rows begin … end-1 of the batch, given out [end-begin, n_out],
 * writes d_out of the same shape (gradient of the total loss) and adds these rows' part to
 * sums [n_sums]: first the loss, then whatever else the caller wants summed. It runs on any worker
 * and may touch only its own rows; with a pool of several ranks it sees the rows of its rank only.
 */
typedef tce_status (*tce_net_loss)(void *context, size_t begin, size_t end, const double *out,
                                   double *d_out, double *sums);

/*
 * Forward, loss and backward chunk by chunk, while each chunk is in the cache: the fast way to
 * train. x [n, n_in], or with rows != NULL the rows x[rows[i]] (n of them), any n up to max_pass.
 * Overwrites the gradient of the weights; out_sums [n_sums] (or NULL) are added up in a fixed
 * order, as the gradient is. When the loss fails, its status is returned, and gradient and out_sums
 * do not change. TCE_E_SHAPE: n > max_pass, or n_sums not in 1 … TCE_NET_MAX_SUMS. No allocation.
 * Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_pass(tce_net *net, size_t n, const double *x,
                                                           const uint32_t *rows, tce_net_loss loss,
                                                           void *context, size_t n_sums,
                                                           double *out_sums);

/*
 * The same with the mean squared error to target [*, n_out], over all n * n_out entries; rows index
 * target too.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_pass_mse(tce_net *net, size_t n,
                                                               const double *x,
                                                               const double *target,
                                                               const uint32_t *rows,
                                                               double *out_loss);

/* For norm clipping: the Euclidean norm of the gradient; multiplying the gradient by a factor. */
TCE_API_EXPERIMENTAL double tce_net_gradient_norm(const tce_net *net);
TCE_API_EXPERIMENTAL void tce_net_scale_gradient(tce_net *net, double factor);

/*
 * One Adam step on the present gradient.
 * TCE_E_NOT_FINITE: the gradient or its square is NaN or infinite; nothing changed.
 * TCE_E_VALUE: an option out of range. No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_adam_step(tce_net *net,
                                                                const tce_adam_options *adam);

/*
 * weights <- (1 - share) weights + share other's: moves a target network towards another one with
 * the same layers and precision. share is in 0 … 1; Adam's state does not change. TCE_E_SHAPE: the
 * shapes or precisions differ.  TCE_E_VALUE: share out of range.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_average(tce_net *net, const tce_net *other,
                                                              double share);

/*
 * Weights and their gradient as doubles, [tce_net_n_weights]. Setting weights leaves Adam's state.
 * TCE_E_VALUE: not finite in the network's precision.   No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL size_t tce_net_n_weights(const tce_net *net);
TCE_API_EXPERIMENTAL void tce_net_get_weights(const tce_net *net, double *out);
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_net_set_weights(tce_net *net,
                                                                  const double *weights);
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
