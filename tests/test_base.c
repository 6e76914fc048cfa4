/*
 * base: statuses, structs that grow, random streams, thread pool; and linalg, which has no header
 * of its own.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tce/tce.h>

#include "base/internal.h"
#include "linalg/blas_check.h"
#include "linalg/linalg.h"
#include "support.h"

/* ---- statuses and structs -------------------------------------------------------------------- */

START_TEST(every_status_has_its_own_name_and_text)
{
    const tce_status all[] = { TCE_OK,        TCE_E_ARGUMENT,    TCE_E_SHAPE,       TCE_E_VALUE,
                               TCE_E_VERSION, TCE_E_STATE,       TCE_E_UNSUPPORTED, TCE_E_NOMEM,
                               TCE_E_IO,      TCE_E_CORRUPT,     TCE_E_NOT_FOUND,   TCE_E_THREAD,
                               TCE_E_NOT_PD,  TCE_E_NO_CONVERGE, TCE_E_NOT_FINITE,  TCE_E_SINGULAR,
                               TCE_E_ENV,     TCE_E_ENV_NAN,     TCE_E_LIBRARY };
    const size_t n = sizeof all / sizeof all[0];
    for (size_t i = 0; i < n; i++) {
        ck_assert_str_ne(tce_status_name(all[i]), tce_status_name(-999));
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(tce_status_name(all[i]), tce_status_name(all[j]));
            ck_assert_str_ne(tce_status_text(all[i]), tce_status_text(all[j]));
        }
    }
}
END_TEST

START_TEST(a_message_may_quote_the_one_before_it)
{
    ck_assert_int_eq(tce_fail(TCE_E_IO, "first %d", 1), TCE_E_IO);
    ck_assert_int_eq(tce_fail(TCE_E_ENV, "second: %s", tce_error_message()), TCE_E_ENV);
    ck_assert_str_eq(tce_error_message(), "second: first 1");
}
END_TEST

START_TEST(a_message_too_long_is_cut_not_lost)
{
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tce_fail(TCE_E_IO, "%s", text);
    ck_assert_uint_gt(strlen(tce_error_message()), 500);
    ck_assert_uint_lt(strlen(tce_error_message()), sizeof text - 1);
}
END_TEST

START_TEST(the_running_version_is_the_one_of_the_headers)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", TCE_VERSION_MAJOR, TCE_VERSION_MINOR,
             TCE_VERSION_PATCH);
    ck_assert_str_eq(tce_version_string(), text);
    ck_assert_int_eq(tce_version(), TCE_VERSION_NUMBER);
}
END_TEST

/* A caller compiled against a later libtce: the same options and one field more. */
typedef struct future_options {
    tce_pool_options now;
    double more;
} future_options;

START_TEST(a_longer_struct_is_accepted_only_with_a_zero_tail)
{
    future_options options;
    tce_pool *pool = NULL;
    tce_pool_options_init(&options.now, sizeof options);
    options.now.n_threads = 1;
    ck_assert_double_eq(options.more, 0.0);
    ok(tce_pool_create(&options.now, NULL, &pool));
    tce_pool_free(pool);

    options.more = 1.0;
    ck_assert_int_eq(tce_pool_create(&options.now, NULL, &pool), TCE_E_VERSION);
    ck_assert_ptr_null(pool);
}
END_TEST

START_TEST(a_struct_that_is_no_options_starts_from_its_size_alone)
{
    const tce_hooks hooks = TCE_INIT(tce_hooks);
    ck_assert_uint_eq(hooks.struct_size, sizeof hooks);
    ck_assert(!hooks.user && !hooks.allocate && !hooks.release);

    tce_hooks unstarted = { 0 };
    tce_pool_options options;
    tce_pool *pool = NULL;
    tce_pool_options_init(&options, sizeof options);
    ck_assert_int_eq(tce_pool_create(&options, &unstarted, &pool), TCE_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "TCE_INIT(tce_hooks)"));
}
END_TEST

START_TEST(a_struct_without_init_is_refused_by_name)
{
    tce_pool_options options = { 0 };
    tce_pool *pool = NULL;
    ck_assert_int_eq(tce_pool_create(&options, NULL, &pool), TCE_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "tce_pool_options_init"));
    ck_assert_int_eq(tce_pool_create(NULL, NULL, &pool), TCE_E_ARGUMENT);
}
END_TEST

