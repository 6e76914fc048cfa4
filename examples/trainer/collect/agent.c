/*
 * What a policy sees of a task and does in it, and the sizes of a trained one, each against the
 * others: outputs of the network = parameters of the primitive or numbers of an action, inputs =
 * what is taken of the observation and the time, degrees of freedom = those of the task.
 */
#include "collect/agent.h"

#include <math.h>
#include <string.h>

void agent_describe(agent *out, const tce_env_spec *spec, const char *task, int mask_context,
                    int time_input)
{
    memset(out, 0, sizeof *out);
    const int masked = mask_context && spec->n_context > 0;
    out->O = (size_t)spec->n_obs;
    out->T = (size_t)spec->n_steps;
    out->D = (size_t)spec->n_dof;
    out->dt = spec->dt;
    out->n_context = masked ? (size_t)spec->n_context : out->O;
    out->context = masked ? spec->context : NULL;
    out->time_input = !mask_context && time_input;
    out->O_net = out->n_context + (out->time_input ? 1 : 0);
    out->task = task;
}

void agent_input(const agent *a, const double *obs, double time, double *out)
{
    if (a->context)
        for (size_t i = 0; i < a->n_context; i++)
            out[i] = obs[a->context[i]];
    else
        memcpy(out, obs, a->O * sizeof *out);
    if (a->time_input)
        out[a->n_context] = time;
}

tce_status agent_normalise(const agent *a, size_t n, double *inputs)
{
    return a->normaliser ? tce_normaliser_apply(a->normaliser, n, inputs, inputs) : TCE_OK;
}

void agent_output(const agent *a, size_t n, double *x)
{
    for (size_t k = 0; a->output != AGENT_PLAIN && k < n * a->P; k++) {
        const double low = a->low[k % a->P], high = a->high[k % a->P];
        if (a->output == AGENT_TANH)
            x[k] = low + 0.5 * (tanh(x[k]) + 1.0) * (high - low);
        else /* NaN stays, to be found */
            x[k] = x[k] < low ? low : x[k] > high ? high : x[k];
    }
}

size_t agent_work(const agent *a, size_t n)
{
    return n * a->O_net + tce_policy_work_size(a->policy, n);
}

tce_status agent_act(const agent *a, size_t n, const double *obs, double time, double *work,
                     double *out)
{
    for (size_t i = 0; i < n; i++)
        agent_input(a, obs + i * a->O, time, work + i * a->O_net);
    tce_status status = agent_normalise(a, n, work);
    if (status == TCE_OK)
        status = tce_policy_mean(a->policy, n, work, work + n * a->O_net, out);
    if (status == TCE_OK)
        agent_output(a, n, out);
    return status;
}

/* What becomes of inputs and outputs, where anything does. */
static tce_status save_transforms(const agent *a, tce_store *store)
{
    tce_status status = TCE_OK;
    if (a->normaliser)
        status = tce_normaliser_save(a->normaliser, store, "input.normaliser");
    if (status == TCE_OK && a->normaliser)
        status = tce_store_put(store, "input.epsilon", TCE_STORE_F64, 0, NULL, &a->epsilon);
    if (status == TCE_OK && a->normaliser)
        status = tce_store_put(store, "input.clip", TCE_STORE_F64, 0, NULL, &a->clip);
    if (status == TCE_OK && a->output != AGENT_PLAIN)
        status = tce_store_put(store, "output.form", TCE_STORE_I32, 0, NULL, &a->output);
    if (status == TCE_OK && a->output != AGENT_PLAIN)
        status = tce_store_put(store, "output.low", TCE_STORE_F64, 1, &a->P, a->low);
    if (status == TCE_OK && a->output != AGENT_PLAIN)
        status = tce_store_put(store, "output.high", TCE_STORE_F64, 1, &a->P, a->high);
    if (status != TCE_OK)
        return status;
    if (!a->acts)
        return tce_mp_save(a->mp, store, "mp");
    status = exploration_save(&a->exploration, a->P, store);
    return status == TCE_OK ? tce_store_put_text(store, "outputs", "actions") : status;
}

