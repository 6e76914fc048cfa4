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

/* steps that episode e took */
static size_t episode_end(const tce_segment_steps *s, size_t e)
{
    return s->lengths ? (size_t)s->lengths[e] : s->T;
}

/* a segment counts when it starts before the end of its episode */
static int counts(const tce_segment_steps *s, size_t e, size_t j)
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
static void sum_rewards(const tce_segment_steps *s, double *out)
{
    for (size_t e = 0; e < s->E; e++) {
        for (size_t j = 0; j < s->J; j++) {
            const size_t a = (size_t)s->pairs[2 * j];
            const size_t b = (size_t)s->pairs[2 * j + 1];
            out[e * s->J + j] = discounted_sum(s->rewards + e * s->T, a, b, episode_end(s, e),
                                               s->gamma);
        }
    }
}

/* plus gamma^(b-a) V_b - V_a */
static void add_values(const tce_segment_steps *s, double *out)
{
    for (size_t e = 0; e < s->E; e++) {
        const double *const V = s->values + e * (s->T + 1);
        for (size_t j = 0; j < s->J; j++) {
            const size_t a = (size_t)s->pairs[2 * j];
            const size_t b = (size_t)s->pairs[2 * j + 1];
            const double V_b = b < episode_end(s, e) ? V[b] : 0.0;
            if (counts(s, e, j))
                out[e * s->J + j] += pow(s->gamma, (double)(b - a)) * V_b - V[a];
        }
    }
}

/* minus the mean over the episodes in which the segment counts */
static void subtract_column_means(const tce_segment_steps *s, double *out)
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
static void sum_steps(const tce_segment_steps *s, double *out)
{
    tce__moments m = { 0.0, 0.0, 0.0 };

    for (size_t e = 0; e < s->E; e++) {
        for (size_t t = 0; t < episode_end(s, e); t++)
            tce__moments_add(&m, s->step_advantages[e * s->T + t]);
    }
    for (size_t e = 0; e < s->E; e++) {
        for (size_t j = 0; j < s->J; j++) {
            double sum = 0.0;
            for (size_t t = (size_t)s->pairs[2 * j];
                 t <= (size_t)s->pairs[2 * j + 1] && t < episode_end(s, e); t++)
                sum += tce__moments_normalised(&m, s->step_advantages[e * s->T + t]);
            out[e * s->J + j] = sum;
        }
    }
}

static void normalise_segments(const tce_segment_steps *s, double *out)
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

static tce_status check_segments(const tce_segment_steps *s)
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
static tce_status check_arrays(const tce_segment_steps *s)
{
    if (s->kind == TCE_SEGMENT_SUM)
        return tce__check_finite("step_advantages", s->E * s->T, s->step_advantages);
    if (!(s->gamma >= 0.0 && s->gamma <= 1.0))
        return tce_fail(TCE_E_VALUE, "gamma = %g, must be in [0, 1]", s->gamma);
    const tce_status status = tce__check_finite("rewards", s->E * s->T, s->rewards);
    if (status != TCE_OK || s->kind == TCE_SEGMENT_REWARD)
        return status;
    return tce__check_finite("values", s->E * (s->T + 1), s->values);
}

tce_status tce_segment_advantage(const tce_segment_steps *steps)
{
    tce_segment_steps s = { .struct_size = sizeof s };
    tce_status status = tce__struct_read(steps, "tce_segment_steps", sizeof s, &s);
    if (status != TCE_OK)
        return status;
    if (s.kind != TCE_SEGMENT_VALUE && s.kind != TCE_SEGMENT_SUM && s.kind != TCE_SEGMENT_REWARD)
        return tce_fail(TCE_E_ARGUMENT, "kind = %d, must be TCE_SEGMENT_VALUE, _SUM or _REWARD",
                        (int)s.kind);
    double *const out = s.out_advantages;
    status = check_segments(&s);
    if (status == TCE_OK)
        status = check_arrays(&s);
    if (status == TCE_OK && s.E * s.J > 0)
        status = tce__check_pointer("out_advantages", out);
    if (status != TCE_OK)
        return status;

    /* the advantage of the kind asked for */
    if (s.kind == TCE_SEGMENT_SUM)
        sum_steps(&s, out);
    else
        sum_rewards(&s, out);
    if (s.kind == TCE_SEGMENT_VALUE)
        add_values(&s, out);
    if (s.kind == TCE_SEGMENT_REWARD)
        subtract_column_means(&s, out);

    /* over the batch; the centred reward keeps its scale, as published */
    if (s.normalise && s.kind != TCE_SEGMENT_REWARD)
        normalise_segments(&s, out);

    for (size_t i = 0; s.out_mask && i < s.E * s.J; i++)
        s.out_mask[i] = (uint8_t)counts(&s, i / s.J, i % s.J);
    return TCE_OK;
}
