/*
 * Calling into a task: which message is the callback's own, and what its status means.
 */
#include "env/internal.h"

#include <stdio.h>

void tce__aside_put(tce__aside *aside)
{
    (void)snprintf(aside->text, sizeof aside->text, "%s", tce_error_message());
    (void)tce_fail(TCE_OK, "%s", "");
}

void tce__aside_return(const tce__aside *aside)
{
    (void)tce_fail(TCE_OK, "%s", aside->text);
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