/* Uninitialised memory looks like a huge struct, whose tail is not the library's to read. */
START_TEST(a_size_that_nobody_set_is_refused_before_the_tail_is_read)
{
    tce_pool *pool = NULL;
    tce_pool_options *const options = malloc(sizeof *options);
    ck_assert_ptr_nonnull(options);
    tce_pool_options_init(options, sizeof *options);
    options->struct_size = (size_t)(uintptr_t)options;
    fails(tce_pool_create(options, NULL, &pool), TCE_E_ARGUMENT, "tce_pool_options_init");
    options->struct_size = SIZE_MAX;
    fails(tce_pool_create(options, NULL, &pool), TCE_E_ARGUMENT, "tce_pool_options_init");
    ck_assert_ptr_null(pool);
    free(options);
}
END_TEST

START_TEST(hooks_need_both_allocate_and_release)
{
    tce_pool_options options;
    tce_hooks hooks;
    test_memory memory = { .budget = SIZE_MAX };
    tce_pool *pool = NULL;
    tce_pool_options_init(&options, sizeof options);
    test_hooks(&memory, &hooks);
    hooks.release = NULL;
    ck_assert_int_eq(tce_pool_create(&options, &hooks, &pool), TCE_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "allocate and release"));
}
END_TEST

START_TEST(a_block_larger_than_memory_is_refused)
{
    tce__arena arena = { NULL, 0 };
    tce_hooks hooks;
    tce__arena_take(&arena, SIZE_MAX / 4, 16);
    ck_assert_uint_eq(arena.size, SIZE_MAX);
    ck_assert_int_eq(tce__block_create(NULL, "giant", &arena, &hooks), TCE_E_NOMEM);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "giant"));
}
END_TEST

START_TEST(a_nan_is_found_wherever_it_hides)
{
    double x[100] = { 0 };
    for (size_t i = 0; i < 100; i++) {
        x[i] = i % 2 ? NAN : INFINITY;
        ck_assert_uint_eq(tce__first_not_finite(100, x), i);
        x[i] = 1e300;
    }
    ck_assert_uint_eq(tce__first_not_finite(100, x), 100);
}
END_TEST

/* ---- random streams -------------------------------------------------------------------------- */

START_TEST(philox_gives_the_numbers_of_its_authors)
{
    /* Random123's known-answer test for philox4x64-10 with counter and key zero */
    tce_random random;
    tce_random_start(&random, 0, 0, 0, 0);
    ck_assert_uint_eq(tce_random_bits(&random), UINT64_C(0x16554d9eca36314c));
    ck_assert_uint_eq(tce_random_bits(&random), UINT64_C(0xdb20fe9d672d0fdc));
    ck_assert_uint_eq(tce_random_bits(&random), UINT64_C(0xd7e772cee186176b));
    ck_assert_uint_eq(tce_random_bits(&random), UINT64_C(0x7e68b68aec7ba23b));
}
END_TEST

START_TEST(streams_differ_in_every_part_of_their_key)
{
    const uint64_t keys[5][4] = {
        { 1, 2, 3, 4 }, { 9, 2, 3, 4 }, { 1, 9, 3, 4 }, { 1, 2, 9, 4 }, { 1, 2, 3, 9 }
    };
    uint64_t first[5];
    for (int i = 0; i < 5; i++) {
        tce_random random;
        tce_random_start(&random, keys[i][0], keys[i][1], keys[i][2], keys[i][3]);
        first[i] = tce_random_bits(&random);
        for (int j = 0; j < i; j++)
            ck_assert_uint_ne(first[i], first[j]);
    }
}
END_TEST

START_TEST(normal_deviates_have_the_moments_of_a_normal)
{
    enum { N = 200000 };
    double sum[5] = { 0 };
    tce_random random;
    tce_random_start(&random, 7, 0, 0, 0);
    for (int i = 0; i < N; i++) {
        const double z = test_normal(&random);
        for (int k = 1; k < 5; k++)
            sum[k] += pow(z, k) / N;
    }
    /* four standard errors of each moment: sqrt(var(z^k)/N) with variances 1, 2, 15, 96 */
    ck_assert_double_lt(fabs(sum[1]), 4.0 * sqrt(1.0 / N));
    ck_assert_double_lt(fabs(sum[2] - 1.0), 4.0 * sqrt(2.0 / N));
    ck_assert_double_lt(fabs(sum[3]), 4.0 * sqrt(15.0 / N));
    ck_assert_double_lt(fabs(sum[4] - 3.0), 4.0 * sqrt(96.0 / N));
}
END_TEST

START_TEST(below_is_uniform_and_below)
{
    enum { N = 70000, SIDES = 7 };
    int count[SIDES] = { 0 };
    tce_random random;
    tce_random_start(&random, 3, 0, 0, 0);
    for (int i = 0; i < N; i++)
        count[tce_random_below(&random, SIDES)]++;
    for (int i = 0; i < SIDES; i++)
        ck_assert_int_lt(abs(count[i] - N / SIDES), 500);
    ck_assert_uint_eq(tce_random_below(&random, 0), 0);
    ck_assert_uint_eq(tce_random_below(&random, 1), 0);
}
END_TEST

