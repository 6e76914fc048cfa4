/*
 * Replay: the last transitions of N environments, in a ring of rows; a row is one record of each
 * environment. What the numbers of a record mean is up to the method.
 *
 * Records are kept in the networks' precision: floats keep about seven digits of what is written,
 * and float -> double -> float is exact. One more number per record says whether it may be drawn: a
 * transition that an environment lost to a fault keeps its place and is never drawn.
 *
 * `rows` is what a checkpoint keeps of it, by the run's journal: a method returns its address
 * (methods.h, rows) and does nothing else for it.
 */
#ifndef TRAINER_REPLAY_H
#define TRAINER_REPLAY_H

#include "tools/journal.h"
#include "tools/memory.h"

typedef struct replay_options {
    size_t n_envs;     /* N */
    size_t size;       /* transitions to keep: size div N rows, at least one */
    size_t width;      /* numbers of a record */
    int32_t precision; /* TCE_NET_FLOAT, TCE_NET_DOUBLE */
} replay_options;

typedef struct replay {
    journal_rows rows;
    size_t N, width;
    size_t number;   /* bytes of a number */
    int64_t lost;    /* records in the ring that may not be drawn, */
    int64_t counted; /* as of this many rows: others may come from a checkpoint */
} replay;

/* Bytes of a number in networks of this precision, TCE_NET_… */
size_t replay_number_size(int32_t precision);

/* The ring is m's; with m->measure it is only counted. TCE_E_VALUE, TCE_E_NOMEM. */
tce_status replay_create(replay *r, const replay_options *options, memory *m);

/* Rows in the ring, and the place of the next one. */
size_t replay_filled(const replay *r);
size_t replay_position(const replay *r);

/*
 * A new row of records [N, width] in place of the oldest; lost [N] marks those that must not be
 * drawn (NULL: none).
 */
void replay_write(replay *r, const double *records, const uint8_t *lost);

/* A record: where it is in the ring. */
typedef struct replay_place {
    uint32_t row, env;
} replay_place;

/*
 * n places with replacement: a row uniformly among the filled ones and an environment uniformly; a
 * draw that meets a lost record is drawn again. TCE_E_STATE: there is nothing to draw.
 */
tce_status replay_sample(replay *r, tce_random *random, size_t n, replay_place *out);

/* Numbers first … first + count - 1 of the records at n places into rows of out [n, stride]. */
void replay_gather(const replay *r, size_t n, const replay_place *places, size_t first,
                   size_t count, double *out, size_t stride);

#endif
