/*
 * Steps of the physics, and what they cost alone.
 *
 * While measuring, each thread keeps a tape: a copy of the whole mjData (the warm start and all
 * that is derived too) and, from there on, what a task changes before its steps: controls and
 * places of mocap bodies. After a stretch of steps the tape is run on the copy, mj_step after
 * mj_step with nothing around them, and timed as one. It must end where the task is.
 */
#include "physics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "guard.h"

/* A stretch ends after this many steps, or calls. */
enum { MAX_STEPS = 200, MAX_CALLS = 200 };

/* The tape of a thread. */
typedef struct tape {
    const mjModel *model;
    const mjData *source; /* what is being recorded */
    double time;          /* of the source after the last call */
    unsigned session;     /* a model of another session may have had the same address */
    mjData *copy;
    mjtNum *inputs;   /* [MAX_CALLS, n_inputs] */
    int n[MAX_CALLS]; /* steps of each call */
    int n_calls, n_steps;
} tape;

static int32_t measuring; /* changed between roll-outs, not during one */
static unsigned session;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tasks_physics sums;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key;

static void free_tape(void *context)
{
    tape *t = context;
    mj_deleteData(t->copy);
    free(t->inputs);
    free(t);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, free_tape) == 0;
}

/* Threads that end after the library was unloaded must not call into it. */
__attribute__((destructor)) static void forget_key(void)
{
    if (has_key)
        pthread_key_delete(key);
}

static int n_inputs(const mjModel *model)
{
    return (int)(model->nu + 7 * model->nmocap);
}

static void get_inputs(const mjModel *model, const mjData *data, mjtNum *out)
{
    mju_copy(out, data->ctrl, model->nu);
    mju_copy(out + model->nu, data->mocap_pos, 3 * model->nmocap);
    mju_copy(out + model->nu + 3 * model->nmocap, data->mocap_quat, 4 * model->nmocap);
}

static void put_inputs(const mjModel *model, mjData *data, const mjtNum *inputs)
{
    mju_copy(data->ctrl, inputs, model->nu);
    mju_copy(data->mocap_pos, inputs + model->nu, 3 * model->nmocap);
    mju_copy(data->mocap_quat, inputs + model->nu + 3 * model->nmocap, 4 * model->nmocap);
}

/* The thread's tape for a model; NULL without memory. */
static tape *tape_for(const mjModel *model)
{
    pthread_once(&once, make_key);
    tape *t = has_key ? pthread_getspecific(key) : NULL;
    if (t && t->model == model && t->session == session)
        return t;
    if (t) {
        pthread_setspecific(key, NULL);
        free_tape(t);
    }
    t = has_key ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    t->model = model;
    t->session = session;
    t->copy = mj_makeData(model);
    t->inputs = calloc((size_t)MAX_CALLS * (size_t)n_inputs(model) + 1, sizeof *t->inputs);
    if (!t->copy || !t->inputs || pthread_setspecific(key, t) != 0) {
        free_tape(t);
        return NULL;
    }
    return t;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Before a call's steps: goes on with the stretch, or begins one here. */
static void record(tape *t, const mjData *data, int n)
{
    if (t->n_calls == 0 || t->source != data || t->time != data->time) {
        mj_copyData(t->copy, t->model, data);
        t->source = data;
        t->n_calls = 0;
        t->n_steps = 0;
    }
    get_inputs(t->model, data, t->inputs + t->n_calls * n_inputs(t->model));
    t->n[t->n_calls++] = n;
    t->n_steps += n;
}

/* The stretch once more, timed; then the tape is empty. */
static void repeat(tape *t, const mjData *data)
{
    const mjModel *model = t->model;
    const double start = seconds();
    for (int c = 0; c < t->n_calls; c++) {
        put_inputs(model, t->copy, t->inputs + c * n_inputs(model));
        for (int i = 0; i < t->n[c]; i++)
            mj_step(model, t->copy);
    }
    const double spent = seconds() - start;
    pthread_mutex_lock(&lock);
    sums.bare += spent;
    sums.n_bare += t->n_steps;
    sums.n_different += memcmp(t->copy->qpos, data->qpos, (size_t)model->nq * sizeof *data->qpos) !=
                        0;
    pthread_mutex_unlock(&lock);
    t->n_calls = 0;
}

void physics_step(const mjModel *model, mjData *data, int n)
{
    tape *t = measuring ? tape_for(model) : NULL;
    if (t)
        record(t, data, n);
    for (int i = 0; i < n; i++)
        mj_step(model, data);
    if (!t)
        return;

    t->time = data->time;
    pthread_mutex_lock(&lock);
    sums.n_calls += n;
    pthread_mutex_unlock(&lock);
    if (t->n_calls == MAX_CALLS || t->n_steps >= MAX_STEPS)
        repeat(t, data);
}

__attribute__((visibility("default"))) void tce_tasks_physics(int32_t measure, tasks_physics *out)
{
    pthread_mutex_lock(&lock);
    if (measure) {
        memset(&sums, 0, sizeof sums);
        session++;
    }
    measuring = measure;
    *out = sums;
    snprintf(out->version, sizeof out->version, "%s", mj_versionString());
    pthread_mutex_unlock(&lock);
}
