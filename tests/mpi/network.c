/*
 * How long ranks take to exchange bytes, as `mpirun -n N` starts this program: rank 0 prints one
 * line of JSON. "gather" is what a rank waits for until it has the bytes of all, "exchange" until it
 * has its own slice from all, each as libtce's pool calls them; medians of seconds by total bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/clock.h"
#include "tools/ranks.h"

enum { ROUNDS = 31, WARM_UP = 5 };

static const size_t SIZES[] = { 64, 4096, 65536, 262144, 524288, 1048576 };
enum { N_SIZES = sizeof SIZES / sizeof SIZES[0] };

static void must(ranks *job, tce_status status)
{
    if (status == TCE_OK)
        return;
    fprintf(stderr, "rank %d: %s\n", (int)ranks_rank(job), tce_error_message());
    exit(1);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median seconds of the call on this rank; ranks begin each round together. */
static double time_call(ranks *job, const tce_pool_options *pool, size_t size, int exchanges,
                        unsigned char *from, unsigned char *to, size_t *at, size_t *own_at)
{
    const int32_t n = ranks_count(job), me = ranks_rank(job);
    double seconds[ROUNDS];
    for (int32_t s = 0; s <= n; s++)
        at[s] = size * (size_t)s / (size_t)n;
    /* of everybody's array a rank receives its own slice */
    for (int32_t s = 0; s <= n; s++)
        own_at[s] = (at[me + 1] - at[me]) * (size_t)s;
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        must(job, ranks_agree(job, TCE_OK));
        const double began = now_seconds();
        must(job, exchanges ? pool->exchange(pool->user, from, at, to, own_at)
                            : pool->gather(pool->user, to, at));
        if (i >= 0)
            seconds[i] = now_seconds() - began;
    }
    qsort(seconds, ROUNDS, sizeof *seconds, by_size);
    return seconds[ROUNDS / 2];
}

int main(void)
{
    ranks *job;
    tce_pool_options pool;
    if (ranks_begin(&job) != TCE_OK || !job) {
        fprintf(stderr, "start at least two ranks: mpirun -n 2 %s\n", "tce-mpi-network");
        return 1;
    }
    const size_t n = (size_t)ranks_count(job), most = SIZES[N_SIZES - 1];
    unsigned char *from = calloc(most + n, 1), *to = calloc(2 * most + n, 1);
    size_t *at = calloc(2 * (n + 1), sizeof *at);
    tce_pool_options_init(&pool, sizeof pool);
    ranks_join_pool(job, &pool);
    if (!from || !to || !at)
        exit(1);
    if (ranks_is_first(job))
        printf("{\"ranks\": %zu, ", n);
    for (int exchanges = 0; exchanges < 2; exchanges++) {
        if (ranks_is_first(job))
            printf("%s\"%s\": {", exchanges ? ", " : "", exchanges ? "exchange" : "gather");
        for (size_t i = 0; i < N_SIZES; i++) {
            const double seconds = time_call(job, &pool, SIZES[i], exchanges, from, to, at,
                                             at + n + 1);
            if (ranks_is_first(job))
                printf("%s\"%zu\": %.9f", i ? ", " : "", SIZES[i], seconds);
        }
        if (ranks_is_first(job))
            printf("}");
    }
    if (ranks_is_first(job))
        printf("}\n");
    free(from);
    free(to);
    free(at);
    ranks_end(job);
    return 0;
}
