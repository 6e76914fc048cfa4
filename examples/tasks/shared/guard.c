/*
 * Models shared by name, MuJoCo's errors as statuses, physics states.
 */
#include "guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_SIZE 1000

/* ---- errors and warnings --------------------------------------------------------------------- */

/* Where an error of this thread jumps to; NULL outside of mujoco_try. */
typedef struct guard {
    jmp_buf place;
    char message[MESSAGE_SIZE];
} guard;

static __thread guard *current_guard;
static void (*former_error)(const char *message);

/*
 * Called by MuJoCo, must not return: what follows an error in MuJoCo's code does not expect to run.
 */
static void error_handler(const char *message)
{
    guard *g = current_guard;
    if (g) {
        snprintf(g->message, sizeof g->message, "%s", message);
        longjmp(g->place, 1);
    }
    if (former_error)
        former_error(message);
    fprintf(stderr, "MuJoCo: %s\n", message);
    abort();
}

/*
 * MuJoCo counts warnings in mjData, where step_checked finds them; without a handler it would
 * also write MUJOCO_LOG.TXT.
 */
static void warning_handler(const char *message)
{
    (void)message;
}

tce_status mujoco_try(void (*work)(void *context), void *context)
{
    guard here;
    guard *const outer = current_guard;
    if (setjmp(here.place) == 0) {
        current_guard = &here;
        work(context);
        current_guard = outer;
        return TCE_OK;
    }
    current_guard = outer;
    return tce_fail(TCE_E_ENV, "MuJoCo: %s", here.message);
}

/* ---- models ---------------------------------------------------------------------------------- */

/* One model in use, in a list of all of them. */
typedef struct shared_model {
    struct shared_model *next;
    char *name;
    mjModel *model;
    size_t users;
} shared_model;

static pthread_mutex_t models_lock = PTHREAD_MUTEX_INITIALIZER;
static shared_model *models;

/* "3.3.0" from 330, "3.17.0" from 3017000: MuJoCo changed its numbering after 3.9. */
static void version_text(int number, char *out, size_t size)
{
    const int base = number < 1000 ? 10 : 1000;
    snprintf(out, size, "%d.%d.%d", number / (base * base), number / base % base, number % base);
}

static tce_status check_version(void)
{
    if (mj_version() == mjVERSION_HEADER)
        return TCE_OK;
    char compiled[32];
    version_text(mjVERSION_HEADER, compiled, sizeof compiled);
    return tce_fail(
        TCE_E_VERSION,
        "the tasks were compiled for MuJoCo %s, but the library that was loaded is %s: build them "
        "again with `make clean && make program`, or check MUJOCO_DIR and LD_LIBRARY_PATH",
        compiled, mj_versionString());
}

typedef struct parse_job {
    const char *name, *xml;
    mjModel *model;
    char error[MESSAGE_SIZE];
} parse_job;

static void parse(void *context)
{
    parse_job *job = context;
    mjVFS files;
    mj_defaultVFS(&files);
    if (mj_addBufferVFS(&files, job->name, job->xml, (int)strlen(job->xml)) == 0)
        job->model = mj_loadXML(job->name, &files, job->error, sizeof job->error);
    else
        snprintf(job->error, sizeof job->error, "the model does not fit into memory");
    mj_deleteVFS(&files);
}

static tce_status load_text(void *context, mjModel **out)
{
    parse_job *job = context;
    const tce_status status = mujoco_try(parse, job);
    if (status != TCE_OK)
        return status;
    if (!job->model)
        return tce_fail(TCE_E_ENV, "MuJoCo refused the model %s: %s", job->name, job->error);
    *out = job->model;
    return TCE_OK;
}

/* Puts a model into a new entry, which owns it, and frees it when that fails; the lock is held. */
static tce_status add_model(const char *name, mjModel *model, shared_model **out)
{
    shared_model *entry = calloc(1, sizeof *entry);
    char *copy = strdup(name);
    if (!entry || !copy) {
        free(entry);
        free(copy);
        mj_deleteModel(model);
        return tce_fail(TCE_E_NOMEM, "no memory for the model %s", name);
    }
    entry->name = copy;
    entry->model = model;
    entry->next = models;
    models = entry;
    *out = entry;
    return TCE_OK;
}

tce_status mujoco_model_share(const char *name, tce_status (*load)(void *context, mjModel **out),
                              void *context, const mjModel **out)
{
    tce_status status = check_version();
    if (status != TCE_OK)
        return status;

    pthread_mutex_lock(&models_lock);
    if (mju_user_error != error_handler) {
        former_error = mju_user_error;
        mju_user_error = error_handler;
        mju_user_warning = warning_handler;
    }
    shared_model *entry = models;
    while (entry && strcmp(entry->name, name) != 0)
        entry = entry->next;
    if (!entry) {
        mjModel *model = NULL;
        status = load(context, &model);
        if (status == TCE_OK)
            status = add_model(name, model, &entry);
    }
    if (status == TCE_OK) {
        entry->users++;
        *out = entry->model;
    }
    pthread_mutex_unlock(&models_lock);
    return status;
}

