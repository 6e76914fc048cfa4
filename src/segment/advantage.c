/*
 * Advantages of segments (a, b), [E, J]; n steps were really taken by an episode.
 *
 *   value    A = sum_{t=a}^{b-1} gamma^(t-a) r_t + gamma^(b-a) V_b - V_a     [TCE eq. adv_to_v]
 *   sum      A = sum_{t=a}^{b} A_t, the step advantages normalised over the batch
 *   reward   A = sum_{t=a}^{b-1} gamma^(t-a) r_t minus its mean over episodes
 *
 * An episode that ended after n < T steps: segments with a >= n do not count; steps t >= n add
 * nothing, and V_b = 0 for b >= n. Normalised is (x - mean) / (sample standard deviation + 1e-8)
 * over what counts; fewer than two numbers stay as they are.
 */
#include <tce/segment.h>

#include "segment/internal.h"

/* Where the segments lie and which of them count. */
typedef struct segments {
    size_t E;
    size_t T;
    size_t J;
    const int32_t *pairs;   /* [J, 2] */
    const int32_t *lengths; /* [E] or NULL */
} segments;

/* steps that episode e took */
static size_t episode_end(const segments *s, size_t e)
{
    return s->lengths ? (size_t)s->lengths[e] : s->T;
}

/* a segment counts when it starts before the end of its episode */
static int counts(const segments *s, size_t e, size_t j)
{
    return (size_t)s->pairs[2 * j] < episode_end(s, e);
}

/* sum_{t=a}^{b-1} gamma^(t-a) r_t by Horner's rule, r_t = 0 from step `end` on */
static double discounted_sum(const double *rewards, size_t a, size_t b, size_t end, double gamma)
{
    double sum = 0.0;

    for (size_t t = b < end ? b : end; t-- > a;)
        sum = rewards[t] + gamma * sum;
    return sum;
}

/* discounted reward sums of all segments, 0 where a segment does not count */
static void sum_rewards(const segments *s, const double *rewards, double gamma, double *out)
{
    for (size_t e = 0; e < s->E; e++) {
        for (size_t j = 0; j < s->J; j++) {
            const size_t a = (size_t)s->pairs[2 * j];
            const size_t b = (size_t)s->pairs[2 * j + 1];
            out[e * s->J + j] = discounted_sum(rewards + e * s->T, a, b, episode_end(s, e), gamma);
        }
    }
}

/* plus gamma^(b-a) V_b - V_a */
static void add_values(const segments *s, const double *values, double gamma, double *out)
{
    for (size_t e = 0; e < s->E; e++) {
        const double *const V = values + e * (s->T + 1);
        for (size_t j = 0; j < s->J; j++) {
            const size_t a = (size_t)s->pairs[2 * j];
            const size_t b = (size_t)s->pairs[2 * j + 1];
            const double V_b = b < episode_end(s, e) ? V[b] : 0.0;
            if (counts(s, e, j))
                out[e * s->J + j] += pow(gamma, (double)(b - a)) * V_b - V[a];
        }
    }
}

/* minus the mean over the episodes in which the segment counts */
static void subtract_column_means(const segments *s, double *out)
{
    for (size_t j = 0; j < s->J; j++) {
        tce__moments m = { 0.0, 0.0, 0.0 };

        for (size_t e = 0; e < s->E; e++) {
            if (counts(s, e, j))
                tce__moments_add(&m, out[e * s->J + j]);
        }
        for (size_t e = 0; e < s->E; e++) {
            if (counts(s, e, j))
                out[e * s->J + j] -= m.mean;
        }
    }
}

/* sum_{t=a}^{b} A_t of the step advantages, normalised over all steps taken */
static void sum_steps(const segments *s, const double *steps, double *out)
{
    tce__moments m = { 0.0, 0.0, 0.0 };

    for (size_t e = 0; e < s->E; e++) {
        for (size_t t = 0; t < episode_end(s, e); t++)
            tce__moments_add(&m, steps[e * s->T + t]);
    }
    for (size_t e = 0; e < s->E; e++) {
        for (size_t j = 0; j < s->J; j++) {
            double sum = 0.0;
            for (size_t t = (size_t)s->pairs[2 * j];
                 t <= (size_t)s->pairs[2 * j + 1] && t < episode_end(s, e); t++)
                sum += tce__moments_normalised(&m, steps[e * s->T + t]);
            out[e * s->J + j] = sum;
        }
    }
}

