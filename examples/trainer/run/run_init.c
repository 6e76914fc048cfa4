/*
 * A run that begins with the policy and the normaliser of another one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/run.h"

/* The policy file of a run folder, or the file itself. */
static tce_status policy_path(const char *run, char out[RUN_PATH])
{
    struct stat there;
    if (stat(run, &there) == 0 && S_ISDIR(there.st_mode))
        return run_path(run, "policy.safetensors", out);
    if (strlen(run) >= RUN_PATH)
        return tce_fail(TCE_E_VALUE, "run.init_from: a path of %zu characters is too long",
                        strlen(run));
    memcpy(out, run, strlen(run) + 1);
    return TCE_OK;
}

/* Whether what one agent sees and says means the same to the other. */
static tce_status check_agents(const agent *from, const agent *to)
{
    if (from->acts != to->acts)
        return tce_fail(TCE_E_VALUE, "its policy %s, that of this method %s",
                        from->acts ? "acts at every step" : "plans paths",
                        to->acts ? "acts at every step" : "plans paths");
    if (from->O != to->O)
        return tce_fail(TCE_E_SHAPE, "its task has %zu numbers in an observation, this one %zu",
                        from->O, to->O);
    if (from->O_net != to->O_net || from->time_input != to->time_input)
        return tce_fail(TCE_E_SHAPE,
                        "its policy sees %zu numbers, here it would see %zu: set "
                        "collect.mask_context and collect.time_input as they are there",
                        from->O_net, to->O_net);
    const int same_context = !from->context == !to->context &&
                             (!from->context || memcmp(from->context, to->context,
                                                       to->n_context * sizeof *to->context) == 0);
    if (!same_context)
        return tce_fail(TCE_E_SHAPE, "its policy sees other entries of an observation");
    if (from->P != to->P)
        return tce_fail(TCE_E_SHAPE, "its policy has %zu outputs, here it has %zu", from->P, to->P);
    if (from->output != to->output)
        return tce_fail(
            TCE_E_VALUE,
            "its outputs are bounded in another way: choose the method with which it was trained");
    if (!from->normaliser != !to->normaliser)
        return tce_fail(TCE_E_VALUE,
                        "its observations are %snormalised, here they are %s: set "
                        "normalise.observations=%s",
                        from->normaliser ? "" : "not ", from->normaliser ? "not" : "",
                        from->normaliser ? "true" : "false");
    return TCE_OK;
}

static tce_status check_primitive(const agent *from, const settings *s)
{
    primitive_difference d;
    if (!agent_other_primitive(from, s, &d))
        return TCE_OK;
    return tce_fail(TCE_E_VALUE, "it has %s.%s = %s, here it is %s: set %s.%s='%s'", d.row->section,
                    d.row->key, d.of_policy, d.of_settings, d.row->section, d.row->key,
                    d.of_policy);
}

/* Weights from the store; Adam starts afresh. */
static tce_status load_weights(tce_policy *policy, const tce_store *store)
{
    tce_random none;
    double *weights = malloc(tce_policy_n_weights(policy) * sizeof *weights);
    if (!weights)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu weights", tce_policy_n_weights(policy));
    tce_random_start(&none, 0, 0, 0, 0);
    tce_status status = tce_policy_load(policy, store, "policy");
    if (status == TCE_OK) {
        tce_policy_get_weights(policy, weights);
        status = tce_policy_start(policy, &none);
    }
    if (status == TCE_OK)
        status = tce_policy_set_weights(policy, weights);
    free(weights);
    return status;
}

static tce_status take_over(const tce_store *store, const settings *s, const agent *to)
{
    agent from;
    tce_status status = agent_open(&from, store, 1, NULL);
    if (status == TCE_OK)
        status = check_agents(&from, to);
    if (status == TCE_OK)
        status = check_primitive(&from, s);
    if (status == TCE_OK)
        status = load_weights(to->policy, store);
    if (status == TCE_OK && to->normaliser)
        status = tce_normaliser_load(to->normaliser, store, "input.normaliser");
    agent_close(&from);
    return status;
}

tce_status run_init(const settings *s, ranks *all, const agent *to)
{
    char path[RUN_PATH];
    tce_store *store = NULL;
    tce_status status = policy_path(s->run.init_from, path);
    if (status == TCE_OK)
        status = run_load_store(all, path, &store);
    if (status == TCE_OK) {
        status = take_over(store, s, to);
        if (status != TCE_OK)
            status = tce_fail(status, "a run cannot start from %s: %s", path, tce_error_message());
    }
    tce_store_free(store);
    return status;
}
