/*
 * Tolerances S(d) of bounds low, high and a margin, with d the distance to the bounds in margins
 * and w = 0.1 = S(1):
 *     long tail 1 / (1 + d^2 (1/w - 1))      gaussian w^(d^2)
 *     reciprocal 1 / (1 + d (1/w - 1))       hyperbolic 1 / cosh(d arcosh(1/w))
 *     cosine (1 + cos(d arccos(2w - 1))) / 2      linear 1 - d (1 - w)
 *     quadratic 1 - d^2 (1 - w)      tanh^2 1 - tanh^2(d artanh sqrt(1 - w))
 * the three without a tail end at 0. And what is built from them: cages around objects.
 */
#include "rewards.h"

#include <math.h>

#define AT_MARGIN 0.1
#define PI 3.14159265358979323846
/* m of mocap movement for an action of 1, and its inverse */
#define ACTION_SCALE 0.01
#define FOLLOW_GAIN 100.0
/* a cage better than this is where the gripper should close */
#define CAGED 0.97
#define CAGED_PUSH 0.95

/* ---- distances ------------------------------------------------------------------------------- */

double mw_distance(const double *a, const double *b)
{
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return sqrt(x * x + y * y + z * z);
}

double mw_distance_xy(const double *a, const double *b)
{
    const double x = a[0] - b[0], y = a[1] - b[1];
    return sqrt(x * x + y * y);
}

double mw_distance_xz(const double *a, const double *b)
{
    const double x = a[0] - b[0], z = a[2] - b[2];
    return sqrt(x * x + z * z);
}

double mw_distance_scaled(const double *s, const double *a, const double *b)
{
    const double x = s[0] * (a[0] - b[0]), y = s[1] * (a[1] - b[1]), z = s[2] * (a[2] - b[2]);
    return sqrt(x * x + y * y + z * z);
}

double mw_clip(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

/* ---- tolerance and its friends --------------------------------------------------------------- */

static double fall(mw_sigmoid sigmoid, double d)
{
    const double w = AT_MARGIN;
    double s;
    switch (sigmoid) {
    case MW_LONG_TAIL:
        return 1.0 / (1.0 + d * d * (1.0 / w - 1.0));
    case MW_GAUSSIAN:
        s = d * sqrt(-2.0 * log(w));
        return exp(-0.5 * s * s);
    case MW_HYPERBOLIC:
        return 1.0 / cosh(d * acosh(1.0 / w));
    case MW_RECIPROCAL:
        return 1.0 / (1.0 + fabs(d) * (1.0 / w - 1.0));
    case MW_COSINE:
        s = d * acos(2.0 * w - 1.0) / PI;
        return fabs(s) < 1.0 ? (1.0 + cos(PI * s)) / 2.0 : 0.0;
    case MW_LINEAR:
        s = d * (1.0 - w);
        return fabs(s) < 1.0 ? 1.0 - s : 0.0;
    case MW_QUADRATIC:
        s = d * sqrt(1.0 - w);
        return fabs(s) < 1.0 ? 1.0 - s * s : 0.0;
    case MW_TANH_SQUARED:
        s = tanh(d * atanh(sqrt(1.0 - w)));
        return 1.0 - s * s;
    }
    return NAN;
}

double mw_tolerance(mw_sigmoid sigmoid, double x, double low, double high, double margin)
{
    if (!(low <= high) || !(margin >= 0.0))
        return NAN;
    if (x >= low && x <= high)
        return 1.0;
    if (margin == 0.0)
        return isnan(x) ? NAN : 0.0;
    return fall(sigmoid, (x < low ? low - x : x - high) / margin);
}

double mw_near(double x, double high, double margin)
{
    return mw_tolerance(MW_LONG_TAIL, x, 0.0, high, margin);
}

double mw_near_gauss(double x, double high, double margin)
{
    return mw_tolerance(MW_GAUSSIAN, x, 0.0, high, margin);
}

double mw_hamacher(double a, double b)
{
    if (!(a >= 0.0 && a <= 1.0 && b >= 0.0 && b <= 1.0))
        return NAN;
    const double below = a + b - a * b;
    return below > 0.0 ? a * b / below : 0.0;
}

double mw_prism(const double *x, const double *zero, const double *one)
{
    double product = 1.0;
    for (int i = 0; i < 3; i++) {
        if (x[i] < fmin(zero[i], one[i]) || x[i] > fmax(zero[i], one[i]))
            return 1.0;
        product *= (x[i] - zero[i]) / (one[i] - zero[i]);
    }
    return product;
}

double mw_funnel(double r, double inner, double slope, double height)
{
    return r <= inner ? 0.0 : slope * log(r - inner) + height;
}

double mw_upright(const double *q, const double *ideal, double width)
{
    double sum = 0.0;
    for (int i = 0; i < 4; i++)
        sum += (q[i] - ideal[i]) * (q[i] - ideal[i]);
    return fmax(1.0 - sqrt(sum) / width, 0.0);
}

/* From the largest of m00, m11, m22 and the trace, the first of them when there are several. */
void mw_quaternion_xyzw(const double *m, double *out)
{
    const double trace = m[0] + m[4] + m[8];
    const double choice[4] = { m[0], m[4], m[8], trace };
    int k = 0;
    for (int i = 1; i < 4; i++)
        if (choice[i] > choice[k])
            k = i;

    if (k == 3) {
        out[0] = m[7] - m[5];
        out[1] = m[2] - m[6];
        out[2] = m[3] - m[1];
        out[3] = 1.0 + trace;
    } else {
        const int i = k, j = (i + 1) % 3, l = (j + 1) % 3;
        out[i] = 1.0 - trace + 2.0 * m[4 * i];
        out[j] = m[3 * j + i] + m[3 * i + j];
        out[l] = m[3 * l + i] + m[3 * i + l];
        out[3] = m[3 * l + j] - m[3 * j + l];
    }
    const double size = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2] + out[3] * out[3]);
    for (int i = 0; i < 4; i++)
        out[i] /= size;
}

