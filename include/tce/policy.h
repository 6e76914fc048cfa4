/*
 * policy: a Gaussian over P movement-primitive parameters (or actions) given a context: mean by a
 * network, covariance by its Cholesky factor.
 *
 * Three covariance forms: full and shared by all contexts (one trainable vector), full and
 * contextual (a second network), diagonal and shared. L_ii = softplus(v_i) + min_std. The handle
 * owns its networks, their gradients and Adam.
 */
#ifndef TCE_POLICY_H
#define TCE_POLICY_H

#include <tce/net.h>

TCE_BEGIN_C

typedef struct tce_policy tce_policy;

enum { TCE_POLICY_FULL_SHARED = 0, TCE_POLICY_FULL_CONTEXTUAL = 1, TCE_POLICY_DIAGONAL_SHARED = 2 };

typedef struct tce_policy_options {
    size_t struct_size;
    int32_t n_obs;             /* 1: context size */
    int32_t n_dims;            /* 1: P */
    int32_t form;              /* TCE_POLICY_FULL_SHARED */
    int32_t n_hidden;          /* 2 */
    int32_t activation;        /* TCE_NET_LEAKY_RELU */
    int32_t precision;         /* TCE_NET_FLOAT */
    int32_t start;             /* TCE_NET_ORTHOGONAL */
    int32_t max_batch;         /* 1 */
    int32_t n_cov_hidden;      /* -1: as the mean network */
    int32_t cov_activation;    /* -1: as the mean network */
    const int32_t *hidden;     /* [n_hidden], NULL: 128 each */
    const int32_t *cov_hidden; /* [n_cov_hidden], NULL: as the mean network */
    double min_std;            /* 1e-4 */
    double initial_std;        /* 0.99: softplus(v) at the start */
    tce_pool *pool;            /* NULL */
} tce_policy_options;

TCE_API void tce_policy_options_init(tce_policy_options *options, size_t struct_size);
/* TCE_E_VALUE, TCE_E_NOMEM.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_policy_create(const tce_policy_options *options,
                                                   const tce_hooks *hooks, tce_policy **out);
TCE_API void tce_policy_free(tce_policy *policy);

/*
 * Draws the first weights (gain sqrt 2 hidden, 0.01 last), sets the covariance, clears Adam.   No
 * allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_start(tce_policy *policy, tce_random *random);

/* Number of factors predict writes for n contexts: 1 when shared, else n. */
TCE_API size_t tce_policy_n_factors(const tce_policy *policy, size_t n);
TCE_API size_t tce_policy_n_dims(const tce_policy *policy);
TCE_API size_t tce_policy_n_obs(const tce_policy *policy);

/*
 * obs [n, n_obs] -> out_mean [n, P], out_L [1 or n, P, P]. Remembers the batch for backward.
 * TCE_E_SHAPE: n > max_batch.  TCE_E_VALUE: obs has a NaN or infinity.   No allocation.   Since
 * 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_predict(tce_policy *policy, size_t n, const double *obs,
                                                    double *out_mean, double *out_L);

/*
 * Gradients of a loss with respect to the last prediction (d_L's upper triangle is not read) ->
 * gradients of all weights.
 * TCE_E_STATE: no predict since the weights changed.  TCE_E_SHAPE: another n.   No allocation.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_backward(tce_policy *policy, size_t n,
                                                     const double *d_mean, const double *d_L);

/* Euclidean norm of the gradient of all weights together, and the gradient times a factor. */
TCE_API double tce_policy_gradient_norm(const tce_policy *policy);
TCE_API void tce_policy_scale_gradient(tce_policy *policy, double factor);

/*
 * One Adam step on the present gradient.
 * TCE_E_NOT_FINITE: the gradient is NaN, infinite or so large that its square is; nothing changed.
 * TCE_E_VALUE: an option out of range.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_adam_step(tce_policy *policy,
                                                      const tce_adam_options *adam);

/*
 * "Set variance": overwrites the raw covariance vector so that the policy's factor is L [P, P]
 * (L_ii - min_std at least 1e-12). Adam's moments stay. What is above the diagonal, and off it in
 * the diagonal form, is not read.
 * TCE_E_UNSUPPORTED: contextual covariance.  TCE_E_NOT_PD: an L_ii <= 0.  TCE_E_VALUE: not finite.
 * No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_set_covariance(tce_policy *policy, const double *L);

/*
 * All weights as doubles: mean network, then covariance vector (P diagonals, then the strict
 * lower triangle row by row) or second network. Setting leaves Adam alone; TCE_E_VALUE: not finite.
 * No allocation.   Since 0.2.
 */
TCE_API size_t tce_policy_n_weights(const tce_policy *policy);
TCE_API void tce_policy_get_weights(const tce_policy *policy, double *out);
TCE_API TCE_NODISCARD tce_status tce_policy_set_weights(tce_policy *policy, const double *weights);
TCE_API void tce_policy_get_gradient(const tce_policy *policy, double *out);

/*
 * All state under "<prefix>.…", the shape options included. create_from builds a policy from a
 * saved one (max_batch and pool as given): for programs that only run a trained policy. load:
 * TCE_E_NOT_FOUND, TCE_E_SHAPE, TCE_E_VALUE (form, sizes, activations and min_std must be the
 * policy's own) change nothing.   save and create_from allocate.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_save(const tce_policy *policy, tce_store *store,
                                                 const char *prefix);
TCE_API TCE_NODISCARD tce_status tce_policy_load(tce_policy *policy, const tce_store *store,
                                                 const char *prefix);
TCE_API TCE_NODISCARD tce_status tce_policy_create_from(const tce_store *store, const char *prefix,
                                                        int32_t max_batch, tce_pool *pool,
                                                        const tce_hooks *hooks, tce_policy **out);

TCE_END_C

#endif
