/*
 * One task's inspection in a process of its own: a task that crashes, calls exit or never returns
 * ends that process, not the check. What it found, and the call that is under way, lie in memory
 * that both processes share.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "commands/check_task.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "methods/methods.h"

enum { MAX_FINDINGS = 64, FINDING_SIZE = 1024, CALL_SIZE = 32 };

typedef struct finding {
    int32_t severity;
    char message[FINDING_SIZE];
} finding;

typedef struct record {
    int32_t n_findings;
    finding findings[MAX_FINDINGS];
    char call[CALL_SIZE]; /* under way; "": none yet */
    int32_t step;         /* 0: the call is not a step */
    int done;             /* the inspection came to its end, with: */
    tce_status status;
    char message[FINDING_SIZE];
} record;

/* ---- in the child ---------------------------------------------------------------------------- */

static void add_finding(void *context, int32_t severity, const char *message)
{
    record *r = context;
    if (r->n_findings >= MAX_FINDINGS)
        return;
    finding *f = &r->findings[r->n_findings++];
    f->severity = severity;
    snprintf(f->message, sizeof f->message, "%s", message);
}

static void note_call(void *context, const char *call, int32_t step)
{
    record *r = context;
    snprintf(r->call, sizeof r->call, "%s", call);
    r->step = step;
}

/* Does not return. */
static void inspect(const tce_env_vtable *vtable, const char *options, record *r, pid_t parent)
{
    const size_t room = methods_reserved(METHODS, 0, NULL);
    const char **reserved = calloc(room, sizeof *reserved);
    tce_env_inspect_options inspection;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent)
        _exit(EXIT_FAILED);
    tce_env_inspect_options_init(&inspection, sizeof inspection);
    inspection.vtable = vtable;
    inspection.settings = options;
    inspection.report = add_finding;
    inspection.trace = note_call;
    inspection.context = r;
    inspection.reserved = reserved;
    inspection.n_reserved = reserved ? methods_reserved(METHODS, room, reserved) : 0;
    r->status = reserved ? tce_env_inspect(&inspection, NULL, NULL)
                         : tce_fail(TCE_E_NOMEM, "no memory for %zu names", room);
    if (r->status != TCE_OK)
        snprintf(r->message, sizeof r->message, "%s", tce_error_message());
    note_call(r, "the end of the process", 0);
    r->done = 1;
    exit(EXIT_FINE);
}

/* ---- in the parent --------------------------------------------------------------------------- */

/* Waits for a signal of `ended` as long as is left. */
static void wait_for(const sigset_t *ended, struct timespec left)
{
#ifdef __APPLE__
    /* it has no sigtimedwait: look again soon */
    const struct timespec soon = { 0, 20000000 };
    (void)ended;
    nanosleep(left.tv_sec > 0 || left.tv_nsec > soon.tv_nsec ? &soon : &left, NULL);
#else
    sigtimedwait(ended, NULL, &left);
#endif
}

/* Waits for the child; 0 when it had to be stopped at the limit. */
static int await(pid_t child, int limit, const sigset_t *ended, int *state)
{
    struct timespec now, end;
    int in_time = 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += limit;
    while (waitpid(child, state, in_time ? WNOHANG : 0) != child) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        const struct timespec left = { end.tv_sec - now.tv_sec - (now.tv_nsec > end.tv_nsec),
                                       (end.tv_nsec - now.tv_nsec + 1000000000) % 1000000000 };
        if (in_time && left.tv_sec < 0) {
            kill(child, SIGKILL);
            in_time = 0;
        } else if (in_time) {
            wait_for(ended, left);
        }
    }
    return in_time;
}

/* The call that was under way, for a sentence. */
static const char *call_words(const record *r, char *out, size_t size)
{
    if (r->step > 0)
        snprintf(out, size, "%s %d", r->call, (int)r->step);
    else
        snprintf(out, size, "%s", r->call[0] ? r->call : "the start of the check");
    return out;
}

/* Adds how a child ended that did not come to the end of its inspection. */
static void judge_end(record *r, int in_time, int limit, int state)
{
    char message[FINDING_SIZE], call[2 * CALL_SIZE];
    call_words(r, call, sizeof call);
    if (!in_time)
        snprintf(message, sizeof message,
                 "stopped after %d s, in %s: have every call return, or give a slow task more time "
                 "with --limit SECONDS",
                 limit, call);
    else if (WIFSIGNALED(state))
        snprintf(message, sizeof message,
                 "signal %d (%s) ended the process in %s: find the place with `gdb -ex \"set "
                 "follow-fork-mode child\" -ex run --args tce tasks --check ...`, or build the "
                 "task with -g and run it under valgrind",
                 WTERMSIG(state), strsignal(WTERMSIG(state)), call);
    else if (!r->done || WEXITSTATUS(state) != EXIT_FINE)
        snprintf(message, sizeof message,
                 "the process exited by itself with status %d in %s: return tce_fail(TCE_E_ENV, "
                 "...) where the task cannot continue, never call exit",
                 WEXITSTATUS(state), call);
    else
        return;
    add_finding(r, TCE_ENV_FAULT, message);
}

static int print_findings(const record *r)
{
    int n_faults = 0;
    for (int32_t i = 0; i < r->n_findings; i++) {
        const int is_fault = r->findings[i].severity == TCE_ENV_FAULT;
        printf("  %s: %s\n", is_fault ? "fault" : "remark", r->findings[i].message);
        n_faults += is_fault;
    }
    if (n_faults == 0 && r->status == TCE_OK)
        printf("  fine\n");
    fflush(stdout);
    return n_faults;
}

/* Starts the child and waits for it. */
static tce_status run_child(const tce_env_vtable *vtable, const char *options, int limit, record *r)
{
    sigset_t ended, before;
    int state = 0;
    const pid_t parent = getpid();
    signal(SIGCHLD, SIG_DFL); /* who started this program may have it ignored */
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, &before);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        inspect(vtable, options, r, parent);
    }
    tce_status status = TCE_OK;
    if (child < 0) {
        status = tce_fail(TCE_E_THREAD, "cannot start a process: %s", strerror(errno));
    } else {
        const int in_time = await(child, limit, &ended, &state);
        judge_end(r, in_time, limit, state);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

tce_status check_task(const tce_env_vtable *vtable, const char *options, int limit, int *n_faults)
{
    record *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED)
        return tce_fail(TCE_E_NOMEM, "no memory to check a task in: %s", strerror(errno));
    printf("%s\n", vtable->name);
    tce_status status = run_child(vtable, options, limit, r);
    if (status == TCE_OK) {
        *n_faults += print_findings(r);
        if (r->status != TCE_OK)
            status = tce_fail(r->status, "%s", r->message);
    }
    munmap(r, sizeof *r);
    return status;
}
