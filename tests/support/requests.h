/*
 * Requests for memory, where the C library lets a program count them (COUNTS_REQUESTS): this takes
 * the place of malloc, calloc and realloc in the program whose only source includes it.
 */
#ifndef TCE_TESTS_REQUESTS_H
#define TCE_TESTS_REQUESTS_H

#include <stddef.h>
#include <stdlib.h>

#include "methods/methods.h"
#include "support.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_REQUESTS 1

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t size);

static size_t requests;

static void count_request(void)
{
    __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
}

/* How many there were, of all threads. */
static size_t n_requests(void)
{
    return __atomic_load_n(&requests, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
    count_request();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count_request();
    return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    count_request();
    return __libc_realloc(block, size);
}

/* Iterations first to last of a learner. Asserts ask for memory themselves, so they come after. */
static void iterations_without_requests(const method *way, void *learner, int64_t first,
                                        int64_t last, progress *made)
{
    tce_status status = TCE_OK;
    const size_t before = n_requests();
    for (int64_t i = first; status == TCE_OK && i <= last; i++)
        status = way->iterate(learner, i, made);
    const size_t after = n_requests();
    ok(status);
    ck_assert_uint_eq(after, before);
}
#endif

#endif
