/*
 * Running normalisers of observations and returns, as a rollout of the trainer's PPO has them
 * after each of its steps; and as an evaluation has them, where they rest.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/on_policy.h"
#include "replay_tape.h"

/* ---- in a rollout ---------------------------------------------------------------------------- */

enum { N_ACTIONS = 1, N_WORDS = 14, WORD = 64 };

static void free_learner(void *l)
{
    on_policy_destroy(l);
}

static void compare_statistics(replay_case *c, const json_t *step, const tce_normaliser *n,
                               size_t O, const char *const keys[3])
{
    double *mean = replay_zeros(c, O), *variance = replay_zeros(c, O), count;
    if (!n)
        return;
    tce_normaliser_statistics(n, mean, variance, &count);
    replay_compare_rivals(c, step, keys[0], O, mean);
    replay_compare_rivals(c, step, keys[1], O, variance);
    replay_compare_rivals(c, step, keys[2], 1, &count);
}

/* What environments showed at their ends, which the statistics never saw. */
static void compare_terminal(replay_case *c, const json_t *step, const on_policy *l,
                             const replay_tape *t, size_t k)
{
    const json_t *ended = replay_get(c, step, "terminal_observation");
    size_t n_cut = 0;
    for (size_t e = 0; e < l->N; e++) {
        const size_t at = e * t->K + k;
        const json_t *one = json_array_get(ended, e);
        if (!json_is_array(one))
            continue;
        if (!t->terminated[at] && !t->truncated[at])
            replay_fail(c, "a terminal observation without an end");
        double *got = replay_zeros(c, l->O);
        memcpy(got, t->obs + at * l->O, l->O * sizeof *got);
        replay_ok(c, agent_normalise(&l->agent, 1, got));
        json_t *wrapped = json_pack("{sO}", "x", (json_t *)one);
        const double *want = replay_array(c, wrapped, "x", l->O);
        json_decref(wrapped);
        replay_compare_with(c, "terminal_observation", l->O, got, want, TOL_RIVALS);

        /* where the time was up and nothing else, the rollout has judged it */
        if (!t->terminated[at])
            replay_compare_with(c, "terminal_observation", l->O, l->terminal + n_cut++ * l->O, want,
                                TOL_RIVALS);
    }
}

/* What the case has of step k, from 0: the reset and k steps. */
typedef struct watcher {
    replay_case *c;
    const on_policy *l;
    const replay_tape *tape;
    const json_t *steps;
} watcher;

static void compare_step(const watcher *w, size_t k)
{
    static const char *const OBS[] = { "obs_mean", "obs_var", "obs_count" };
    static const char *const RETURNS[] = { "return_mean", "return_var", "return_count" };
    const on_policy *l = w->l;
    const json_t *step = json_array_get(w->steps, k);
    replay_compare_rivals(w->c, step, "observation", l->N * l->O, l->obs);
    compare_statistics(w->c, step, l->seen_obs, l->O, OBS);
    compare_statistics(w->c, step, l->seen_returns, 1, RETURNS);
    if (k == 0)
        return;
    double *reward = replay_zeros(w->c, l->N);
    for (size_t e = 0; e < l->N; e++)
        reward[e] = l->rollout.rewards[e * l->S + k - 1];
    replay_compare_rivals(w->c, step, "reward", l->N, reward);
    if (l->seen_returns)
        replay_compare_rivals(w->c, step, "discounted_return_after", l->N, l->discounted);
    compare_terminal(w->c, step, l, w->tape, k - 1);
}

/* Asked for noise, a rollout stands between two steps. */
static void watch(void *context, int64_t i, int64_t step, size_t n, double *out)
{
    (void)i;
    compare_step(context, (size_t)step);
    memset(out, 0, n * sizeof *out);
}