tce_status mujoco_model_open(const char *name, const char *xml, const mjModel **out)
{
    parse_job job = { name, xml, NULL, "" };
    return mujoco_model_share(name, load_text, &job, out);
}

/* With the last model the handlers go too: the task library may be unloaded next. */
void mujoco_model_close(const mjModel *model)
{
    pthread_mutex_lock(&models_lock);
    shared_model **link = &models;
    while (*link && (*link)->model != model)
        link = &(*link)->next;
    shared_model *entry = *link;
    if (entry && --entry->users == 0) {
        *link = entry->next;
        mj_deleteModel(entry->model);
        free(entry->name);
        free(entry);
    }
    if (!models && mju_user_error == error_handler) {
        mju_user_error = former_error;
        mju_user_warning = NULL;
        /*
         * MuJoCo keeps the last parsed file, for its own saving; unloaded with us, nobody could
         * free it
         */
        mj_freeLastXML();
    }
    pthread_mutex_unlock(&models_lock);
}

tce_status mujoco_find(const mjModel *model, int type, const char *name, int *out)
{
    *out = mj_name2id(model, type, name);
    return *out >= 0 ? TCE_OK
                     : tce_fail(TCE_E_ENV, "the model has no %s \"%s\"", mju_type2Str(type), name);
}

tce_status mujoco_find_parts(const mjModel *model, size_t n, const mujoco_part *parts)
{
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < n; i++)
        status = mujoco_find(model, parts[i].type, parts[i].name, parts[i].out);
    return status;
}

tce_status mujoco_check_sizes(const mjModel *model, const char *task, int nq, int nv, int nu)
{
    if (model->nq == nq && model->nv == nv && model->nu == nu)
        return TCE_OK;
    return tce_fail(TCE_E_ENV,
                    "%s: the model has %d positions, %d velocities and %d motors, not %d, %d and "
                    "%d: another file than `make deps` fetches",
                    task, (int)model->nq, (int)model->nv, (int)model->nu, nq, nv, nu);
}

/* ---- physics --------------------------------------------------------------------------------- */

/* Arguments of the guarded calls. */
typedef struct physics_job {
    const mjModel *model;
    mjData *data;
    int n;
    void (*change)(void *context);
    void *context;
    const double *state;
} physics_job;

static void make_data(void *context)
{
    physics_job *job = context;
    job->data = mj_makeData(job->model);
}

tce_status mujoco_data_create(const mjModel *model, mjData **out)
{
    physics_job job = { .model = model };
    const tce_status status = mujoco_try(make_data, &job);
    if (status != TCE_OK || !job.data)
        return tce_fail(TCE_E_NOMEM, "no memory for the data of a MuJoCo environment");
    *out = job.data;
    return TCE_OK;
}

static void advance(void *context)
{
    physics_job *job = context;
    physics_step(job->model, job->data, job->n);
    mj_kinematics(job->model, job->data);
}

/* Warnings after which the state is not physics any more. */
static tce_status check_warnings(const mjData *data)
{
    static const int FATAL[] = { mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC, mjWARN_BADCTRL };
    static const char *const WHAT[] = { "position", "velocity", "acceleration", "control" };
    for (size_t i = 0; i < sizeof FATAL / sizeof FATAL[0]; i++) {
        const mjWarningStat *warning = &data->warning[FATAL[i]];
        if (warning->number > 0)
            return tce_fail(TCE_E_ENV,
                            "MuJoCo: NaN, infinite or huge %s in degree of freedom %d near t = %g "
                            "s: the simulation "
                            "is unstable",
                            WHAT[i], warning->lastinfo, data->time);
    }
    return TCE_OK;
}

tce_status step_checked(const mjModel *model, mjData *data, int n)
{
    physics_job job = { .model = model, .data = data, .n = n };
    const tce_status status = mujoco_try(advance, &job);
    return status == TCE_OK ? check_warnings(data) : status;
}

static void restart(void *context)
{
    physics_job *job = context;
    mj_resetData(job->model, job->data);
    if (job->change)
        job->change(job->context);
    mj_kinematics(job->model, job->data);
}

tce_status mujoco_restart(const mjModel *model, mjData *data, void (*change)(void *context),
                          void *context)
{
    physics_job job = { .model = model, .data = data, .change = change, .context = context };
    return mujoco_try(restart, &job);
}

/* ---- states ---------------------------------------------------------------------------------- */

size_t mujoco_n_state(const mjModel *model)
{
    return (size_t)mj_stateSize(model, mjSTATE_INTEGRATION);
}

void mujoco_get_state(const mjModel *model, const mjData *data, double *out)
{
    mj_getState(model, data, out, mjSTATE_INTEGRATION);
}

static void put_state(void *context)
{
    physics_job *job = context;
    mj_resetData(job->model, job->data);
    mj_setState(job->model, job->data, job->state, mjSTATE_INTEGRATION);
    mj_kinematics(job->model, job->data);
}

tce_status mujoco_set_state(const mjModel *model, mjData *data, const double *state)
{
    physics_job job = { .model = model, .data = data, .state = state };
    return mujoco_try(put_state, &job);
}
