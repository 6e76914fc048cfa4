/*
 * Time points of an iteration, and the segments between them.
 *
 *   interval   i_k = first + k (T div K) while i_k < T, first uniform in [0, T div K + T mod K)
 *   random     K of the T indices without repetition, every set equally likely, sorted
 *
 * Consecutive points make the pairs (i_0, i_1), (i_1, i_2), ... When K does not divide T the
 * interval can hold more than K points; all of them are kept, as in the published runs.
 */
#include <tce/segment.h>

#include "base/internal.h"

/* Two points make a segment. */
#define LEAST_POINTS 2

static tce_status check_points(size_t T, size_t K, const int32_t *out_pairs, const size_t *out_J)
{
    if (T > INT32_MAX)
        return tce_fail(TCE_E_VALUE, "T = %zu, at most %d", T, INT32_MAX);
    if (K < LEAST_POINTS || K > T)
        return tce_fail(TCE_E_VALUE, "K = %zu, must be in 2 .. T = %zu", K, T);
    const tce_status status = tce__check_pointer("out_pairs", out_pairs);
    return status != TCE_OK ? status : tce__check_pointer("out_J", out_J);
}

/* Indices that `first` can have: [0, first_end). */
static size_t first_end(size_t T, size_t K)
{
    return T / K + T % K;
}

size_t tce_segment_max_pairs(size_t T, size_t K)
{
    if (K < LEAST_POINTS || K > T)
        return 0;

    /* first = 0 leaves room for the most points: ceil(T / interval) */
    const size_t interval = T / K;
    return (T - 1) / interval;
}

/*
 * K sorted distinct indices: t is taken with probability (points missing) / (indices still to come)
 */
static size_t random_pairs(size_t T, size_t K, tce_random *random, int32_t *out_pairs)
{
    size_t taken = 0;

    for (size_t t = 0; taken < K; t++) {
        if (tce_random_below(random, T - t) >= K - taken)
            continue;

        /* a point ends the pair before it and begins the next one */
        if (taken > 0)
            out_pairs[2 * (taken - 1) + 1] = (int32_t)t;
        if (taken + 1 < K)
            out_pairs[2 * taken] = (int32_t)t;
        taken++;
    }
    return K - 1;
}

static size_t interval_pairs(size_t T, size_t K, size_t first, int32_t *out_pairs)
{
    const size_t interval = T / K;
    size_t J = 0;

    for (size_t a = first; a + interval < T; a += interval, J++) {
        out_pairs[2 * J] = (int32_t)a;
        out_pairs[2 * J + 1] = (int32_t)(a + interval);
    }
    return J;
}

tce_status tce_segment_choose_pairs(int32_t selection, size_t T, size_t K, size_t first,
                                    tce_random *random, int32_t *out_pairs, size_t *out_J)
{
    if (selection != TCE_SEGMENT_POINTS_INTERVAL && selection != TCE_SEGMENT_POINTS_RANDOM)
        return tce_fail(
            TCE_E_ARGUMENT,
            "selection = %d, must be TCE_SEGMENT_POINTS_INTERVAL or TCE_SEGMENT_POINTS_RANDOM",
            (int)selection);
    tce_status status = check_points(T, K, out_pairs, out_J);
    if (status == TCE_OK && selection == TCE_SEGMENT_POINTS_RANDOM)
        status = tce__check_pointer("random", random);
    if (status != TCE_OK)
        return status;
    if (selection == TCE_SEGMENT_POINTS_RANDOM) {
        *out_J = random_pairs(T, K, random, out_pairs);
        return TCE_OK;
    }

    if (random)
        first = (size_t)tce_random_below(random, first_end(T, K));
    if (first >= first_end(T, K))
        return tce_fail(TCE_E_VALUE, "first = %zu, must be below T div K + T mod K = %zu", first,
                        first_end(T, K));
    *out_J = interval_pairs(T, K, first, out_pairs);
    return TCE_OK;
}
