/*
 * The processes of one job, its ranks, which mpirun has started: how they exchange bytes, agree on
 * a status, and send each other messages.
 *
 * `tce` is linked with ranks_one.c and is always one process; `tce-mpi` with ranks_mpi.c, the only
 * file that calls MPI. NULL is a valid `ranks`: one process, for which every collective call is
 * done at once.
 *
 * Collective calls are made by all ranks in the same order, by the thread that called ranks_begin.
 */
#ifndef TRAINER_RANKS_H
#define TRAINER_RANKS_H

#include <tce/tce.h>

/* Where the ranks of a job meet. Functions but send, receive and waiting are collective. */
typedef struct ranks_transport {
    tce_pool_exchange exchange;
    tce_pool_gather gather;
    /* size bytes of rank `from`, into data of all others */
    tce_status (*broadcast)(void *user, int32_t from, void *data, size_t size);
    tce_status (*send)(void *user, int32_t to, const void *data, size_t size);
    tce_status (*receive)(void *user, int32_t from, void *data, size_t size, int32_t *out_from);
    tce_status (*waiting)(void *user, int *out);
} ranks_transport;

/* Collective calls of a rank, and the bytes that they brought it from other ranks. */
typedef struct ranks_traffic {
    int64_t calls, bytes;
} ranks_traffic;

typedef struct ranks {
    int32_t rank, n;
    const ranks_transport *transport;
    void *user;              /* given to the transport */
    ranks_traffic pool, own; /* of the pools that span the ranks, and of everything else */
    void *room;              /* of what is gathered */
    size_t room_size;
    size_t *at;    /* [n + 1] */
    char *message; /* of a failure */
    int broken;    /* a collective call failed in itself: ranks may wait for each other for ever */
} ranks;

/* ---- the job ------------------------------------------------------------------------------- */

/*
 * Joins the job that this process was started for. *out: NULL when it is alone; then it has left
 * the job again, and may start programs, which do not join it. Once, before any thread is started;
 * a process that starts another program in its place does so before.
 * TCE_E_IO, TCE_E_NOMEM.
 */
tce_status ranks_begin(ranks **out);
/* Whether there can be more than one: a program that is linked with MPI. */
int ranks_are_possible(void);
/* Leaves it: the last call of every rank. After a call that was broken off all processes end. */
void ranks_end(ranks *r);

/*
 * Asked while a rank waits for others: once it returns not 0, the ranks have been told to end.
 * A rank that still waits says so on stderr; one that has died cannot.
 */
void ranks_watch(ranks *r, int (*told_to_end)(void));

/* A job of n ranks over any transport; ranks_close frees what it holds. TCE_E_NOMEM. */
tce_status ranks_open(ranks *r, int32_t rank, int32_t n, const ranks_transport *transport,
                      void *user);
void ranks_close(ranks *r);

/* Nothing for NULL. */
ranks_traffic ranks_traffic_of_pools(const ranks *r);
ranks_traffic ranks_own_traffic(const ranks *r);

/* 0 and 1 for NULL. */
int32_t ranks_rank(const ranks *r);
int32_t ranks_count(const ranks *r);
/* Whether this process is the one that writes files and prints. */
int ranks_is_first(const ranks *r);

/* Lets a pool span the ranks. */
void ranks_join_pool(ranks *r, tce_pool_options *options);

/* ---- shares -------------------------------------------------------------------------------- */

/*
 * The first of n things that are a rank's; those of the next begin where its own end. The first
 * min(n, ranks) ranks have some, the others none.
 */
size_t ranks_share(const ranks *r, size_t n, int32_t rank);

/* ---- collective calls ---------------------------------------------------------------------- */

/*
 * The status and message of the lowest rank that failed, on all ranks; TCE_OK when none has. Where
 * others have not failed, the message begins with the rank.
 */
tce_status ranks_agree(ranks *r, tce_status status);

/* all[at[s]] ... all[at[s+1] - 1] is rank s's; afterwards everybody has all of it. at [n + 1]. */
tce_status ranks_gather(ranks *r, void *all, const size_t *at);

/* Rows of an array [rows, row_size] that ranks share. */
typedef struct ranks_rows {
    void *rows;
    size_t row_size; /* bytes */
} ranks_rows;

/*
 * Of the n_rows rows of each array, first[s] ... first[s+1] - 1 are rank s's, as far as there are
 * so many; afterwards everybody has all of them. Begins with the status of every rank, as
 * ranks_agree: after a failure rows are undefined. first [n + 1].
 */
tce_status ranks_gather_rows(ranks *r, tce_status status, const size_t *first, size_t n_rows,
                             size_t n_arrays, const ranks_rows *arrays);

/* What rank 0 has in data, everywhere. */
tce_status ranks_broadcast(ranks *r, void *data, size_t size);

/*
 * Bytes of rank 0, everywhere: *data (malloc) and *size are read on rank 0 and set on all others;
 * NULL stays NULL.
 */
tce_status ranks_broadcast_block(ranks *r, void **data, size_t *size);

/* The greatest of all ranks' numbers, on all of them: whether one wants to stop. */
tce_status ranks_most(ranks *r, int32_t *number);

/*
 * TCE_E_STATE when a rank has another text than rank 0; the message has `what`, both texts and the
 * remedy.
 */
tce_status ranks_same(ranks *r, const char *what, const char *text, const char *remedy);

/* ---- messages from one rank to another, outside of collective calls ------------------------ */

/* `size` bytes to rank `to`; returns when data may be used again. */
tce_status ranks_send(ranks *r, int32_t to, const void *data, size_t size);
/*
 * Waits for the next message of `size` bytes from rank `from`; -1: from any rank, whose number goes
 * to *out_from, which may be NULL.
 */
tce_status ranks_receive(ranks *r, int32_t from, void *data, size_t size, int32_t *out_from);
/* Whether there is a message to receive. */
tce_status ranks_waiting(ranks *r, int *out);

#endif
