/*
 * random: streams of random numbers that are keyed by what they are for.
 *
 * A stream is a plain value without hidden state: its key and counter determine every number.
 * Nothing here allocates or fails.
 */
#ifndef TCE_RANDOM_H
#define TCE_RANDOM_H

#include <tce/version.h>

TCE_BEGIN_C

/*
 * A Philox 4x64-10 stream, keyed by what it is for. Two streams with different keys are
 * independent, so results do not depend on which thread draws, or in which order. A plain value:
 * copy it to keep it.
 */
typedef struct tce_random {
    uint64_t key[2];     /* seed, purpose */
    uint64_t counter[4]; /* block, a, b, 0 */
    uint64_t block[4];   /* the numbers of the current block */
    uint32_t used;       /* how many of them are spent */
    uint32_t has_spare;  /* whether `spare` holds the second normal of a pair */
    double spare;
} tce_random;

/* The stream of (seed, purpose, a, b), from its beginning. */
TCE_API void tce_random_start(tce_random *random, uint64_t seed, uint64_t purpose, uint64_t a,
                              uint64_t b);
/* 64 random bits. */
TCE_API uint64_t tce_random_bits(tce_random *random);
/* Uniform in [0, 1), with 53 random bits. */
TCE_API double tce_random_uniform(tce_random *random);
/*
 * Standard normals into out [n]. The numbers do not depend on how many calls draw them.
 */
TCE_API void tce_random_normals(tce_random *random, size_t n, double *out);
/* Uniform in 0 … n-1, without bias; 0 when n is 0. */
TCE_API uint64_t tce_random_below(tce_random *random, uint64_t n);
/* A uniform permutation of 0 … n-1 into out[n]. */
TCE_API void tce_random_permutation(tce_random *random, size_t n, uint32_t *out);

TCE_END_C

#endif
