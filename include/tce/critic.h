/*
 * critic: a value function V(observation): network, Adam, and a running normaliser of the
 * observations.
 *
 * Observations are normalised by (x - mean)/sqrt(var + 1e-8) with running statistics.
 * tce_critic_observe updates these and is the only call that does.
 */
#ifndef TCE_CRITIC_H
#define TCE_CRITIC_H

#include <tce/net.h>

TCE_BEGIN_C

typedef struct tce_critic tce_critic;

/*
 * RAW: the network sees observations as they are.  NORMALISE: value and fit take raw observations
 * and normalise them.  NORMALISED: they take what tce_critic_normalise returned earlier, so that
 * each batch keeps the statistics of its own time.
 */
enum { TCE_CRITIC_RAW = 0, TCE_CRITIC_NORMALISE = 1, TCE_CRITIC_NORMALISED = 2 };

typedef struct tce_critic_options {
    size_t struct_size;
    int32_t n_obs;      /* 1 */
    int32_t n_hidden;   /* 2 */
    int32_t activation; /* TCE_NET_LEAKY_RELU */
    int32_t precision;  /* TCE_NET_FLOAT */
    int32_t start;      /* TCE_NET_ORTHOGONAL */
    int32_t max_batch;  /* 1: most rows of value, and of one fit */
    int32_t normalise;  /* TCE_CRITIC_NORMALISE */
    int32_t reserved;
    const int32_t *hidden; /* [n_hidden], NULL: 256 each */
    tce_pool *pool;        /* NULL */
} tce_critic_options;

TCE_API void tce_critic_options_init(tce_critic_options *options, size_t struct_size);
/* TCE_E_VALUE, TCE_E_NOMEM.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_critic_create(const tce_critic_options *options,
                                                   const tce_hooks *hooks, tce_critic **out);
TCE_API void tce_critic_free(tce_critic *critic);

/*
 * Draws the first weights, clears Adam and the normaliser (mean 0, variance 1, count 1e-4).   No
 * allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_critic_start(tce_critic *critic, tce_random *random);

/*
 * Takes n rows of raw observations [n, n_obs] into the running mean and variance (divisor n - 1)
 * [tasks 1.6]; n = 1 counts with variance
 * 0. No effect with TCE_CRITIC_RAW.   TCE_E_VALUE: NaN or infinity; nothing changed.   No
 * allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_critic_observe(tce_critic *critic, size_t n,
                                                    const double *obs);

/* The normalised observations, as the network sees them; out may be obs. */
TCE_API TCE_NODISCARD tce_status tce_critic_normalise(const tce_critic *critic, size_t n,
                                                      const double *obs, double *out);

/* out[n] = V(obs), obs [n, n_obs].   TCE_E_SHAPE: n > max_batch.   No allocation.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_critic_value(tce_critic *critic, size_t n, const double *obs,
                                                  double *out);

/*
 * One epoch of regression to target [n]: n_minibatches Adam steps on the mean of squares. With more
 * than one the rows are permuted by `random` first (the first n mod M parts one longer); with one
 * they are taken in order and random may be NULL. clip_norm <= 0: no clip. out_loss (or NULL): mean
 * over the rows, before each step.
 * TCE_E_SHAPE: n > max_batch, or n_minibatches not in 1 … n.  TCE_E_NOT_FINITE: the gradient of a
 * minibatch; the steps before it are done, the rest is not.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_critic_fit_epoch(tce_critic *critic, size_t n,
                                                      const double *obs, const double *target,
                                                      size_t n_minibatches, tce_random *random,
                                                      const tce_adam_options *adam,
                                                      double rate_factor, double clip_norm,
                                                      double *out_loss);

/* Running statistics: mean, variance [n_obs], count; each may be NULL. */
TCE_API void tce_critic_statistics(const tce_critic *critic, double *out_mean, double *out_var,
                                   double *out_count);

TCE_API size_t tce_critic_num_parameters(const tce_critic *critic);
TCE_API void tce_critic_get_parameters(const tce_critic *critic, double *out);
TCE_API TCE_NODISCARD tce_status tce_critic_set_parameters(tce_critic *critic,
                                                           const double *parameters);

/*
 * All state under "<prefix>.…": net.…, mean, variance, count. load: as tce_net_load.   save
 * allocates.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_critic_save(const tce_critic *critic, tce_store *store,
                                                 const char *prefix);
TCE_API TCE_NODISCARD tce_status tce_critic_load(tce_critic *critic, const tce_store *store,
                                                 const char *prefix);

TCE_END_C

#endif
