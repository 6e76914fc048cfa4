/*
 * MuJoCo's errors as statuses: a handler that jumps.
 */
#include "guard.h"

#include <mujoco/mujoco.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MESSAGE_SIZE 1000

/* Where an error of this thread jumps to; NULL outside of mujoco_try. */
typedef struct guard {
    jmp_buf place;
    char message[MESSAGE_SIZE];
} guard;

static __thread guard *current_guard;
static void (*former_error)(const char *message);

/*
 * Called by MuJoCo, must not return: what follows an error in MuJoCo's code does not expect to run.
 */
static void error_handler(const char *message)
{
    guard *g = current_guard;
    if (g) {
        snprintf(g->message, sizeof g->message, "MuJoCo: %s", message);
        longjmp(g->place, 1);
    }
    if (former_error)
        former_error(message);
    fprintf(stderr, "MuJoCo: %s\n", message);
    abort();
}

/*
 * MuJoCo counts warnings in mjData, where step_checked finds them; without a handler it would also
 * write MUJOCO_LOG.TXT.
 */
static void warning_handler(const char *message)
{
    (void)message;
}

tce_status mujoco_try(void (*work)(void *context), void *context)
{
    guard here;
    guard *const outer = current_guard;
    if (setjmp(here.place) == 0) {
        current_guard = &here;
        work(context);
        current_guard = outer;
        return TCE_OK;
    }
    current_guard = outer;
    return tce_fail(TCE_E_ENV, "%s", here.message);
}

void mujoco_stop(const char *format, ...)
{
    guard *g = current_guard;
    va_list arguments;
    if (!g)
        abort();
    va_start(arguments, format);
    vsnprintf(g->message, sizeof g->message, format, arguments);
    va_end(arguments);
    longjmp(g->place, 1);
}

void guard_install(void)
{
    if (mju_user_error == error_handler)
        return;
    former_error = mju_user_error;
    mju_user_error = error_handler;
    mju_user_warning = warning_handler;
}

void guard_remove(void)
{
    if (mju_user_error != error_handler)
        return;
    mju_user_error = former_error;
    mju_user_warning = NULL;
}
