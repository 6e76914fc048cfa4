/*
 * The running program, as the system knows it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/program.h"

void program_folder(char *out, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", out, size - 1);
    if (n <= 0) {
        snprintf(out, size, ".");
        return;
    }
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}
