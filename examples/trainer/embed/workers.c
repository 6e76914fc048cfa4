/*
 * Environments in other processes, as a task: requests and answers go through a socket per worker,
 * arrays through memory that both processes have. No thread needs anything but this file to wait
 * for an answer, so an interpreter in this process is not in the way of its pool.
 *
 * A path is one request: it is sent when the path is known, and the steps of the rollout then read
 * what has come of it. The worker stops where the episode ends or fails, as the rollout does.
 */
#define _XOPEN_SOURCE 700 /* mkstemp, waitid */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "embed/embed.h"
#include "tools/temporary.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

#define TEXT_LIMIT 65536

/* A process that has environments. */
typedef struct worker {
    size_t number;
    int socket;
    pid_t process;
    int gone;     /* it has ended; nothing is sent to it any more */
    char how[64]; /* and how */
    pthread_mutex_t sending, receiving, ending;
} worker;

/* An environment, in a worker. */
typedef struct remote {
    tce_train_workers *all;
    worker *at;
    int32_t number;
    unsigned char *memory; /* [layout.size], the worker's too */

    /* the request under way, and its answer; `answered` is written with at->receiving held */
    int answered;
    int32_t status;
    int32_t n_steps;
    char *text; /* message, 0, traceback; the environment's to free */

    /* a path: the one that was sent, and how many of its steps the rollout has read */
    const double *path;
    int waiting; /* for the path's answer */
    int32_t next;
    int has_metrics;
} remote;

struct tce_train_workers {
    tce_env_spec spec;
    tce_env_vtable vtable;
    char name[TASK_NAME];
    tce_train_layout layout;
    size_t n_state;
    size_t n_workers;
    worker *list; /* [n_workers] */
    tce_pool *pool;
    size_t capacity; /* of remotes */
    size_t n_remotes;
    remote **remotes;      /* [capacity] by number; NULL: none any more */
    pthread_mutex_t guard; /* of remotes and traceback */
    char traceback[TEXT_LIMIT];
};

/* ---- memory that two processes have ---------------------------------------------------------- */

/* Rounded up to what any number needs. */
static size_t place(size_t *at, size_t size)
{
    const size_t here = *at, line = 64;
    *at = (here + size + line - 1) / line * line;
    return here;
}

void tce_train_layout_of(const tce_env_spec *spec, size_t n_state, tce_train_layout *out)
{
    const size_t T = (size_t)spec->n_steps, D = (size_t)spec->n_dof, O = (size_t)spec->n_obs;
    size_t at = 0;
    *out = (tce_train_layout){ .struct_size = sizeof *out };
    out->random = place(&at, sizeof(tce_random));
    out->pos = place(&at, T * D * sizeof(double));
    out->vel = place(&at, T * D * sizeof(double));
    out->action = place(&at, (size_t)spec->n_action * sizeof(double));
    out->obs = place(&at, T * O * sizeof(double));
    out->results = place(&at, T * sizeof(tce_env_result));
    out->metrics = place(&at, (size_t)spec->n_metrics * sizeof(double));
    out->state = place(&at, n_state * sizeof(double));
    out->size = at;
}

/*
 * Room for the whole file, taken now: a write into a part that finds no room later ends the
 * process. 0, or what went wrong.
 */
static int reserve(int file, size_t size)
{
    int error = EOPNOTSUPP;
#ifndef __APPLE__
    while ((error = posix_fallocate(file, 0, (off_t)size)) == EINTR)
        ;
#endif
    if (error == EOPNOTSUPP || error == EINVAL)
        error = ftruncate(file, (off_t)size) == 0 ? 0 : errno;
    return error;
}

/* A file without a name in memory, or -1: where the system has no place for that, or no room. */
static int open_in_memory(size_t size)
{
    char path[] = "/dev/shm/tce-XXXXXX";
    const int file = mkstemp(path);
    if (file < 0)
        return -1;
    unlink(path);
    if (reserve(file, size) == 0)
        return file;
    close(file);
    return -1;
}

/* The same on a disk; *error: 0, or why it has no room. */
static tce_status open_on_disk(size_t size, int *out, int *error)
{
    FILE *stream = NULL;
    const tce_status status = temporary_open(&stream);
    if (status != TCE_OK)
        return status;
    *out = dup(fileno(stream));
    *error = *out < 0 ? errno : reserve(*out, size);
    fclose(stream);
    return TCE_OK;
}