START_TEST(a_permutation_holds_every_number_once)
{
    enum { N = 1000 };
    uint32_t order[N];
    char seen[N] = { 0 };
    size_t in_place = 0;
    tce_random random;
    tce_random_start(&random, 3, 1, 0, 0);
    tce_random_permutation(&random, N, order);
    for (size_t i = 0; i < N; i++) {
        ck_assert_uint_lt(order[i], N);
        ck_assert_int_eq(seen[order[i]], 0);
        seen[order[i]] = 1;
        in_place += order[i] == i;
    }
    ck_assert_uint_lt(in_place, 10);
}
END_TEST

/* ---- thread pool ----------------------------------------------------------------------------- */

typedef struct sum_job {
    tce_pool *pool;
    double parts[64];
    int32_t busy[8]; /* by worker: never entered twice at once */
    size_t fail_at;
} sum_job;

static tce_status add_chunk(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    sum_job *job = context;
    if (job->busy[worker]++ != 0)
        return tce_fail(TCE_E_STATE, "worker %d entered twice", (int)worker);
    double sum = 0.0;
    for (size_t i = begin; i < end; i++)
        sum += 1.0 / (double)(i + 1);
    job->parts[chunk] = sum;
    job->busy[worker]--;
    if (chunk >= job->fail_at)
        return tce_fail(TCE_E_VALUE, "chunk %zu fails", chunk);
    return TCE_OK;
}

START_TEST(a_sum_has_the_same_bytes_for_any_number_of_threads)
{
    double want = 0.0;
    for (int32_t n_threads = 1; n_threads <= 8; n_threads++) {
        tce_pool *pool = test_pool(n_threads);
        ck_assert_int_eq(tce_pool_n_threads(pool), n_threads);
        for (int repeat = 0; repeat < 200; repeat++) {
            sum_job job = { .pool = pool, .fail_at = SIZE_MAX };
            double got;
            ok(tce_pool_run(pool, 1000, 17, add_chunk, &job));
            const tce__parts chunks = tce__parts_here(NULL, (1000 + 16) / 17);
            ok(tce__parts_sum(&chunks, 1, job.parts, &got));
            if (n_threads == 1 && repeat == 0)
                want = got;
            ck_assert_int_eq(memcmp(&got, &want, sizeof got), 0);
        }
        tce_pool_free(pool);
    }
}
END_TEST

START_TEST(parts_follow_from_the_number_of_rows_alone)
{
    static const size_t KNOWN[][2] = { { 0, 1 },      { 1, 1 },        { 256, 1 },   { 511, 1 },
                                       { 512, 2 },    { 1200, 4 },     { 6400, 16 }, { 15200, 32 },
                                       { 60800, 64 }, { SIZE_MAX, 64 } };
    for (size_t i = 0; i < sizeof KNOWN / sizeof KNOWN[0]; i++) {
        const size_t n = KNOWN[i][0];
        const size_t n_parts = tce__parts_count(n);
        ck_assert_uint_eq(n_parts, KNOWN[i][1]);

        /* they cover the rows, and no two differ by more than one */
        ck_assert_uint_eq(tce__parts_begin(n, n_parts, 0), 0);
        ck_assert_uint_eq(tce__parts_begin(n, n_parts, n_parts), n);
        for (size_t p = 0; p < n_parts; p++) {
            const size_t size = tce__parts_begin(n, n_parts, p + 1) -
                                tce__parts_begin(n, n_parts, p);
            ck_assert(size == n / n_parts || size == n / n_parts + 1);
        }
    }
}
END_TEST

/* The tree by its definition: the sum of an aligned group is that of its two halves. */
static float sum_of_group(const float *parts, size_t n, size_t column, size_t first, size_t size)
{
    if (size == 1)
        return parts[first * n + column];
    const float left = sum_of_group(parts, n, column, first, size / 2);
    return left + sum_of_group(parts, n, column, first + size / 2, size / 2);
}

START_TEST(parts_are_added_by_a_binary_tree_on_any_number_of_threads)
{
    enum { PARTS = 32, N = 9001 };
    static float parts[PARTS * N], used[PARTS * N], want[N], got[N];
    tce_random random;

    tce_random_start(&random, 4, 0, 0, 0);
    for (size_t i = 0; i < PARTS * N; i++)
        parts[i] = (float)test_normal(&random);
    for (size_t i = 0; i < N; i++)
        want[i] = sum_of_group(parts, N, i, 0, PARTS);
    for (int32_t n_threads = 1; n_threads <= 5; n_threads++) {
        tce_pool *pool = test_pool(n_threads);
        memcpy(used, parts, sizeof used);
        const tce__parts all = tce__parts_here(pool, PARTS);
        ok(tce__parts_sum_float(&all, N, used, got));
        ck_assert_int_eq(memcmp(got, want, sizeof got), 0);
        tce_pool_free(pool);
    }
}
END_TEST

