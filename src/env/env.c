/*
 * Whether a task's table can be used: its size, its TCE_ENV_ABI, and its required entries.
 */
#include <tce/env.h>

#include <string.h>

#include "base/internal.h"

/* A table of the first version of contract 1 ends with render; tables only ever grow. */
#define LEAST_SIZE (offsetof(tce_env_vtable, render) + sizeof(((tce_env_vtable *)NULL)->render))

/* Task names are parts of folder names. */
static int is_good_name(const char *name)
{
    static const char CHARACTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_.-";

    return name[0] != '.' && name[0] != '-' && name[strspn(name, CHARACTERS)] == '\0';
}

/* TCE_OK, or TCE_E_ARGUMENT naming the entry that is missing. */
static tce_status check_entry(const tce_env_vtable *vtable, int present, const char *entry)
{
    if (present)
        return TCE_OK;
    return tce_fail(TCE_E_ARGUMENT, "task \"%s\": %s is NULL, every task needs it", vtable->name,
                    entry);
}

tce_status tce_env_check(const tce_env_vtable *vtable)
{
    tce_status status = tce__check_pointer("vtable", vtable);
    if (status != TCE_OK)
        return status;

    /* size and contract first: they say whether the rest may be looked at */
    if (vtable->struct_size < LEAST_SIZE)
        return tce_fail(TCE_E_VERSION,
                        "a task's table has struct_size %zu, must be at least %zu: set it to "
                        "sizeof(tce_env_vtable)",
                        vtable->struct_size, LEAST_SIZE);
    if (vtable->abi != TCE_ENV_ABI)
        return tce_fail(
            TCE_E_VERSION,
            "a task's table is for TCE_ENV_ABI %d, libtce %s has %d: recompile the task",
            (int)vtable->abi, tce_version_string(), TCE_ENV_ABI);

    /* names, then the entries that every task has */
    if (!vtable->name || vtable->name[0] == '\0')
        return tce_fail(TCE_E_ARGUMENT, "a task's table has no name");
    if (!is_good_name(vtable->name))
        return tce_fail(TCE_E_ARGUMENT,
                        "task \"%.60s\": a name consists of English letters, digits, _, . and -, "
                        "and begins with neither . nor -: rename the task",
                        vtable->name);
    status = check_entry(vtable, vtable->description != NULL, "description");
    if (status == TCE_OK)
        status = check_entry(vtable, vtable->create != NULL, "create");
    if (status == TCE_OK)
        status = check_entry(vtable, vtable->destroy != NULL, "destroy");
    if (status == TCE_OK)
        status = check_entry(vtable, vtable->spec != NULL, "spec");
    if (status == TCE_OK)
        status = check_entry(vtable, vtable->reset != NULL, "reset");
    if (status != TCE_OK)
        return status;
    if (!vtable->step && !vtable->step_action)
        return tce_fail(
            TCE_E_ARGUMENT,
            "task \"%s\": step and step_action are both NULL, every task needs one of them",
            vtable->name);

    /* a state that can be read but not written, or whose size is unknown, is of no use */
    if (!vtable->n_state != !vtable->get_state || !vtable->n_state != !vtable->set_state)
        return tce_fail(TCE_E_ARGUMENT,
                        "task \"%s\": n_state, get_state and set_state go together, all or none",
                        vtable->name);
    return TCE_OK;
}
