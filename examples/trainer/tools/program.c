/*
 * The running program, as the system knows it.
 */
#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "tools/program.h"

#ifdef __APPLE__

const char *program_file(char out[PROGRAM_PATH])
{
    uint32_t size = PROGRAM_PATH;
    char path[PROGRAM_PATH];
    return _NSGetExecutablePath(path, &size) == 0 && realpath(path, out) ? out : NULL;
}

/* Without links; 0 when the system does not tell. */
static int find_program(char out[PROGRAM_PATH])
{
    return program_file(out) != NULL;
}

#else

/* Without links; 0 when the system does not tell. */
static int find_program(char out[PROGRAM_PATH])
{
    const ssize_t n = readlink("/proc/self/exe", out, PROGRAM_PATH - 1);
    if (n > 0)
        out[n] = '\0';
    return n > 0;
}

/*
 * Its path, which the system ends in " (deleted)" once the file has been replaced or removed; then
 * the link itself still opens the old file. Not always the link: under valgrind that opens valgrind.
 */
const char *program_file(char out[PROGRAM_PATH])
{
    if (!find_program(out) || access(out, X_OK) != 0)
        snprintf(out, PROGRAM_PATH, "/proc/self/exe");
    return out;
}

#endif

void program_folder(char *out, size_t size)
{
    char path[PROGRAM_PATH];
    if (!find_program(path)) {
        snprintf(out, size, ".");
        return;
    }
    snprintf(out, size, "%s", path);
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

int program_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cores = CPU_COUNT(&set);
#endif
    return cores > 1 ? (int)cores : 1;
}
