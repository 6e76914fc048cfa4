/*
 * The whole library at work: complete iterations of TCE over all handles. What one module's suite
 * cannot see: a shared covariance is the contextual one with copies, gradients hold through the
 * whole chain, threads and checkpoints change no byte, nothing allocates, and every failed
 * allocation is reported.
 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "support/world.h"

/* ---- watching the C library's allocator ------------------------------------------------------ */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

/*
 * This program's malloc stands before the C library's for every library it loads, LAPACKE and
 * OpenBLAS too. Counting and failing are on between watch_begin and watch_end. Sanitizers bring
 * their own malloc, so they do without.
 */
static struct {
    int32_t on;
    int32_t n_requests; /* since watch_begin */
    int32_t live;       /* requests minus releases */
    int32_t budget;     /* requests still granted; negative: all */
} watch;

static void watch_begin(int32_t budget)
{
    watch.n_requests = 0;
    watch.live = 0;
    watch.budget = budget;
    __atomic_store_n(&watch.on, 1, __ATOMIC_SEQ_CST);
}

static void watch_end(void)
{
    __atomic_store_n(&watch.on, 0, __ATOMIC_SEQ_CST);
}

#if defined(__GLIBC__) && !defined(SANITIZED)
#define WATCHED 1

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

/* Whether this request is granted. */
static int granted(void)
{
    if (!__atomic_load_n(&watch.on, __ATOMIC_SEQ_CST))
        return 1;
    __atomic_add_fetch(&watch.n_requests, 1, __ATOMIC_SEQ_CST);
    if (watch.budget == 0)
        return 0;
    if (watch.budget > 0)
        watch.budget--;
    __atomic_add_fetch(&watch.live, 1, __ATOMIC_SEQ_CST);
    return 1;
}

void *malloc(size_t size)
{
    return granted() ? __libc_malloc(size) : NULL;
}

void *calloc(size_t n, size_t size)
{
    return granted() ? __libc_calloc(n, size) : NULL;
}

void *realloc(void *block, size_t size)
{
    if (!granted())
        return NULL;
    if (block != NULL && watch.on)
        __atomic_sub_fetch(&watch.live, 1, __ATOMIC_SEQ_CST);
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
    return granted() ? __libc_memalign(alignment, size) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    const int no_memory = 12; /* ENOMEM */
    void *block = memalign(alignment, size);

    if (block == NULL)
        return no_memory;
    *out = block;
    return 0;
}

void free(void *block)
{
    if (block != NULL && __atomic_load_n(&watch.on, __ATOMIC_SEQ_CST))
        __atomic_sub_fetch(&watch.live, 1, __ATOMIC_SEQ_CST);
    __libc_free(block);
}
#endif

/* ---- helpers --------------------------------------------------------------------------------- */

static const world_options plain = { TCE_NET_DOUBLE, TCE_POLICY_FULL_SHARED, TCE_TRPL_KL, 0, 1, 3 };

static const int32_t forms[] = { TCE_POLICY_FULL_SHARED, TCE_POLICY_FULL_CONTEXTUAL,
                                 TCE_POLICY_DIAGONAL_SHARED };
static const int32_t projections[] = { TCE_TRPL_KL, TCE_TRPL_W2, TCE_TRPL_FROBENIUS };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Whether a slow checker (valgrind, a sanitizer) is running this. */
static int quick(void)
{
    return getenv("TCE_TEST_QUICK") != NULL;
}

/* A world with its handles, iterated n times. */
static void run_world(world *w, const world_options *options, int n)
{
    world_start(w, options);
    ok(world_create(w, NULL));
    for (int i = 0; i < n; i++)
        ok(world_iterate(w));
}

/* Everything it has learnt; malloc'ed. */
static double *state_of(const world *w, size_t *n)
{
    *n = world_num_state(w);
    double *state = malloc(*n * sizeof *state);
    ck_assert_ptr_nonnull(state);
    world_state(w, state);
    return state;
}