START_TEST(the_lowest_failing_chunk_is_reported_and_the_others_run)
{
    for (int32_t n_threads = 1; n_threads <= 5; n_threads += 2) {
        tce_pool *pool = test_pool(n_threads);
        for (int repeat = 0; repeat < 50; repeat++) {
            sum_job job = { .pool = pool, .fail_at = 3 };
            ck_assert_int_eq(tce_pool_run(pool, 40, 1, add_chunk, &job), TCE_E_VALUE);
            ck_assert_str_eq(tce_error_message(), "chunk 3 fails");
            for (int i = 0; i < 40; i++)
                ck_assert_double_gt(job.parts[i], 0.0);
        }
        tce_pool_free(pool);
    }
}
END_TEST

static tce_status fail_silently(void *context, size_t chunk, size_t begin, size_t end,
                                int32_t worker)
{
    (void)context, (void)begin, (void)end, (void)worker;
    return chunk == 3 ? -999 : TCE_OK;
}

START_TEST(work_that_fails_without_a_word_is_named)
{
    for (int32_t n_threads = 1; n_threads <= 3; n_threads += 2) {
        tce_pool *pool = test_pool(n_threads);
        ck_assert_int_eq(tce_fail(TCE_E_VALUE, "an older failure"), TCE_E_VALUE);
        fails(tce_pool_run(pool, 80, 10, fail_silently, NULL), -999, "items 30 to 39");
        tce_pool_free(pool);
    }
}
END_TEST

static tce_status run_inside(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    (void)chunk;
    (void)begin;
    (void)end;
    (void)worker;
    sum_job *outer = context;
    sum_job job = { .pool = outer->pool, .fail_at = SIZE_MAX };
    const tce_status status = tce_pool_run(outer->pool, 100, 10, add_chunk, &job);
    if (status == TCE_OK && job.parts[9] == 0.0)
        return tce_fail(TCE_E_STATE, "the inner run did not finish");
    return status;
}

START_TEST(a_run_inside_a_run_works_in_its_own_thread)
{
    tce_pool *pool = test_pool(3);
    sum_job job = { .pool = pool };
    ok(tce_pool_run(pool, 20, 1, run_inside, &job));
    tce_pool_free(pool);
    job.pool = NULL;
    ok(tce_pool_run(NULL, 20, 1, run_inside, &job));
}
END_TEST

/* a caller of its own: many runs on a pool that others use too, every item counted */
typedef struct caller {
    tce_pool *pool;
    tce_pool **pools; /* two, for nested runs */
    pthread_t thread;
    int32_t number;
    int32_t counts[16];
    char wrong[1100]; /* what was wrong first, or "" */
} caller;

static tce_status count_item(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    const struct timespec moment = { .tv_nsec = 10000 };
    caller *self = context;
    (void)end;
    (void)worker;
    self->counts[begin]++;
    if (chunk % 4 == 0)
        (void)nanosleep(&moment, NULL); /* so that other callers come in between */
    return chunk < 9
               ? TCE_OK
               : tce_fail(TCE_E_VALUE, "chunk %zu of caller %d fails", chunk, (int)self->number);
}

static void *call_often(void *argument)
{
    caller *self = argument;
    char message[64];
    (void)snprintf(message, sizeof message, "chunk 9 of caller %d fails", (int)self->number);

    for (int repeat = 0; repeat < 300 && !self->wrong[0]; repeat++) {
        memset(self->counts, 0, sizeof self->counts);
        const size_t n = repeat % 2 ? 16 : 8;
        const tce_status status = tce_pool_run(self->pool, n, 1, count_item, self);
        for (size_t i = 0; i < 16; i++)
            if (self->counts[i] != (i < n))
                (void)snprintf(self->wrong, sizeof self->wrong, "run %d did item %zu %d times",
                               repeat, i, (int)self->counts[i]);
        if (status != (n > 9 ? TCE_E_VALUE : TCE_OK) ||
            (status && strcmp(tce_error_message(), message) != 0))
            (void)snprintf(self->wrong, sizeof self->wrong, "run %d: %d, %s", repeat, (int)status,
                           tce_error_message());
    }
    return NULL;
}

