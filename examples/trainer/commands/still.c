/*
 * Stills of an episode. Several moments in one picture are chosen by how much the picture changes,
 * not by time: an arm that comes to rest is drawn there once.
 */
#include "commands/still.h"

#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"
#include "tools/png.h"

#define THUMBNAIL 160 /* pixels across, of the pictures whose change is measured */
#define FAINTEST 0.25 /* how much of the oldest moment is seen */
/* differences in 0 ... 255 at which a pixel begins to show something that moves, and shows it all */
#define STILL_GROUND 6.0
#define MOVING 30.0

static double clip(double x)
{
    return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}

static int by_value(const void *a, const void *b)
{
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* ---- several moments in one picture ---------------------------------------------------------- */

void still_blend(size_t n, size_t n_all, size_t size, const uint8_t *pictures, uint8_t *rgb)
{
    for (size_t i = 0; i + 2 < size; i += 3) {
        /* what most pictures show here does not move */
        double ground[3], seen[3];
        for (size_t k = 0; k < 3; k++) {
            uint8_t values[STILL_MOST_MOMENTS + STILL_OTHERS];
            for (size_t m = 0; m < n_all; m++)
                values[m] = pictures[m * size + i + k];
            qsort(values, n_all, 1, by_value);
            ground[k] = seen[k] = values[n_all / 2];
        }
        /* the latest lies on top */
        for (size_t m = 0; m < n; m++) {
            const uint8_t *here = pictures + m * size + i;
            double difference = 0.0;
            for (size_t k = 0; k < 3; k++) {
                const double d = here[k] - ground[k];
                difference = d > difference ? d : -d > difference ? -d : difference;
            }
            const double moving = clip((difference - STILL_GROUND) / (MOVING - STILL_GROUND));
            const double age = (double)(n - 1 - m) / (double)(n - 1);
            const double share = moving * (1.0 - (1.0 - FAINTEST) * age);
            for (size_t k = 0; k < 3; k++)
                seen[k] += share * (here[k] - seen[k]);
        }
        for (size_t k = 0; k < 3; k++)
            rgb[i + k] = (uint8_t)(seen[k] + 0.5);
    }
}

void still_moments(size_t n_steps, const double *change, size_t n, size_t *out)
{
    size_t t = 0;
    for (size_t m = 0; m < n; m++) {
        const double wanted = change[n_steps] * (double)m / (double)(n - 1);
        while (t < n_steps && change[t] < wanted)
            t++;
        out[m] = m == n - 1 ? n_steps : t;
    }
}

/* ---- drawing while an episode is replayed ---------------------------------------------------- */

typedef struct still {
    const tce_env_vtable *env;
    size_t n_steps, n; /* of the episode; moments */
    size_t n_others;   /* pictures of other episodes */
    int32_t width, height;
    size_t size;     /* bytes of a picture of that size */
    uint8_t *large;  /* a picture of twice that size */
    uint8_t *frames; /* [n + n_others, size] */
    size_t *moments; /* [n] */
    size_t t, at;    /* of another episode: the step to draw, and the frame it becomes */
    /* the change of small pictures, [n_steps + 1], the latest and the one before */
    double *change;
    int32_t small_width, small_height;
    uint8_t *small, *before;
} still;

static tce_status measure(void *context, void *instance, size_t t, double reward)
{
    still *s = context;
    const size_t size = (size_t)s->small_width * (size_t)s->small_height * 3;
    (void)reward;
    const tce_status status = s->env->render(instance, s->small_width, s->small_height, s->small);
    double sum = 0.0;
    for (size_t i = 0; i < size; i++)
        sum += abs(s->small[i] - s->before[i]);
    s->change[t] = t == 0 ? 0.0 : s->change[t - 1] + sum;
    memcpy(s->before, s->small, size);
    return status;
}

/* A picture of half the size: each pixel is the mean of four. */
static void halve(int32_t width, int32_t height, const uint8_t *large, uint8_t *out)
{
    const size_t row = (size_t)width * 6;
    for (size_t y = 0; y < (size_t)height; y++)
        for (size_t x = 0; x < (size_t)width; x++, out += 3)
            for (size_t k = 0; k < 3; k++) {
                const uint8_t *at = large + 2 * y * row + 6 * x + k;
                out[k] = (uint8_t)((at[0] + at[3] + at[row] + at[row + 3] + 2) / 4);
            }
}

static tce_status take(void *context, void *instance, size_t t, double reward)
{
    still *s = context;
    tce_status status = TCE_OK;
    int drawn = 0;
    (void)reward;
    for (size_t m = 0; m < s->n; m++) {
        if (s->moments[m] != t)
            continue;
        if (!drawn)
            status = s->env->render(instance, 2 * s->width, 2 * s->height, s->large);
        if (status != TCE_OK)
            return status;
        drawn = 1;
        halve(s->width, s->height, s->large, s->frames + m * s->size);
    }
    return TCE_OK;
}

static tce_status take_other(void *context, void *instance, size_t t, double reward)
{
    still *s = context;
    (void)reward;
    if (t != s->t)
        return TCE_OK;
    const tce_status status = s->env->render(instance, 2 * s->width, 2 * s->height, s->large);
    halve(s->width, s->height, s->large, s->frames + s->at * s->size);
    return status;
}

/* One picture of each of the episodes after e, from their second halves: they begin alike. */
static tce_status take_others(still *s, const episodes *ep, size_t e, void *instance, double *work)
{
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < s->n_others; i++) {
        const size_t other = (e + 1 + i) % ep->E;
        s->at = s->n + i;
        const size_t length = (size_t)ep->lengths[other];
        s->t = length - length / 2 * i / s->n_others;
        status = collect_replay(ep, other, instance, work, take_other, s);
    }
    return status;
}

