/*
 * The handle of a movement primitive: options, their checks, scales.
 *
 * Parameters of a DoF: w_1 ... w_B and the goal g (ProDMP, DMP), w_1 ... w_B (ProMP). What
 * multiplies them is
 *
 *     scale_i = weights_scale_i,   scale_g = goal_scale
 *
 * and with auto-scale (ProDMP) each of them divided by the maximum of Psi_i(u) over the table.
 */
#include <string.h>

#include "mp/mp.h"

enum {
    /* far above any robot, far below what overflows a size */
    MAX_DOF = 65536,
    MAX_TABLE_LENGTH = 1000000
};

/* table points; a larger request is a mistake in dt rather than a wish */
static const double MAX_TABLE_POINTS = 1e9;

void tce_mp_options_init(tce_mp_options *options, size_t struct_size)
{
    const tce_mp_options defaults = {
        .kind = TCE_MP_PRODMP,
        .phase = TCE_MP_PHASE_NATURAL,
        .basis = TCE_MP_BASIS_TABLE,
        .n_dof = 1,
        .n_basis = 5,
        .table_length = 5,
        .auto_scale_basis = 1,
        .tau = 1.0,
        .dt = 0.01,
        .alpha = 25.0,
        .alpha_phase = 3.0,
        .basis_bandwidth_factor = 3.0,
        .weights_scale = 1.0,
        .goal_scale = 1.0,
    };
    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

/* Enumerators, and combinations that have no meaning. */
static tce_status check_combination(const tce_mp_options *o)
{
    if (o->kind < TCE_MP_PRODMP || o->kind > TCE_MP_DMP)
        return tce_fail(TCE_E_ARGUMENT, "options.kind = %d is none of TCE_MP_PRODMP, PROMP, DMP",
                        (int)o->kind);
    if (o->phase < TCE_MP_PHASE_NATURAL || o->phase > TCE_MP_PHASE_RHYTHMIC)
        return tce_fail(TCE_E_ARGUMENT,
                        "options.phase = %d is none of TCE_MP_PHASE_NATURAL, SMOOTH, RHYTHMIC",
                        (int)o->phase);
    if (o->basis != TCE_MP_BASIS_TABLE && o->basis != TCE_MP_BASIS_EXACT)
        return tce_fail(TCE_E_ARGUMENT, "options.basis = %d is none of TCE_MP_BASIS_TABLE, EXACT",
                        (int)o->basis);
    const tce_status status = tce__check_reserved("tce_mp_options", o->reserved);
    if (status != TCE_OK)
        return status;

    if (o->kind == TCE_MP_PRODMP && o->phase != TCE_MP_PHASE_NATURAL)
        return tce_fail(TCE_E_UNSUPPORTED, "options.phase: a ProDMP has the natural phase only");
    if (o->kind != TCE_MP_PRODMP && o->basis != TCE_MP_BASIS_TABLE)
        return tce_fail(TCE_E_UNSUPPORTED, "options.basis: only a ProDMP has an exact basis");
    if (o->kind != TCE_MP_PRODMP && (o->disable_goal || o->disable_weights))
        return tce_fail(TCE_E_UNSUPPORTED,
                        "options.disable_goal and disable_weights are for a ProDMP only");
    if (o->disable_goal && o->disable_weights)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "options.disable_goal and disable_weights together leave no parameters");
    if (o->phase == TCE_MP_PHASE_RHYTHMIC && o->n_basis_outside != 0)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "options.n_basis_outside: a rhythmic basis has no outside");
    return TCE_OK;
}

