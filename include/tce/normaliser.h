/*
 * normaliser: the running mean and variance of rows of numbers, for observations and returns.
 *
 *     out = clip((x - mean)/sqrt(variance + epsilon), -clip, clip)
 *
 * n new rows with mean b and variance w (divisor n, or n - 1) change the statistics of c rows:
 *     d = b - mean,   mean <- mean + d n/(c + n),
 *     variance <- (variance c + w n + d^2 c n/(c + n))/(c + n),   c <- c + n
 * Only tce_normaliser_update and tce_normaliser_load change the statistics. Sums run in row order.
 */
#ifndef TCE_NORMALISER_H
#define TCE_NORMALISER_H

#include <tce/store.h>

TCE_BEGIN_C

typedef struct tce_normaliser tce_normaliser;

/* The divisor of the variance of n new rows: n, or n - 1 (one row: variance 0). */
enum { TCE_NORMALISER_ROWS = 0, TCE_NORMALISER_ROWS_LESS_ONE = 1 };

typedef struct tce_normaliser_options {
    size_t struct_size;
    int32_t n_columns; /* 1: numbers in a row */
    int32_t divisor;   /* TCE_NORMALISER_ROWS */
    int32_t centre;    /* 1; 0: the mean is not subtracted (returns) */
    int32_t reserved;
    double epsilon;     /* 1e-8 */
    double clip;        /* 0: no clip */
    double first_count; /* 1e-4: weight of the first statistics, mean 0 and variance 1 */
} tce_normaliser_options;

TCE_API_EXPERIMENTAL void tce_normaliser_options_init(tce_normaliser_options *options,
                                                      size_t struct_size);
/* TCE_E_VALUE, TCE_E_NOMEM. Starts with the first statistics.   Since 0.2. */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_normaliser_create(
    const tce_normaliser_options *options, const tce_hooks *hooks, tce_normaliser **out);
TCE_API_EXPERIMENTAL void tce_normaliser_free(tce_normaliser *normaliser);

/*
 * Adds rows x [n, n_columns] to the statistics: those whose mask [n] is not 0, or all when mask is
 * NULL. With no row to add, nothing changes.
 * TCE_E_VALUE: NaN or infinity in a row that counts, or a variance that overflows; nothing changed.
 * No allocation.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_normaliser_update(tce_normaliser *normaliser,
                                                                    size_t n, const double *x,
                                                                    const uint8_t *mask);

/* x [n, n_columns] -> out, which may be x.   No allocation.   Since 0.2. */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_normaliser_apply(const tce_normaliser *normaliser,
                                                                   size_t n, const double *x,
                                                                   double *out);

/* out_mean, out_variance [n_columns], out_count; each may be NULL.   Since 0.2. */
TCE_API_EXPERIMENTAL void tce_normaliser_statistics(const tce_normaliser *normaliser,
                                                    double *out_mean, double *out_variance,
                                                    double *out_count);

/*
 * Under "<prefix>.…": mean and variance [n_columns], count. The options are not saved. load:
 * TCE_E_NOT_FOUND, TCE_E_SHAPE, TCE_E_VALUE: the store does not fit; nothing changed.   save
 * allocates.   Since 0.2.
 */
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_normaliser_save(const tce_normaliser *normaliser,
                                                                  tce_store *store,
                                                                  const char *prefix);
TCE_API_EXPERIMENTAL TCE_NODISCARD tce_status tce_normaliser_load(tce_normaliser *normaliser,
                                                                  const tce_store *store,
                                                                  const char *prefix);

TCE_END_C

#endif
