/*
 * See fuzz_file.h.
 */
#include "fuzz_file.h"

#include <dirent.h>

static char folder[FUZZ_PATH / 2];

static void remove_folder(void)
{
    char path[FUZZ_PATH + 256];
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            remove(path);
        }
    if (entries)
        closedir(entries);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    if (folder[0])
        return folder;
    snprintf(folder, sizeof folder, "%s/tce-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    must(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
    return folder;
}

void fuzz_path(const char *name, char out[FUZZ_PATH])
{
    must(snprintf(out, FUZZ_PATH, "%s/%s", fuzz_folder(), name) < FUZZ_PATH);
}

void fuzz_write(const char *name, const void *data, size_t size)
{
    char path[FUZZ_PATH];
    fuzz_path(name, path);
    FILE *file = fopen(path, "wb");
    must(file != NULL);
    must(fwrite(data, 1, size, file) == size);
    must(fclose(file) == 0);
}