/* Numbers; alpha and alpha_phase only where they are used. */
static tce_status check_numbers(const tce_mp_options *o)
{
    const int has_factor = o->kind != TCE_MP_PROMP && o->phase != TCE_MP_PHASE_RHYTHMIC;
    tce_status status = tce__check_int("options.n_dof", o->n_dof, 1, MAX_DOF);
    if (status == TCE_OK)
        status = tce__check_int("options.n_basis", o->n_basis, 1, TCE_MP_MAX_BASIS);
    if (status == TCE_OK)
        status = tce__check_int("options.n_basis_outside", o->n_basis_outside, 0,
                                o->n_basis > 2 ? (o->n_basis - 2) / 2 : 0);
    if (status == TCE_OK && o->kind == TCE_MP_PRODMP)
        status = tce__check_int("options.table_length", o->table_length, 1, MAX_TABLE_LENGTH);
    if (status == TCE_OK)
        status = tce__check_positive("options.tau", o->tau);
    if (status == TCE_OK)
        status = tce__check_finite("options.delay", 1, &o->delay);
    if (status == TCE_OK)
        status = tce__check_positive("options.dt", o->dt);
    if (status == TCE_OK && o->kind != TCE_MP_PROMP)
        status = tce__check_positive("options.alpha", o->alpha);
    if (status == TCE_OK && has_factor)
        status = tce__check_positive("options.alpha_phase", o->alpha_phase);
    if (status == TCE_OK)
        status = tce__check_positive("options.basis_bandwidth_factor", o->basis_bandwidth_factor);
    if (status == TCE_OK)
        status = tce__check_finite("options.weights_scale", 1, &o->weights_scale);
    if (status == TCE_OK)
        status = tce__check_finite("options.goal_scale", 1, &o->goal_scale);
    if (status == TCE_OK && o->weights_scales)
        status = tce__check_finite("options.weights_scales", (size_t)o->n_basis, o->weights_scales);
    return status;
}

/* n = round(tau/dt), halves away from zero; F n points */
static tce_status check_table(const tce_mp_options *o)
{
    const double n = round(o->tau / o->dt);
    if (n < 1.0)
        return tce_fail(TCE_E_VALUE, "options.dt = %g, must be at most 2 tau = %g", o->dt,
                        2.0 * o->tau);
    if (!(n * (double)o->table_length <= MAX_TABLE_POINTS))
        return tce_fail(TCE_E_VALUE, "options.dt = %g makes a table of %g points, must be <= %g",
                        o->dt, n * (double)o->table_length, MAX_TABLE_POINTS);
    return TCE_OK;
}

static tce_mp *layout(tce_mp *mp, tce__arena *arena)
{
    tce_mp *const handle = tce__arena_take(arena, 1, sizeof *handle);
    mp->weights_scales = tce__arena_doubles(arena, mp->B);
    mp->scale = tce__arena_doubles(arena, mp->B + 1);
    mp->centre = tce__arena_doubles(arena, mp->B);
    mp->width = tce__arena_doubles(arena, mp->B);
    if (mp->options.kind == TCE_MP_PRODMP && mp->options.basis == TCE_MP_BASIS_TABLE)
        mp->table = tce__arena_doubles(arena, (mp->table_last + 1) * TCE__MP_ORDERS *
                                                  tce__mp_state_size(mp));
    if (mp->options.basis == TCE_MP_BASIS_EXACT) {
        mp->edge = tce__arena_doubles(arena, mp->n_panels + 1);
        mp->integral = tce__arena_doubles(arena, (mp->n_panels + 1) * 2 * mp->B);
    }
    return handle;
}

/* Sizes that follow from the options. */
static void measure(tce_mp *mp)
{
    const tce_mp_options *const o = &mp->options;
    const int has_goal = o->kind != TCE_MP_PROMP && !o->disable_goal;
    mp->B = (size_t)o->n_basis;
    mp->D = (size_t)o->n_dof;
    mp->C = (o->disable_weights ? 0 : mp->B) + (has_goal ? 1 : 0);
    mp->first = o->disable_weights ? mp->B : 0;
    mp->lead = (o->learn_tau ? 1 : 0) + (o->learn_delay ? 1 : 0);
    mp->P = mp->lead + mp->D * mp->C;
    if (o->kind == TCE_MP_PRODMP) {
        mp->table_last = (size_t)round(o->tau / o->dt) * (size_t)o->table_length;
        mp->table_rate = o->tau / o->dt;
    }
}

/* Centres whose distance the phase cannot resolve make an infinite width. */
static tce_status check_widths(const double *width, size_t B, double alpha_phase)
{
    const size_t bad = tce__first_not_finite(B, width);
    if (bad < B)
        return tce_fail(
            TCE_E_VALUE,
            "options.alpha_phase = %g: the centres of basis functions %zu and %zu coincide",
            alpha_phase, bad, bad + 1);
    return TCE_OK;
}

/*
 * scale [B + 1]; ProDMP with auto-scale: over the largest value in the table, also of an exact
 * basis
 */
