/*
 * Ctrl-C, termination and hang-up. The program alone installs handlers: what it shares with other
 * hosts is asked to stop by a function.
 */
#include "queue/signals.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "tools/clock.h"
#include "tools/program.h"

/* mpirun and batch systems pass SIGUSR1 on */
static const int STOPPING[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };
enum { N_STOPPING = sizeof STOPPING / sizeof STOPPING[0] };

/*
 * Seconds in which further signals are the first one again: batch systems and mpirun tell a process
 * and its parent, which passes it on.
 */
#define ONCE 0.5

static volatile sig_atomic_t caught, in_folder;
static double first; /* when; written before caught, by the handler alone */

static void on_signal(int number)
{
    if (!in_folder || (caught && now_seconds() - first > ONCE))
        _exit(EXIT_INTERRUPTED);
    if (!caught)
        first = now_seconds();
    caught = number;
}

void signals_catch(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < N_STOPPING; i++) {
        struct sigaction before;
        /* nohup stays nohup */
        if (sigaction(STOPPING[i], NULL, &before) != 0 || before.sa_handler != SIG_IGN)
            sigaction(STOPPING[i], &action, NULL);
    }
    /* a closed pipe or a size limit is an error of the call, not the end of the run */
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

void signals_release(void)
{
    for (size_t i = 0; i < N_STOPPING; i++) {
        struct sigaction now;
        if (sigaction(STOPPING[i], NULL, &now) == 0 && now.sa_handler == on_signal)
            signal(STOPPING[i], SIG_DFL);
    }
}

void signals_enter_folder(void)
{
    in_folder = 1;
}

int signals_caught(void)
{
    return caught;
}
