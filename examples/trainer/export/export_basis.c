/*
 * What a primitive's C code needs as numbers, taken from libtce itself: a ProDMP that starts at
 * rest at time 0 has rows H = scale o Psi, so the table and the integrals are read off tce_mp_basis
 * at the right times.
 *
 *     table   Psi(k dt/tau), k = 0 … last, where the published interpolation has its points
 *     exact   I1 = Psi, I0 = Psi' + alpha/2 Psi at the edges of panels that are short enough for
 *             12 Gauss points
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/exported.h"
#include "tools/memory.h"

/* a forcing below this adds nothing to a path of size 1 */
#define FORCING_END 1e-18
/* nearer to a whole number than this, the last table position is that number */
#define WHOLE 1e-9

#define PI 3.14159265358979323846

/* ---- sizes ----------------------------------------------------------------------------------- */

static void measure(export_basis *b)
{
    const tce_mp_options *o = &b->options;
    b->D = (size_t)o->n_dof;
    b->W = o->disable_weights ? 0 : (size_t)o->n_basis;
    b->G = o->kind != TCE_MP_PROMP && !o->disable_goal;
    b->C = b->W + b->G;
    b->R = o->kind == TCE_MP_PRODMP && o->relative_goal;
    b->lead = (o->learn_tau ? 1 : 0) + (o->learn_delay ? 1 : 0);
    b->P = b->lead + b->D * b->C;
}

/* ---- centres --------------------------------------------------------------------------------- */

/* The phase without its bounds, at the scaled time of a centre. */
static double unbounded_phase(const tce_mp_options *o, double s)
{
    if (o->phase == TCE_MP_PHASE_SMOOTH)
        return s * s * s * (10.0 + s * (6.0 * s - 15.0));
    return o->kind == TCE_MP_PROMP ? s : exp(-o->alpha_phase * s);
}

/*
 * Evenly spaced in time, widths from the distance to the next one in phase; rhythmic: evenly on the
 * circle.
 */
static void place_centres(export_basis *b)
{
    const tce_mp_options *o = &b->options;
    const double outside = (double)o->n_basis_outside;
    const double step = 1.0 / ((double)o->n_basis - 2.0 * outside - 1.0);
    const int exponential = o->kind != TCE_MP_PROMP && o->phase == TCE_MP_PHASE_NATURAL;
    for (int32_t i = 0; i < o->n_basis; i++) {
        if (o->phase == TCE_MP_PHASE_RHYTHMIC || o->n_basis == 1) {
            b->centre[i] = o->phase == TCE_MP_PHASE_RHYTHMIC ? (double)i / (double)o->n_basis
                                                             : unbounded_phase(o, 0.5);
            b->width[i] = o->basis_bandwidth_factor;
            continue;
        }
        b->centre[i] = unbounded_phase(o, ((double)i - outside) * step);
        double gap = unbounded_phase(o, ((double)i + 1.0 - outside) * step) - b->centre[i];
        if (o->n_basis == 2 && i == 1 && exponential)
            gap *= 2.0;
        b->width[i] = o->basis_bandwidth_factor / (gap * gap);
    }
}

/* ---- ProDMP ---------------------------------------------------------------------------------- */

/*
 * The primitive whose rows are scale o Psi(t/tau): at rest, no delay, all columns; unscaled: scales
 * 1.
 */
static tce_status create_bare(const export_basis *b, int unscaled, tce_mp **out)
{
    tce_mp_options o = b->options;
    o.n_dof = 1;
    o.learn_tau = o.learn_delay = o.disable_goal = o.disable_weights = o.relative_goal = 0;
    o.delay = 0.0;
    if (unscaled) {
        o.auto_scale_basis = 0;
        o.weights_scales = NULL;
        o.weights_scale = o.goal_scale = 1.0;
    }
    return tce_mp_create(&o, NULL, out);
}

/* y1, y2 and, with a relative goal, Psi_g at u, both orders; rows [2, S] */
static void put_closed_forms(const export_basis *b, double u, double *row)
{
    const size_t S = 2 + b->C + b->R;
    const double half = 0.5 * b->options.alpha;
    const double v = half * u;
    const double y1 = exp(-v);
    row[0] = y1;
    row[1] = u * y1;
    row[S] = -half * y1;
    row[S + 1] = y1 - half * (u * y1);
    if (b->R) {
        row[S - 1] = -expm1(-v) - v * y1;
        row[2 * S - 1] = half * v * y1;
    }
}

/* Scaled rows of the bare primitive at one time into a table row [2, S]. */
static tce_status put_columns(const export_basis *b, const tce_mp *bare, double time, double *row)
{
    const size_t S = 2 + b->C + b->R;
    const size_t first = b->options.disable_weights ? (size_t)b->options.n_basis : 0;
    double pos[TCE_MP_MAX_BASIS + 1], vel[TCE_MP_MAX_BASIS + 1];
    const tce_status status = tce_mp_basis(bare, 1, &time, 0.0, pos, vel, NULL);
    for (size_t c = 0; status == TCE_OK && c < b->C; c++) {
        row[2 + c] = pos[first + c];
        row[S + 2 + c] = vel[first + c] * b->options.tau;
    }
    return status;
}

/*
 * Points k = 0 … last of the table. Where tau/dt was rounded up, the last point lies beyond what
 * may be asked for: it is what the last interval leads to.
 */