tce_status agent_save(const agent *a, tce_store *store)
{
    const int32_t shape[4] = { (int32_t)a->O, (int32_t)a->O_net, (int32_t)a->T, (int32_t)a->D };
    const size_t n_shape = 4;
    tce_status status = tce_policy_save(a->policy, store, "policy");
    if (status == TCE_OK)
        status = save_transforms(a, store);
    if (status == TCE_OK)
        status = tce_store_put_text(store, "task", a->task);
    if (status == TCE_OK)
        status = tce_store_put(store, "input.shape", TCE_STORE_I32, 1, &n_shape, shape);
    if (status == TCE_OK && a->context)
        status = tce_store_put(store, "input.context", TCE_STORE_I32, 1, &a->n_context, a->context);
    if (status == TCE_OK)
        status = tce_store_put(store, "input.dt", TCE_STORE_F64, 0, NULL, &a->dt);
    return status;
}

/* What the file says about the task: input.shape, input.dt, input.context. */
static tce_status read_input(agent *a, const tce_store *store)
{
    int32_t shape[4]; /* O, O_net, T, D */
    tce_store_array entries = TCE_INIT(tce_store_array);
    tce_status status = tce_store_read(store, "input.shape", TCE_STORE_I32, 4, shape);
    if (status == TCE_OK)
        status = tce_store_read(store, "input.dt", TCE_STORE_F64, 1, &a->dt);
    if (status != TCE_OK)
        return status;
    for (int i = 0; i < 4; i++) {
        const int least = i == 3 && a->acts ? 0 : 1;
        if (shape[i] < least)
            return tce_fail(TCE_E_VALUE, "input.shape[%d] = %d, must be at least %d", i,
                            (int)shape[i], least);
    }
    if (!(isfinite(a->dt) && a->dt > 0.0))
        return tce_fail(TCE_E_VALUE, "input.dt = %g, must be finite and > 0", a->dt);
    a->O = (size_t)shape[0];
    a->O_net = (size_t)shape[1];
    a->T = (size_t)shape[2];
    a->D = (size_t)shape[3];

    if (tce_store_get(store, "input.context", &entries) != TCE_OK) {
        a->n_context = a->O;
        a->time_input = a->O_net == a->O + 1;
        return TCE_OK;
    }
    if (entries.type != TCE_STORE_I32 || entries.rank != 1)
        return tce_fail(TCE_E_SHAPE, "input.context is not a list of 32-bit integers");
    a->n_context = entries.shape[0];
    a->context = entries.data;
    for (size_t i = 0; i < a->n_context; i++)
        if (a->context[i] < 0 || (size_t)a->context[i] >= a->O)
            return tce_fail(TCE_E_VALUE, "input.context[%zu] = %d, must be in 0 ... %zu", i,
                            (int)a->context[i], a->O - 1);
    return TCE_OK;
}

/* input.normaliser, where there is one. */
static tce_status read_normaliser(agent *a, const tce_store *store)
{
    tce_store_array found = TCE_INIT(tce_store_array);
    tce_normaliser_options options;
    if (tce_store_get(store, "input.normaliser.mean", &found) != TCE_OK)
        return TCE_OK;
    if (found.rank != 1 || found.shape[0] != a->O_net)
        return tce_fail(TCE_E_SHAPE,
                        "input.normaliser.mean is not a list of %zu numbers, one for each input of "
                        "the policy: they do not belong together",
                        a->O_net);
    tce_status status = tce_store_read(store, "input.epsilon", TCE_STORE_F64, 1, &a->epsilon);
    if (status == TCE_OK)
        status = tce_store_read(store, "input.clip", TCE_STORE_F64, 1, &a->clip);
    if (status != TCE_OK)
        return status;
    tce_normaliser_options_init(&options, sizeof options);
    options.n_columns = (int32_t)a->O_net;
    options.epsilon = a->epsilon;
    options.clip = a->clip;
    status = tce_normaliser_create(&options, NULL, &a->normaliser);
    return status == TCE_OK ? tce_normaliser_load(a->normaliser, store, "input.normaliser")
                            : status;
}

