/*
 * What ranks do for each other over MPI, as `mpirun -n N` starts this program: it prints "fine" on
 * rank 0, or what went wrong on whichever rank, and ends with status 1 then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ranks.h"

#define CHECK(what)                                                                           \
    do {                                                                                      \
        if (!(what)) {                                                                        \
            fprintf(stderr, "rank %d, line %d: %s\n", (int)ranks_rank(job), __LINE__, #what); \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

enum { ROWS = 7, WIDTH = 3, MOST = 64 };

static ranks *job;

static void check_shares(int32_t n, int32_t me)
{
    for (size_t rows = 0; rows < 12; rows++) {
        const size_t own = ranks_share(job, rows, me + 1) - ranks_share(job, rows, me);
        CHECK(ranks_share(job, rows, 0) == 0 && ranks_share(job, rows, n) == rows);
        CHECK(rows < (size_t)n ? own == ((size_t)me < rows)
                               : own >= rows / (size_t)n && own <= rows / (size_t)n + 1);
    }
}

/* Two arrays whose rows are shared, and the same with a rank that fails. */
static void check_rows(int32_t n, int32_t me)
{
    double numbers[ROWS * WIDTH];
    uint8_t flags[ROWS];
    size_t first[MOST + 1];
    const ranks_rows arrays[] = { { numbers, WIDTH * sizeof *numbers }, { flags, 1 } };
    for (int32_t s = 0; s <= n; s++)
        first[s] = ranks_share(job, ROWS, s);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        numbers[i] = i / WIDTH >= first[me] && i / WIDTH < first[me + 1] ? (double)i / 3.0 : -1.0;
    for (size_t i = 0; i < ROWS; i++)
        flags[i] = i >= first[me] && i < first[me + 1] ? (uint8_t)i : 99;
    CHECK(ranks_gather_rows(job, TCE_OK, first, ROWS, 2, arrays) == TCE_OK);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        CHECK(numbers[i] == (double)i / 3.0);
    for (size_t i = 0; i < ROWS; i++)
        CHECK(flags[i] == i);

    tce_status status = TCE_OK;
    if (me == n - 1)
        status = tce_fail(TCE_E_ENV, "rank %d has lost it", (int)me);
    CHECK(ranks_gather_rows(job, status, first, ROWS, 2, arrays) == TCE_E_ENV);
    CHECK(strstr(tce_error_message(), "has lost it") != NULL);
    CHECK(ranks_agree(job, TCE_OK) == TCE_OK);
    CHECK(ranks_agree(job, me == 0 ? TCE_OK : tce_fail(TCE_E_IO, "full of %d", (int)me)) ==
          (n > 1 ? TCE_E_IO : TCE_OK));
    CHECK(n == 1 || strcmp(tce_error_message(), "rank 1: full of 1") == 0);
}

static void check_first(int32_t n, int32_t me)
{
    int number = me == 0 ? 42 : 0;
    CHECK(ranks_broadcast(job, &number, sizeof number) == TCE_OK && number == 42);

    void *block = me == 0 ? malloc(6) : NULL;
    size_t size = me == 0 ? 6 : 0;
    if (me == 0)
        memcpy(block, "block", 6);
    CHECK(ranks_broadcast_block(job, &block, &size) == TCE_OK);
    CHECK(size == 6 && strcmp(block, "block") == 0);
    free(block);
    block = NULL;
    CHECK(ranks_broadcast_block(job, &block, &size) == TCE_OK && !block);

    int32_t wish = me == n - 1 ? 2 : me == 0;
    CHECK(ranks_most(job, &wish) == TCE_OK && wish == 2);
    CHECK(ranks_same(job, "colour", "red", "paint it") == TCE_OK);
    if (n > 1) {
        CHECK(ranks_same(job, "colour", me == 1 ? "blue" : "red", "paint it") == TCE_E_STATE);
        CHECK(strcmp(tce_error_message(),
                     "rank 1: colour \"blue\", but on rank 0 \"red\": paint it") == 0);
    }
}

/* The callbacks of a pool: piece s of rank r is 10 r + s. */
static void check_pool(int32_t n, int32_t me)
{
    tce_pool_options options;
    tce_pool *pool = NULL;
    int send[MOST], receive[MOST];
    size_t at[MOST + 1];
    if (n == 1)
        return;
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = 1;
    ranks_join_pool(job, &options);
    CHECK(options.n_ranks == n && options.rank == me);
    CHECK(tce_pool_create(&options, NULL, &pool) == TCE_OK);
    for (int32_t s = 0; s <= n; s++)
        at[s] = (size_t)s * sizeof *send;
    for (int32_t s = 0; s < n; s++)
        send[s] = 10 * me + s;
    const ranks_traffic before = ranks_traffic_of_pools(job), own = ranks_own_traffic(job);
    CHECK(options.exchange(options.user, send, at, receive, at) == TCE_OK);
    for (int32_t s = 0; s < n; s++)
        CHECK(receive[s] == 10 * s + me);
    CHECK(options.gather(options.user, send, at) == TCE_OK);
    for (int32_t s = 0; s < n; s++)
        CHECK(send[s] == 10 * s + s);
    CHECK(ranks_traffic_of_pools(job).calls == before.calls + 2);
    CHECK(ranks_traffic_of_pools(job).bytes == before.bytes + 2 * (n - 1) * (int64_t)sizeof *send);
    CHECK(ranks_own_traffic(job).calls == own.calls);
    tce_pool_free(pool);
}

/* Every rank tells rank 0 its number, and is told its square. */
static void check_messages(int32_t n, int32_t me)
{
    int32_t from, number = me, sum = 0;
    int waits = 0;
    for (int32_t s = 1; me == 0 && s < n; s++) {
        CHECK(ranks_receive(job, -1, &number, sizeof number, &from) == TCE_OK && number == from);
        sum += number;
        number *= number;
        CHECK(ranks_send(job, from, &number, sizeof number) == TCE_OK);
    }
    CHECK(me > 0 || sum == n * (n - 1) / 2);
    if (me > 0) {
        CHECK(ranks_send(job, 0, &number, sizeof number) == TCE_OK);
        while (!waits)
            CHECK(ranks_waiting(job, &waits) == TCE_OK);
        CHECK(ranks_receive(job, 0, &number, sizeof number, NULL) == TCE_OK && number == me * me);
    }
}

int main(int argc, char **argv)
{
    if (ranks_begin(&job) != TCE_OK) {
        fprintf(stderr, "%s\n", tce_error_message());
        return 1;
    }
    const int32_t n = ranks_count(job), me = ranks_rank(job);
    CHECK(argc == 2 && n == atoi(argv[1]) && (n == 1) == (job == NULL));
    check_shares(n, me);
    if (n > 1) {
        check_rows(n, me);
        check_first(n, me);
        check_pool(n, me);
        check_messages(n, me);
    }
    if (me == 0)
        printf("fine\n");
    ranks_end(job);
    return 0;
}
