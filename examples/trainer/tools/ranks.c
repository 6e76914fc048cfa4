/*
 * What ranks do with any transport.
 */
#include "tools/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_SIZE 2048

/* ---- a job ----------------------------------------------------------------------------------- */

tce_status ranks_open(ranks *r, int32_t rank, int32_t n, const ranks_transport *transport,
                      void *user)
{
    memset(r, 0, sizeof *r);
    r->rank = rank;
    r->n = n;
    r->transport = transport;
    r->user = user;
    r->at = malloc(((size_t)n + 1) * sizeof *r->at);
    r->message = malloc(MESSAGE_SIZE);
    if (r->at && r->message)
        return TCE_OK;
    ranks_close(r);
    return tce_fail(TCE_E_NOMEM, "no memory for %d ranks", (int)n);
}

void ranks_close(ranks *r)
{
    free(r->room);
    free(r->at);
    free(r->message);
    memset(r, 0, sizeof *r);
}

int32_t ranks_rank(const ranks *r)
{
    return r ? r->rank : 0;
}

int32_t ranks_count(const ranks *r)
{
    return r ? r->n : 1;
}

int ranks_is_first(const ranks *r)
{
    return ranks_rank(r) == 0;
}

size_t ranks_share(const ranks *r, size_t n, int32_t rank)
{
    const size_t active = n < (size_t)ranks_count(r) ? n : (size_t)ranks_count(r);
    const size_t k = (size_t)rank;

    /* floor(n k / active) without overflow */
    return k >= active ? n : n / active * k + n % active * k / active;
}

/* ---- calls that are counted ------------------------------------------------------------------ */

/* A call that failed in itself was not made by all. */
static tce_status notice(ranks *r, tce_status status)
{
    r->broken |= status != TCE_OK;
    return status;
}

static void count(ranks_traffic *t, size_t bytes)
{
    t->calls++;
    t->bytes += (int64_t)bytes;
}

/* Bytes of all pieces but a rank's own. */
static size_t of_others(const ranks *r, const size_t *at)
{
    return at[r->n] - at[r->rank + 1] + at[r->rank];
}

static tce_status pool_exchange(void *user, const void *send, const size_t *send_at, void *receive,
                                const size_t *receive_at)
{
    ranks *r = user;
    count(&r->pool, of_others(r, receive_at));
    return notice(r, r->transport->exchange(r->user, send, send_at, receive, receive_at));
}

static tce_status pool_gather(void *user, void *all, const size_t *at)
{
    ranks *r = user;
    count(&r->pool, of_others(r, at));
    return notice(r, r->transport->gather(r->user, all, at));
}

void ranks_join_pool(ranks *r, tce_pool_options *options)
{
    if (!r)
        return;
    options->rank = r->rank;
    options->n_ranks = r->n;
    options->user = r;
    options->exchange = pool_exchange;
    options->gather = pool_gather;
}

ranks_traffic ranks_traffic_of_pools(const ranks *r)
{
    return r ? r->pool : (ranks_traffic){ 0 };
}

ranks_traffic ranks_own_traffic(const ranks *r)
{
    return r ? r->own : (ranks_traffic){ 0 };
}

static tce_status gather(ranks *r, void *all, const size_t *at)
{
    count(&r->own, of_others(r, at));
    return notice(r, r->transport->gather(r->user, all, at));
}

static tce_status broadcast(ranks *r, int32_t from, void *data, size_t size)
{
    count(&r->own, r->rank == from ? 0 : size);
    return notice(r, r->transport->broadcast(r->user, from, data, size));
}

tce_status ranks_gather(ranks *r, void *all, const size_t *at)
{
    return r ? gather(r, all, at) : TCE_OK;
}

tce_status ranks_broadcast(ranks *r, void *data, size_t size)
{
    return r ? broadcast(r, 0, data, size) : TCE_OK;
}

/* ---- what failed ----------------------------------------------------------------------------- */

/* Room for `size` bytes, kept for the next time. */
static void *take_room(ranks *r, size_t size)
{
    if (size > r->room_size) {
        free(r->room);
        r->room = malloc(size);
        r->room_size = r->room ? size : 0;
    }
    return r->room;
}

/*
 * The failure of rank `lowest`, whose status is known everywhere, with its message. Which rank it
 * was matters only where others did well.
 */
static tce_status share_failure(ranks *r, int32_t lowest, tce_status status, int32_t n_failed)
{
    if (r->rank == lowest && n_failed == r->n)
        snprintf(r->message, MESSAGE_SIZE, "%s", tce_error_message());
    else if (r->rank == lowest)
        snprintf(r->message, MESSAGE_SIZE, "rank %d: %s", (int)lowest, tce_error_message());
    const tce_status sent = broadcast(r, lowest, r->message, MESSAGE_SIZE);
    return sent == TCE_OK ? tce_fail(status, "%s", r->message) : sent;
}