static tce_status set_scales(tce_mp *mp, const double *largest)
{
    const tce_mp_options *const o = &mp->options;
    for (size_t i = 0; i <= mp->B; i++) {
        mp->scale[i] = i < mp->B ? mp->weights_scales[i] : o->goal_scale;
        if (o->kind != TCE_MP_PRODMP || !o->auto_scale_basis)
            continue;
        mp->scale[i] /= largest[i];
        if (!isfinite(mp->scale[i]) || !(largest[i] > 0.0))
            return tce_fail(TCE_E_SINGULAR,
                            "basis function %zu is at most %g over the table: "
                            "options.auto_scale_basis cannot scale it",
                            i, largest[i]);
    }
    return TCE_OK;
}

/* Centres, table or panels, scales, into a fresh handle. */
static tce_status fill(tce_mp *mp, const double *weights_scales)
{
    double largest[TCE_MP_MAX_BASIS + 1];
    for (size_t i = 0; i < mp->B; i++)
        mp->weights_scales[i] = weights_scales ? weights_scales[i] : mp->options.weights_scale;
    mp->options.weights_scales = weights_scales ? mp->weights_scales : NULL;

    tce__mp_place_centres(mp);
    if (mp->options.basis == TCE_MP_BASIS_EXACT)
        (void)tce__mp_exact_fill(mp, mp->edge, mp->integral);
    if (mp->options.kind == TCE_MP_PRODMP)
        tce__mp_table_fill(mp, mp->table, largest);
    return set_scales(mp, largest);
}

tce_status tce_mp_create(const tce_mp_options *options, const tce_hooks *hooks, tce_mp **out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    tce_mp mp = { 0 };
    tce_mp_options_init(&mp.options, sizeof mp.options);
    status = tce__struct_read(options, "tce_mp_options", sizeof mp.options, &mp.options);
    if (status == TCE_OK)
        status = check_combination(&mp.options);
    if (status == TCE_OK)
        status = check_numbers(&mp.options);
    if (status == TCE_OK && mp.options.kind == TCE_MP_PRODMP)
        status = check_table(&mp.options);
    if (status != TCE_OK)
        return status;

    /*
     * centres first, on the stack: they may be refused, and the number of panels of an exact basis
     * follows from them
     */
    double centre[TCE_MP_MAX_BASIS], width[TCE_MP_MAX_BASIS];
    measure(&mp);
    mp.centre = centre;
    mp.width = width;
    tce__mp_place_centres(&mp);
    status = check_widths(width, mp.B, mp.options.alpha_phase);
    if (status != TCE_OK)
        return status;
    if (mp.options.basis == TCE_MP_BASIS_EXACT)
        mp.n_panels = tce__mp_exact_fill(&mp, NULL, NULL);

    /* one block */
    tce__arena arena = { NULL, 0 };
    layout(&mp, &arena);
    status = tce__block_create(hooks, "tce_mp", &arena, &mp.hooks);
    if (status != TCE_OK)
        return status;
    tce_mp *const handle = layout(&mp, &arena);
    *handle = mp;

    status = fill(handle, mp.options.weights_scales);
    if (status != TCE_OK) {
        tce_mp_free(handle);
        return status;
    }
    *out = handle;
    return TCE_OK;
}

void tce_mp_free(tce_mp *mp)
{
    if (mp)
        tce__block_free(&mp->hooks, mp);
}

size_t tce_mp_n_params(const tce_mp *mp)
{
    return mp ? mp->P : 0;
}

size_t tce_mp_n_dof(const tce_mp *mp)
{
    return mp ? mp->D : 0;
}

size_t tce_mp_n_columns(const tce_mp *mp)
{
    return mp ? mp->C : 0;
}

size_t tce_mp_work_size(const tce_mp *mp)
{
    if (!mp)
        return 0;
    const size_t fit = mp->C * mp->C + mp->C * mp->D + tce__mp_tile_rows(mp) * mp->D;
    const size_t condition = 3 * mp->P;
    return fit > condition ? fit : condition;
}

void tce_mp_get_options(const tce_mp *mp, tce_mp_options *out)
{
    tce_mp_options defaults;
    tce_mp_options_init(&defaults, sizeof defaults);
    if (out)
        tce__struct_write(out, mp ? &mp->options : &defaults, sizeof defaults);
}
