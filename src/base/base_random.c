/*
 * Random streams: Philox 4x64 with 10 rounds from Random123, keyed by (seed, purpose), counted by
 * (block, a, b, 0).
 */
/* in plain C where Random123 has no product of 64 by 64 bits */
#define R123_USE_MULHILO64_C99 1
#include <Random123/philox.h>

#include "base/internal.h"

void tce_random_start(tce_random *random, uint64_t seed, uint64_t purpose, uint64_t a, uint64_t b)
{
    const tce_random start = { .key = { seed, purpose }, .counter = { 0, a, b, 0 }, .used = 4 };
    *random = start;
}

uint64_t tce_random_bits(tce_random *random)
{
    if (random->used >= 4) {
        const philox4x64_ctr_t counter = { { random->counter[0], random->counter[1],
                                             random->counter[2], random->counter[3] } };
        const philox4x64_key_t key = { { random->key[0], random->key[1] } };
        const philox4x64_ctr_t block = philox4x64(counter, key);
        for (int i = 0; i < 4; i++)
            random->block[i] = block.v[i];
        random->used = 0;

        /* 2^64 blocks, then the last word: a stream never repeats in practice */
        if (++random->counter[0] == 0)
            random->counter[3]++;
    }
    return random->block[random->used++];
}

double tce_random_uniform(tce_random *random)
{
    return (double)(tce_random_bits(random) >> 11) * 0x1p-53;
}

/* Box and Muller: sqrt(-2 log u) (cos 2 pi v, sin 2 pi v), u in (0, 1] */
static double normal(tce_random *random)
{
    if (random->has_spare) {
        random->has_spare = 0;
        return random->spare;
    }
    const double u = 1.0 - tce_random_uniform(random);
    const double v = tce_random_uniform(random);
    const double radius = sqrt(-2.0 * log(u));
    random->spare = radius * sin(2.0 * TCE__PI * v);
    random->has_spare = 1;
    return radius * cos(2.0 * TCE__PI * v);
}

void tce_random_normals(tce_random *random, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = normal(random);
}

uint64_t tce_random_below(tce_random *random, uint64_t n)
{
    if (n == 0)
        return 0;

    /* draws from the incomplete last run of n are thrown away */
    const uint64_t rest = (UINT64_MAX % n + 1) % n;
    uint64_t bits;
    do
        bits = tce_random_bits(random);
    while (bits > UINT64_MAX - rest);
    return bits % n;
}

/* Fisher and Yates */
void tce_random_permutation(tce_random *random, size_t n, uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const size_t j = (size_t)tce_random_below(random, (uint64_t)i + 1);
        out[i] = out[j];
        out[j] = (uint32_t)i;
    }
}