tce_status ranks_agree(ranks *r, tce_status status)
{
    tce_status *all;
    if (!r)
        return status;
    for (int32_t s = 0; s <= r->n; s++)
        r->at[s] = (size_t)s * sizeof *all;
    all = take_room(r, r->at[r->n]);
    if (!all)
        return notice(r, tce_fail(TCE_E_NOMEM, "no memory for %d statuses", (int)r->n));
    all[r->rank] = status;
    const tce_status gathered = gather(r, all, r->at);
    if (gathered != TCE_OK)
        return gathered;
    int32_t lowest = r->n, n_failed = 0;
    for (int32_t s = r->n; s-- > 0;)
        if (all[s] != TCE_OK) {
            lowest = s;
            n_failed++;
        }
    return n_failed ? share_failure(r, lowest, all[lowest], n_failed) : TCE_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Bytes before a rank's rows: its status. */
#define HEAD sizeof(double)

/* Rank s's first row of n_rows. */
static size_t row_of(const size_t *first, size_t n_rows, int32_t s)
{
    return first[s] < n_rows ? first[s] : n_rows;
}

/* Rows begin ... begin + n - 1, from the arrays into a rank's piece, or back. */
static void copy_rows(size_t begin, size_t n, size_t n_arrays, const ranks_rows *arrays,
                      unsigned char *piece, int pack)
{
    piece += HEAD;
    for (size_t k = 0; k < n_arrays; k++) {
        const size_t size = n * arrays[k].row_size;
        if (size == 0)
            continue;
        unsigned char *rows = (unsigned char *)arrays[k].rows + begin * arrays[k].row_size;
        memcpy(pack ? piece : rows, pack ? rows : piece, size);
        piece += size;
    }
}

tce_status ranks_gather_rows(ranks *r, tce_status status, const size_t *first, size_t n_rows,
                             size_t n_arrays, const ranks_rows *arrays)
{
    size_t row_size = 0;
    if (!r)
        return status;
    for (size_t k = 0; k < n_arrays; k++)
        row_size += arrays[k].row_size;
    for (int32_t s = 0; s <= r->n; s++)
        r->at[s] = (size_t)s * HEAD + row_of(first, n_rows, s) * row_size;
    unsigned char *all = take_room(r, r->at[r->n]);
    if (!all)
        return notice(
            r, tce_fail(TCE_E_NOMEM, "no memory for the %zu bytes that ranks share", r->at[r->n]));
    memcpy(all + r->at[r->rank], &status, sizeof status);
    const size_t own = row_of(first, n_rows, r->rank);
    copy_rows(own, row_of(first, n_rows, r->rank + 1) - own, n_arrays, arrays, all + r->at[r->rank],
              1);
    const tce_status gathered = gather(r, all, r->at);
    if (gathered != TCE_OK)
        return gathered;
    int32_t lowest = r->n, n_failed = 0;
    for (int32_t s = r->n; s-- > 0;) {
        tce_status theirs;
        memcpy(&theirs, all + r->at[s], sizeof theirs);
        if (theirs != TCE_OK) {
            lowest = s;
            status = theirs;
            n_failed++;
        }
    }
    if (n_failed > 0)
        return share_failure(r, lowest, status, n_failed);
    for (int32_t s = 0; s < r->n; s++) {
        const size_t begin = row_of(first, n_rows, s);
        if (s != r->rank)
            copy_rows(begin, row_of(first, n_rows, s + 1) - begin, n_arrays, arrays, all + r->at[s],
                      0);
    }
    return TCE_OK;
}

/* ---- from rank 0 ----------------------------------------------------------------------------- */

tce_status ranks_broadcast_block(ranks *r, void **data, size_t *size)
{
    uint64_t n = *data ? *size + 1 : 0; /* 0: NULL */
    if (!r)
        return TCE_OK;
    tce_status status = ranks_broadcast(r, &n, sizeof n);
    if (status != TCE_OK || n == 0) {
        if (r->rank > 0)
            *data = NULL;
        return status;
    }
    if (r->rank > 0) {
        *size = (size_t)(n - 1);
        *data = malloc((size_t)n);
    }
    if (!*data)
        status = tce_fail(TCE_E_NOMEM, "no memory for %zu bytes", *size);
    status = ranks_agree(r, status);
    if (status == TCE_OK)
        status = ranks_broadcast(r, *data, *size);
    if (status != TCE_OK && r->rank > 0) {
        free(*data);
        *data = NULL;
    }
    return status;
}

tce_status ranks_most(ranks *r, int32_t *number)
{
    if (!r)
        return TCE_OK;
    for (int32_t s = 0; s <= r->n; s++)
        r->at[s] = (size_t)s * sizeof *number;
    int32_t *all = take_room(r, r->at[r->n]);
    if (!all)
        return notice(r, tce_fail(TCE_E_NOMEM, "no memory for %d numbers", (int)r->n));
    all[r->rank] = *number;
    const tce_status status = gather(r, all, r->at);
    for (int32_t s = 0; status == TCE_OK && s < r->n; s++)
        *number = all[s] > *number ? all[s] : *number;
    return status;
}

tce_status ranks_same(ranks *r, const char *what, const char *text, const char *remedy)
{
    char first[MESSAGE_SIZE / 4], own[MESSAGE_SIZE / 4];
    if (!r)
        return TCE_OK;
    /* the same bytes after the end, so that these too may be compared */
    memset(own, 0, sizeof own);
    snprintf(own, sizeof own, "%s", text ? text : "unknown");
    memcpy(first, own, sizeof first);
    tce_status status = ranks_broadcast(r, first, sizeof first);
    if (status == TCE_OK && strcmp(own, first) != 0)
        status = tce_fail(TCE_E_STATE, "%s \"%s\", but on rank 0 \"%s\": %s", what, own, first,
                          remedy);
    return ranks_agree(r, status);
}

/* ---- messages -------------------------------------------------------------------------------- */

tce_status ranks_send(ranks *r, int32_t to, const void *data, size_t size)
{
    return r->transport->send(r->user, to, data, size);
}

tce_status ranks_receive(ranks *r, int32_t from, void *data, size_t size, int32_t *out_from)
{
    int32_t unused;
    return r->transport->receive(r->user, from, data, size, out_from ? out_from : &unused);
}

tce_status ranks_waiting(ranks *r, int *out)
{
    return r->transport->waiting(r->user, out);
}
