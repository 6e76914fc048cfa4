/*
 * Differential inverse kinematics. With pose error e = (e_p, e_r) of the hand, Jacobian J [6, 7],
 * null-space motion n towards the home pose and away from the limits, and gains K:
 *     (J J' + 1e-6 I) y = K e - J n,    v = J' y + n,    q <- clip(q + s v)
 * A round that makes the error larger is undone and s shrinks by 0.7; after a good one s grows by
 * 1.025.
 */
#include "arm_search.h"

#include <math.h>
#include <string.h>

enum { N = ARM_JOINTS, N_POSE_ERROR = 6, MAX_ROUNDS = 1000 };

#define ENOUGH 1e-5
#define FIRST_STEP 1e-3
#define SHRINK 0.7
#define GROW 1.025
#define REGULARISER 1e-6
#define LIMIT_GAIN 20.0
#define LIMIT_MARGIN 0.1
#define MAX_SHIFT 0.1 /* m, a component of e_p */
#define MAX_TURN 0.5  /* a component of e_r */

const double ARM_HIGH[N] = { 2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973 };
const double ARM_LOW[N] = { -2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973 };

static const double HOME[N] = { 3.57795216e-9,  0.174532920, 3.30500960e-8, -0.872664630,
                                -1.14096181e-7, 1.22173047,  0.785398126 };
static const double GAIN[N_POSE_ERROR] = { 33.9403713446798,  30.9403713446798,  33.9403713446798,
                                           27.69370238555632, 33.98706171459314, 30.9185531893281 };
/* five times these */
static const double HOME_GAIN[N] = { 7.675519770796831, 2.676935478437176, 8.539040163444975,
                                     1.270446361314313, 8.87752182480855,  2.186782233762969,
                                     4.414432577659688 };

static double clip(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

/* e [6] from the hand's present pose to the wanted one; returns |e_p|^2 + |c - turn|^2. */
static double pose_error(const double *x, const double *quat, const double *goal,
                         const double *turn, double *e)
{
    double c[4], cross[3];
    double minus = 0.0, plus = 0.0, sum = 0.0;
    memcpy(c, quat, sizeof c);

    /* of the two quaternions of an orientation the nearer one */
    for (int i = 0; i < 4; i++) {
        minus += (c[i] - turn[i]) * (c[i] - turn[i]);
        plus += (c[i] + turn[i]) * (c[i] + turn[i]);
    }
    for (int i = 0; i < 4 && minus > plus; i++)
        c[i] = -c[i];

    mju_cross(cross, turn + 1, c + 1);
    for (int i = 0; i < 3; i++) {
        e[i] = clip(goal[i] - x[i], -MAX_SHIFT, MAX_SHIFT);
        e[3 + i] = clip(c[0] * turn[1 + i] - turn[0] * c[1 + i] - cross[i], -MAX_TURN, MAX_TURN);
        sum += e[i] * e[i];
    }
    return sum + fmin(minus, plus);
}

/* n: towards HOME, and back from the limits where they are near. */
static void null_motion(const double *q, double *n)
{
    for (int i = 0; i < N; i++) {
        const double high = ARM_HIGH[i] - LIMIT_MARGIN;
        const double low = ARM_LOW[i] + LIMIT_MARGIN;
        n[i] = 5.0 * HOME_GAIN[i] * (HOME[i] - q[i]);
        if (q[i] > high)
            n[i] += LIMIT_GAIN * (high - q[i]);
        if (q[i] < low)
            n[i] += LIMIT_GAIN * (low - q[i]);
    }
}

/* v [7] for pose error e, where jacobian [6, nv] has the arm in its first columns. */
static void velocity(const double *jacobian, int nv, const double *q, const double *e, double *v)
{
    double n[N], A[N_POSE_ERROR * N_POSE_ERROR], y[N_POSE_ERROR];
    null_motion(q, n);
    for (int i = 0; i < N_POSE_ERROR; i++) {
        const double *row = jacobian + i * nv;
        for (int j = 0; j < N_POSE_ERROR; j++)
            A[i * N_POSE_ERROR + j] = mju_dot(row, jacobian + j * nv, N) +
                                      (i == j ? REGULARISER : 0.0);
        y[i] = GAIN[i] * e[i] - mju_dot(row, n, N);
    }
    mju_cholFactor(A, N_POSE_ERROR, 0.0);
    mju_cholSolve(y, A, y, N_POSE_ERROR);
    for (int j = 0; j < N; j++) {
        v[j] = n[j];
        for (int i = 0; i < N_POSE_ERROR; i++)
            v[j] += jacobian[i * nv + j] * y[i];
    }
}

void arm_search_run(arm_search *search, const mjModel *model, mjData *data, const double *goal,
                    const double *turn)
{
    enum { MAX_NV = 32 };
    double q[N], before[N], v[N] = { 0 }, e[N_POSE_ERROR], jacobian[N_POSE_ERROR * MAX_NV];
    double s = FIRST_STEP, last = INFINITY;
    const int nv = (int)model->nv;
    memcpy(q, data->qpos, sizeof q);
    search->rounds = 0.0;
    search->tries = 0.0;

    for (;;) {
        /* a step along v */
        memcpy(before, q, sizeof q);
        for (int i = 0; i < N; i++)
            q[i] = clip(q[i] + s * v[i], ARM_LOW[i], ARM_HIGH[i]);
        memcpy(data->qpos, q, sizeof q);
        mj_kinematics(model, data);
        mj_comPos(model, data);
        search->tries += 1.0;

        /* back, when it was too long */
        search->error = pose_error(data->xpos + 3 * search->body, data->xquat + 4 * search->body,
                                   goal, turn, e);
        if (search->error > last) {
            memcpy(q, before, sizeof q);
            s *= SHRINK;
            continue;
        }
        s *= GROW;
        if (search->error < ENOUGH || search->rounds > MAX_ROUNDS)
            return;
        last = search->error;

        /* the next direction */
        mj_jacBody(model, data, jacobian, jacobian + 3 * nv, search->body);
        velocity(jacobian, nv, q, e, v);
        search->rounds += 1.0;
    }
}