START_TEST(runs_of_several_threads_on_one_pool_do_every_item_once)
{
    caller callers[4] = { { 0 } };
    tce_pool *pool = test_pool(3);
    for (int32_t i = 0; i < 4; i++) {
        callers[i].pool = pool;
        callers[i].number = i;
        ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(callers[i].thread, NULL);
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(callers[i].wrong, "");
    tce_pool_free(pool);
}
END_TEST

#define NEST_ITEMS 6

/* a run whose items run the other pool, whose items run the first one again, to a depth */
typedef struct nest {
    tce_pool *pools[2];
    int32_t depth;
    int32_t done[NEST_ITEMS];
    int32_t busy[3]; /* by worker */
} nest;

static tce_status run_nest(nest *level);

static tce_status nest_item(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    nest *level = context;
    nest next = { .pools = { level->pools[1], level->pools[0] }, .depth = level->depth - 1 };
    tce_status status = TCE_OK;
    (void)chunk;
    (void)end;
    if (level->busy[worker]++ != 0)
        return tce_fail(TCE_E_STATE, "worker %d entered twice", (int)worker);
    if (next.depth > 0)
        status = run_nest(&next);
    level->done[begin]++;
    level->busy[worker]--;
    return status;
}

static tce_status run_nest(nest *level)
{
    const tce_status status = tce_pool_run(level->pools[0], NEST_ITEMS, 1, nest_item, level);
    for (int i = 0; status == TCE_OK && i < NEST_ITEMS; i++)
        if (level->done[i] != 1)
            return tce_fail(TCE_E_STATE, "depth %d: item %d was done %d times", (int)level->depth,
                            i, (int)level->done[i]);
    return status;
}

static void *nest_often(void *argument)
{
    caller *self = argument;
    tce_pool **pools = self->pools;
    for (int repeat = 0; repeat < 20 && !self->wrong[0]; repeat++) {
        nest level = { .pools = { pools[self->number % 2], pools[1 - self->number % 2] },
                       .depth = 4 };
        if (run_nest(&level) != TCE_OK)
            (void)snprintf(self->wrong, sizeof self->wrong, "run %d: %s", repeat,
                           tce_error_message());
    }
    return NULL;
}

/*
 * A runs B runs A runs B, and from another thread B runs A runs B runs A: nothing is lost and
 * nothing waits for itself
 */
START_TEST(pools_inside_each_other_do_every_item_once)
{
    tce_pool *pools[2] = { test_pool(3), test_pool(2) };
    caller callers[3] = { { 0 } };
    for (int32_t n = 1; n <= 3; n++) {
        for (int32_t i = 0; i < n; i++) {
            callers[i].pools = pools;
            callers[i].number = i;
            ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, nest_often, &callers[i]), 0);
        }
        for (int32_t i = 0; i < n; i++)
            pthread_join(callers[i].thread, NULL);
        for (int32_t i = 0; i < n; i++)
            ck_assert_str_eq(callers[i].wrong, "");
    }
    tce_pool_free(pools[0]);
    tce_pool_free(pools[1]);
}
END_TEST

/*
 * A pool whose workers are all inside an item at once, and a second pool that somebody else keeps
 * busy
 */
typedef struct crowd {
    tce_pool *pool;
    tce_pool *other;
    pthread_barrier_t all_inside;        /* the workers of `pool` */
    pthread_barrier_t occupied, release; /* those of `other`, and the test */
    int32_t
        directly[3];    /* the worker that a run inside a run was given, by that of the outer one */
    int32_t through[3]; /* the same with a run of the other pool in between */
} crowd;

static tce_status occupy(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    crowd *c = context;
    (void)chunk;
    (void)begin;
    (void)end;
    (void)worker;
    (void)pthread_barrier_wait(&c->occupied);
    (void)pthread_barrier_wait(&c->release);
    return TCE_OK;
}

static void *keep_busy(void *argument)
{
    crowd *c = argument;
    return tce_pool_run(c->other, 2, 1, occupy, c) == TCE_OK ? NULL : c;
}

static tce_status take_number(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    int32_t *number = context;
    (void)begin;
    (void)end;
    if (chunk > 0 && *number != worker)
        return tce_fail(TCE_E_STATE, "worker %d, then %d", (int)*number, (int)worker);
    *number = worker;
    return TCE_OK;
}

/* where a run through the other pool leads */
typedef struct way_back {
    tce_pool *pool;
    int32_t *number;
} way_back;

static tce_status go_back(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    const way_back *way = context;
    (void)chunk;
    (void)begin;
    (void)end;
    (void)worker;
    return tce_pool_run(way->pool, 4, 1, take_number, way->number);
}

static tce_status join_crowd(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    crowd *c = context;
    way_back way = { c->pool, &c->through[worker] };
    (void)chunk;
    (void)begin;
    (void)end;
    (void)pthread_barrier_wait(&c->all_inside);
    const tce_status status = tce_pool_run(c->pool, 4, 1, take_number, &c->directly[worker]);
    return status == TCE_OK ? tce_pool_run(c->other, 2, 1, go_back, &way) : status;
}

