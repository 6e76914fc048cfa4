/*
 * Requests for memory, where the C library lets a program count them (COUNTS_REQUESTS): this takes
 * the place of malloc, calloc and realloc in the program whose only source includes it.
 */
#ifndef TCE_TESTS_REQUESTS_H
#define TCE_TESTS_REQUESTS_H

#include <stddef.h>
#include <stdlib.h>

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
#endif

#endif
