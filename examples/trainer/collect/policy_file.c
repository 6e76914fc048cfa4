/*
 * Sizes of a trained policy, each against the others: outputs of the network = parameters of the
 * primitive, inputs = what is taken of the observation and the time, degrees of freedom = those of
 * the task.
 */
#include "collect/policy_file.h"

#include <math.h>
#include <string.h>

/* What the file says about the task: input.shape, input.dt, input.context. */
static tce_status read_input(policy_file *f, const tce_store *store)
{
    int32_t shape[4]; /* O, O_net, T, D */
    tce_store_array entries;
    tce_store_array_init(&entries, sizeof entries);
    tce_status status = tce_store_read(store, "input.shape", TCE_I32, 4, shape);
    if (status == TCE_OK)
        status = tce_store_read(store, "input.dt", TCE_F64, 1, &f->dt);
    if (status != TCE_OK)
        return status;
    for (int i = 0; i < 4; i++)
        if (shape[i] < 1)
            return tce_fail(TCE_E_VALUE, "input.shape[%d] = %d, must be at least 1", i,
                            (int)shape[i]);
    if (!(isfinite(f->dt) && f->dt > 0.0))
        return tce_fail(TCE_E_VALUE, "input.dt = %g, must be finite and > 0", f->dt);
    f->O = (size_t)shape[0];
    f->O_net = (size_t)shape[1];
    f->T = (size_t)shape[2];
    f->D = (size_t)shape[3];

    if (tce_store_get(store, "input.context", &entries) != TCE_OK) {
        f->n_context = f->O;
        f->time_input = f->O_net == f->O + 1;
        return TCE_OK;
    }
    if (entries.type != TCE_I32 || entries.rank != 1)
        return tce_fail(TCE_E_SHAPE, "input.context is not a list of 32-bit integers");
    f->n_context = entries.shape[0];
    f->context = entries.data;
    for (size_t i = 0; i < f->n_context; i++)
        if (f->context[i] < 0 || (size_t)f->context[i] >= f->O)
            return tce_fail(TCE_E_VALUE, "input.context[%zu] = %d, must be in 0 ... %zu", i,
                            (int)f->context[i], f->O - 1);
    return TCE_OK;
}

/* Everything is there; whether it fits together. */
static tce_status check_sizes(const policy_file *f)
{
    const size_t n_obs = tce_policy_num_obs(f->policy), n_params = tce_policy_num_params(f->policy);
    if (n_params != f->P)
        return tce_fail(
            TCE_E_SHAPE,
            "the policy has %zu outputs, its primitive %zu parameters: they do not belong together",
            n_params, f->P);
    if (tce_mp_num_dof(f->mp) != f->D)
        return tce_fail(
            TCE_E_SHAPE,
            "the primitive has %zu degrees of freedom, its task %zu: they do not belong together",
            tce_mp_num_dof(f->mp), f->D);
    if (n_obs != f->O_net)
        return tce_fail(
            TCE_E_SHAPE,
            "the policy has %zu inputs, input.shape says %zu: they do not belong together", n_obs,
            f->O_net);
    if (f->n_context + (f->time_input ? 1 : 0) != f->O_net)
        return tce_fail(TCE_E_SHAPE,
                        "the policy has %zu inputs, but %s has %zu: they do not belong together",
                        n_obs, f->context ? "input.context" : "the observation", f->n_context);
    return TCE_OK;
}

tce_status policy_file_open(policy_file *out, const tce_store *store, int32_t max_batch,
                            tce_pool *pool)
{
    memset(out, 0, sizeof *out);
    tce_status status = tce_policy_create_from(store, "policy", max_batch, pool, NULL,
                                               &out->policy);
    if (status == TCE_OK)
        status = tce_mp_create_from(store, "mp", NULL, &out->mp);
    if (status == TCE_OK)
        status = read_input(out, store);
    if (status == TCE_E_NOT_FOUND)
        return tce_fail(status, "not a trained policy, as a run's policy.safetensors is: %s",
                        tce_error_message());
    if (status != TCE_OK)
        return status;
    out->P = tce_mp_num_params(out->mp);
    out->task = tce_store_get_text(store, "task");
    if (!out->task)
        out->task = "";
    return check_sizes(out);
}

void policy_file_close(policy_file *f)
{
    tce_policy_free(f->policy);
    tce_mp_free(f->mp);
    memset(f, 0, sizeof *f);
}