static tce_status bake_table(export_basis *b, const tce_mp *bare)
{
    const tce_mp_options *o = &b->options;
    const size_t S = 2 + b->C + b->R;
    const double n = round(o->tau / o->dt);
    const double reach = (double)o->table_length * (o->tau / o->dt);
    const double whole = round(reach);
    const double needed = fabs(reach - whole) < WHOLE ? whole : ceil(reach);
    const double last = fmin(n * (double)o->table_length, needed);
    int failed = 0;
    b->n_rows = (size_t)last + 1;
    b->rows = array_of_doubles(b->n_rows * 2 * S, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for a table of %zu points", b->n_rows);

    tce_status status = TCE_OK;
    for (size_t k = 0; status == TCE_OK && k < b->n_rows; k++) {
        double *row = b->rows + k * 2 * S;
        const double weight = reach - (double)(k - (k > 0));
        const int beyond = (double)k > reach + WHOLE;
        status = put_columns(b, bare, beyond ? o->tau * (double)o->table_length : (double)k * o->dt,
                             row);
        for (size_t j = 0; beyond && j < 2 * S; j++)
            row[j] = row[j - 2 * S] + (row[j] - row[j - 2 * S]) / weight;
        put_closed_forms(b, (double)k / n, row);
    }
    return status;
}

/*
 * How far the next panel goes from u. 12 points are exact to rounding on half the distance of two
 * centres (the poles of the normalised basis lie pi/bandwidth of it off the axis); past the last
 * centre the phase slows down; and e^{alpha s/2} must stay a low polynomial.
 */
static double panel_length(const tce_mp_options *o, double u)
{
    const double gaps = (double)o->n_basis - 2.0 * (double)o->n_basis_outside - 1.0;
    const double spacing = gaps > 1.0 ? 1.0 / gaps : 1.0;
    const double pole = fmin(1.0, PI / o->basis_bandwidth_factor);
    const double slower = u > 1.0 ? exp(fmin(o->alpha_phase * (u - 1.0), 50.0)) : 1.0;
    return fmin(0.5 * pole * fmin(spacing * slower, 1.0 / o->alpha_phase), 2.0 / o->alpha);
}

/* Edges, and the integrals I0, I1 at each: unscaled. */
static tce_status bake_integrals(export_basis *b, const tce_mp *unscaled)
{
    const tce_mp_options *o = &b->options;
    const double end = -log(FORCING_END) / o->alpha_phase;
    size_t n = 1;
    for (double u = 0.0; u < end; u += panel_length(o, u))
        n++;
    int failed = 0;
    b->n_rows = n;
    b->rows = array_of_doubles(n * 2 * (b->W + 1), &failed);
    b->edge = array_of_doubles(n, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu panels", n);

    tce_status status = TCE_OK;
    double u = 0.0;
    for (size_t k = 0; status == TCE_OK && k < n; k++) {
        double pos[TCE_MP_MAX_BASIS + 1], vel[TCE_MP_MAX_BASIS + 1];
        const double time = u * o->tau;
        b->edge[k] = u = time / o->tau;
        status = tce_mp_basis(unscaled, 1, &time, 0.0, pos, vel, NULL);
        for (size_t i = 0; status == TCE_OK && i < b->W; i++) {
            b->rows[2 * k * b->W + i] = vel[i] * o->tau + 0.5 * o->alpha * pos[i];
            b->rows[(2 * k + 1) * b->W + i] = pos[i];
        }
        u += panel_length(o, u);
    }
    return status;
}

/*
 * Scales of an exact basis: quotient of scaled and unscaled rows, each where the row is largest
 * within the movement.
 */
static tce_status find_scales(export_basis *b, const tce_mp *bare, const tce_mp *unscaled)
{
    enum { N = 64 };
    const size_t first = b->options.disable_weights ? (size_t)b->options.n_basis : 0;
    double largest[TCE_MP_MAX_BASIS + 1] = { 0 };
    for (int k = 1; k <= N; k++) {
        double plain[TCE_MP_MAX_BASIS + 1], scaled[TCE_MP_MAX_BASIS + 1];
        const double time = 2.0 * b->options.tau * (double)k / N;
        tce_status status = tce_mp_basis(unscaled, 1, &time, 0.0, plain, NULL, NULL);
        if (status == TCE_OK)
            status = tce_mp_basis(bare, 1, &time, 0.0, scaled, NULL, NULL);
        if (status != TCE_OK)
            return status;
        for (size_t c = 0; c < b->C; c++)
            if (plain[first + c] > largest[c]) {
                largest[c] = plain[first + c];
                b->scale[c] = scaled[first + c] / plain[first + c];
            }
    }
    return TCE_OK;
}

static tce_status bake_prodmp(export_basis *b)
{
    tce_mp *bare = NULL, *unscaled = NULL;
    tce_status status = create_bare(b, 0, &bare);
    if (status == TCE_OK)
        status = create_bare(b, 1, &unscaled);
    if (status == TCE_OK && b->options.basis == TCE_MP_BASIS_TABLE)
        status = bake_table(b, bare);
    else if (status == TCE_OK)
        status = find_scales(b, bare, unscaled);
    if (status == TCE_OK && b->options.basis == TCE_MP_BASIS_EXACT && b->W > 0)
        status = bake_integrals(b, unscaled);
    tce_mp_free(bare);
    tce_mp_free(unscaled);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

tce_status export_basis_make(export_basis *b, const tce_mp *mp)
{
    memset(b, 0, sizeof *b);
    tce_mp_options_init(&b->options, sizeof b->options);
    tce_mp_get_options(mp, &b->options);
    measure(b);
    place_centres(b);
    for (size_t c = 0; c < b->C; c++)
        b->scale[c] = c == b->W                   ? b->options.goal_scale
                      : b->options.weights_scales ? b->options.weights_scales[c]
                                                  : b->options.weights_scale;
    return b->options.kind == TCE_MP_PRODMP ? bake_prodmp(b) : TCE_OK;
}

void export_basis_free(export_basis *b)
{
    free(b->rows);
    free(b->edge);
    b->rows = b->edge = NULL;
}