static void create_learner(replay_case *c, const replay_tape *t, const task *from, on_policy **out)
{
    char text[N_WORDS][WORD];
    char *words[N_WORDS];
    settings s;
    void *learner;
    size_t n = 0;
    const double clip = replay_number(c, c->root, "clip");

    /* what a run leaves no choice of */
    if (replay_number(c, c->root, "epsilon") != 1e-8 ||
        replay_number_or(c, c->root, "count_start", 1e-4) != 1e-4)
        replay_fail(c, "epsilon or count_start is not 1e-8 or 1e-4");
    snprintf(text[n++], WORD, "run.method=ppo");
    snprintf(text[n++], WORD, "policy.precision=double");
    snprintf(text[n++], WORD, "policy.hidden=[2]");
    snprintf(text[n++], WORD, "critic.hidden=[2]");
    snprintf(text[n++], WORD, "policy.epochs=0");
    snprintf(text[n++], WORD, "collect.environments=%zu", t->N);
    snprintf(text[n++], WORD, "collect.steps=%zu", t->K);
    snprintf(text[n++], WORD, "collect.time_limit=bootstrap");
    snprintf(text[n++], WORD, "objective.gamma=%.17g", replay_number(c, c->root, "gamma"));
    snprintf(text[n++], WORD, "normalise.observations=%s",
             replay_int_or(c, c->root, "normalise_observations", 0) ? "true" : "false");
    snprintf(text[n++], WORD, "normalise.rewards=%s",
             replay_int_or(c, c->root, "normalise_rewards", 0) ? "true" : "false");
    snprintf(text[n++], WORD, "normalise.observation_clip=%.17g", clip);
    snprintf(text[n++], WORD, "normalise.reward_clip=%.17g", clip);
    for (size_t k = 0; k < n; k++)
        words[k] = text[k];
    replay_ok(c, settings_read(&s, METHODS, NULL, (int)n, words));
    const method_context context = { &s, from, NULL };
    replay_ok(c, METHOD_TABLE_PPO.create(&context, &learner));
    replay_keep(c, learner, free_learner);
    *out = learner;
}

void replay_vecnormalize(replay_case *c)
{
    replay_tape t;
    on_policy *l;
    replay_read_tape(c, N_ACTIONS, &t);
    const task from = { .vtable = &REPLAY_TAPE, .user = &t };
    create_learner(c, &t, &from, &l);

    /* values of 0 add nothing to the rewards of episodes that are cut */
    replay_ok(c, tce_net_set_weights(l->critic, replay_zeros(c, tce_net_n_weights(l->critic))));
    watcher w = { c, l, &t, replay_get(c, c->root, "steps") };
    if (json_array_size(w.steps) != t.K + 1)
        replay_fail(c, "%zu steps of a tape of %zu", json_array_size(w.steps), t.K);
    l->draws.context = &w;
    l->draws.normals = watch;
    double *values = replay_zeros(c, l->n_columns), *seconds = replay_zeros(c, 8);
    progress made = { .values = values, .seconds = seconds };
    replay_ok(c, METHOD_TABLE_PPO.iterate(l, 1, &made));
    compare_step(&w, t.K);
}

/* ---- at evaluation --------------------------------------------------------------------------- */

static void free_normaliser(void *n)
{
    tce_normaliser_free(n);
}

/* A normaliser with given statistics, through the state that it saves. */
tce_normaliser *replay_normaliser(replay_case *c, size_t O, double epsilon, double clip)
{
    tce_normaliser_options options;
    tce_normaliser *out;
    tce_store *store;
    const double count = 1.0;
    const size_t one = 1;
    tce_normaliser_options_init(&options, sizeof options);
    options.n_columns = (int32_t)O;
    options.epsilon = epsilon;
    options.clip = clip;
    replay_ok(c, tce_normaliser_create(&options, NULL, &out));
    replay_keep(c, out, free_normaliser);
    replay_ok(c, tce_store_create(NULL, &store));
    tce_status status = tce_store_put(store, "n.mean", TCE_STORE_F64, 1, &O,
                                      replay_array(c, c->root, "obs_mean", O));
    if (status == TCE_OK)
        status = tce_store_put(store, "n.variance", TCE_STORE_F64, 1, &O,
                               replay_array(c, c->root, "obs_var", O));
    if (status == TCE_OK)
        status = tce_store_put(store, "n.count", TCE_STORE_F64, 1, &one, &count);
    if (status == TCE_OK)
        status = tce_normaliser_load(out, store, "n");
    tce_store_free(store);
    replay_ok(c, status);
    return out;
}

void replay_vecnormalize_frozen(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "observations", shape);
    const size_t n = shape[0] * shape[1], O = shape[2];
    agent a;
    memset(&a, 0, sizeof a);
    a.normaliser = replay_normaliser(c, O, replay_number(c, c->root, "epsilon"),
                                     replay_number(c, c->root, "clip"));
    double *obs = replay_array(c, c->root, "observations", n * O);
    for (size_t k = 0; k < shape[0]; k++)
        replay_ok(c, agent_normalise(&a, shape[1], obs + k * shape[1] * O));
    replay_compare_rivals(c, c->root, "normalised", n * O, obs);
    double *mean = replay_zeros(c, O), *variance = replay_zeros(c, O);
    tce_normaliser_statistics(a.normaliser, mean, variance, NULL);
    replay_compare_rivals(c, c->root, "obs_mean", O, mean);
    replay_compare_rivals(c, c->root, "obs_var", O, variance);
}
