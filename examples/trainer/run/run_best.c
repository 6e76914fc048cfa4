/*
 * The best policy of a run: the content of policy.safetensors after the evaluation that found most
 * success, or, among equals and where the task has no success metric, the highest return.
 *
 * It stays in memory and in the checkpoint, and goes to policy-best.safetensors with each
 * checkpoint, so that a run that continues has the one that it would have had without a stop.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/run.h"

/* Arrays of the policy in a checkpoint. */
static const char PREFIX[] = "run.best.";

enum { NAME_SIZE = 512 };

void best_policy_free(best_policy *b)
{
    tce_store_free(b->policy);
    memset(b, 0, sizeof *b);
}

static int is_better(const best_policy *b, double success, double value)
{
    if (isnan(value))
        return 0;
    if (!b->policy)
        return 1;
    if (!isnan(success) && success != b->success)
        return success > b->success;
    return value > b->value;
}

tce_status best_policy_offer(best_policy *b, const agent *a, int64_t iteration, double success,
                             double value)
{
    tce_store *policy = NULL;
    if (!is_better(b, success, value))
        return TCE_OK;
    tce_status status = tce_store_create(NULL, &policy);
    if (status == TCE_OK)
        status = agent_save(a, policy);
    if (status != TCE_OK) {
        tce_store_free(policy);
        return status;
    }
    tce_store_free(b->policy);
    *b = (best_policy){ policy, iteration, success, value };
    return TCE_OK;
}

tce_status best_policy_export(const best_policy *b, const char *folder)
{
    char path[RUN_PATH];
    if (!b->policy)
        return TCE_OK;
    const tce_status status = run_path(folder, "policy-best.safetensors", path);
    return status == TCE_OK ? tce_store_save(b->policy, path) : status;
}

/* ---- in a checkpoint ------------------------------------------------------------------------- */

tce_status best_policy_save(const best_policy *b, tce_store *store)
{
    if (!b->policy)
        return TCE_OK;
    const double found[2] = { b->success, b->value };
    const size_t n_found = 2;
    tce_status status = tce_store_put(store, "run.best_iteration", TCE_STORE_I64, 0, NULL,
                                      &b->iteration);
    if (status == TCE_OK)
        status = tce_store_put(store, "run.best_evaluation", TCE_STORE_F64, 1, &n_found, found);
    for (size_t i = 0; status == TCE_OK && i < tce_store_n_arrays(b->policy); i++) {
        char name[NAME_SIZE];
        tce_store_array array = TCE_INIT(tce_store_array);
        status = tce_store_at(b->policy, i, &array);
        snprintf(name, sizeof name, "%s%s", PREFIX, array.name);
        if (status == TCE_OK)
            status = tce_store_put(store, name, array.type, array.rank, array.shape, array.data);
    }
    return status;
}

/* An array of the policy as the checkpoint has it, which must have its size. */
static tce_status take_array(tce_store *policy, const tce_store_array *mine, const tce_store *store)
{
    char name[NAME_SIZE];
    tce_store_array array = TCE_INIT(tce_store_array);
    snprintf(name, sizeof name, "%s%s", PREFIX, mine->name);
    const tce_status status = tce_store_get(store, name, &array);
    if (status != TCE_OK)
        return status;
    int same = array.type == mine->type && array.rank == mine->rank;
    for (int32_t k = 0; same && k < array.rank; k++)
        same = array.shape[k] == mine->shape[k];
    if (!same)
        return tce_fail(TCE_E_SHAPE, "%s does not have the size of this run's policy", name);
    return tce_store_put(policy, mine->name, array.type, array.rank, array.shape, array.data);
}

/* Names, texts and sizes are those of the run's policy as it is now, the numbers are the best's. */
static tce_status take_policy(const agent *a, const tce_store *store, tce_store *policy)
{
    tce_store *mine = NULL;
    tce_status status = tce_store_create(NULL, &mine);
    if (status == TCE_OK)
        status = agent_save(a, mine);
    if (status == TCE_OK)
        status = agent_save(a, policy);
    for (size_t i = 0; status == TCE_OK && i < tce_store_n_arrays(mine); i++) {
        tce_store_array array = TCE_INIT(tce_store_array);
        status = tce_store_at(mine, i, &array);
        if (status == TCE_OK)
            status = take_array(policy, &array, store);
    }
    tce_store_free(mine);
    return status;
}

tce_status best_policy_load(best_policy *b, const agent *a, const tce_store *store)
{
    best_policy found = { NULL, 0, NAN, NAN };
    double evaluation[2];
    tce_status status = tce_store_read(store, "run.best_iteration", TCE_STORE_I64, 1,
                                       &found.iteration);
    /* nothing was evaluated before the checkpoint */
    if (status == TCE_E_NOT_FOUND) {
        best_policy_free(b);
        return TCE_OK;
    }
    if (status == TCE_OK)
        status = tce_store_read(store, "run.best_evaluation", TCE_STORE_F64, 2, evaluation);
    if (status == TCE_OK)
        status = tce_store_create(NULL, &found.policy);
    if (status == TCE_OK)
        status = take_policy(a, store, found.policy);
    if (status != TCE_OK) {
        tce_store_free(found.policy);
        return status;
    }
    found.success = evaluation[0];
    found.value = evaluation[1];
    best_policy_free(b);
    *b = found;
    return TCE_OK;
}