/* ---- property: forms of the covariance ------------------------------------------------------- */

/*
 * Gives the contextual policy the shared one's weights, and a covariance network that is 0 except
 * for its last biases, which are the shared vector: the same factor for every context, now and after
 * every update, since only those biases get a gradient.
 */
static void copy_to_contextual(const tce_policy *shared, tce_policy *contextual)
{
    const size_t n_shared = tce_policy_n_weights(shared);
    const size_t n_vector = WORLD_P * (WORLD_P + 1) / 2;
    const size_t n = tce_policy_n_weights(contextual);
    double *from = calloc(n_shared, sizeof *from);
    double *to = calloc(n, sizeof *to);
    ck_assert(from != NULL && to != NULL);

    tce_policy_get_weights(shared, from);
    memcpy(to, from, (n_shared - n_vector) * sizeof *to);
    memcpy(to + n - n_vector, from + n_shared - n_vector, n_vector * sizeof *to);
    ok(tce_policy_set_weights(contextual, to));
    free(from);
    free(to);
}

START_TEST(shared_covariance_equals_contextual_with_copies)
{
    /*
     * sums run in another order; Adam divides gradients by their own size, so what is left is far
     * above eps
     */
    const double tol = 1e-9;
    world_options options = plain;
    world shared;
    world contextual;

    options.projection = projections[_i];
    world_start(&shared, &options);
    ok(world_create(&shared, NULL));
    options.form = TCE_POLICY_FULL_CONTEXTUAL;
    world_start(&contextual, &options);
    ok(world_create(&contextual, NULL));
    copy_to_contextual(shared.policy, contextual.policy);

    for (int i = 0; i < 3; i++) {
        ok(world_iterate(&shared));
        ok(world_iterate(&contextual));

        /* the projections acted, and the same came out */
        ck_assert_double_gt(shared.report.regression_loss, 0.0);
        test_assert_close(&contextual.report.regression_loss, &shared.report.regression_loss, 1,
                          tol);
        test_assert_close(&contextual.report.loss, &shared.report.loss, 1, tol);
        test_assert_close(&contextual.report.entropy, &shared.report.entropy, 1, tol);
        test_assert_close(contextual.update.proj_mean, shared.update.proj_mean, WORLD_E * WORLD_P,
                          tol);
        const size_t n_L = WORLD_P * WORLD_P;
        for (size_t e = 0; e < WORLD_E; e++)
            test_assert_close(contextual.update.proj_L + e * n_L, shared.update.proj_L, n_L, tol);
    }
    world_end(&shared);
    world_end(&contextual);
}
END_TEST

START_TEST(return_improves_over_the_iterations)
{
    world_options options = plain;
    world w;
    double first = 0.0;
    double last = 0.0;

    options.n_epochs = 10;
    run_world(&w, &options, 1);
    for (size_t i = 0; i < WORLD_E * WORLD_T; i++)
        first += w.rewards[i];
    for (int i = 0; i < 60; i++)
        ok(world_iterate(&w));
    for (size_t i = 0; i < WORLD_E * WORLD_T; i++)
        last += w.rewards[i];
    ck_assert_msg(last > 0.9 * first, "return went from %g to %g", first, last);
    world_end(&w);
}
END_TEST

/* ---- property: threads and checkpoints ------------------------------------------------------- */

/* _i counts form and precision. */
START_TEST(same_bytes_for_any_number_of_threads)
{
    const int32_t threads[] = { 0, 1, 2, 5 };
    world_options options = plain;
    double *expected = NULL;
    size_t n;

    options.form = forms[_i % 3];
    options.precision = _i / 3 == 0 ? TCE_NET_FLOAT : TCE_NET_DOUBLE;
    options.n_minibatches = 3;
    for (size_t i = 0; i < COUNT(threads); i++) {
        world w;
        options.n_threads = threads[i];
        run_world(&w, &options, quick() ? 1 : 3);
        double *state = state_of(&w, &n);
        if (expected == NULL)
            expected = state;
        ck_assert_msg(memcmp(state, expected, n * sizeof *state) == 0,
                      "%d threads differ from none", (int)threads[i]);
        if (state != expected)
            free(state);
        world_end(&w);
    }
    free(expected);
}
END_TEST

