/*
 * TensorBoard event files, as far as scalars need them.
 */
#ifndef TRAINER_EVENTS_H
#define TRAINER_EVENTS_H

#include "methods/methods.h"

typedef struct events events;

/* Opens the file for appending after its first `keep` bytes; 0 begins a new one. */
tce_status events_open(const char *path, int64_t keep, events **out);
void events_close(events *e);

/*
 * One event: every number of m that is not NaN, under "train/<name>" or, for eval_<name>,
 * "eval/<name>"; then the timings under "time/…".
 */
tce_status events_write(events *e, int64_t step, const metrics *m, const char *const *phases,
                        const double *seconds);

/* Forces the file to disk; its length. */
tce_status events_sync(events *e, int64_t *bytes);

/* CRC-32C (Castagnoli) of n bytes. */
uint32_t events_crc32c(const void *bytes, size_t n);

#endif
