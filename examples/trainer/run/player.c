/*
 * The mean policy of a run folder, for evaluation, pictures and smoothness.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/player.h"
#include "run/run.h"
#include "tools/counter.h"
#include "tools/memory.h"
#include "tools/shell.h"

void player_close(player *p)
{
    episodes_free(&p->ep);
    memory_free(&p->arrays);
    policy_file_close(&p->file);
    tce_store_free(p->store);
    task_close(&p->t);
    memset(p, 0, sizeof *p);
}

tce_status player_load(player *p, const char *folder, const char *library)
{
    char path[2 * TEXT_SIZE], word[SHELL_WORD];
    memset(p, 0, sizeof *p);
    snprintf(path, sizeof path, "%s/config.yaml", folder);
    if (access(path, R_OK) != 0)
        return tce_fail(TCE_E_NOT_FOUND,
                        "%s is not a run folder: it has no config.yaml that can be read", folder);
    tce_status status = run_read_settings(path, &p->s);
    if (status == TCE_OK && library)
        status = settings_name_library(&p->s, library);
    if (status == TCE_OK)
        status = task_library_check(&p->s);
    if (status != TCE_OK)
        return status;
    snprintf(path, sizeof path, "%s/policy.safetensors", folder);
    if (access(path, F_OK) != 0)
        return tce_fail(
            TCE_E_NOT_FOUND,
            "%s has no policy.safetensors yet: it comes with the first checkpoint; go on with "
            "`tce train --resume %s`",
            folder, shell_word(folder, word, sizeof word));
    return tce_store_load(path, NULL, &p->store);
}

/* The policy was trained on what this task is. */
static tce_status check_task(const player *p)
{
    const policy_file *f = &p->file;
    const episodes *ep = &p->ep;
    const size_t n_context = ep->mask_context ? (size_t)ep->spec->n_context : 0;
    const size_t of_policy[] = { f->O, f->O_net, f->T, f->D },
                 of_task[] = { ep->O, ep->O_net, ep->T, ep->D };
    static const char *const WHAT[] = { "numbers in an observation", "inputs of the policy",
                                        "steps", "degrees of freedom" };
    if (f->task[0] && strcmp(f->task, p->s.task.name) != 0)
        return tce_fail(TCE_E_VALUE,
                        "policy.safetensors is of the task %s, config.yaml names %s: they are of "
                        "different runs",
                        f->task, p->s.task.name);
    for (size_t i = 0; i < sizeof WHAT / sizeof WHAT[0]; i++)
        if (of_policy[i] != of_task[i])
            return tce_fail(TCE_E_SHAPE,
                            "the policy was trained with %zu %s, the task %s has %zu now: its "
                            "library or config.yaml has changed",
                            of_policy[i], WHAT[i], p->s.task.name, of_task[i]);
    if (f->dt != ep->spec->dt)
        return tce_fail(TCE_E_VALUE,
                        "the policy was trained with steps of %g s, those of the task %s take %g s "
                        "now: its library has changed",
                        f->dt, p->s.task.name, ep->spec->dt);
    if ((f->context ? f->n_context : 0) != n_context ||
        (n_context > 0 &&
         memcmp(f->context, ep->spec->context, n_context * sizeof *f->context) != 0))
        return tce_fail(TCE_E_SHAPE,
                        "the policy sees other entries of the observation than the task %s shows "
                        "to it now: its library or config.yaml "
                        "has changed",
                        p->s.task.name);
    return TCE_OK;
}

tce_status player_create(player *p, int32_t n_episodes, tce_pool *pool)
{
    const settings *s = &p->s;
    tce_status status = policy_file_open(&p->file, p->store, s->collect.environments, pool);
    if (status == TCE_OK)
        status = task_open(s, &p->t);
    if (status == TCE_OK) {
        /* what the policy is decides how large a factor is, not what the settings say of it */
        const int contextual = tce_policy_num_factors(p->file.policy, 2) > 1;
        const episodes_options options = { n_episodes, s->collect.environments, contextual,
                                           PURPOSE_EVAL_ENV, "" };
        status = episodes_create(&p->ep, &p->t, s, pool, &options);
    }
    if (status == TCE_OK)
        status = check_task(p);
    if (status == TCE_OK)
        status = memory_check(episodes_bytes(&p->ep, p->file.P), "this number of episodes",
                              "lower --episodes");
    return status == TCE_OK ? episodes_allocate(&p->ep, p->file.P, &p->arrays) : status;
}

static tce_status count(void *context, const episodes *ep, size_t first, size_t n)
{
    (void)ep;
    (void)first;
    counter_add(context, n);
    return TCE_OK;
}

tce_status player_play(player *p)
{
    counter played;
    counter_start(&played, "playing", p->ep.E, "episodes");
    const tce_status status = episodes_collect(&p->ep, p->file.policy, p->file.mp, p->s.run.seed,
                                               PLAYER_COLLECTION, 0, count, &played);
    counter_end(&played);
    return status;
}

void player_desired_velocity(const player *p, size_t e, double *out)
{
    const episodes *ep = &p->ep;
    const size_t n = (size_t)ep->lengths[e], D = ep->D;
    if (n == 0)
        return;
    memcpy(out, ep->init_vel + e * D, D * sizeof *out);
    memcpy(out + D, ep->vel + e * ep->T * D, (n - 1) * D * sizeof *out);
}

int player_measured_velocity(const player *p, size_t e, double *out)
{
    const episodes *ep = &p->ep;
    const size_t n = (size_t)ep->lengths[e], D = ep->D;
    const size_t end = (size_t)ep->spec->velocity_end;
    if (end == 0)
        return 0;
    for (size_t t = 0; t < n; t++)
        memcpy(out + t * D, ep->obs + (e * (ep->T + 1) + t) * ep->O + end - D, D * sizeof *out);
    return 1;
}
