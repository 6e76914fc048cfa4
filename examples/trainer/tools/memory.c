/*
 * Memory of a run before it is taken. What is available is the least of
 *     the machine:         MemAvailable + SwapFree of /proc/meminfo,
 *     its control groups:  limit - (usage - file cache that can go), of version 2 or 1, from its
 *                          own up to the root,
 *     the process:         RLIMIT_AS and RLIMIT_DATA less what it has.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/memory.h"

#define GIGABYTE 1e9

void *array_of(size_t count, size_t size, int *failed)
{
    void *block = calloc(count ? count : 1, size);
    if (!block)
        *failed = 1;
    return block;
}

double *array_of_doubles(size_t count, int *failed)
{
    return array_of(count, sizeof(double), failed);
}

/* What stands before each array, which is aligned for any type. */
struct memory_block {
    struct memory_block *next;
    long double array[];
};

void *memory_take(memory *m, size_t count, size_t size)
{
    m->bytes += (double)count * (double)size;
    if (m->measure)
        return NULL;
    const size_t most = SIZE_MAX - sizeof(struct memory_block);
    struct memory_block *block = size && count > most / size
                                     ? NULL
                                     : calloc(1, sizeof *block + count * size);
    if (!block) {
        m->failed = 1;
        return NULL;
    }
    block->next = m->blocks;
    m->blocks = block;
    return block->array;
}

void memory_free(memory *m)
{
    while (m->blocks) {
        struct memory_block *next = m->blocks->next;
        free(m->blocks);
        m->blocks = next;
    }
}

double *memory_doubles(memory *m, size_t count)
{
    return memory_take(m, count, sizeof(double));
}

/* ---- handles --------------------------------------------------------------------------------- */

static void *count_only(void *user, size_t size, size_t alignment)
{
    memory *m = user;
    (void)alignment;
    m->bytes += (double)size;
    return NULL;
}

static void release_nothing(void *user, void *block)
{
    (void)user;
    (void)block;
}

void memory_hooks(memory *m, tce_hooks *hooks)
{
    *hooks = TCE_INIT(tce_hooks);
    hooks->user = m;
    hooks->allocate = count_only;
    hooks->release = release_nothing;
}

tce_status memory_measured(tce_status status)
{
    return status == TCE_E_NOMEM ? TCE_OK : status;
}

/* ---- what there is --------------------------------------------------------------------------- */

/*
 * The number after a word that begins a line of a file, the first number for ""; NaN: there is none
 * ("max", no such file).
 */
static double number_in(const char *path, const char *word)
{
    char line[512];
    double value = NAN;
    const size_t length = strlen(word);
    FILE *file = fopen(path, "r");
    while (file && isnan(value) && fgets(line, sizeof line, file)) {
        char *end;
        if (strncmp(line, word, length) != 0)
            continue;
        const double number = strtod(line + length, &end);
        if (end != line + length)
            value = number;
    }
    if (file)
        fclose(file);
    return value;
}

static double machine(void)
{
    const double available = number_in("/proc/meminfo", "MemAvailable:");
    const double swap = number_in("/proc/meminfo", "SwapFree:");
    return isnan(available) ? INFINITY : 1024.0 * (available + (isnan(swap) ? 0.0 : swap));
}

/* Names of the files of a control group. */
typedef struct group_files {
    const char *root, *limit, *usage, *cache;
} group_files;

static const group_files VERSION_2 = { "/sys/fs/cgroup", "memory.max", "memory.current",
                                       "inactive_file " };
static const group_files VERSION_1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                       "memory.usage_in_bytes", "total_inactive_file " };

static double group(const group_files *files, const char *path)
{
    char limit_path[2048], usage_path[2048], stat_path[2048];
    snprintf(limit_path, sizeof limit_path, "%s%s/%s", files->root, path, files->limit);
    snprintf(usage_path, sizeof usage_path, "%s%s/%s", files->root, path, files->usage);
    snprintf(stat_path, sizeof stat_path, "%s%s/memory.stat", files->root, path);
    const double limit = number_in(limit_path, "");
    const double usage = number_in(usage_path, "");
    const double cache = number_in(stat_path, files->cache);
    if (isnan(limit) || isnan(usage))
        return INFINITY;
    return fmax(limit - usage + (isnan(cache) ? 0.0 : cache), 0.0);
}

/* The least of a group and all those that it is in. */
static double groups_above(const group_files *files, char *path)
{
    path[strcspn(path, "\n")] = '\0';
    double least = group(files, "");
    for (char *end = path + strlen(path); end > path; end = strrchr(path, '/')) {
        *end = '\0';
        least = fmin(least, group(files, path));
    }
    return least;
}

static double control_groups(void)
{
    char line[1024];
    double least = INFINITY;
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof line, file)) {
        /* 0::/path, or N:controllers:/path */
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        if (controllers[1] == '\0')
            least = fmin(least, groups_above(&VERSION_2, path));
        else if (strstr(controllers, "memory"))
            least = fmin(least, groups_above(&VERSION_1, path));
    }
    if (file)
        fclose(file);
    return least;
}

/* A limit of the process, of which `used` pages are taken. */
static double limit_left(int resource, double used)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return INFINITY;
    return fmax((double)limit.rlim_cur - used * (double)sysconf(_SC_PAGESIZE), 0.0);
}

static double process(void)
{
    unsigned long long all = 0, data = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%llu %*u %*u %*u %*u %llu", &all, &data) != 2)
            all = data = 0;
        fclose(file);
    }
    return fmin(limit_left(RLIMIT_AS, (double)all), limit_left(RLIMIT_DATA, (double)data));
}

double memory_available(void)
{
    return fmin(fmin(machine(), control_groups()), process());
}

tce_status memory_check(double bytes, const char *what, const char *remedy)
{
    const double available = memory_available();
    if (bytes <= available)
        return TCE_OK;
    return tce_fail(TCE_E_NOMEM, "%s needs %.2f GB of memory, and %.2f GB are available: %s", what,
                    bytes / GIGABYTE, available / GIGABYTE, remedy);
}
