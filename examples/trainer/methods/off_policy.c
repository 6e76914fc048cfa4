/*
 * Rounds: act, remember, learn.
 */
#include "methods/off_policy.h"

#include <math.h>
#include <string.h>

#include "methods/off_policy_settings.h"
#include "tools/clock.h"

/* ---- what is drawn --------------------------------------------------------------------------- */

static void draw_warm_up(void *context, int64_t step, size_t n, double *out)
{
    const off_policy *l = context;
    tce_random random;
    tce_random_start(&random, l->o.seed, PURPOSE_WARM_UP, (uint64_t)step, 0);
    for (size_t i = 0; i < n; i++)
        out[i] = 2.0 * tce_random_uniform(&random) - 1.0;
}

static void draw_normals(void *context, int64_t step, size_t n, double *out)
{
    off_policy *l = context;
    (void)step;
    (void)n;
    if (l->o.coloured)
        noise_stream_next(&l->noise, out);
    else
        stepping_white_noise(&l->env, out);
}

static tce_status draw_minibatch(void *context, int64_t update, off_policy *l,
                                 replay_place *out_places, double *out_noise,
                                 double *out_next_noise)
{
    const size_t n = l->sac.M * l->A;
    tce_random random;
    (void)context;
    tce_random_start(&random, l->o.seed, PURPOSE_REPLAY, (uint64_t)update, 0);
    const tce_status status = replay_sample(&l->replay, &random, l->sac.M, out_places);
    tce_random_start(&random, l->o.seed, PURPOSE_UPDATE_NOISE, (uint64_t)update, 0);
    tce_random_normals(&random, n, out_noise);
    tce_random_normals(&random, n, out_next_noise);
    return status;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static void fill_in(off_policy *l, const stepping *env)
{
    l->N = env->N, l->O = env->O, l->A = env->A;
    l->width = 2 * l->O + l->A + 2;
    l->o.sac.n_obs = (int32_t)l->O;
    l->o.sac.n_actions = (int32_t)l->A;
    l->o.sac.max_rows = (int32_t)l->N;
    l->o.sac.bootstrap = 1;
    l->o.sac.pool = env->pool;
    l->o.noise.n_envs = l->N;
    l->o.noise.n_actions = l->A;
    l->o.noise.seed = l->o.seed;
    l->o.noise.purpose = PURPOSE_COLOURED_NOISE;
}

/* all but sac */
static tce_status take_arrays(off_policy *l, memory *m)
{
    const replay_options options = { l->N, l->o.replay_size, l->width, l->o.sac.precision };
    const size_t n = l->N * l->A;
    l->actions = memory_doubles(m, n);
    l->normals = memory_doubles(m, n);
    l->mean = memory_doubles(m, n);
    l->std = memory_doubles(m, n);
    l->records = memory_doubles(m, l->N * l->width);
    l->places = memory_take(m, (size_t)l->o.sac.batch_size, sizeof *l->places);
    const tce_status status = replay_create(&l->replay, &options, m);
    if (status != TCE_OK || !l->o.coloured)
        return status;
    return noise_stream_create(&l->noise, &l->o.noise, m);
}

tce_status off_policy_create(off_policy *l, const off_policy_options *options)
{
    tce_random actor, critics;
    l->o = *options;
    fill_in(l, &l->env);
    l->draws = (off_policy_draws){ l, draw_warm_up, draw_normals, draw_minibatch };
    tce_status status = stepping_allocate(&l->env, &l->arrays);
    if (status == TCE_OK)
        status = sac_create(&l->sac, &l->o.sac, &l->arrays);
    if (status == TCE_OK)
        status = take_arrays(l, &l->arrays);
    if (status != TCE_OK)
        return status;
    if (l->arrays.failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu environments", l->N);
    tce_random_start(&actor, l->o.seed, PURPOSE_POLICY_START, 0, 0);
    tce_random_start(&critics, l->o.seed, PURPOSE_CRITIC_START, 0, 0);
    return sac_start(&l->sac, &actor, &critics);
}

tce_status off_policy_measure(const stepping *env, const off_policy_options *options, memory *m)
{
    off_policy l;
    memset(&l, 0, sizeof l);
    l.o = *options;
    fill_in(&l, env);
    m->bytes += stepping_bytes(env);
    const tce_status status = sac_measure(&l.o.sac, m);
    return status == TCE_OK ? take_arrays(&l, m) : status;
}

void off_policy_free(off_policy *l)
{
    stepping_free(&l->env);
    sac_free(&l->sac);
    memory_free(&l->arrays);
}

/* ---- acting ---------------------------------------------------------------------------------- */

/* a = tanh(mu + sigma noise) */
static tce_status act(off_policy *l, const double *obs)
{
    l->draws.normals(l->draws.context, l->steps, l->N * l->A, l->normals);
    tce_gauss g = TCE_INIT(tce_gauss);
    g.n = g.n_scales = l->N;
    g.dim = l->A;
    g.form = TCE_GAUSS_DIAGONAL;
    g.mean = l->mean;
    g.scale = l->std;
    const tce_status status = tce_policy_predict(l->sac.actor, l->N, obs, l->mean, l->std);
    return status == TCE_OK ? tce_gauss_squash(&g, l->normals, l->actions, NULL) : status;
}

/* Actions of all environments, as they are stored, and out as the task takes them. */
static tce_status choose(void *context, const stepping *st, const double *obs, double *out)
{
    off_policy *l = context;
    const double *low = st->spec->action_low, *high = st->spec->action_high;
    tce_status status = TCE_OK;
    if (l->warming_up)
        l->draws.warm_up(l->draws.context, l->steps, l->N * l->A, l->actions);
    else
        status = act(l, obs);
    for (size_t i = 0; status == TCE_OK && i < l->N * l->A; i++) {
        const size_t a = i % l->A;
        out[i] = low[a] + 0.5 * (l->actions[i] + 1.0) * (high[a] - low[a]);
    }
    return status;
}

/* What the step brought, into the replay. */
static tce_status remember(void *context, const stepping *st, const stepping_seen *what)
{
    off_policy *l = context;
    const size_t O = l->O, A = l->A;
    (void)st;
    for (size_t i = 0; i < l->N; i++) {
        double *record = l->records + i * l->width;
        memcpy(record, what->obs + i * O, O * sizeof *record);
        memcpy(record + O, l->actions + i * A, A * sizeof *record);
        record[O + A] = what->rewards[i];
        memcpy(record + O + A + 1, what->reached + i * O, O * sizeof *record);
        record[l->width - 1] = sac_end(what->terminated[i], what->truncated[i],
                                       l->o.time_limit_ends);
        if (l->o.coloured && (what->terminated[i] || what->truncated[i]))
            noise_stream_end(&l->noise, i);
    }
    replay_write(&l->replay, l->records, what->lost);
    l->steps++;
    return TCE_OK;
}

/* ---- learning -------------------------------------------------------------------------------- */

tce_status off_policy_learn(off_policy *l, sac_report *out)
{
    const size_t O = l->O, A = l->A, M = l->sac.M;
    const sac_batch *b = &l->sac.batch;
    const tce_status status = l->draws.minibatch(l->draws.context, l->updates, l, l->places,
                                                 b->noise, b->next_noise);
    if (status != TCE_OK)
        return status;
    replay_gather(&l->replay, M, l->places, 0, O, b->obs, O);
    replay_gather(&l->replay, M, l->places, O, A, b->actions, A);
    replay_gather(&l->replay, M, l->places, O + A, 1, b->rewards, 1);
    replay_gather(&l->replay, M, l->places, O + A + 1, O, b->next_obs, O);
    replay_gather(&l->replay, M, l->places, l->width - 1, 1, b->ends, 1);
    l->updates++;
    const sac_rates rates = off_policy_rates_at(&l->o.rates, (int64_t)l->N * l->steps,
                                                l->o.schedule_steps);
    return sac_update(&l->sac, &rates, out);
}

void off_policy_add(off_policy_sum *sum, const sac_report *r)
{
    sum->n++;
    sum->report.alpha += r->alpha;
    sum->report.alpha_loss += r->alpha_loss;
    sum->report.critic_loss += r->critic_loss;
    sum->report.actor_loss += r->actor_loss;
    sum->report.entropy += r->entropy;
    sum->report.value += r->value;
}

tce_status off_policy_collect(off_policy *l, off_policy_sum *sum)
{
    const stepping_learner learner = { l, choose, remember };
    const double start = now_seconds();
    tce_status status = TCE_OK;

    /* the warm-up is decided before each step of all environments */
    for (int64_t k = 0; status == TCE_OK && k < l->o.steps; k++) {
        l->warming_up = (int64_t)l->N * l->steps < l->o.learning_starts;
        status = stepping_run(&l->env, 1, &learner);
    }
    sum->simulation += now_seconds() - start;
    return status;
}

int off_policy_learns(const off_policy *l)
{
    return (int64_t)l->N * l->steps > l->o.learning_starts;
}

tce_status off_policy_round(off_policy *l, off_policy_sum *sum)
{
    tce_status status = off_policy_collect(l, sum);
    if (status != TCE_OK || !off_policy_learns(l))
        return status;
    const double start = now_seconds();
    for (int32_t k = 0; status == TCE_OK && k < l->o.gradient_steps; k++) {
        sac_report report;
        status = off_policy_learn(l, &report);
        if (status == TCE_OK)
            off_policy_add(sum, &report);
    }
    sum->update += now_seconds() - start;
    return status;
}

/* ---- what it reports ------------------------------------------------------------------------- */

enum {
    COLUMN_UPDATES,
    COLUMN_CRITIC_LOSS,
    COLUMN_POLICY_LOSS,
    COLUMN_ALPHA_LOSS,
    COLUMN_ALPHA,
    COLUMN_ENTROPY,
    COLUMN_VALUE
};
const char *const OFF_POLICY_COLUMN_NAMES[] = { "updates",    "critic_loss", "policy_loss",
                                                "alpha_loss", "alpha",       "entropy",
                                                "value",      NULL };
enum { PHASE_SIMULATION, PHASE_UPDATE };
const char *const OFF_POLICY_PHASES[] = { "simulation", "update", NULL };

void off_policy_report(const off_policy_sum *sum, double *values, progress *out)
{
    const double n = (double)sum->n;
    out->seconds[PHASE_SIMULATION] = sum->simulation;
    out->seconds[PHASE_UPDATE] = sum->update;
    values[COLUMN_UPDATES] = n;
    if (sum->n == 0)
        return;
    values[COLUMN_CRITIC_LOSS] = sum->report.critic_loss / n;
    values[COLUMN_POLICY_LOSS] = sum->report.actor_loss / n;
    values[COLUMN_ALPHA_LOSS] = sum->report.alpha_loss / n;
    values[COLUMN_ALPHA] = sum->report.alpha / n;
    values[COLUMN_ENTROPY] = sum->report.entropy / n;
    values[COLUMN_VALUE] = sum->report.value / n;
}

/* ---- store ----------------------------------------------------------------------------------- */

tce_status off_policy_save_counters(tce_store *store, int64_t collected, int64_t updates)
{
    const int64_t counters[2] = { collected, updates };
    const size_t n = 2;
    return tce_store_put(store, "trainer.counters", TCE_STORE_I64, 1, &n, counters);
}

tce_status off_policy_load_counters(const tce_store *store, int64_t out_counters[2])
{
    const int64_t *c = out_counters;
    const tce_status status = tce_store_read(store, "trainer.counters", TCE_STORE_I64, 2,
                                             out_counters);
    if (status == TCE_OK && (c[0] < 0 || c[1] < 0))
        return tce_fail(TCE_E_CORRUPT, "trainer.counters = %lld, %lld, must not be negative",
                        (long long)c[0], (long long)c[1]);
    return status;
}

tce_status off_policy_save(const off_policy *l, tce_store *store)
{
    tce_status status = sac_save(&l->sac, store, "sac");
    if (status == TCE_OK)
        status = stepping_save(&l->env, store, "env");
    if (status == TCE_OK && l->o.coloured)
        status = noise_stream_save(&l->noise, store, "noise");
    if (status == TCE_OK)
        status = off_policy_save_schedule(store, l->o.schedule_steps);
    if (status == TCE_OK)
        status = off_policy_save_counters(store, l->steps, l->updates);
    return status;
}

tce_status off_policy_load(off_policy *l, const tce_store *store)
{
    int64_t counters[2];
    tce_status status = off_policy_load_counters(store, counters);
    if (status == TCE_OK)
        status = sac_load(&l->sac, store, "sac");
    if (status == TCE_OK)
        status = stepping_load(&l->env, store, "env");
    if (status == TCE_OK && l->o.coloured)
        status = noise_stream_load(&l->noise, store, "noise");
    if (status == TCE_OK)
        status = off_policy_load_schedule(store, &l->o.schedule_steps);
    if (status != TCE_OK)
        return status;
    l->steps = counters[0];
    l->updates = counters[1];
    return TCE_OK;
}
