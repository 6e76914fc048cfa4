/*
 * Memory: arrays, what those of a run will need before they are taken, and what there is.
 */
#ifndef TRAINER_MEMORY_H
#define TRAINER_MEMORY_H

#include <tce/tce.h>

/*
 * Zeroed memory; sets *failed instead of returning a status, so that a list of arrays reads as a
 * list.
 */
void *array_of(size_t count, size_t size, int *failed);
double *array_of_doubles(size_t count, int *failed);

/*
 * Arrays that live and go together, taken or, with `measure`, only counted: the same lines of code
 * serve both. Starts as { 0 }; memory_free when done.
 */
typedef struct memory {
    double bytes;
    int measure; /* take nothing */
    int failed;  /* there was not enough */
    struct memory_block *blocks;
} memory;

/* Zeroed memory; NULL when there is none, or when it is only measured. */
void *memory_take(memory *m, size_t count, size_t size);
double *memory_doubles(memory *m, size_t count);
/* Frees all that was taken. */
void memory_free(memory *m);

/*
 * Hooks that grant nothing and count what is asked for: with them, a create tells the size of its
 * handle by failing.
 */
void memory_hooks(memory *m, tce_hooks *hooks);
/* What such a create returned: TCE_OK when it failed for nothing else. */
tce_status memory_measured(tce_status status);

/*
 * Bytes that this process may still take: by the machine, its control groups and its own limits.
 * INFINITY: nobody says.
 */
double memory_available(void);

/*
 * TCE_E_NOMEM when there are not so many bytes: `what` needs them, and `remedy` says which settings
 * to lower.
 */
tce_status memory_check(double bytes, const char *what, const char *remedy);

#endif
