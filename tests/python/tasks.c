/*
 * A task library for the Python tests: "point", a mass on a line in D = 2 that tracks paths or
 * takes forces, and "tracker", the same without a raw action. It needs nothing of libtce but the
 * header.
 */
#include <stdlib.h>
#include <string.h>

#include <tce/env.h>

enum { D = 2, O = 2 * D, STEPS = 20 };

typedef struct {
    double pos[D], vel[D];
    int32_t step;
} point;

static const double DT = 0.05;
static const double LOW[D] = { -2.0, -2.0 }, HIGH[D] = { 2.0, 2.0 };
static const char *const METRICS[] = { "distance", "success" };

static tce_status create(void *user, const char *settings, void **out)
{
    (void)user;
    if (settings != NULL && strcmp(settings, "broken") == 0)
        return TCE_E_ENV;
    point *p = calloc(1, sizeof *p);
    if (p == NULL)
        return TCE_E_NOMEM;
    p->step = STEPS; /* no episode yet */
    *out = p;
    return TCE_OK;
}

static void destroy(void *instance)
{
    free(instance);
}

static tce_status spec_of(tce_env_spec *out, int32_t n_action)
{
    out->n_obs = O;
    out->n_dof = D;
    out->n_action = n_action;
    out->n_steps = STEPS;
    out->n_metrics = 2;
    out->n_context = 0;
    out->dt = DT;
    out->metric_names = METRICS;
    out->context = NULL;
    out->action_low = n_action > 0 ? LOW : NULL;
    out->action_high = n_action > 0 ? HIGH : NULL;
    return TCE_OK;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    return spec_of(out, D);
}

static tce_status tracker_spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    return spec_of(out, 0);
}

static void observe(const point *p, double *obs)
{
    memcpy(obs, p->pos, sizeof p->pos);
    memcpy(obs + D, p->vel, sizeof p->vel);
}

/* The start is read from the stream's key alone: this library links nothing. */
static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    point *p = instance;

    for (int d = 0; d < D; d++) {
        const uint64_t mixed = (random->key[0] + 31 * random->counter[1] + 7 * random->counter[2] +
                                (uint64_t)d) *
                               2654435761u;
        p->pos[d] = (double)(mixed % 1000) / 1000.0;
        p->vel[d] = 0.0;
    }
    p->step = 0;
    observe(p, out_obs);
    memcpy(out_pos, p->pos, sizeof p->pos);
    memcpy(out_vel, p->vel, sizeof p->vel);
    return TCE_OK;
}

static tce_status step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    point *p = instance;

    if (p->step >= STEPS)
        return TCE_E_STATE;
    out->reward = 0.0;
    for (int d = 0; d < D; d++) {
        p->vel[d] += DT * action[d];
        p->pos[d] += DT * p->vel[d];
        out->reward -= p->pos[d] * p->pos[d];
    }
    p->step++;
    out->terminated = 0;
    out->truncated = p->step >= STEPS;
    out->event = 0;
    observe(p, out_obs);
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    const point *p = instance;
    double action[D];

    for (int d = 0; d < D; d++)
        action[d] = 40.0 * (pos[d] - p->pos[d]) + 10.0 * (vel[d] - p->vel[d]);
    return step_action(instance, action, out_obs, out);
}

static tce_status metrics(void *instance, double *out)
{
    const point *p = instance;

    out[0] = p->pos[0] * p->pos[0] + p->pos[1] * p->pos[1];
    out[1] = out[0] < 0.01;
    return TCE_OK;
}

static size_t n_state(void *instance)
{
    (void)instance;
    return O + 1;
}

static tce_status get_state(void *instance, double *out)
{
    const point *p = instance;

    observe(p, out);
    out[O] = p->step;
    return TCE_OK;
}

static tce_status set_state(void *instance, const double *state, double *out_obs)
{
    point *p = instance;

    memcpy(p->pos, state, sizeof p->pos);
    memcpy(p->vel, state + D, sizeof p->vel);
    p->step = (int32_t)state[O];
    observe(p, out_obs);
    return TCE_OK;
}

static tce_status render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    (void)instance;
    memset(rgb, 200, (size_t)width * (size_t)height * 3);
    return TCE_OK;
}

static const tce_env_vtable POINT = {
    .struct_size = sizeof(tce_env_vtable),
    .abi = TCE_ENV_ABI,
    .name = "point",
    .description = "a mass in the plane",
    .create = create,
    .destroy = destroy,
    .spec = spec,
    .reset = reset,
    .step = step,
    .step_action = step_action,
    .metrics = metrics,
    .n_state = n_state,
    .get_state = get_state,
    .set_state = set_state,
    .render = render,
};

static const tce_env_vtable TRACKER = {
    .struct_size = sizeof(tce_env_vtable),
    .abi = TCE_ENV_ABI,
    .name = "tracker",
    .description = "tracks paths only",
    .create = create,
    .destroy = destroy,
    .spec = tracker_spec,
    .reset = reset,
    .step = step,
    .metrics = metrics,
};

const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    static const tce_env_vtable *const TABLES[] = { &POINT, &TRACKER };

    *abi = TCE_ENV_ABI;
    *n = 2;
    return TABLES;
}
