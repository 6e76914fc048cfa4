/*
 * Calling into a task: which message is the callback's own, and what its status means.
 */
#include "env/internal.h"

#include <string.h>

/*
 * Both are called around every step of an environment: texts are copied only where there is one.
 */
void tce__aside_put(tce__aside *aside)
{
    const char *message = tce_error_message();
    const size_t length = strlen(message);
    const size_t kept = length < sizeof aside->text ? length : sizeof aside->text - 1;

    memcpy(aside->text, message, kept);
    aside->text[kept] = '\0';
    tce__message_set("");
}

void tce__aside_return(const tce__aside *aside)
{
    tce__message_set(aside->text);
}

tce_status tce__judge(const char *callback, tce_status status)
{
    if (status > 0)
        return tce_fail(TCE_E_ENV, "%s returned %d, must be TCE_OK or a negative status", callback,
                        (int)status);
    if (status < 0 && tce_error_message()[0] == '\0')
        return tce_fail(status, "%s returned %s: %s", callback, tce_status_name(status),
                        tce_status_text(status));
    return status;
}
