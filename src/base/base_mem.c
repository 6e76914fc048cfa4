/*
 * Memory: hooks with their defaults, and the arena that carves a handle's one block.
 */
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"

static void *default_allocate(void *user, size_t size, size_t alignment)
{
    (void)user;
    void *block = NULL;
    return posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}

static void default_release(void *user, void *block)
{
    (void)user;
    free(block);
}

tce_status tce__hooks_read(const tce_hooks *hooks, tce_hooks *out)
{
    tce_hooks read = { .struct_size = sizeof read };
    if (hooks) {
        const tce_status status = tce__struct_read(hooks, "tce_hooks", sizeof read, &read);
        if (status != TCE_OK)
            return status;
    }
    if (!read.allocate != !read.release)
        return tce_fail(TCE_E_ARGUMENT,
                        "tce_hooks has only one of allocate and release, need both or none");

    if (!read.allocate) {
        read.allocate = default_allocate;
        read.release = default_release;
    }
    *out = read;
    return TCE_OK;
}

void *tce__arena_take(tce__arena *arena, size_t count, size_t size)
{
    const size_t slack = TCE__ALIGNMENT - 1;
    if (size != 0 && count > (SIZE_MAX - slack) / size) {
        arena->size = SIZE_MAX;
        return NULL;
    }

    /* whole cache lines, so that two workers' arrays never share one */
    const size_t bytes = (count * size + slack) & ~slack;
    if (arena->size > SIZE_MAX - bytes) {
        arena->size = SIZE_MAX;
        return NULL;
    }
    unsigned char *here = arena->base ? arena->base + arena->size : NULL;
    arena->size += bytes;
    return here;
}

double *tce__arena_doubles(tce__arena *arena, size_t count)
{
    return tce__arena_take(arena, count, sizeof(double));
}

tce_status tce__block_create(const tce_hooks *hooks, const char *what, tce__arena *arena,
                             tce_hooks *out_hooks)
{
    tce_hooks complete;
    const tce_status status = tce__hooks_read(hooks, &complete);
    if (status != TCE_OK)
        return status;

    /* PTRDIFF_MAX is the most that the C library can give */
    const size_t size = arena->size;
    void *block = size <= PTRDIFF_MAX ? complete.allocate(complete.user, size, TCE__ALIGNMENT)
                                      : NULL;
    if (!block)
        return tce_fail(TCE_E_NOMEM, "no memory for %s, %zu bytes", what, size);

    memset(block, 0, size);
    arena->base = block;
    arena->size = 0;
    *out_hooks = complete;
    return TCE_OK;
}

void tce__block_free(const tce_hooks *hooks, void *block)
{
    /* the hooks usually live in the block itself */
    const tce_hooks copy = *hooks;
    copy.release(copy.user, block);
}