START_TEST(a_run_inside_a_run_keeps_the_number_of_its_worker)
{
    crowd c = { .pool = test_pool(3),
                .other = test_pool(2),
                .directly = { -1, -1, -1 },
                .through = { -1, -1, -1 } };
    pthread_t thread;
    void *failed;
    ck_assert_int_eq(pthread_barrier_init(&c.all_inside, NULL, 3), 0);
    ck_assert_int_eq(pthread_barrier_init(&c.occupied, NULL, 3), 0);
    ck_assert_int_eq(pthread_barrier_init(&c.release, NULL, 3), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, keep_busy, &c), 0);
    (void)pthread_barrier_wait(&c.occupied);
    const tce_status status = tce_pool_run(c.pool, 3, 1, join_crowd, &c);
    (void)pthread_barrier_wait(&c.release);
    ck_assert_int_eq(pthread_join(thread, &failed), 0);
    ck_assert_ptr_null(failed);
    ok(status);
    for (int32_t worker = 0; worker < 3; worker++) {
        ck_assert_int_eq(c.directly[worker], worker);
        ck_assert_int_eq(c.through[worker], worker);
    }
    pthread_barrier_destroy(&c.all_inside);
    pthread_barrier_destroy(&c.occupied);
    pthread_barrier_destroy(&c.release);
    tce_pool_free(c.pool);
    tce_pool_free(c.other);
}
END_TEST

/*
 * in a child that was forked while other threads may be inside the pool: a run, and the end of the
 * pool
 */
static void fork_and_use(tce_pool *pool)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(20); /* ends a child that hangs */
        sum_job job = { .pool = pool, .fail_at = SIZE_MAX };
        const tce_status status = tce_pool_run(pool, 40, 1, add_chunk, &job);
        int n = 0;
        for (int i = 0; i < 40; i++)
            n += job.parts[i] > 0.0;
        tce_pool_free(pool);
        _exit(status == TCE_OK && n == 40 ? 0 : 1);
    }
    int result = 0;
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &result, 0), child);
    ck_assert_msg(WIFEXITED(result) && WEXITSTATUS(result) == 0, "the child ended with 0x%x",
                  (unsigned)result);
}

START_TEST(a_forked_child_runs_and_frees_a_pool_without_its_threads)
{
    caller other = { .pool = test_pool(3) };
    for (int i = 0; i < 10; i++)
        fork_and_use(other.pool);
    ck_assert_int_eq(pthread_create(&other.thread, NULL, call_often, &other), 0);
    for (int i = 0; i < 10; i++)
        fork_and_use(other.pool);
    pthread_join(other.thread, NULL);
    ck_assert_str_eq(other.wrong, "");
    tce_pool_free(other.pool);
}
END_TEST

START_TEST(a_pool_refuses_what_it_cannot_do)
{
    tce_pool_options options;
    tce_pool *pool = NULL;
    sum_job job = { 0 };
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = -1;
    ck_assert_int_eq(tce_pool_create(&options, NULL, &pool), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "n_threads = -1"));
    tce_pool_options_init(&options, sizeof options);
    options.rank = 1;
    fails(tce_pool_create(&options, NULL, &pool), TCE_E_VALUE, "rank = 1");
    options.n_ranks = 1;
    fails(tce_pool_create(&options, NULL, &pool), TCE_E_VALUE, "rank = 1");
    options.rank = 0;
    options.reserved = 1;
    fails(tce_pool_create(&options, NULL, &pool), TCE_E_VERSION, "tce_pool_options.reserved = 1");
    ck_assert_int_eq(tce_pool_run(NULL, 1, 0, add_chunk, &job), TCE_E_VALUE);
    ck_assert_int_eq(tce_pool_run(NULL, 1, 1, NULL, &job), TCE_E_ARGUMENT);
    ok(tce_pool_run(NULL, 0, 1, add_chunk, &job));
    tce_pool_free(NULL);
}
END_TEST

START_TEST(a_pool_asks_for_memory_once_and_gives_it_back)
{
    tce_pool_options options;
    tce_hooks hooks;
    test_memory memory = { .budget = 0 };
    tce_pool *pool = NULL;
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = 2;
    test_hooks(&memory, &hooks);
    ck_assert_int_eq(tce_pool_create(&options, &hooks, &pool), TCE_E_NOMEM);
    ck_assert_ptr_null(pool);

    memory.budget = SIZE_MAX;
    ok(tce_pool_create(&options, &hooks, &pool));
    sum_job job = { .pool = pool, .fail_at = SIZE_MAX };
    ok(tce_pool_run(pool, 100, 10, add_chunk, &job));
    ck_assert_uint_eq(memory.n_alloc, 1);
    tce_pool_free(pool);
    ck_assert_uint_eq(memory.live, 0);
}
END_TEST

