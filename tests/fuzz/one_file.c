/*
 * One file through a fuzz target, where there is no libFuzzer: one_file FILE
 */
#include <stdio.h>

#include "fuzz.h"

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        perror(argc == 2 ? argv[1] : "one_file FILE");
        return 1;
    }
    /* a block of the file's own size: the sanitizer sees when a byte after its end is read */
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    uint8_t *data = malloc(size);
    rewind(file);
    if ((size && !data) || fread(data, 1, size, file) != size) {
        perror(argv[1]);
        return 1;
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}