static tce_status write_still(still *s, const char *path, const episodes *ep, size_t e,
                              void *instance, double *work)
{
    tce_status status = TCE_OK;
    s->moments[0] = s->n_steps;
    if (s->n > 1) {
        status = collect_replay(ep, e, instance, work, measure, s);
        still_moments(s->n_steps, s->change, s->n, s->moments);
    }
    if (status == TCE_OK)
        status = collect_replay(ep, e, instance, work, take, s);
    if (status == TCE_OK)
        status = take_others(s, ep, e, instance, work);
    if (status == TCE_OK && s->n > 1)
        still_blend(s->n, s->n + s->n_others, s->size, s->frames, s->frames);
    return status == TCE_OK ? png_write(path, s->width, s->height, s->frames) : status;
}

tce_status still_write(const char *path, const tce_env_vtable *env, const episodes *ep, size_t e,
                       void *instance, double *work, size_t n_moments, int32_t width,
                       int32_t height)
{
    still s = { .env = env,
                .n_steps = (size_t)ep->lengths[e],
                .n = n_moments,
                .width = width,
                .height = height,
                .size = (size_t)width * (size_t)height * 3,
                .small_width = THUMBNAIL,
                .small_height = THUMBNAIL * height / width > 0 ? THUMBNAIL * height / width : 1 };
    if (n_moments > 1)
        s.n_others = ep->E - 1 < STILL_OTHERS ? ep->E - 1 : STILL_OTHERS;
    const size_t small = (size_t)s.small_width * (size_t)s.small_height * 3;
    int failed = 0;
    s.large = array_of(4, s.size, &failed);
    s.frames = array_of(n_moments + s.n_others, s.size, &failed);
    s.moments = array_of(n_moments, sizeof *s.moments, &failed);
    s.change = array_of_doubles(s.n_steps + 1, &failed);
    s.small = array_of(small, 1, &failed);
    s.before = array_of(small, 1, &failed);
    const tce_status status = failed ? tce_fail(TCE_E_NOMEM, "no memory for a picture")
                                     : write_still(&s, path, ep, e, instance, work);
    free(s.large);
    free(s.frames);
    free(s.moments);
    free(s.change);
    free(s.small);
    free(s.before);
    return status;
}