START_TEST(loaded_state_goes_on_with_the_same_bytes)
{
    world_options options = plain;
    tce_store *store;
    world straight;
    world loaded;
    size_t n;

    options.form = forms[_i % 3];
    options.precision = _i / 3 == 0 ? TCE_NET_FLOAT : TCE_NET_DOUBLE;
    options.n_minibatches = 2;
    run_world(&straight, &options, 2);
    ok(tce_store_create(NULL, &store));
    ok(tce_policy_save(straight.policy, store, "policy"));
    ok(critic_save(&straight.critic, store, "critic"));

    /* another world, which starts differently until it is loaded */
    run_world(&loaded, &options, 1);
    ok(tce_policy_load(loaded.policy, store, "policy"));
    ok(critic_load(&loaded.critic, store, "critic"));
    loaded.iteration = straight.iteration;
    tce_store_free(store);

    for (int i = 0; i < 2; i++) {
        ok(world_iterate(&straight));
        ok(world_iterate(&loaded));
    }
    double *expected = state_of(&straight, &n);
    double *state = state_of(&loaded, &n);
    ck_assert_mem_eq(state, expected, n * sizeof *state);
    free(state);
    free(expected);
    world_end(&straight);
    world_end(&loaded);
}
END_TEST

/* ---- gradient -------------------------------------------------------------------------------- */

typedef struct chain {
    policy_update *update;
    policy_update_options options;
    policy_rows rows;
    size_t n;          /* parameters of the policy */
    double *origin;    /* [n] where the gradient is asked for */
    double *direction; /* [n] */
    double *moved;     /* [n] */
} chain;

/* Surrogate minus bonus times entropy at origin + step * direction. */
static double chain_loss(void *context, const double *step)
{
    chain *c = context;

    for (size_t i = 0; i < c->n; i++)
        c->moved[i] = c->origin[i] + *step * c->direction[i];
    policy_gradient gradient;
    double entropy;
    gradient.stats = TCE_INIT(tce_returns_stats);
    ok(tce_policy_set_weights(c->update->policy, c->moved));
    ok(policy_update_gradient(c->update, &c->rows, &c->options, &gradient));
    ok(policy_update_entropy(c->update, WORLD_E, c->update->proj_L, &entropy));
    return gradient.stats.loss - c->options.entropy_bonus * entropy;
}

/*
 * Slope of the loss along n random directions: differences against gradient . direction, to tol of
 * the largest.
 */
static void check_slopes(chain *c, int n, const double *gradient, double tol)
{
    double *slopes = calloc(2 * (size_t)n, sizeof *slopes);
    ck_assert_ptr_nonnull(slopes);
    double *differences = slopes + n;
    tce_random random;

    tce_random_start(&random, 0, 0, 0, 0);
    for (int k = 0; k < n; k++) {
        double step = 0.0;
        tce_random_normals(&random, c->n, c->direction);
        for (size_t i = 0; i < c->n; i++) {
            c->direction[i] /= sqrt((double)c->n);
            slopes[k] += gradient[i] * c->direction[i];
        }
        test_finite_difference(chain_loss, c, 1, &step, &differences[k]);
    }
    test_assert_close_gradient(slopes, differences, (size_t)n, tol);
    free(slopes);
}

