/*
 * The mean policy of a run folder, for evaluation, pictures and smoothness.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/policy_runner.h"
#include "run/run.h"
#include "tools/memory.h"
#include "tools/shell.h"

void policy_runner_close(policy_runner *p)
{
    episodes_free(&p->ep);
    memory_free(&p->arrays);
    agent_close(&p->agent);
    tce_store_free(p->store);
    if (!p->given)
        task_close(&p->t);
    memset(p, 0, sizeof *p);
}

/* A run folder and its newest policy; or a policy in one, such as the best, and the folder. */
static tce_status find_policy(const char *run, char folder[RUN_PATH], char policy[RUN_PATH])
{
    struct stat there;
    if (stat(run, &there) != 0 || !S_ISREG(there.st_mode)) {
        const tce_status status = run_path(run, "policy.safetensors", policy);
        if (status == TCE_OK)
            memcpy(folder, run, strlen(run) + 1);
        return status;
    }
    if (strlen(run) >= RUN_PATH)
        return tce_fail(TCE_E_VALUE, "a path of %zu characters is too long", strlen(run));
    memcpy(policy, run, strlen(run) + 1);
    const char *slash = strrchr(run, '/');
    snprintf(folder, RUN_PATH, "%.*s", slash ? (int)(slash - run) : 1, slash ? run : ".");
    return TCE_OK;
}

tce_status policy_runner_load(policy_runner *p, const char *run,
                              const settings_table *const *methods, const char *library,
                              const task *given)
{
    char folder[RUN_PATH], path[RUN_PATH], word[SHELL_WORD];
    memset(p, 0, sizeof *p);
    p->given = given;
    tce_status status = find_policy(run, folder, p->path);
    if (status == TCE_OK)
        status = run_path(folder, "config.yaml", path);
    if (status != TCE_OK)
        return status;
    if (access(path, R_OK) != 0)
        return tce_fail(TCE_E_NOT_FOUND,
                        "%s is not a run folder: it has no config.yaml that can be read; nor is it "
                        "one of the trained policies that come with tce, such as reacher5/tce-1",
                        folder);
    status = run_read_settings(path, methods, &p->s);
    if (status == TCE_OK && library)
        status = settings_name_library(&p->s, library);
    if (status == TCE_OK && !given)
        status = task_library_check(&p->s);
    if (status != TCE_OK)
        return status;
    if (access(p->path, F_OK) != 0)
        return tce_fail(TCE_E_NOT_FOUND,
                        "%s has no policy.safetensors yet: it is written with the first "
                        "checkpoint; continue with "
                        "`tce train --resume %s`",
                        folder, shell_word(folder, word, sizeof word));
    return own_store_load(p->path, &p->store);
}

tce_status policy_runner_create(policy_runner *p, int32_t n_episodes, tce_pool *pool)
{
    const settings *s = &p->s;
    tce_status status = agent_open(&p->agent, p->store, s->collect.environments, pool);
    if (status != TCE_OK)
        return tce_fail(status, "%s: %s", p->path, tce_error_message());
    const int32_t n_envs = evaluation_environments(s, &p->agent);
    const episodes_options options = { n_episodes, n_envs, PURPOSE_EVAL_ENV, "",
                                       s->evaluate.options };
    if (p->given)
        p->t = *p->given;
    else
        status = task_open(s, &p->t);
    if (status == TCE_OK)
        status = episodes_create(&p->ep, &p->t, s, pool, &options);
    if (status != TCE_OK)
        return status;

    /* the policy was trained on what this task is */
    status = agent_check_task(&p->agent, p->ep.spec, s->task.name);
    if (status == TCE_OK)
        status = agent_check_settings(&p->agent, s, p->path);
    if (status == TCE_OK)
        status = memory_check(episodes_bytes(p->ep.spec, &p->agent, n_episodes, n_envs),
                              "this number of episodes", "lower --episodes");
    return status == TCE_OK ? episodes_allocate(&p->ep, &p->agent, &p->arrays) : status;
}

/* Who is told of the rounds, and how many episodes they had. */
typedef struct listener {
    policy_runner_played played;
    void *context;
    size_t done;
} listener;

static tce_status count(void *context, const episodes *ep, size_t first, size_t n)
{
    listener *l = context;
    (void)first;
    l->done += n;
    l->played(l->context, l->done, ep->E);
    return TCE_OK;
}

tce_status policy_runner_run(policy_runner *p, policy_runner_played played, void *context)
{
    listener l = { played, context, 0 };
    return episodes_collect(&p->ep, POLICY_RUNNER_COLLECTION, 0, played ? count : NULL, &l);
}