/* ---- how well the gripper holds an object ---------------------------------------------------- */

/*
 * How far a pad at y has come to the side of the object, from the distance that it has to its first
 * place.
 */
static double pad_beside(const mw_cage_numbers *n, double y, double object_y, double base_y)
{
    return mw_tolerance(MW_LONG_TAIL, fabs(y - object_y), n->object, n->reach,
                        fabs(fabs(y - base_y) - n->reach));
}

/* The tool above or around P in the plane of x and z, measured by how far it was from `base`. */
static double tool_around(const mw_scene *s, const double *P, const double *base, double width)
{
    return mw_near(mw_distance_xz(s->c, P), width, mw_distance_xz(base, s->c0) - width);
}

double mw_cage(const mw_scene *s, const mw_cage_numbers *n, const double *P, const double *base)
{
    const double beside = mw_hamacher(pad_beside(n, s->left[1], P[1], base[1]),
                                      pad_beside(n, s->right[1], P[1], base[1]));
    const double caged = mw_hamacher(beside, tool_around(s, P, base, n->width));
    const double grip = caged > CAGED ? fmin(fmax(0.0, s->grip), n->effort) / n->effort : 0.0;
    const double held = mw_hamacher(caged, grip);
    if (n->density == MW_PLAIN)
        return held;
    if (n->density == MW_HIGH)
        return (held + caged) / 2.0;
    const double reached = mw_near(mw_distance(P, s->c), n->near,
                                   fabs(mw_distance(base, s->c0) - n->near));
    return (held + reached) / 2.0;
}

/*
 * Signed distances of the pads inwards to the object, negative outside, and the margins for them:
 * all of the present pads.
 */
typedef struct pads {
    double left, right;
    double left_margin, right_margin;
} pads;

static pads measure_pads(const mw_scene *s, const double *P)
{
    static const double REACH = 0.05;
    return (pads){ s->left[1] - P[1], P[1] - s->right[1], fabs(fabs(P[1] - s->left[1]) - REACH),
                   fabs(fabs(P[1] - s->right[1]) - REACH) };
}

static double pads_between(const pads *d, double low, double high)
{
    return mw_hamacher(mw_tolerance(MW_LONG_TAIL, d->left, low, high, d->left_margin),
                       mw_tolerance(MW_LONG_TAIL, d->right, low, high, d->right_margin));
}

double mw_cage_pick(const mw_scene *s, const double *P)
{
    const pads d = measure_pads(s, P);
    const double caged = mw_hamacher(pads_between(&d, 0.015, 0.05),
                                     tool_around(s, P, s->o0, 0.005));
    const double grip = caged > CAGED ? mw_clip(s->grip, 0.0, 1.0) : 0.0;
    return (mw_hamacher(caged, grip) + caged) / 2.0;
}

double mw_cage_push(const mw_scene *s, const double *P, double object, double slack, double width)
{
    const pads d = measure_pads(s, P);
    const double caged = mw_hamacher(pads_between(&d, object, 0.05),
                                     tool_around(s, P, s->o0, width));
    const double touching = pads_between(&d, object, object + slack);
    return (caged + (caged > CAGED_PUSH ? touching : 0.0)) / 2.0;
}

/* ---- the hand -------------------------------------------------------------------------------- */

void mw_follow(const double *desired, const double *mocap, double *out_action)
{
    for (int i = 0; i < 3; i++)
        out_action[i] = mw_clip(FOLLOW_GAIN * (desired[i] - mocap[i]), -1.0, 1.0);
    out_action[3] = mw_clip(desired[3], -1.0, 1.0);
}

void mw_move_mocap(const double *action, const double *low, const double *high, double *mocap)
{
    for (int i = 0; i < 3; i++)
        mocap[i] = mw_clip(mocap[i] + ACTION_SCALE * mw_clip(action[i], -1.0, 1.0), low[i],
                           high[i]);
}
