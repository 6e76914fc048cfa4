/*
 * Whether a primitive fits its task, and the primitive itself.
 */
#include "methods/primitive.h"

#include <math.h>
#include <stdio.h>

#include "tools/memory.h"

/* of sums and quotients of seconds; also what the primitive allows its table */
#define ROUNDING 1e-12

/* of the setting mp.table_length */
#define MOST_TABLE_LENGTH 1000

/*
 * Whether the movement fits the episodes of the task: it may rest at its goal for a while, but an
 * episode that ends before the movement does never sees the rest of it, and a table that ends
 * before the episode does says nothing of its last steps. A step more or less is rounding. A
 * rhythmic movement repeats.
 */
tce_status primitive_check(const settings *s, const tce_env_spec *spec)
{
    const double duration = spec->n_steps * spec->dt;
    const double rest = duration - s->mp.delay;
    char episode[2 * TEXT_SIZE];
    if (spec->n_dof == 0)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "%s tracks no paths, and %s plans paths: choose a method that acts at every "
            "step, or a task with a controller",
            s->task.name, s->table->name);
    if (s->mp.phase == TCE_MP_PHASE_RHYTHMIC)
        return TCE_OK;
    snprintf(episode, sizeof episode, "an episode of %s lasts %g s (%d steps of %g s)",
             s->task.name, duration, (int)spec->n_steps, spec->dt);
    if (!(rest > 0.0))
        return tce_fail(TCE_E_VALUE, "mp.delay = %g s, but %s: set mp.delay=0", s->mp.delay,
                        episode);
    if (s->mp.tau > rest + spec->dt * (1.0 + ROUNDING))
        return tce_fail(TCE_E_VALUE,
                        "mp.tau = %g s%s is longer than the episode: %s; set mp.tau=%g, or less",
                        s->mp.tau, s->mp.delay > 0.0 ? " after mp.delay" : "", episode, rest);
    const double periods = rest / s->mp.tau;
    if (s->mp.kind == TCE_MP_PRODMP && s->mp.basis == TCE_MP_BASIS_TABLE &&
        periods > s->mp.table_length * (1.0 + ROUNDING)) {
        char longer[64] = "";
        if (periods <= MOST_TABLE_LENGTH)
            snprintf(longer, sizeof longer, ", or mp.table_length=%.0f", ceil(periods));
        return tce_fail(TCE_E_VALUE,
                        "mp.tau = %g s with mp.table_length = %d is too short: %s; set mp.tau=%g%s",
                        s->mp.tau, (int)s->mp.table_length, episode, rest, longer);
    }
    return TCE_OK;
}

tce_status primitive_create(const settings *s, const tce_env_spec *spec, const tce_hooks *hooks,
                            tce_mp **out)
{
    const setting_doubles *scales = &s->mp_weights_scale;
    tce_mp_options mp = s->mp;
    mp.n_dof = spec->n_dof;
    if (!(mp.dt > 0.0))
        mp.dt = spec->dt;
    mp.weights_scale = scales->v[0];
    if (scales->n > 1) {
        if (scales->n != mp.n_basis)
            return tce_fail(TCE_E_SHAPE,
                            "mp.weights_scale has %d numbers, mp.n_basis is %d: give one number, "
                            "or one per basis function",
                            (int)scales->n, (int)mp.n_basis);
        mp.weights_scales = scales->v;
    }
    return tce_mp_create(&mp, hooks, out);
}

/* Its table may be larger than all else of a run: a step of mp.dt is a row of it. */
tce_status primitive_check_memory(const settings *s, const tce_env_spec *spec)
{
    char remedy[256];
    memory m = { .measure = 1 };
    tce_hooks hooks;
    tce_mp *none = NULL;
    memory_hooks(&m, &hooks);
    const tce_status status = memory_measured(primitive_create(s, spec, &hooks, &none));
    snprintf(remedy, sizeof remedy, "raise mp.dt = %g, or lower mp.table_length = %d",
             s->mp.dt > 0.0 ? s->mp.dt : spec->dt, (int)s->mp.table_length);
    return status == TCE_OK ? memory_check(m.bytes, "the table of the movement primitive", remedy)
                            : status;
}
