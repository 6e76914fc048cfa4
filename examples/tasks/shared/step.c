/*
 * Steps of the physics, and a clock around them.
 */
#include "step.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "guard.h"
#include "step_cost.h"

/* ---- steps ----------------------------------------------------------------------------------- */

typedef struct data_job {
    const mjModel *model;
    mjData *data;
} data_job;

static void make_data(void *context)
{
    data_job *job = context;
    job->data = mj_makeData(job->model);
}

tce_status data_create(const mjModel *model, mjData **out)
{
    data_job job = { model, NULL };
    const tce_status status = mujoco_try(make_data, &job);
    if (status != TCE_OK || !job.data)
        return tce_fail(TCE_E_NOMEM, "no memory for the data of a MuJoCo environment");
    *out = job.data;
    return TCE_OK;
}

/* Warnings after which the state is not physics any more. */
static void check_warnings(const mjData *data)
{
    static const int FATAL[] = { mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC, mjWARN_BADCTRL };
    static const char *const WHAT[] = { "position", "velocity", "acceleration", "control" };
    for (size_t i = 0; i < sizeof FATAL / sizeof FATAL[0]; i++) {
        const mjWarningStat *warning = &data->warning[FATAL[i]];
        if (warning->number > 0)
            mujoco_stop("MuJoCo: NaN, infinite or huge %s in degree of freedom %d near t = %g s: "
                        "the simulation is unstable",
                        WHAT[i], warning->lastinfo, data->time);
    }
}

void step_checked(const mjModel *model, mjData *data, int n)
{
    step_as_original(model, data, n);
    mj_kinematics(model, data);
    check_warnings(data);
}

void step_as_original(const mjModel *model, mjData *data, int n)
{
    const double start = step_clock();
    for (int i = 0; i < n; i++)
        mj_step(model, data);
    step_count(start, n);
}

/* ---- what they cost -------------------------------------------------------------------------- */

static int32_t measuring; /* changed between rollouts, not during one */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tasks_step_cost sums;

/*
 * Read around a call, not by MuJoCo's own timer: that reads it thirty times in an mj_step, which
 * for a small model takes longer than the step.
 */
double step_clock(void)
{
    struct timespec now;
    if (!measuring)
        return 0.0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void step_count(double start, int n)
{
    if (!measuring)
        return;
    const double spent = step_clock() - start;
    pthread_mutex_lock(&lock);
    sums.seconds += spent;
    sums.n_steps += n;
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) void tce_tasks_step_cost(int32_t measure,
                                                                tasks_step_cost *out)
{
    if (measure)
        memset(&sums, 0, sizeof sums);
    measuring = measure;
    *out = sums;
    snprintf(out->version, sizeof out->version, "%s", mj_versionString());
}
