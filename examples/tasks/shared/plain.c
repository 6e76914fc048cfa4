/*
 * What the tasks without MuJoCo share; see plain.h.
 */
#include "plain.h"

#include <stdlib.h>

tce_status plain_create(const char *task, size_t size, const char *settings,
                        const task_option *option, void **out)
{
    void *instance = calloc(1, size);
    if (!instance)
        return tce_fail(TCE_E_NOMEM, "%s: no memory", task);
    const tce_status status = task_options_read(task, settings, 1, option, instance);
    if (status != TCE_OK) {
        free(instance);
        return status;
    }
    *out = instance;
    return TCE_OK;
}
