/*
 * TensorBoard event files: scalars, and the settings as a text and as hyperparameters.
 */
#ifndef TRAINER_TENSORBOARD_H
#define TRAINER_TENSORBOARD_H

#include "methods/methods.h"

typedef struct tensorboard tensorboard;

/* Bytes of a file with nothing but its first record, which tells the format: a time and a text. */
#define TENSORBOARD_LEAST (16 + 9 + 15)

/* Opens the file for appending after its first `keep` bytes; 0 begins a new one. */
tce_status tensorboard_open(const char *path, int64_t keep, tensorboard **out);
void tensorboard_close(tensorboard *e);

/*
 * One event: every number of m that is not NaN, under "train/<name>" or, for eval_<name>,
 * "eval/<name>"; then the timings under "time/…".
 */
tce_status tensorboard_write(tensorboard *e, int64_t step, const metrics *m,
                             const char *const *phases, const double *seconds);

/* Forces the file to disk; its length. */
tce_status tensorboard_sync(tensorboard *e, int64_t *bytes);

/*
 * The settings of the run in a folder, into a file of their own: how long that is depends on them,
 * and a checkpoint holds the length of the other one.
 */
tce_status tensorboard_write_settings(const char *folder, const settings *s);

/* CRC-32C (Castagnoli) of n bytes. */
uint32_t tensorboard_crc32c(const void *bytes, size_t n);

#endif