/* _i counts form and projection. */
START_TEST(gradient_of_the_whole_chain_matches_finite_differences)
{
    /*
     * central differences err by eps^(2/3) = 4e-11 of the loss's scale, times the projection's
     * large curvature
     */
    const double tol = 1e-6;
    const int n_directions = quick() ? 3 : 20;
    world_options options = plain;
    tce_segment_options segment;
    world w;
    chain c = { .update = &w.update };

    /* a segment handle whose regulariser, a constant in the gradient, is too small to show */
    options.form = forms[_i % 3];
    options.projection = projections[_i / 3];
    run_world(&w, &options, 1);
    tce_segment_free(w.segment);
    w.segment = NULL;
    tce_segment_options_init(&segment, sizeof segment);
    segment.mp = w.mp;
    segment.max_episodes = WORLD_E;
    segment.max_steps = WORLD_T;
    segment.max_pairs = WORLD_J_MAX;
    segment.shared_cov = options.form != TCE_POLICY_FULL_CONTEXTUAL;
    segment.reg = 1e-13;
    ok(tce_segment_create(&segment, NULL, &w.segment));
    ok(tce_segment_set_pairs(w.segment, 1, WORLD_T, w.times, &w.init_time, w.J, w.pairs));
    segment_likelihood loss = { .segment = w.segment,
                                .paths = { .struct_size = sizeof loss.paths,
                                           .E = WORLD_E,
                                           .positions = w.pos,
                                           .mean = w.old_mean,
                                           .L = w.old_L,
                                           .init_pos = w.init_pos,
                                           .init_vel = w.init_vel,
                                           .log_prob_old = w.log_prob,
                                           .advantages = w.advantages,
                                           .mask = w.mask,
                                           .out_log_prob = w.log_prob } };
    ok(tce_segment_log_prob(w.segment, &loss.paths));
    loss.paths.out_log_prob = NULL;

    c.rows = (policy_rows){ WORLD_E, w.contexts, w.old_mean, w.old_L, segment_surrogate, &loss };
    c.options = (policy_update_options){ .entropy_bonus = 0.1,
                                         .bounds = { sizeof c.options.bounds, 1e-3, 1e-5, -1e3 } };

    /* the policy has moved on from the rollout's, so that the trust region is active */
    c.n = tce_policy_n_weights(w.policy);
    double *memory = calloc(4 * c.n, sizeof *memory);
    ck_assert_ptr_nonnull(memory);
    c.origin = memory;
    c.direction = memory + c.n;
    c.moved = memory + 2 * c.n;
    double *gradient = memory + 3 * c.n;
    tce_policy_get_weights(w.policy, c.origin);
    chain_loss(&c, &(double){ 0.0 });
    tce_policy_get_gradient(w.policy, gradient);
    ck_assert_mem_ne(w.update.mean, w.update.proj_mean, WORLD_E * WORLD_P * sizeof(double));
    ck_assert_mem_ne(w.update.L, w.update.proj_L, WORLD_P * WORLD_P * sizeof(double));
    check_slopes(&c, n_directions, gradient, tol);
    free(memory);
    world_end(&w);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

/* _i counts form and precision. */
START_TEST(complete_iteration_allocates_nothing)
{
    world_options options = plain;
    test_memory memory = { .budget = SIZE_MAX };
    tce_hooks hooks;
    world w;

    test_hooks(&memory, &hooks);
    options.form = forms[_i % 3];
    options.precision = _i / 3 == 0 ? TCE_NET_FLOAT : TCE_NET_DOUBLE;
    options.projection = projections[_i % 3];
    options.n_threads = 2;
    options.n_minibatches = 3;
    world_start(&w, &options);
    ok(world_create(&w, &hooks));

    /* the first iteration lets the BLAS set up its buffers */
    ok(world_iterate(&w));
    const size_t n_alloc = memory.n_alloc;
    watch_begin(-1);
    const tce_status first = world_iterate(&w);
    const tce_status second = world_iterate(&w);
    watch_end();
    ok(first);
    ok(second);
    ck_assert_uint_eq(memory.n_alloc, n_alloc);
    ck_assert_int_eq(watch.n_requests, 0);

    world_end(&w);
    ck_assert_uint_eq(memory.live, 0);
    ck_assert_uint_eq(memory.n_free, memory.n_alloc);
}
END_TEST

#ifdef WATCHED
START_TEST(the_watch_sees_an_allocation)
{
    watch_begin(-1);
    void *volatile block = malloc(1);
    watch_end();
    ck_assert_int_eq(watch.n_requests, 1);
    free(block);
}
END_TEST
#endif

/*
 * Handles, a store with all their state in it, and a policy built from the store: everything that
 * may allocate.
 */
static tce_status create_everything(world *w, const tce_hooks *hooks, tce_store **store,
                                    tce_policy **copy, tce_mp **mp)
{
    tce_status status = world_create(w, hooks);

    if (status == TCE_OK)
        status = tce_store_create(hooks, store);
    if (status == TCE_OK)
        status = tce_policy_save(w->policy, *store, "policy");
    if (status == TCE_OK)
        status = critic_save(&w->critic, *store, "critic");
    if (status == TCE_OK)
        status = tce_mp_save(w->mp, *store, "mp");
    if (status == TCE_OK)
        status = tce_policy_create_from(*store, "policy", NULL, hooks, copy);
    if (status == TCE_OK)
        status = tce_mp_create_from(*store, "mp", hooks, mp);
    return status;
}

static void free_everything(world *w, tce_store *store, tce_policy *copy, tce_mp *mp)
{
    tce_mp_free(mp);
    tce_policy_free(copy);
    tce_store_free(store);
    world_free(w);
}

/* Fails allocation number 1, 2, … until everything can be created. */
START_TEST(every_failed_allocation_is_reported_and_leaks_nothing)
{
    world_options options = plain;
    tce_status status = TCE_E_NOMEM;
    world w;

    options.form = forms[_i];
    options.n_threads = 2;
    world_start(&w, &options);
    for (size_t budget = 0; status != TCE_OK; budget++) {
        test_memory memory = { .budget = budget };
        tce_hooks hooks;
        tce_store *store = NULL;
        tce_policy *copy = NULL;
        tce_mp *mp = NULL;

        test_hooks(&memory, &hooks);
        status = create_everything(&w, &hooks, &store, &copy, &mp);
        ck_assert_msg(status == TCE_OK || status == TCE_E_NOMEM, "budget %zu: %s", budget,
                      tce_status_name(status));
        if (status != TCE_OK)
            ck_assert_str_ne(tce_error_message(), "");
        free_everything(&w, store, copy, mp);
        ck_assert_msg(memory.live == 0, "budget %zu: %zu blocks leaked", budget, memory.live);
        ck_assert_uint_lt(budget, 10000);
    }
    world_end(&w);
}
END_TEST

#ifdef WATCHED
/*
 * The same below the hooks: whatever asks the C library, with no pool, whose threads ask for their
 * own.
 */
START_TEST(every_failed_malloc_is_reported_and_leaks_nothing)
{
    world_options options = plain;
    tce_status status = TCE_E_NOMEM;
    world w;

    options.form = forms[_i];
    world_start(&w, &options);

    /* once without failures, for what the BLAS keeps */
    ok(world_create(&w, NULL));
    world_free(&w);
    for (int32_t budget = 0; status != TCE_OK; budget++) {
        tce_store *store = NULL;
        tce_policy *copy = NULL;
        tce_mp *mp = NULL;

        watch_begin(budget);
        status = create_everything(&w, NULL, &store, &copy, &mp);
        free_everything(&w, store, copy, mp);
        watch_end();
        ck_assert_msg(status == TCE_OK || status == TCE_E_NOMEM, "budget %d: %s", (int)budget,
                      tce_status_name(status));
        ck_assert_msg(watch.live == 0, "budget %d: %d blocks leaked", (int)budget, (int)watch.live);
        ck_assert_int_lt(budget, 10000);
    }
    world_end(&w);
}
END_TEST
#endif

/* ---- handles that are not there -------------------------------------------------------------- */

START_TEST(a_getter_takes_NULL_for_an_empty_handle)
{
    double out = 7.25;

    ck_assert_uint_eq(tce_mp_n_params(NULL), 0);
    ck_assert_uint_eq(tce_mp_n_dof(NULL), 0);
    ck_assert_uint_eq(tce_mp_n_columns(NULL), 0);
    tce_mp_options defaults, options;
    tce_mp_options_init(&defaults, sizeof defaults);
    tce_mp_options_init(&options, sizeof options);
    options.tau = 7.0;
    tce_mp_get_options(NULL, &options);
    ck_assert_mem_eq(&options, &defaults, sizeof options);
    ck_assert_uint_eq(tce_net_n_weights(NULL), 0);
    ck_assert_double_eq(tce_net_gradient_norm(NULL), 0.0);
    ck_assert_uint_eq(tce_policy_n_factors(NULL, 3), 0);
    ck_assert_uint_eq(tce_policy_n_dims(NULL), 0);
    ck_assert_uint_eq(tce_policy_n_obs(NULL), 0);
    ck_assert_uint_eq(tce_policy_n_weights(NULL), 0);
    ck_assert_uint_eq(tce_net_work_size(NULL, 3), 0);
    ck_assert_double_eq(tce_policy_gradient_norm(NULL), 0.0);
    ck_assert_uint_eq(tce_rollout_n_state(NULL), 0);
    ck_assert_uint_eq(tce_store_n_arrays(NULL), 0);
    ck_assert_uint_eq(tce_env_library_n_tasks(NULL), 0);
    ck_assert_ptr_null(tce_env_library_at(NULL, 0));
    ck_assert_ptr_null(tce_rollout_spec(NULL));
    ck_assert_ptr_null(tce_rollout_instance(NULL, 0));
    ck_assert_ptr_null(tce_store_get_text(NULL, "name"));
    ck_assert_str_eq(tce_rollout_message(NULL, 0), "");
    /* NULL is a pool of the calling thread alone */
    ck_assert_int_eq(tce_pool_n_threads(NULL), 1);

    tce_net_get_weights(NULL, &out);
    tce_net_get_gradient(NULL, &out);
    tce_policy_get_weights(NULL, &out);
    tce_policy_get_gradient(NULL, &out);
    tce_normaliser_statistics(NULL, &out, &out, &out);
    ck_assert_double_eq(out, 7.25);
}
END_TEST

/* ---- suite ----------------------------------------------------------------------------------- */

int main(void)
{
    Suite *suite = suite_create("whole");
    TCase *property = test_case(suite, "property", 60);
    TCase *gradient = test_case(suite, "gradient", 60);
    TCase *memory = test_case(suite, "memory", 60);
    TCase *errors = test_case(suite, "errors", 60);
    const int n_forms = (int)COUNT(forms);
    const int n_projections = (int)COUNT(projections);
    const int n_combinations = quick() ? 2 : 2 * n_forms; /* of form and precision */

    tce_blas_set_threads(1);
    tcase_add_loop_test(property, shared_covariance_equals_contextual_with_copies, 0,
                        n_projections);
    if (!quick())
        tcase_add_test(property, return_improves_over_the_iterations);
    tcase_add_loop_test(property, same_bytes_for_any_number_of_threads, 0, n_combinations);
    tcase_add_loop_test(property, loaded_state_goes_on_with_the_same_bytes, 0, n_combinations);
    tcase_add_loop_test(gradient, gradient_of_the_whole_chain_matches_finite_differences, 0,
                        n_forms * n_projections);
    tcase_add_loop_test(memory, complete_iteration_allocates_nothing, 0, n_combinations);
    tcase_add_loop_test(memory, every_failed_allocation_is_reported_and_leaks_nothing, 0, n_forms);
    tcase_add_test(errors, a_getter_takes_NULL_for_an_empty_handle);
#ifdef WATCHED
    tcase_add_test(memory, the_watch_sees_an_allocation);
    tcase_add_loop_test(memory, every_failed_malloc_is_reported_and_leaks_nothing, 0, n_forms);
#endif

    return test_run(suite);
}