static void normalise_segments(const segments *s, double *out)
{
    tce__moments m = { 0.0, 0.0, 0.0 };

    for (size_t i = 0; i < s->E * s->J; i++) {
        if (counts(s, i / s->J, i % s->J))
            tce__moments_add(&m, out[i]);
    }
    for (size_t i = 0; i < s->E * s->J; i++) {
        if (counts(s, i / s->J, i % s->J))
            out[i] = tce__moments_normalised(&m, out[i]);
    }
}

static tce_status check_segments(const segments *s)
{
    if (s->J > 0 && s->pairs == NULL)
        return tce_fail(TCE_E_ARGUMENT, "pairs is NULL");
    for (size_t j = 0; j < s->J; j++) {
        const long a = s->pairs[2 * j];
        const long b = s->pairs[2 * j + 1];
        if (a < 0 || b <= a || (size_t)b >= s->T)
            return tce_fail(TCE_E_VALUE, "pairs[%zu] = (%ld, %ld), must be 0 <= a < b < T = %zu", j,
                            a, b, s->T);
    }
    for (size_t e = 0; s->lengths && e < s->E; e++) {
        if (s->lengths[e] < 0 || (size_t)s->lengths[e] > s->T)
            return tce_fail(TCE_E_VALUE, "lengths[%zu] = %ld, must be in 0 .. T = %zu", e,
                            (long)s->lengths[e], s->T);
    }
    return TCE_OK;
}

/* the arrays that a kind reads; past the end of an episode too they must be numbers */
static tce_status check_arrays(int32_t kind, const segments *s, const double *rewards,
                               const double *values, const double *steps, double gamma)
{
    if (kind == TCE_SEGMENT_SUM)
        return tce__check_finite("step_advantages", s->E * s->T, steps);
    if (!(gamma >= 0.0 && gamma <= 1.0))
        return tce_fail(TCE_E_VALUE, "gamma = %g, must be in [0, 1]", gamma);
    const tce_status st = tce__check_finite("rewards", s->E * s->T, rewards);
    if (st != TCE_OK || kind == TCE_SEGMENT_REWARD)
        return st;
    return tce__check_finite("values", s->E * (s->T + 1), values);
}

tce_status tce_segment_advantage(int32_t kind, size_t E, size_t T, size_t J, const double *rewards,
                                 const double *values, const double *step_advantages,
                                 const int32_t *pairs, const int32_t *lengths, double gamma,
                                 int32_t normalise, double *out, uint8_t *out_mask)
{
    const segments s = { E, T, J, pairs, lengths };

    if (kind != TCE_SEGMENT_VALUE && kind != TCE_SEGMENT_SUM && kind != TCE_SEGMENT_REWARD)
        return tce_fail(TCE_E_ARGUMENT, "kind = %d, must be TCE_SEGMENT_VALUE, _SUM or _REWARD",
                        (int)kind);
    tce_status st = check_segments(&s);
    if (st == TCE_OK)
        st = check_arrays(kind, &s, rewards, values, step_advantages, gamma);
    if (st == TCE_OK && E * J > 0)
        st = tce__check_pointer("out", out);
    if (st != TCE_OK)
        return st;

    /* the advantage of the kind asked for */
    if (kind == TCE_SEGMENT_SUM)
        sum_steps(&s, step_advantages, out);
    else
        sum_rewards(&s, rewards, gamma, out);
    if (kind == TCE_SEGMENT_VALUE)
        add_values(&s, values, gamma, out);
    if (kind == TCE_SEGMENT_REWARD)
        subtract_column_means(&s, out);

    /* over the batch; the centred reward keeps its scale, as published */
    if (normalise && kind != TCE_SEGMENT_REWARD)
        normalise_segments(&s, out);

    for (size_t i = 0; out_mask && i < E * J; i++)
        out_mask[i] = (uint8_t)counts(&s, i / J, i % J);
    return TCE_OK;
}
