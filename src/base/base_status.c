/*
 * Statuses: one table yields number, name and text; and the message of this thread's last failure.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/internal.h"

/* Longer messages are cut: enough for a path and a sentence. */
#define MESSAGE_SIZE 1024

typedef struct status_row {
    tce_status status;
    const char *name;
    const char *text;
} status_row;

static const status_row STATUSES[] = {
    { TCE_OK, "TCE_OK", "success" },
    { TCE_E_ARGUMENT, "TCE_E_ARGUMENT", "an argument is missing or not one of the known values" },
    { TCE_E_SHAPE, "TCE_E_SHAPE", "sizes do not fit each other or the handle" },
    { TCE_E_VALUE, "TCE_E_VALUE", "a number is out of range, NaN or infinite" },
    { TCE_E_VERSION, "TCE_E_VERSION",
      "a struct, file or library belongs to another version of libtce" },
    { TCE_E_STATE, "TCE_E_STATE", "the call comes out of order" },
    { TCE_E_UNSUPPORTED, "TCE_E_UNSUPPORTED", "this combination of options has no meaning" },
    { TCE_E_NOMEM, "TCE_E_NOMEM", "out of memory" },
    { TCE_E_IO, "TCE_E_IO", "reading or writing failed" },
    { TCE_E_CORRUPT, "TCE_E_CORRUPT", "the file is damaged or is not what it claims to be" },
    { TCE_E_NOT_FOUND, "TCE_E_NOT_FOUND", "no such file, array, task or symbol" },
    { TCE_E_THREAD, "TCE_E_THREAD", "a thread could not be started" },
    { TCE_E_NOT_PD, "TCE_E_NOT_PD", "a matrix is not positive definite" },
    { TCE_E_NO_CONVERGE, "TCE_E_NO_CONVERGE", "an iteration did not converge" },
    { TCE_E_NOT_FINITE, "TCE_E_NOT_FINITE", "a result is NaN or infinite" },
    { TCE_E_SINGULAR, "TCE_E_SINGULAR", "a system has no unique solution" },
    { TCE_E_ENV, "TCE_E_ENV", "an environment failed" },
    { TCE_E_ENV_NAN, "TCE_E_ENV_NAN", "an environment returned NaN or infinity" },
    { TCE_E_LIBRARY, "TCE_E_LIBRARY", "a library could not be loaded, or computes wrongly" },
};

static __thread char last_message[MESSAGE_SIZE];
static __thread uint64_t n_failures;

static const status_row *find_status(tce_status status)
{
    for (size_t i = 0; i < sizeof STATUSES / sizeof STATUSES[0]; i++)
        if (STATUSES[i].status == status)
            return &STATUSES[i];
    return NULL;
}

const char *tce_status_name(tce_status status)
{
    const status_row *row = find_status(status);
    return row ? row->name : "TCE_E_UNKNOWN";
}

const char *tce_status_text(tce_status status)
{
    const status_row *row = find_status(status);
    return row ? row->text : "a status that this version of libtce does not know";
}

const char *tce_error_message(void)
{
    return last_message;
}

tce_status tce_fail(tce_status status, const char *format, ...)
{
    /* through a second buffer: the arguments may quote the present message */
    char text[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    if (length < 0)
        text[0] = '\0';
    memcpy(last_message, text, strlen(text) + 1);
    n_failures++;
    return status;
}

uint64_t tce__n_failures(void)
{
    return n_failures;
}

tce_status tce__returned(tce_status status, uint64_t n_failures_before, const char *callback,
                         const char *items, size_t begin, size_t end)
{
    if (status == TCE_OK || n_failures != n_failures_before)
        return status;
    return tce_fail(status,
                    "%s returned %d for %s %zu to %zu, without a message: end it with tce_fail",
                    callback, (int)status, items, begin, end - 1);
}

void tce__message_set(const char *text)
{
    const size_t length = strlen(text);
    const size_t kept = length < MESSAGE_SIZE ? length : MESSAGE_SIZE - 1;

    memmove(last_message, text, kept);
    last_message[kept] = '\0';
}

int32_t tce_version(void)
{
    return TCE_VERSION_NUMBER;
}

const char *tce_version_string(void)
{
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
    return TEXT(TCE_VERSION_MAJOR) "." TEXT(TCE_VERSION_MINOR) "." TEXT(TCE_VERSION_PATCH);
}
