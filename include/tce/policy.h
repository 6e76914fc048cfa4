/*
 * policy: a Gaussian over P parameters of a movement primitive, or over P actions, given a context.
 * A network computes its mean, and a trainable vector or a network its scale.
 *
 * A scale is a lower Cholesky factor [P, P] in the full forms, and standard deviations [P] in the
 * diagonal ones. All contexts share one scale (shared), or each has its own (contextual). The
 * handle owns its networks, their gradients and the state of Adam.
 */
#ifndef TCE_POLICY_H
#define TCE_POLICY_H

#include <tce/net.h>

TCE_BEGIN_C

typedef struct tce_policy tce_policy;

enum {
    TCE_POLICY_FULL_SHARED = 0,
    TCE_POLICY_FULL_CONTEXTUAL = 1,
    TCE_POLICY_DIAGONAL_SHARED = 2,
    TCE_POLICY_DIAGONAL_CONTEXTUAL = 3
};

/* How a standard deviation, or a factor's diagonal entry, comes from its raw number v. */
enum {
    TCE_POLICY_SOFTPLUS = 0,   /* softplus(v) + min_std */
    TCE_POLICY_EXP = 1,        /* e^v */
    TCE_POLICY_EXP_CLIPPED = 2 /* e^v, v cut to [log_std_low, log_std_high], no gradient outside */
};

typedef struct tce_policy_options {
    size_t struct_size;
    int32_t n_obs;        /* 1: context size */
    int32_t n_dims;       /* 1: P */
    int32_t form;         /* TCE_POLICY_FULL_SHARED */
    int32_t spread;       /* TCE_POLICY_SOFTPLUS */
    int32_t shared_body;  /* 0; 1: diagonal contextual, mean and spread are two heads on one body */
    int32_t n_hidden;     /* 2 */
    int32_t activation;   /* TCE_NET_LEAKY_RELU */
    int32_t precision;    /* TCE_NET_FLOAT */
    int32_t start;        /* TCE_NET_ORTHOGONAL */
    int32_t max_batch;    /* 1 */
    int32_t n_cov_hidden; /* -1: as the mean network; layers of a second network */
    int32_t cov_activation;    /* -1: as the mean network */
    const int32_t *hidden;     /* [n_hidden], NULL: 128 each */
    const int32_t *cov_hidden; /* [n_cov_hidden], NULL: as the mean network */
    double min_std;            /* 1e-4; of SOFTPLUS */
    double initial_std;        /* 0.99; shared forms: e^v or softplus(v) at the start */
    double log_std_low;        /* -20; of EXP_CLIPPED */
    double log_std_high;       /* 2 */
    double gain_out;           /* 0.01: of the last layers, with TCE_NET_ORTHOGONAL */
    tce_pool *pool;            /* NULL */
} tce_policy_options;

TCE_API void tce_policy_options_init(tce_policy_options *options, size_t struct_size);
/* TCE_E_VALUE, TCE_E_NOMEM.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_policy_create(const tce_policy_options *options,
                                                   const tce_hooks *hooks, tce_policy **out);
TCE_API void tce_policy_free(tce_policy *policy);

/*
 * Draws the first weights (gain sqrt 2 in hidden layers, gain_out in the last), sets the vector and
 * clears Adam.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_start(tce_policy *policy, tce_random *random);

/* Number of scales that predict writes for n contexts: 1 when shared, else n. */
TCE_API size_t tce_policy_n_factors(const tce_policy *policy, size_t n);
/* Numbers in one scale: P * P for a factor, P for standard deviations. */
TCE_API size_t tce_policy_scale_size(const tce_policy *policy);
TCE_API size_t tce_policy_n_dims(const tce_policy *policy);
TCE_API size_t tce_policy_n_obs(const tce_policy *policy);