/* In memory where there is room. */
static tce_status make_memory(size_t size, int *out_file, unsigned char **out)
{
    int error = 0, file = open_in_memory(size);
    const tce_status status = file < 0 ? open_on_disk(size, &file, &error) : TCE_OK;
    if (status != TCE_OK)
        return status;
    if (file >= 0)
        fcntl(file, F_SETFD, FD_CLOEXEC);
    void *memory = MAP_FAILED;
    if (error == 0) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        error = errno;
    }
    if (memory == MAP_FAILED) {
        if (file >= 0)
            close(file);
        return tce_fail(TCE_E_NOMEM,
                        "no room in /dev/shm, nor for a file in TMPDIR, for the %zu bytes that an "
                        "environment shares with its worker: %s; make one of them larger (of a "
                        "container: --shm-size), lower collect.environments, or use workers=0",
                        size, strerror(error));
    }
    *out = memory;
    *out_file = file;
    return TCE_OK;
}

static double *doubles_at(const remote *r, size_t offset)
{
    return (double *)(void *)(r->memory + offset);
}

/* ---- requests and answers -------------------------------------------------------------------- */

/* What became of a worker that does not answer, for a message; it may take a moment to be known. */
static void find_end(worker *w)
{
    const struct timespec pause = { 0, 10 * 1000 * 1000 };
    snprintf(w->how, sizeof w->how, "or closed its connection");
    for (int i = 0; i < 100; i++) {
        siginfo_t found;
        memset(&found, 0, sizeof found);
        if (waitid(P_PID, (id_t)w->process, &found, WEXITED | WNOHANG | WNOWAIT) != 0)
            return;
        if (found.si_pid == w->process) {
            snprintf(w->how, sizeof w->how,
                     found.si_code == CLD_EXITED ? "with exit status %d" : "by signal %d",
                     found.si_status);
            return;
        }
        nanosleep(&pause, NULL);
    }
}

static tce_status fail_gone(worker *w)
{
    pthread_mutex_lock(&w->ending);
    if (!w->gone)
        find_end(w);
    w->gone = 1;
    pthread_mutex_unlock(&w->ending);
    return tce_fail(TCE_E_ENV,
                    "worker %zu of the environments, process %ld, has ended %s; workers=0 runs the "
                    "environments in this process",
                    w->number, (long)w->process, w->how);
}