/* A list of P finite numbers of the store. */
static tce_status read_bounds(const agent *a, const tce_store *store, const char *name,
                              const double **out)
{
    tce_store_array array = TCE_INIT(tce_store_array);
    const tce_status status = tce_store_get(store, name, &array);
    if (status != TCE_OK)
        return status;
    if (array.type != TCE_STORE_F64 || array.rank != 1 || array.shape[0] != a->P)
        return tce_fail(TCE_E_SHAPE,
                        "%s is not a list of %zu numbers, one for each output of the policy: they "
                        "do not belong together",
                        name, a->P);
    *out = array.data;
    for (size_t i = 0; i < a->P; i++)
        if (!isfinite((*out)[i]))
            return tce_fail(TCE_E_VALUE, "%s[%zu] = %g, must be finite", name, i, (*out)[i]);
    return TCE_OK;
}

/* output.form and its bounds, where there is one. */
static tce_status read_output(agent *a, const tce_store *store)
{
    tce_store_array found = TCE_INIT(tce_store_array);
    if (tce_store_get(store, "output.form", &found) != TCE_OK)
        return TCE_OK;
    tce_status status = tce_store_read(store, "output.form", TCE_STORE_I32, 1, &a->output);
    if (status != TCE_OK)
        return status;
    if (a->output != AGENT_CLIP && a->output != AGENT_TANH)
        return tce_fail(TCE_E_VALUE, "output.form = %d, must be %d or %d", (int)a->output,
                        AGENT_CLIP, AGENT_TANH);
    status = read_bounds(a, store, "output.low", &a->low);
    if (status == TCE_OK)
        status = read_bounds(a, store, "output.high", &a->high);
    if (status != TCE_OK)
        return status;
    for (size_t i = 0; i < a->P; i++)
        if (!(a->low[i] < a->high[i]))
            return tce_fail(TCE_E_VALUE, "output.low[%zu] = %g, must be below output.high = %g", i,
                            a->low[i], a->high[i]);
    return TCE_OK;
}

/* Everything is there; whether it fits together. */
static tce_status check_sizes(const agent *a)
{
    const size_t n_obs = tce_policy_n_obs(a->policy), n_params = tce_policy_n_dims(a->policy);
    if (!a->acts && n_params != a->P)
        return tce_fail(
            TCE_E_SHAPE,
            "the policy has %zu outputs, its primitive %zu parameters: they do not belong together",
            n_params, a->P);
    if (!a->acts && tce_mp_n_dof(a->mp) != a->D)
        return tce_fail(
            TCE_E_SHAPE,
            "the primitive has %zu degrees of freedom, its task %zu: they do not belong together",
            tce_mp_n_dof(a->mp), a->D);
    if (n_obs != a->O_net)
        return tce_fail(
            TCE_E_SHAPE,
            "the policy has %zu inputs, input.shape says %zu: they do not belong together", n_obs,
            a->O_net);
    if (a->n_context + (a->time_input ? 1 : 0) != a->O_net)
        return tce_fail(TCE_E_SHAPE,
                        "the policy has %zu inputs, but %s has %zu: they do not belong together",
                        n_obs, a->context ? "input.context" : "the observation", a->n_context);
    return TCE_OK;
}

tce_status own_store_load(const char *path, tce_store **out)
{
    const tce_status status = tce_store_load(path, NULL, out);
    if (status != TCE_OK || tce_store_get_text(*out, "tce.format"))
        return status;
    tce_store_free(*out);
    *out = NULL;
    return tce_fail(TCE_E_CORRUPT,
                    "%s has no tce.checksum: it is damaged, or another program wrote it", path);
}

/* Whether the outputs are actions, and there is no primitive. */
static int is_of_actions(const tce_store *store)
{
    const char *outputs = tce_store_get_text(store, "outputs");
    return outputs && strcmp(outputs, "actions") == 0;
}

tce_status agent_open(agent *out, const tce_store *store, int32_t max_batch, tce_pool *pool)
{
    memset(out, 0, sizeof *out);
    tce_policy_options options;
    tce_policy_options_init(&options, sizeof options);
    options.max_batch = max_batch;
    options.pool = pool;
    tce_status status = tce_policy_create_from(store, "policy", &options, NULL, &out->policy);
    out->acts = is_of_actions(store);
    if (status == TCE_OK && !out->acts)
        status = tce_mp_create_from(store, "mp", NULL, &out->mp);
    if (status == TCE_OK)
        status = read_input(out, store);
    if (status == TCE_OK)
        status = read_normaliser(out, store);
    if (status == TCE_OK) {
        out->P = out->mp ? tce_mp_n_params(out->mp) : tce_policy_n_dims(out->policy);
        status = read_output(out, store);
    }
    if (status == TCE_OK && out->acts)
        status = exploration_load(&out->exploration, out->P, store);
    if (status == TCE_E_NOT_FOUND)
        return tce_fail(status, "not a trained policy such as a run's policy.safetensors: %s",
                        tce_error_message());
    if (status != TCE_OK)
        return status;
    out->contextual = tce_policy_n_factors(out->policy, 2) > 1;
    out->task = tce_store_get_text(store, "task");
    if (!out->task)
        out->task = "";
    return check_sizes(out);
}