/* ---- linalg ---------------------------------------------------------------------------------- */

enum { N = 7 };

/*
 * A random lower factor with a diagonal in [0.5, 1.5]; small enough below it that differences stay
 * accurate.
 */
static void random_factor(uint64_t seed, double *L)
{
    tce_random random;
    tce_random_start(&random, seed, 99, 0, 0);
    memset(L, 0, N * N * sizeof *L);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < i; j++)
            L[i * N + j] = 0.5 * test_normal(&random);
        L[i * N + i] = 0.5 + tce_random_uniform(&random);
    }
}

START_TEST(a_factor_survives_multiplication_and_cholesky)
{
    double L[N * N], A[N * N] = { 0 };
    random_factor((uint64_t)_i, L);
    tce__syrk_lower(TCE__NO_TRANS, N, N, 1.0, L, N, 0.0, A, N);
    ck_assert_int_eq(tce__cholesky(N, A, N), 0);
    tce__clear_upper(N, A, N);
    test_assert_close(A, L, N * N, 1e-12);

    /* the inverse and both solves undo the product */
    double inverse[N * N], x[N], y[N];
    memcpy(inverse, L, sizeof L);
    ck_assert_int_eq(tce__invert_lower(N, inverse, N), 0);
    tce__multiply_lower(TCE__LEFT, TCE__NO_TRANS, N, N, 1.0, L, N, inverse, N);
    for (size_t i = 0; i < N * N; i++)
        ck_assert_double_eq_tol(inverse[i], i % (N + 1) == 0 ? 1.0 : 0.0, 1e-10);
    for (size_t i = 0; i < N; i++)
        x[i] = (double)i - 2.5;
    for (size_t i = 0; i < N; i++) {
        y[i] = 0.0;
        for (size_t k = i; k < N; k++)
            y[i] += L[k * N + i] * x[k];
    }
    tce__solve_lower_vector(TCE__TRANS, N, L, N, y);
    test_assert_close(y, x, N, 1e-10);
}
END_TEST

/* Products that are wrong in one entry: from the size 4 on, or where both are transposed. */
static void wrong_from_four(tce__trans ta, tce__trans tb, size_t m, size_t n, size_t k,
                            double alpha, const double *A, size_t lda, const double *B, size_t ldb,
                            double beta, double *C, size_t ldc)
{
    tce__gemm(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    if (n >= 4)
        C[2 * ldc + 3] += 0.25;
}

static void wrong_if_transposed(tce__trans ta, tce__trans tb, size_t m, size_t n, size_t k,
                                float alpha, const float *A, size_t lda, const float *B, size_t ldb,
                                float beta, float *C, size_t ldc)
{
    tce__gemm_float(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    if (ta == TCE__TRANS && tb == TCE__TRANS)
        C[0] = (float)NAN;
}

START_TEST(the_products_of_this_blas_are_right)
{
    ok(tce_blas_check());
}
END_TEST

START_TEST(a_blas_that_multiplies_wrongly_is_refused_with_the_product)
{
    ck_assert_int_eq(tce__products_check(wrong_from_four, tce__gemm_float), TCE_E_LIBRARY);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "dgemm of two 4 x 4 matrices has "));
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "at [2,3]"));
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "OPENBLAS_CORETYPE"));
    ck_assert_int_eq(tce__products_check(tce__gemm, wrong_if_transposed), TCE_E_LIBRARY);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "sgemm of two 1 x 1 matrices, the first "
                                                      "transposed, the second transposed has nan"));
}
END_TEST

START_TEST(a_matrix_that_is_not_positive_definite_names_its_row)
{
    double A[4] = { 1.0, 0.0, 2.0, 1.0 };
    ck_assert_int_eq(tce__cholesky(2, A, 2), 2);
}
END_TEST

