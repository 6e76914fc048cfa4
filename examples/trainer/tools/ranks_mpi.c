/*
 * Ranks over MPI: the only file that calls it, and part of `tce-mpi` alone.
 *
 * A rank waits by looking again and again, first without rest, then letting others have the core,
 * and sleeps between two looks when it takes long: more ranks than cores, and long simulations of
 * others, cost little.
 */
#define _DEFAULT_SOURCE

#include <mpi.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/clock.h"
#include "tools/ranks.h"

/* MPI counts in int: larger pieces go in blocks of this many bytes. */
#define BLOCK ((size_t)1 << 30)

/* Looks without rest; then seconds until a rank sleeps between two looks, and for how long. */
#define LOOKS 2000
#define AWAKE 0.2
#define NAP_NS 200000

/* Seconds that a rank, told to end, waits for others before it says so. */
#define PATIENCE 0.5

/* In the environment of what a process that is alone starts: it is no rank of that one's job. */
#define ALONE "TCE_ALONE"

enum { MESSAGE_TAG = 1 };

static int has_joined;

typedef struct job {
    ranks r;
    MPI_Comm all;
    int *counts, *displacements, *receive_counts, *receive_displacements; /* [n] */
    int (*told_to_end)(void);
    int has_said;
} job;

/* Another rank has died, or the network has. */
static tce_status fail_mpi(const job *j, const char *what, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    return tce_fail(TCE_E_IO,
                    "rank %d: %s failed: %s. Another rank has probably died; start the job again "
                    "with --resume: nothing before the last checkpoint is lost",
                    (int)j->r.rank, what, text);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void say_waiting(job *j)
{
    j->has_said = 1;
    fprintf(stderr,
            "tce-mpi: rank %d was told to end while it waits for another rank. If that one has "
            "died, mpirun tells which; start the job again with --resume: nothing before the last "
            "checkpoint is lost\n",
            (int)j->r.rank);
}

/* A moment's rest, the longer the wait has been. *since: when the rank was told to end, 0: not. */
static void rest(job *j, long looks, double began, double *since)
{
    const struct timespec nap = { 0, NAP_NS };
    if (looks < LOOKS)
        return;
    if (looks % 64 != 0) {
        sched_yield();
        return;
    }
    const double now = now_seconds();
    if (now - began > AWAKE)
        nanosleep(&nap, NULL);
    if (!j->told_to_end || !j->told_to_end())
        return;
    *since = *since > 0.0 ? *since : now;
    if (!j->has_said && now - *since > PATIENCE)
        say_waiting(j);
}

static int wait_for(job *j, MPI_Request *request, MPI_Status *status)
{
    double began = 0.0, since = 0.0;
    for (long looks = 0;; looks++) {
        int done = 0;
        const int error = MPI_Test(request, &done, status);
        if (error != MPI_SUCCESS || done)
            return error;
        if (looks == LOOKS)
            began = now_seconds();
        rest(j, looks, began, &since);
    }
}

/* ---- collective calls ------------------------------------------------------------------------ */

static tce_status broadcast(void *user, int32_t from, void *data, size_t size)
{
    job *j = user;
    unsigned char *bytes = data;
    while (size > 0) {
        const size_t n = size < BLOCK ? size : BLOCK;
        MPI_Request request;
        int error = MPI_Ibcast(bytes, (int)n, MPI_BYTE, from, j->all, &request);
        if (error == MPI_SUCCESS)
            error = wait_for(j, &request, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS)
            return fail_mpi(j, "MPI_Ibcast", error);
        bytes += n;
        size -= n;
    }
    return TCE_OK;
}

/* Pieces of so many bytes that an int cannot count them, one after the other. */
static tce_status gather_large(job *j, void *all, const size_t *at)
{
    tce_status status = TCE_OK;
    for (int32_t s = 0; status == TCE_OK && s < j->r.n; s++)
        status = broadcast(j, s, (unsigned char *)all + at[s], at[s + 1] - at[s]);
    return status;
}

static void set_counts(const job *j, const size_t *at, int *counts, int *displacements)
{
    for (int32_t s = 0; s < j->r.n; s++) {
        counts[s] = (int)(at[s + 1] - at[s]);
        displacements[s] = (int)at[s];
    }
}

static tce_status gather(void *user, void *all, const size_t *at)
{
    job *j = user;
    MPI_Request request;
    if (at[j->r.n] > INT_MAX)
        return gather_large(j, all, at);
    set_counts(j, at, j->counts, j->displacements);
    int error = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, j->counts,
                                j->displacements, MPI_BYTE, j->all, &request);
    if (error == MPI_SUCCESS)
        error = wait_for(j, &request, MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS ? TCE_OK : fail_mpi(j, "MPI_Iallgatherv", error);
}

static tce_status exchange(void *user, const void *send, const size_t *send_at, void *receive,
                           const size_t *receive_at)
{
    job *j = user;
    MPI_Request request;
    if (send_at[j->r.n] > INT_MAX || receive_at[j->r.n] > INT_MAX)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "rank %d exchanges more than 2 GB at once: use smaller networks",
                        (int)j->r.rank);
    set_counts(j, send_at, j->counts, j->displacements);
    set_counts(j, receive_at, j->receive_counts, j->receive_displacements);
    int error = MPI_Ialltoallv(send, j->counts, j->displacements, MPI_BYTE, receive,
                               j->receive_counts, j->receive_displacements, MPI_BYTE, j->all,
                               &request);
    if (error == MPI_SUCCESS)
        error = wait_for(j, &request, MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS ? TCE_OK : fail_mpi(j, "MPI_Ialltoallv", error);
}

/* ---- messages -------------------------------------------------------------------------------- */

static tce_status send_message(void *user, int32_t to, const void *data, size_t size)
{
    job *j = user;
    MPI_Request request;
    int error = MPI_Isend(data, (int)size, MPI_BYTE, to, MESSAGE_TAG, j->all, &request);
    if (error == MPI_SUCCESS)
        error = wait_for(j, &request, MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS ? TCE_OK : fail_mpi(j, "MPI_Isend", error);
}

static tce_status receive_message(void *user, int32_t from, void *data, size_t size,
                                  int32_t *out_from)
{
    job *j = user;
    MPI_Request request;
    MPI_Status told;
    int n = 0;
    int error = MPI_Irecv(data, (int)size, MPI_BYTE, from < 0 ? MPI_ANY_SOURCE : from, MESSAGE_TAG,
                          j->all, &request);
    if (error == MPI_SUCCESS)
        error = wait_for(j, &request, &told);
    if (error == MPI_SUCCESS)
        error = MPI_Get_count(&told, MPI_BYTE, &n);
    if (error != MPI_SUCCESS)
        return fail_mpi(j, "MPI_Irecv", error);
    *out_from = told.MPI_SOURCE;
    return (size_t)n == size ? TCE_OK
                             : tce_fail(TCE_E_SHAPE, "rank %d sent %d bytes, %zu were expected",
                                        told.MPI_SOURCE, n, size);
}

static tce_status message_waits(void *user, int *out)
{
    job *j = user;
    const int error = MPI_Iprobe(MPI_ANY_SOURCE, MESSAGE_TAG, j->all, out, MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS ? TCE_OK : fail_mpi(j, "MPI_Iprobe", error);
}

/* ---- the job --------------------------------------------------------------------------------- */

static const ranks_transport MPI = {
    .exchange = exchange,
    .gather = gather,
    .broadcast = broadcast,
    .send = send_message,
    .receive = receive_message,
    .waiting = message_waits,
};

static void free_job(job *j)
{
    ranks_close(&j->r);
    free(j->counts);
    free(j);
}

static tce_status open_job(job *j)
{
    int rank = 0, n = 1;
    int error = MPI_Comm_dup(MPI_COMM_WORLD, &j->all);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_set_errhandler(j->all, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_rank(j->all, &rank);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_size(j->all, &n);
    if (error != MPI_SUCCESS)
        return fail_mpi(j, "MPI_Comm_dup", error);
    j->counts = malloc(4 * (size_t)n * sizeof *j->counts);
    if (!j->counts)
        return tce_fail(TCE_E_NOMEM, "no memory for %d ranks", n);
    j->displacements = j->counts + n;
    j->receive_counts = j->counts + 2 * n;
    j->receive_displacements = j->counts + 3 * n;
    return ranks_open(&j->r, rank, n, &MPI, j);
}

/*
 * The only rank has nobody to wait for. What it starts, the runs of a queue, has its environment,
 * and would take itself for the same rank of the same job.
 */
static tce_status leave(void)
{
    has_joined = 0;
    MPI_Finalize();
    return setenv(ALONE, "1", 1) == 0 ? TCE_OK
                                      : tce_fail(TCE_E_NOMEM, "no memory for the environment");
}

tce_status ranks_begin(ranks **out)
{
    int provided = 0;
    *out = NULL;
    if (getenv(ALONE))
        return TCE_OK;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return tce_fail(TCE_E_IO, "MPI cannot be started");
    has_joined = 1;
    if (provided < MPI_THREAD_FUNNELED)
        return tce_fail(TCE_E_UNSUPPORTED, "this MPI was built without threads");
    job *j = calloc(1, sizeof *j);
    if (!j)
        return tce_fail(TCE_E_NOMEM, "no memory for the ranks");
    const tce_status status = open_job(j);
    if (status != TCE_OK) {
        free_job(j);
        return status;
    }
    if (j->r.n == 1) {
        free_job(j);
        return leave();
    }
    *out = &j->r;
    return TCE_OK;
}

int ranks_are_possible(void)
{
    return 1;
}

void ranks_end(ranks *r)
{
    if (r && r->broken)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (has_joined)
        MPI_Finalize();
    if (r)
        free_job(r->user);
}

void ranks_watch(ranks *r, int (*told_to_end)(void))
{
    if (r)
        ((job *)r->user)->told_to_end = told_to_end;
}