/*
 * The mean alone, for robots and evaluation: obs [n, n_obs] -> out_mean [n, P], for any n. work has
 * tce_policy_work_size(policy, n) doubles; calls that overlap need different ones.
 * TCE_E_VALUE: obs has a NaN or infinity.  TCE_E_NOT_FINITE: the mean overflowed.   No allocation.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_mean(const tce_policy *policy, size_t n,
                                                 const double *obs, double *work, double *out_mean);
TCE_API size_t tce_policy_work_size(const tce_policy *policy, size_t n);

/*
 * obs [n, n_obs] -> out_mean [n, P], out_scale [1 or n] scales: factors [P, P] with zeros above the
 * diagonal, or standard deviations [P]. Remembers the batch for backward.
 * TCE_E_SHAPE: n > max_batch.  TCE_E_VALUE: obs has a NaN or infinity.  TCE_E_NOT_FINITE: a mean
 * or scale overflowed.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_predict(tce_policy *policy, size_t n, const double *obs,
                                                    double *out_mean, double *out_scale);

/*
 * Takes the gradients of a loss with respect to the last prediction, and overwrites the gradient of
 * all weights. The upper triangle of a factor's gradient is not read. TCE_E_STATE: no predict since
 * the weights changed.  TCE_E_SHAPE: n is not that of predict.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_backward(tce_policy *policy, size_t n,
                                                     const double *d_mean, const double *d_scale);

/*
 * The mean network's last hidden layer of the last predict: out [n, width]. Statuses as for
 * backward.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_policy_hidden(const tce_policy *policy, size_t n,
                                                                double *out);

/* The Euclidean norm of the gradient over all weights; multiplying the gradient by a factor. */
TCE_API double tce_policy_gradient_norm(const tce_policy *policy);
TCE_API void tce_policy_scale_gradient(tce_policy *policy, double factor);

/*
 * One Adam step on the present gradient.
 * TCE_E_NOT_FINITE: the gradient or its square is NaN or infinite; nothing changed.
 * TCE_E_VALUE: an option out of range.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_adam_step(tce_policy *policy,
                                                      const tce_adam_options *adam);

/*
 * "Set variance": overwrites the vector of a shared form so that the policy's scale is this one
 * (with SOFTPLUS, sigma - min_std at least 1e-12). Adam's moments do not change. Entries above a
 * factor's diagonal are not read.
 * TCE_E_UNSUPPORTED: contextual.  TCE_E_NOT_PD: a diagonal entry or standard deviation <= 0.
 * TCE_E_VALUE: not finite.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_set_covariance(tce_policy *policy, const double *scale);

/*
 * All weights as doubles: mean network (with a shared body, outputs are P means, then P raw
 * numbers), then the vector (P diagonals, then the strict lower triangle row by row) or second
 * network. Setting them does not change Adam's state.  TCE_E_VALUE: not finite.   No allocation.
 * Since 0.2.
 */
TCE_API size_t tce_policy_n_weights(const tce_policy *policy);
TCE_API void tce_policy_get_weights(const tce_policy *policy, double *out);
TCE_API TCE_NODISCARD tce_status tce_policy_set_weights(tce_policy *policy, const double *weights);
TCE_API void tce_policy_get_gradient(const tce_policy *policy, double *out);

/*
 * All state under "<prefix>.…", including the options that decide its shape. load fails, and
 * changes nothing, with TCE_E_NOT_FOUND, TCE_E_SHAPE or TCE_E_VALUE: form, spread, sizes,
 * activations and their limits must be the policy's own. create_from builds a policy from a saved
 * one, for programs that only run a trained policy: max_batch and pool are those of the options
 * (NULL: defaults), everything else comes from the store. save and create_from allocate.   Since
 * 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_policy_save(const tce_policy *policy, tce_store *store,
                                                 const char *prefix);
TCE_API TCE_NODISCARD tce_status tce_policy_load(tce_policy *policy, const tce_store *store,
                                                 const char *prefix);
TCE_API TCE_NODISCARD tce_status tce_policy_create_from(const tce_store *store, const char *prefix,
                                                        const tce_policy_options *options,
                                                        const tce_hooks *hooks, tce_policy **out);

TCE_END_C

#endif
