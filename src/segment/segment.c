/*
 * The handle of the segment objective: its memory, and the times and pairs of an iteration.
 *
 * The positions that a likelihood looks at are linear in the parameters w and in the start (y_b,
 * v_b) of the path:
 *
 *   y_d(t_k) = o_k y_b,d + q_k v_b,d + H_k w_d     [TCE eq. idmp_pos_multi_full]
 *
 * with one row H_k [C] and two numbers o_k, q_k a time, the same for every DoF. They are computed
 * here, once an iteration; o and q are the paths of zero parameters from a unit start position and
 * a unit start velocity, so relative goals and other kinds of primitives need no case of their own.
 *
 * Time points stand in the order in which the pairs visit them; a pair that starts where the last
 * one ended shares its point. Segment j then occupies two neighbouring rows of every array over
 * time points, and consecutive pairs cost one point each.
 */
#include <string.h>

#include <tce/segment.h>

#include "segment/internal.h"

static const tce_segment_options DEFAULTS = {
    .struct_size = sizeof(tce_segment_options),
    .max_episodes = 1,
    .max_steps = 2,
    .max_pairs = 1,
    .shared_cov = 1,
    .max_grids = 1,
    .reg = 1e-4,
};

void tce_segment_options_init(tce_segment_options *options, size_t struct_size)
{
    tce__struct_init(options, struct_size, &DEFAULTS, sizeof DEFAULTS);
}

/* arrays of a group of at most n episodes */
static void layout_group(const tce_segment *seg, size_t n, tce__arena *arena,
                         tce__segment_group *group)
{
    const size_t D = seg->D;
    const size_t P = seg->P;
    const size_t J = seg->max_J;

    group->rows = tce__arena_doubles(arena, 2 * J * D * P);
    group->residual = tce__arena_doubles(arena, 2 * J * D * n);
    group->d_points = tce__arena_doubles(arena, 2 * J * D * n);
    group->d_rows = tce__arena_doubles(arena, 2 * J * D * P);
}

static void layout_scratch(const tce_segment *seg, size_t n, tce__arena *arena,
                           tce__segment_scratch *scratch)
{
    const size_t dim = 2 * seg->D;

    scratch->S = tce__arena_doubles(arena, dim * dim);
    scratch->d_S = tce__arena_doubles(arena, dim * dim);
    scratch->z = tce__arena_doubles(arena, dim * n);
    scratch->weighted = tce__arena_doubles(arena, dim * n);
    scratch->values = tce__arena_doubles(arena, n);
}

/*
 * lays out the handle; with an arena that only measures, nothing is written but the pointers of
 * *seg
 */
static tce_segment *layout(tce_segment *seg, tce__arena *arena)
{
    const size_t J = seg->max_J;
    const size_t E = seg->max_E;
    const size_t K = 2 * J;
    const size_t G = seg->max_grids;
    const size_t n_workers = (size_t)seg->n_workers;
    tce_segment *const handle = tce__arena_take(arena, 1, sizeof *handle);

    /* times and pairs */
    seg->first = tce__arena_take(arena, J, sizeof *seg->first);
    seg->point = tce__arena_take(arena, K, sizeof *seg->point);
    seg->times = tce__arena_doubles(arena, K);
    seg->basis = tce__arena_doubles(arena, G * K * seg->C);
    seg->from_pos = tce__arena_doubles(arena, G * K);
    seg->from_vel = tce__arena_doubles(arena, G * K);
    seg->rests = tce__arena_take(arena, G, sizeof *seg->rests);
    seg->zeros = tce__arena_doubles(arena, seg->P);
    seg->ones = tce__arena_doubles(arena, seg->D);
    seg->path = tce__arena_doubles(arena, K * seg->D);

    /* one group of all episodes where they share factors, else one group per worker */
    if (seg->shared_cov)
        layout_group(seg, E, arena, &seg->all);
    seg->one = tce__arena_take(arena, n_workers, sizeof *seg->one);
    seg->scratch = tce__arena_take(arena, n_workers, sizeof *seg->scratch);
    for (size_t w = 0; w < n_workers; w++) {
        tce__segment_group one = { 0 };
        tce__segment_scratch scratch = { 0 };

        if (!seg->shared_cov || G > 1)
            layout_group(seg, 1, arena, &one);
        layout_scratch(seg, seg->shared_cov ? E : 1, arena, &scratch);
        if (handle) {
            seg->one[w] = one;
            seg->scratch[w] = scratch;
        }
    }

    /* sums over segments or episodes */
    seg->sums = tce__arena_take(arena, J > E ? J : E, sizeof *seg->sums);
    seg->largest = tce__arena_doubles(arena, seg->D > E ? seg->D : E);
    if (seg->shared_cov && G > 1)
        seg->parts = tce__arena_doubles(arena, TCE__SEGMENT_PARTS * seg->P * seg->P);
    return handle;
}