START_TEST(the_cholesky_gradient_matches_differences)
{
    double L[N * N], A[N * N] = { 0 }, d_L[N * N], d_A[N * N];
    random_factor((uint64_t)_i + 50, L);
    random_factor((uint64_t)_i + 90, d_L);
    tce__syrk_lower(TCE__NO_TRANS, N, N, 1.0, L, N, 0.0, A, N);
    tce__cholesky_backward(N, L, N, d_L, N, d_A, N);

    /* loss = sum d_L L(A); a symmetric change of A moves entries (i, j) and (j, i) together */
    const double h = 6e-6;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j <= i; j++) {
            double loss[2];
            for (int side = 0; side < 2; side++) {
                double B[N * N];
                memcpy(B, A, sizeof A);
                B[i * N + j] += side ? h : -h;
                ck_assert_int_eq(tce__cholesky(N, B, N), 0);
                tce__clear_upper(N, B, N);
                loss[side] = tce__dot(N * N, d_L, B);
            }
            const double want = (loss[1] - loss[0]) / (2.0 * h);
            const double got = i == j ? d_A[i * N + j] : d_A[i * N + j] + d_A[j * N + i];
            ck_assert_double_eq_tol(got, want, 1e-5 * fmax(1.0, fabs(want)));
        }
    }
}
END_TEST

START_TEST(orthogonal_columns_are_orthonormal)
{
    enum { ROWS = 9, COLUMNS = 5 };
    double A[ROWS * COLUMNS], work[1024];
    tce_random random;
    tce_random_start(&random, 1, 2, 3, (uint64_t)_i);
    ck_assert_uint_le(tce__orthogonal_work(ROWS, COLUMNS), 1024);
    tce_random_normals(&random, ROWS * COLUMNS, A);
    ck_assert_int_eq(tce__orthogonal(ROWS, COLUMNS, A, work), 0);
    for (size_t i = 0; i < COLUMNS; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            double dot = 0.0;
            for (size_t k = 0; k < ROWS; k++)
                dot += A[k * COLUMNS + i] * A[k * COLUMNS + j];
            ck_assert_double_eq_tol(dot, i == j ? 1.0 : 0.0, 1e-13);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *golden = test_case(suite, "golden", 0);
    tcase_add_test(golden, philox_gives_the_numbers_of_its_authors);
    tcase_add_test(golden, the_running_version_is_the_one_of_the_headers);

    TCase *property = test_case(suite, "property", 0);
    tcase_add_test(property, every_status_has_its_own_name_and_text);
    tcase_add_test(property, a_message_may_quote_the_one_before_it);
    tcase_add_test(property, a_message_too_long_is_cut_not_lost);
    tcase_add_test(property, a_nan_is_found_wherever_it_hides);
    tcase_add_test(property, streams_differ_in_every_part_of_their_key);
    tcase_add_test(property, normal_deviates_have_the_moments_of_a_normal);
    tcase_add_test(property, below_is_uniform_and_below);
    tcase_add_test(property, a_permutation_holds_every_number_once);
    tcase_add_test(property, a_sum_has_the_same_bytes_for_any_number_of_threads);
    tcase_add_test(property, parts_follow_from_the_number_of_rows_alone);
    tcase_add_test(property, parts_are_added_by_a_binary_tree_on_any_number_of_threads);
    tcase_add_test(property, the_lowest_failing_chunk_is_reported_and_the_others_run);
    tcase_add_test(property, work_that_fails_without_a_word_is_named);
    tcase_add_test(property, a_run_inside_a_run_works_in_its_own_thread);
    tcase_add_test(property, runs_of_several_threads_on_one_pool_do_every_item_once);
    tcase_add_test(property, pools_inside_each_other_do_every_item_once);
    tcase_add_test(property, a_run_inside_a_run_keeps_the_number_of_its_worker);
    tcase_add_test(property, a_forked_child_runs_and_frees_a_pool_without_its_threads);
    tcase_add_loop_test(property, a_factor_survives_multiplication_and_cholesky, 0, 100);
    tcase_add_loop_test(property, orthogonal_columns_are_orthonormal, 0, 100);

    TCase *gradient = test_case(suite, "gradient", 0);
    tcase_add_loop_test(gradient, the_cholesky_gradient_matches_differences, 0, 10);

    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, a_longer_struct_is_accepted_only_with_a_zero_tail);
    tcase_add_test(errors, a_struct_without_init_is_refused_by_name);
    tcase_add_test(errors, a_struct_that_is_no_options_starts_from_its_size_alone);
    tcase_add_test(errors, a_size_that_nobody_set_is_refused_before_the_tail_is_read);
    tcase_add_test(errors, hooks_need_both_allocate_and_release);
    tcase_add_test(errors, a_pool_refuses_what_it_cannot_do);
    tcase_add_test(errors, a_matrix_that_is_not_positive_definite_names_its_row);
    tcase_add_test(errors, the_products_of_this_blas_are_right);
    tcase_add_test(errors, a_blas_that_multiplies_wrongly_is_refused_with_the_product);

    TCase *memory = test_case(suite, "memory", 0);
    tcase_add_test(memory, a_block_larger_than_memory_is_refused);
    tcase_add_test(memory, a_pool_asks_for_memory_once_and_gives_it_back);

    return test_run(suite);
}