void agent_close(agent *a)
{
    tce_policy_free(a->policy);
    tce_mp_free(a->mp);
    tce_normaliser_free(a->normaliser);
    memset(a, 0, sizeof *a);
}

tce_status agent_check_task(const agent *a, const tce_env_spec *spec, const char *task)
{
    static const char *const WHAT[] = { "numbers in an observation", "steps",
                                        "degrees of freedom" };
    const size_t then[] = { a->O, a->T, a->D };
    const int32_t now[] = { spec->n_obs, spec->n_steps, spec->n_dof };
    if (a->task[0] && strcmp(a->task, task) != 0)
        return tce_fail(TCE_E_VALUE,
                        "policy.safetensors is for the task %s, config.yaml names %s: they are "
                        "from different runs",
                        a->task, task);
    for (size_t i = 0; i < sizeof WHAT / sizeof WHAT[0]; i++)
        if (then[i] != (size_t)now[i])
            return tce_fail(TCE_E_SHAPE,
                            "the policy was trained with %zu %s, the task %s has %d now: its "
                            "library or config.yaml has changed",
                            then[i], WHAT[i], task, (int)now[i]);
    if (a->acts && a->P != (size_t)spec->n_action)
        return tce_fail(TCE_E_SHAPE,
                        "the policy was trained with %zu numbers in an action, the task %s has %d "
                        "now: its library or config.yaml has changed",
                        a->P, task, (int)spec->n_action);
    if (a->dt != spec->dt)
        return tce_fail(TCE_E_VALUE,
                        "the policy was trained with steps of %g s, those of the task %s take %g s "
                        "now: its library has changed",
                        a->dt, task, spec->dt);
    if (a->context && (a->n_context != (size_t)spec->n_context ||
                       memcmp(a->context, spec->context, a->n_context * sizeof *a->context) != 0))
        return tce_fail(TCE_E_SHAPE,
                        "the policy sees other entries of the observation than the task %s calls "
                        "context now: its library or config.yaml has changed",
                        task);
    return TCE_OK;
}

int agent_other_primitive(const agent *a, const settings *s, primitive_difference *out)
{
    settings now = *s, then = *s;
    setting_doubles *scales = &then.mp_weights_scale;
    if (a->acts)
        return 0;
    tce_mp_get_options(a->mp, &then.mp);
    if (then.mp.weights_scales) {
        /* a longer list is in no settings, and the file's may be anything */
        scales->n = then.mp.n_basis < MAX_LIST ? then.mp.n_basis : MAX_LIST;
        memcpy(scales->v, then.mp.weights_scales, (size_t)scales->n * sizeof *scales->v);
    } else {
        scales->n = 1;
        scales->v[0] = then.mp.weights_scale;
    }
    if (!(now.mp.dt > 0.0))
        now.mp.dt = a->dt;
    for (size_t i = 0; i < SETTINGS_MP.n; i++) {
        const setting_row *row = &SETTINGS_MP.rows[i];
        if (!settings_has_row(s->table, row))
            continue;
        settings_text(&then, row, out->of_policy, sizeof out->of_policy);
        settings_text(&now, row, out->of_settings, sizeof out->of_settings);
        out->row = row;
        if (strcmp(out->of_policy, out->of_settings) != 0)
            return 1;
    }
    return 0;
}

tce_status agent_check_settings(const agent *a, const settings *s, const char *path)
{
    primitive_difference d;
    if (!agent_other_primitive(a, s, &d))
        return TCE_OK;
    return tce_fail(TCE_E_VALUE,
                    "%s: the policy has %s.%s = %s, but config.yaml has %s: one of the two "
                    "files has been changed, or is from another run",
                    path, d.row->section, d.row->key, d.of_policy, d.of_settings);
}