static tce_status check_options(const tce_segment_options *opt)
{
    tce_status status = tce__check_pointer("tce_segment_options.mp", opt->mp);
    if (status == TCE_OK)
        status = tce__check_int("tce_segment_options.max_episodes", opt->max_episodes, 1,
                                INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("tce_segment_options.max_steps", opt->max_steps, 2, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("tce_segment_options.max_pairs", opt->max_pairs, 1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("tce_segment_options.shared_cov", opt->shared_cov, 0, 1);
    if (status == TCE_OK && opt->max_grids != 1 && opt->max_grids != opt->max_episodes)
        status = tce_fail(TCE_E_VALUE,
                          "tce_segment_options.max_grids = %d, must be 1 or max_episodes = %d",
                          (int)opt->max_grids, (int)opt->max_episodes);
    if (status == TCE_OK && !(opt->reg >= 0.0 && isfinite(opt->reg)))
        status = tce_fail(TCE_E_VALUE, "tce_segment_options.reg = %g, must be finite and >= 0",
                          opt->reg);
    if (status == TCE_OK)
        status = tce__check_reserved("tce_segment_options", opt->reserved);
    return status;
}

/* the likelihood needs a path that is linear in all parameters: no DMP, no learnt tau or delay */
static tce_status check_linear(const tce_mp *mp)
{
    const double time = 0.0;
    const tce_status status = tce_mp_basis(mp, 1, &time, 0.0, NULL, NULL, NULL);

    return status == TCE_E_UNSUPPORTED ? status : TCE_OK;
}

tce_status tce_segment_create(const tce_segment_options *options, const tce_hooks *hooks,
                              tce_segment **out)
{
    tce_segment_options opt = DEFAULTS;

    if (out == NULL)
        return tce__check_pointer("out", out);
    *out = NULL;
    tce_status status = tce__struct_read(options, "tce_segment_options", sizeof opt, &opt);
    if (status == TCE_OK)
        status = check_options(&opt);
    if (status == TCE_OK)
        status = check_linear(opt.mp);
    if (status != TCE_OK)
        return status;

    tce_segment seg = {
        .mp = opt.mp,
        .pool = opt.pool,
        .reg = opt.reg,
        .max_E = (size_t)opt.max_episodes,
        .max_T = (size_t)opt.max_steps,
        .max_J = (size_t)opt.max_pairs,
        .max_grids = (size_t)opt.max_grids,
        .shared_cov = opt.shared_cov,
        .n_workers = tce_pool_n_threads(opt.pool),
        .D = tce_mp_n_dof(opt.mp),
        .C = tce_mp_n_columns(opt.mp),
    };
    seg.P = seg.D * seg.C;

    tce__arena arena = { NULL, 0 };
    layout(&seg, &arena);
    status = tce__block_create(hooks, "tce_segment", &arena, &seg.hooks);
    if (status != TCE_OK)
        return status;
    tce_segment *const handle = layout(&seg, &arena);
    *handle = seg;

    for (size_t d = 0; d < seg.D; d++)
        handle->ones[d] = 1.0;
    *out = handle;
    return TCE_OK;
}

void tce_segment_free(tce_segment *seg)
{
    if (seg)
        tce__block_free(&seg->hooks, seg);
}

static tce_status check_pairs(const tce_segment *seg, size_t n_grids, size_t T, size_t J,
                              const int32_t *pairs)
{
    if (n_grids == 0 || n_grids > seg->max_grids)
        return tce_fail(TCE_E_SHAPE, "n_grids = %zu, must be in 1 .. max_grids = %zu", n_grids,
                        seg->max_grids);
    if (T > seg->max_T)
        return tce_fail(TCE_E_SHAPE, "T = %zu, at most max_steps = %zu", T, seg->max_T);
    if (J == 0 || J > seg->max_J)
        return tce_fail(TCE_E_SHAPE, "J = %zu, must be in 1 .. max_pairs = %zu", J, seg->max_J);
    for (size_t j = 0; j < J; j++) {
        const long a = pairs[2 * j];
        const long b = pairs[2 * j + 1];
        if (a < 0 || b <= a || (size_t)b >= T)
            return tce_fail(TCE_E_VALUE, "pairs[%zu] = (%ld, %ld), must be 0 <= a < b < T = %zu", j,
                            a, b, T);
    }
    return TCE_OK;
}

/* time points in the order of the pairs */
static void place_points(tce_segment *seg, size_t J, const int32_t *pairs)
{
    size_t K = 0;

    for (size_t j = 0; j < J; j++) {
        const int32_t a = pairs[2 * j];
        if (K == 0 || seg->point[K - 1] != a)
            seg->point[K++] = a;
        seg->first[j] = K - 1;
        seg->point[K++] = pairs[2 * j + 1];
    }
    seg->K = K;
}

/* path of zero parameters at the time points, of the first DoF since all are alike */
static tce_status unit_path(tce_segment *seg, double init_time, const double *init_pos,
                            const double *init_vel, double *out)
{
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = seg->K;
    grid.n_time_rows = 1;
    grid.n_init_times = 1;
    grid.times = seg->times;
    grid.init_time = &init_time;
    grid.init_pos = init_pos;
    grid.init_vel = init_vel;
    const tce_status status = tce_mp_trajectory(seg->mp, &grid, seg->zeros, seg->path, NULL, NULL);
    for (size_t k = 0; status == TCE_OK && k < seg->K; k++)
        out[k] = seg->path[k * seg->D];
    return status;
}

/* H, o and q of one grid */
static tce_status set_grid(tce_segment *seg, size_t g, const double *times, double init_time)
{
    const size_t K = seg->K;

    for (size_t k = 0; k < K; k++)
        seg->times[k] = times[seg->point[k]];
    tce_status status = tce_mp_basis(seg->mp, K, seg->times, init_time, seg->basis + g * K * seg->C,
                                     NULL, NULL);
    if (status == TCE_OK)
        status = unit_path(seg, init_time, seg->ones, seg->zeros, seg->from_pos + g * K);
    if (status != TCE_OK)
        return status;

    /*
     * the one thing that can still be refused: before the delay the path rests and has no velocity
     */
    status = unit_path(seg, init_time, seg->zeros, seg->ones, seg->from_vel + g * K);
    seg->rests[g] = status == TCE_E_VALUE;
    if (status == TCE_E_VALUE)
        memset(seg->from_vel + g * K, 0, K * sizeof(double));
    return status == TCE_E_VALUE ? TCE_OK : status;
}

/* whether grid g asks for the same times, from the same start, as the first one */
static int same_grid(const tce_segment *seg, size_t T, size_t g, const double *times,
                     const double *init_time)
{
    for (size_t k = 0; k < seg->K; k++) {
        if (times[g * T + (size_t)seg->point[k]] != times[seg->point[k]])
            return 0;
    }
    return init_time[g] == init_time[0];
}

tce_status tce_segment_set_pairs(tce_segment *seg, size_t n_grids, size_t T, const double *times,
                                 const double *init_time, size_t J, const int32_t *pairs)
{
    tce_status status = tce__check_pointer("seg", seg);
    if (status == TCE_OK)
        status = tce__check_pointer("pairs", pairs);
    if (status == TCE_OK)
        status = check_pairs(seg, n_grids, T, J, pairs);
    if (status == TCE_OK)
        status = tce__check_finite("times", n_grids * T, times);
    if (status == TCE_OK)
        status = tce__check_finite("init_time", n_grids, init_time);
    if (status != TCE_OK)
        return status;

    /* from here on the old pairs are gone, also when a time is refused below */
    seg->J = 0;
    place_points(seg, J, pairs);

    /* grids that are all equal are one grid: it lets the episodes share their factorisations */
    size_t n_basis = 1;
    for (size_t g = 1; g < n_grids && n_basis == 1; g++)
        n_basis = same_grid(seg, T, g, times, init_time) ? 1 : n_grids;
    for (size_t g = 0; g < n_basis; g++) {
        status = set_grid(seg, g, times + g * T, init_time[g]);
        if (status != TCE_OK)
            return status;
    }

    seg->n_grids = n_grids;
    seg->n_basis = n_basis;
    seg->T = T;
    seg->J = J;
    return TCE_OK;
}
