/*
 * Files without a name.
 */
#include "tools/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096

static const char *remedy_of(int error)
{
    if (error == EMFILE || error == ENFILE)
        return "raise the limit on open files (ulimit -n)";
    if (error == ENOSPC || error == EDQUOT)
        return "free some space there, or set TMPDIR to another folder";
    return "set TMPDIR to a folder that you can write to";
}

tce_status temporary_open(FILE **out)
{
    char path[PATH_SIZE];
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    *out = NULL;
    if (snprintf(path, sizeof path, "%s/tce-XXXXXX", folder) >= (int)sizeof path)
        return tce_fail(TCE_E_VALUE, "TMPDIR has %zu characters, must have fewer than %d",
                        strlen(folder), PATH_SIZE - (int)sizeof "/tce-XXXXXX");

    /* readable by its owner alone, and gone from the folder at once */
    const int file = mkstemp(path);
    if (file >= 0) {
        unlink(path);
        fcntl(file, F_SETFD, FD_CLOEXEC);
        *out = fdopen(file, "w+");
    }
    if (*out)
        return TCE_OK;
    const int error = errno;
    if (file >= 0)
        close(file);
    return tce_fail(TCE_E_IO, "cannot make a temporary file in %s: %s; %s", folder, strerror(error),
                    remedy_of(error));
}
