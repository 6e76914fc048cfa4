/*
 * What the fuzz targets share. `make check-fuzz` runs each over its corpus,
 * tests/fuzz/corpus/<name>, under the address and undefined-behaviour sanitizers; `make fuzz` looks
 * for new inputs with libFuzzer.
 */
#ifndef TCE_TESTS_FUZZ_H
#define TCE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* abort() is how a fuzz target says that it has found something */
static inline void must(int holds)
{
    if (!holds)
        abort();
}

#endif