static tce_status receive(worker *w, void *out, size_t size)
{
    unsigned char *at = out;
    while (size > 0) {
        const ssize_t n = recv(w->socket, at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail_gone(w);
        at += n;
        size -= (size_t)n;
    }
    return TCE_OK;
}

/* A request with what follows it; file: -1, or a descriptor that goes with it. */
static tce_status send_all(worker *w, const int32_t request[4], const char *text, int file)
{
    struct iovec parts[2] = { { (void *)request, 4 * sizeof *request },
                              { (void *)text, (size_t)request[3] } };
    union {
        struct cmsghdr head;
        unsigned char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message;
    memset(&message, 0, sizeof message);
    memset(&control, 0, sizeof control);
    message.msg_iov = parts;
    message.msg_iovlen = request[3] > 0 ? 2 : 1;
    if (file >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof file);
        memcpy(CMSG_DATA(head), &file, sizeof file);
    }
    /* a request is far shorter than what a socket takes at once */
    ssize_t n;
    while ((n = sendmsg(w->socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return n == (ssize_t)(4 * sizeof *request) + request[3] ? TCE_OK : fail_gone(w);
}

static tce_status ask(remote *r, int32_t what, int32_t T, const char *text, int file)
{
    const int32_t request[4] = { what, r->number, T, text ? (int32_t)strlen(text) : 0 };
    worker *w = r->at;
    r->answered = 0;
    pthread_mutex_lock(&w->sending);
    const tce_status status = w->gone ? fail_gone(w) : send_all(w, request, text, file);
    pthread_mutex_unlock(&w->sending);
    return status;
}

/* Takes the next answer of a worker to the environment that asked. */
static tce_status take_answer(worker *w, tce_train_workers *all)
{
    int32_t answer[4];
    char *text = NULL;
    tce_status status = receive(w, answer, sizeof answer);
    if (status == TCE_OK && (answer[3] < 0 || answer[3] >= TEXT_LIMIT))
        status = fail_gone(w);
    if (status == TCE_OK && answer[3] > 0) {
        text = calloc((size_t)answer[3] + 2, 1);
        status = text ? receive(w, text, (size_t)answer[3])
                      : tce_fail(TCE_E_NOMEM, "no memory for a message of a worker");
    }
    pthread_mutex_lock(&all->guard);
    remote *r = status == TCE_OK && answer[0] >= 0 && (size_t)answer[0] < all->n_remotes
                    ? all->remotes[answer[0]]
                    : NULL;
    pthread_mutex_unlock(&all->guard);
    if (status == TCE_OK && !r)
        status = fail_gone(w);
    if (status != TCE_OK) {
        free(text);
        return status;
    }
    free(r->text);
    r->text = text;
    r->status = answer[1];
    r->n_steps = answer[2];
    r->answered = 1;
    return TCE_OK;
}

/* What an environment said of its failure. */
static tce_status fail_remote(remote *r)
{
    const char *message = r->text ? r->text : "";
    pthread_mutex_lock(&r->all->guard);
    snprintf(r->all->traceback, sizeof r->all->traceback, "%s",
             r->text ? r->text + strlen(r->text) + 1 : "");
    pthread_mutex_unlock(&r->all->guard);
    return tce_fail(r->status, "%s", message);
}

/* Waits for the answer of an environment, whose worker may have others to give before. */
static tce_status wait_for(remote *r)
{
    worker *w = r->at;
    tce_status status = TCE_OK;
    pthread_mutex_lock(&w->receiving);
    while (status == TCE_OK && !r->answered)
        status = w->gone ? fail_gone(w) : take_answer(w, r->all);
    pthread_mutex_unlock(&w->receiving);
    return status;
}

/* A request whose answer is waited for. */
static tce_status request(remote *r, int32_t what, int32_t T, const char *text, int file)
{
    tce_status status = ask(r, what, T, text, file);
    if (status == TCE_OK)
        status = wait_for(r);
    return status == TCE_OK && r->status != TCE_OK ? fail_remote(r) : status;
}

/* An answer that nobody wants any more would be taken for that of the next request. */
static tce_status finish_path(remote *r)
{
    const tce_status status = r->waiting ? wait_for(r) : TCE_OK;
    r->waiting = 0;
    r->path = NULL;
    r->has_metrics = 0;
    return status;
}

/* ---- the task -------------------------------------------------------------------------------- */

/* Room for one more environment. */
static tce_status add_remote(tce_train_workers *all, remote *r)
{
    tce_status status = TCE_OK;
    pthread_mutex_lock(&all->guard);
    if (all->n_remotes == all->capacity) {
        const size_t capacity = all->capacity ? 2 * all->capacity : 64;
        remote **more = realloc(all->remotes, capacity * sizeof *more);
        if (more) {
            all->remotes = more;
            all->capacity = capacity;
        } else {
            status = tce_fail(TCE_E_NOMEM, "no memory for %zu environments", capacity);
        }
    }
    if (status == TCE_OK) {
        r->number = (int32_t)all->n_remotes;
        r->at = &all->list[all->n_remotes % all->n_workers];
        all->remotes[all->n_remotes++] = r;
    }
    pthread_mutex_unlock(&all->guard);
    return status;
}

static void remote_destroy(void *instance)
{
    remote *r = instance;
    tce_train_workers *all = r->all;
    if (r->at && !r->at->gone && finish_path(r) == TCE_OK)
        (void)request(r, TCE_TRAIN_ASK_DESTROY, 0, NULL, -1);
    pthread_mutex_lock(&all->guard);
    if (r->at)
        all->remotes[r->number] = NULL;
    pthread_mutex_unlock(&all->guard);
    if (r->memory)
        munmap(r->memory, all->layout.size);
    free(r->text);
    free(r);
}

static tce_status remote_create(void *user, const char *settings, void **out)
{
    tce_train_workers *all = user;
    int file = -1;
    remote *r = calloc(1, sizeof *r);
    if (!r)
        return tce_fail(TCE_E_NOMEM, "no memory for an environment");
    r->all = all;
    tce_status status = make_memory(all->layout.size, &file, &r->memory);
    if (status == TCE_OK)
        status = add_remote(all, r);
    if (status == TCE_OK)
        status = request(r, TCE_TRAIN_ASK_CREATE, 0, settings, file);
    if (file >= 0)
        close(file);
    if (status != TCE_OK) {
        remote_destroy(r);
        return status;
    }
    *out = r;
    return TCE_OK;
}

static tce_status remote_spec(void *instance, tce_env_spec *out)
{
    const tce_env_spec *spec = &((const remote *)instance)->all->spec;
    const size_t room = out->struct_size, size = room < sizeof *spec ? room : sizeof *spec;
    memcpy(out, spec, size);
    out->struct_size = room;
    return TCE_OK;
}

static tce_status remote_reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                               double *out_vel)
{
    remote *r = instance;
    const tce_env_spec *spec = &r->all->spec;
    const tce_train_layout *at = &r->all->layout;
    tce_status status = finish_path(r);
    if (status != TCE_OK)
        return status;
    memcpy(r->memory + at->random, random, sizeof *random);
    status = request(r, TCE_TRAIN_ASK_RESET, 0, NULL, -1);
    if (status != TCE_OK)
        return status;
    memcpy(random, r->memory + at->random, sizeof *random);
    memcpy(out_obs, doubles_at(r, at->obs), (size_t)spec->n_obs * sizeof(double));
    if (spec->n_dof > 0) {
        memcpy(out_pos, doubles_at(r, at->pos), (size_t)spec->n_dof * sizeof(double));
        memcpy(out_vel, doubles_at(r, at->vel), (size_t)spec->n_dof * sizeof(double));
    }
    return TCE_OK;
}

/* Sends a path [T, D]; event: of the step before. */
static tce_status send_path(remote *r, int32_t T, const double *pos, const double *vel,
                            int32_t event)
{
    const size_t D = (size_t)r->all->spec.n_dof;
    const tce_train_layout *at = &r->all->layout;
    tce_env_result *results = (tce_env_result *)(void *)(r->memory + at->results);
    memcpy(doubles_at(r, at->pos), pos, (size_t)T * D * sizeof *pos);
    memcpy(doubles_at(r, at->vel), vel, (size_t)T * D * sizeof *vel);
    memset(results, 0, (size_t)T * sizeof *results);
    results[0].event = event;
    return ask(r, TCE_TRAIN_ASK_STEP, T, NULL, -1);
}

static void remote_begin_path(void *instance, size_t T, const double *pos, const double *vel)
{
    remote *r = instance;
    if (T > (size_t)r->all->spec.n_steps || finish_path(r) != TCE_OK)
        return;
    /* where it cannot be sent the step says why */
    if (send_path(r, (int32_t)T, pos, vel, 0) != TCE_OK)
        return;
    r->path = pos;
    r->waiting = 1;
    r->next = 0;
}

/* Step t of the path that was sent, or what went wrong at it. */
static tce_status read_step(remote *r, int32_t t, double *out_obs, tce_env_result *out)
{
    const size_t O = (size_t)r->all->spec.n_obs;
    const tce_train_layout *at = &r->all->layout;
    const tce_env_result *results = (const tce_env_result *)(const void *)(r->memory + at->results);
    if (t >= r->n_steps)
        return r->status != TCE_OK
                   ? fail_remote(r)
                   : tce_fail(TCE_E_STATE, "the episode is over or was never begun: reset the "
                                           "environment before it is stepped");
    memcpy(out_obs, doubles_at(r, at->obs) + (size_t)t * O, O * sizeof *out_obs);
    *out = results[t];
    return TCE_OK;
}

static tce_status remote_step(void *instance, const double *pos, const double *vel, double *out_obs,
                              tce_env_result *out)
{
    remote *r = instance;
    const size_t D = (size_t)r->all->spec.n_dof;

    /* the rollout reads the path that was announced, row after row */
    const int announced = r->path && pos == r->path + (size_t)r->next * D;
    tce_status status = TCE_OK;
    if (!announced) {
        status = finish_path(r);
        if (status == TCE_OK)
            status = send_path(r, 1, pos, vel, out->event);
        r->waiting = status == TCE_OK;
        r->next = 0;
    }
    if (status == TCE_OK && r->waiting) {
        status = wait_for(r);
        r->waiting = 0;
        r->has_metrics = status == TCE_OK && r->status == TCE_OK;
    }
    if (status == TCE_OK)
        status = read_step(r, r->next, out_obs, out);
    r->next++;
    return status;
}

static tce_status remote_step_action(void *instance, const double *action, double *out_obs,
                                     tce_env_result *out)
{
    remote *r = instance;
    const tce_env_spec *spec = &r->all->spec;
    const tce_train_layout *at = &r->all->layout;
    tce_env_result *results = (tce_env_result *)(void *)(r->memory + at->results);
    tce_status status = finish_path(r);
    if (status != TCE_OK)
        return status;
    memcpy(doubles_at(r, at->action), action, (size_t)spec->n_action * sizeof *action);
    results[0] = *out;
    status = request(r, TCE_TRAIN_ASK_ACTION, 1, NULL, -1);
    r->has_metrics = status == TCE_OK;
    return status == TCE_OK ? read_step(r, 0, out_obs, out) : status;
}

static tce_status remote_metrics(void *instance, double *out)
{
    remote *r = instance;
    const tce_env_spec *spec = &r->all->spec;
    const int known = r->has_metrics;
    tce_status status = TCE_OK;
    if (!known) {
        status = finish_path(r);
        if (status == TCE_OK)
            status = request(r, TCE_TRAIN_ASK_METRICS, 0, NULL, -1);
    }
    if (status == TCE_OK)
        memcpy(out, doubles_at(r, r->all->layout.metrics), (size_t)spec->n_metrics * sizeof *out);
    return status;
}

static size_t remote_n_state(void *instance)
{
    return ((const remote *)instance)->all->n_state;
}

static tce_status remote_get_state(void *instance, double *out)
{
    remote *r = instance;
    tce_status status = finish_path(r);
    if (status == TCE_OK)
        status = request(r, TCE_TRAIN_ASK_GET_STATE, 0, NULL, -1);
    if (status == TCE_OK)
        memcpy(out, doubles_at(r, r->all->layout.state), r->all->n_state * sizeof *out);
    return status;
}

static tce_status remote_set_state(void *instance, const double *state, double *out_obs)
{
    remote *r = instance;
    const tce_train_layout *at = &r->all->layout;
    tce_status status = finish_path(r);
    if (status != TCE_OK)
        return status;
    memcpy(doubles_at(r, at->state), state, r->all->n_state * sizeof *state);
    status = request(r, TCE_TRAIN_ASK_SET_STATE, 0, NULL, -1);
    if (status == TCE_OK)
        memcpy(out_obs, doubles_at(r, at->obs), (size_t)r->all->spec.n_obs * sizeof *out_obs);
    return status;
}

/* ---- the handle ------------------------------------------------------------------------------ */

tce_status tce_train_workers_create(const tce_train_workers_options *options,
                                    tce_train_workers **out)
{
    *out = NULL;
    tce_train_workers *all = calloc(1, sizeof *all);
    worker *list = calloc(options->n_workers, sizeof *list);
    if (!all || !list) {
        for (size_t i = 0; i < options->n_workers; i++)
            close(options->sockets[i]);
        free(all);
        free(list);
        return tce_fail(TCE_E_NOMEM, "no memory for %zu workers", options->n_workers);
    }
    all->list = list;
    all->n_workers = options->n_workers;
    pthread_mutex_init(&all->guard, NULL);
    for (size_t i = 0; i < all->n_workers; i++) {
        list[i].number = i;
        list[i].socket = options->sockets[i];
        list[i].process = options->processes[i];
        fcntl(list[i].socket, F_SETFD, FD_CLOEXEC);
        pthread_mutex_init(&list[i].sending, NULL);
        pthread_mutex_init(&list[i].receiving, NULL);
        pthread_mutex_init(&list[i].ending, NULL);
    }
    memcpy(&all->spec, options->spec, sizeof all->spec);
    all->n_state = options->n_state;
    tce_train_layout_of(&all->spec, all->n_state, &all->layout);
    snprintf(all->name, sizeof all->name, "%s", options->name);
    all->vtable = (tce_env_vtable){ .struct_size = sizeof all->vtable,
                                    .abi = TCE_ENV_ABI,
                                    .name = all->name,
                                    .description = "environments in other processes",
                                    .create = remote_create,
                                    .destroy = remote_destroy,
                                    .spec = remote_spec,
                                    .reset = remote_reset,
                                    .step = remote_step,
                                    .step_action = remote_step_action,
                                    .metrics = remote_metrics,
                                    .n_state = remote_n_state,
                                    .get_state = remote_get_state,
                                    .set_state = remote_set_state };

    /* threads that wait, one for each worker: the processors are the workers' */
    tce_pool_options pool;
    tce_pool_options_init(&pool, sizeof pool);
    pool.n_threads = (int32_t)options->n_workers;
    const tce_status status = tce_pool_create(&pool, NULL, &all->pool);
    if (status != TCE_OK) {
        tce_train_workers_free(all);
        return status;
    }
    *out = all;
    return TCE_OK;
}

void tce_train_workers_free(tce_train_workers *workers)
{
    if (!workers)
        return;
    for (size_t i = 0; i < workers->n_workers; i++) {
        worker *w = &workers->list[i];
        close(w->socket);
        pthread_mutex_destroy(&w->sending);
        pthread_mutex_destroy(&w->receiving);
        pthread_mutex_destroy(&w->ending);
    }
    pthread_mutex_destroy(&workers->guard);
    tce_pool_free(workers->pool);
    free(workers->remotes);
    free(workers->list);
    free(workers);
}

void tce_train_workers_task(tce_train_workers *workers, tce_train_task *out)
{
    *out = (tce_train_task){ .struct_size = sizeof *out,
                             .vtable = &workers->vtable,
                             .user = workers,
                             .pool = workers->pool,
                             .begin_path = remote_begin_path };
}

const char *tce_train_workers_traceback(const tce_train_workers *workers)
{
    return workers->traceback;
}
