/*
 * Fuzz target: hostile bytes for the reader of settings files. A file that is refused changes
 * nothing and has a message; the settings of one that is read are within the limits of their table,
 * and their dump reads back to the same settings.
 */
#include "fuzz_file.h"
#include "methods/methods.h"

/* The settings as the program writes them. */
static size_t dump(const settings *s, char *out, size_t size)
{
    FILE *file = fmemopen(out, size, "w");
    must(file != NULL);
    settings_dump(s, file);
    const long n = ftell(file);
    must(n > 0 && (size_t)n < size && fclose(file) == 0);
    return (size_t)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static settings read, before;
    static char first[1 << 16], second[1 << 16];
    char path[FUZZ_PATH];
    fuzz_path("settings.yaml", path);
    fuzz_write("settings.yaml", data, size);

    must(settings_init(&read, METHODS, NULL) == TCE_OK);
    before = read;
    if (settings_read(&read, METHODS, path, 0, NULL) != TCE_OK) {
        must(tce_error_message()[0] != '\0' && memcmp(&read, &before, sizeof read) == 0);
        return 0;
    }
    (void)!settings_check(&read);

    /* as a run folder keeps them */
    const size_t n = dump(&read, first, sizeof first);
    fuzz_write("settings.yaml", first, n);
    must(settings_init(&read, METHODS, NULL) == TCE_OK);
    must(settings_read(&read, METHODS, path, 0, NULL) == TCE_OK);
    must(dump(&read, second, sizeof second) == n && memcmp(first, second, n) == 0);
    return 0;
}
