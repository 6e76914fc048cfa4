/*
 * Tasks that do not come back from a call, each as its name says: they crash, end the process or
 * wait for ever. The checker has to say where. "sound" comes last and keeps the contract.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tce/env.h>

enum { O = 2, T = 20 };

typedef struct point {
    const char *name;
    double pos, goal;
    int step; /* T: no episode */
} point;

static int is(const point *self, const char *fault)
{
    return strcmp(self->name, fault) == 0;
}

static void wait_for_ever(void)
{
    for (;;)
        sleep(1);
}

static tce_status create_as(const char *name, void **out)
{
    point *self = calloc(1, sizeof *self);

    if (!self)
        return TCE_E_NOMEM;
    self->name = name;
    self->step = T;
    *out = self;
    return TCE_OK;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    if (is(instance, "hangs_in_spec"))
        wait_for_ever();
    out->n_obs = O;
    out->n_dof = 1;
    out->n_steps = T;
    out->dt = 0.05;
    return TCE_OK;
}

static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    point *self = instance;

    if (is(self, "exits_in_reset"))
        exit(0);
    if (is(self, "hangs_in_reset"))
        wait_for_ever();
    self->pos = 0.0;
    self->goal = (double)random->counter[2];
    self->step = 0;
    out_obs[0] = *out_pos = self->pos;
    out_obs[1] = self->goal;
    *out_vel = 0.0;
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    point *self = instance;

    (void)vel;
    if (self->step >= T)
        return TCE_E_STATE;
    self->step++;
    if (is(self, "aborts_in_a_step") && self->step == 5)
        abort();
    if (is(self, "hangs_in_a_step") && self->step == 17)
        wait_for_ever();
    self->pos = *pos;
    out_obs[0] = self->pos;
    out_obs[1] = self->goal;
    out->reward = -self->pos;
    out->truncated = self->step == T;
    return TCE_OK;
}

static void destroy(void *instance)
{
    if (is(instance, "exits_in_destroy"))
        _exit(3);
    free(instance);
}

#define TASK(symbol)                                                                      \
    static tce_status create_##symbol(void *user, const char *settings, void **out)       \
    {                                                                                     \
        (void)user;                                                                       \
        (void)settings;                                                                   \
        return create_as(#symbol, out);                                                   \
    }                                                                                     \
    static const tce_env_vtable TABLE_##symbol = { .struct_size = sizeof(tce_env_vtable), \
                                                   .abi = TCE_ENV_ABI,                    \
                                                   .name = #symbol,                       \
                                                   .description = "a point on a line",    \
                                                   .create = create_##symbol,             \
                                                   .destroy = destroy,                    \
                                                   .spec = spec,                          \
                                                   .reset = reset,                        \
                                                   .step = step };

#define TASKS(row)                                                                     \
    row(exits_in_reset) row(exits_in_destroy) row(aborts_in_a_step) row(hangs_in_spec) \
        row(hangs_in_reset) row(hangs_in_a_step) row(sound)

#define ADDRESS(symbol) &TABLE_##symbol,

TASKS(TASK)

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    static const tce_env_vtable *const TABLES[] = { TASKS(ADDRESS) };

    *abi = TCE_ENV_ABI;
    *n = sizeof TABLES / sizeof TABLES[0];
    return TABLES;
}
