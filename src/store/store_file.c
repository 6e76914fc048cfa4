/*
 * Stores on disk. Saving: a temporary file in the same folder, write, fsync, rename over the old
 * file, fsync of the folder; whatever goes wrong before the rename, the old file is untouched and
 * the temporary one is removed. Loading: the whole file in one block.
 */
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Names tried for the temporary file; more than one is needed only after a crash or by parallel
 * saves.
 */
#define MAX_ATTEMPTS 1000

/* Length of the temporary file's own name "/.tce-<pid>-<attempt>.tmp", with its final 0. */
#define MAX_TEMPORARY 64

/* Longest system message kept. */
#define MAX_REASON 128

/* Largest piece for one read or write; Linux cuts at 2 GiB anyway. */
#define MAX_PIECE ((size_t)1 << 30)

/* Access of a new file before the umask. */
#define NEW_FILE_MODE 0666

/* ---- errors ---------------------------------------------------------------------------------- */

/* What the user can do about a system error. */
static const char *remedy(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "free some space or choose another folder";
    case EFBIG:
        return "raise the file size limit (ulimit -f) or choose another file system";
    case EACCES:
    case EPERM:
        return "change the permissions or choose another folder";
    case EROFS:
        return "the file system is read-only, choose another folder";
    case ENOENT:
    case ENOTDIR:
        return "check the path, make the folder first";
    case EISDIR:
        return "the path is a folder, give the name of a file";
    case EMFILE:
    case ENFILE:
        return "close some files or raise the limit (ulimit -n)";
    default:
        return "check the disk";
    }
}

/* TCE_E_IO with the path, what was tried, the system's reason and the remedy. */
static tce_status fail_io(const char *what, const char *path, int error)
{
    char reason[MAX_REASON];

    if (strerror_r(error, reason, sizeof reason) != 0)
        (void)snprintf(reason, sizeof reason, "error %d", error);
    return tce_fail(TCE_E_IO, "cannot %s \"%s\": %s; %s", what, path, reason, remedy(error));
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* Writes all n bytes, however many calls it takes. 0, or the system's error. */
static int write_all(int file, const unsigned char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(file, bytes, n < MAX_PIECE ? n : MAX_PIECE);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        if (written == 0)
            return ENOSPC;
        bytes += written;
        n -= (size_t)written;
    }
    return 0;
}

/* fsync, repeated when interrupted. 0, or the system's error. */
static int sync_file(int file)
{
#ifdef F_FULLFSYNC
    /* macOS's fsync leaves the disk's own memory alone; not every file system has more */
    if (fcntl(file, F_FULLFSYNC) == 0)
        return 0;
#endif
    while (fsync(file) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

/* Opens a new file ".tce-…" in the folder of path; its name goes to temporary [size]. */
static int open_temporary(const char *path, size_t folder, char *temporary, size_t size)
{
    memcpy(temporary, path, folder);
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        (void)snprintf(temporary + folder, size - folder, ".tce-%ld-%d.tmp", (long)getpid(),
                       attempt);
        const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, NEW_FILE_MODE);
        if (file >= 0 || (errno != EEXIST && errno != EINTR))
            return file;
    }
    return -1;
}

/* Header [n_header] and data into the open file, down to the disk. 0, or the system's error. */
static int write_store(int file, const tce_store *store, const unsigned char *header,
                       size_t n_header)
{
    tce__walk walk = tce__walk_start(store);
    const tce__item *array;
    int error = write_all(file, header, n_header);

    while (!error && (array = tce__walk_next(&walk)))
        error = write_all(file, array->data, array->n_bytes);
    if (!error)
        error = sync_file(file);
    return error;
}

/*
 * The folder's new entry, down to the disk, where the file system can do that. 0, or the system's
 * error.
 */
static int sync_folder(const char *path, size_t folder, char *buffer)
{
    memcpy(buffer, path, folder);
    buffer[folder] = '\0';
    const int file = open(folder > 0 ? buffer : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return errno == EACCES ? 0 : errno;
    const int error = sync_file(file);
    (void)close(file);
    return error == EINVAL || error == ENOTSUP ? 0 : error;
}

/* Writes the temporary file, gives it the old file's permissions, and renames it. */
static tce_status replace(const tce_store *store, const char *path, const unsigned char *header,
                          size_t n_header, size_t folder, char *temporary, size_t temporary_size)
{
    struct stat old;
    const bool replaces = stat(path, &old) == 0;
    if (replaces && !S_ISREG(old.st_mode))
        return tce_fail(TCE_E_IO,
                        "cannot replace \"%s\": it is not a regular file; give the name of a file",
                        path);

    const int file = open_temporary(path, folder, temporary, temporary_size);
    if (file < 0)
        return fail_io("create a file beside", path, errno);
    if (replaces)
        (void)fchmod(file, old.st_mode & 0777);

    /* the file is closed in any case, and its error counts too */
    const char *what = "write";
    int error = write_store(file, store, header, n_header);
    if (close(file) != 0 && errno != EINTR && !error)
        error = errno;
    if (!error && rename(temporary, path) != 0) {
        error = errno;
        what = "replace";
    }
    if (error) {
        (void)unlink(temporary);
        return fail_io(what, path, error);
    }

    error = sync_folder(path, folder, temporary);
    return error ? fail_io("make sure that the disk has the new name of", path, error) : TCE_OK;
}

/* Carves the scratch of a save: the header and the temporary file's name. */
static unsigned char *save_layout(tce__arena *arena, size_t n_header, size_t temporary_size,
                                  char **temporary)
{
    unsigned char *header = tce__arena_take(arena, n_header, 1);
    *temporary = tce__arena_take(arena, temporary_size, 1);
    return header;
}

tce_status tce_store_save(const tce_store *store, const char *path)
{
    char checksum[TCE__STORE_DIGITS + 1];

    tce_status status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__check_pointer("path", path);
    if (status != TCE_OK)
        return status;
    if (path[0] == '\0')
        return tce_fail(TCE_E_ARGUMENT, "path is empty, must name a file");

    tce__store_checksum(store, checksum);
    const size_t n_header = tce__header_write(store, checksum, NULL);
    if (n_header - TCE__STORE_PREFIX > TCE__STORE_MAX_HEADER)
        return tce_fail(TCE_E_SHAPE, "names and texts make a header of %zu bytes, the limit is %d",
                        n_header, TCE__STORE_MAX_HEADER);

    /* one block for the header and the temporary name */
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    tce__arena arena = { NULL, 0 };
    tce_hooks unused;
    char *temporary;
    (void)save_layout(&arena, n_header, folder + MAX_TEMPORARY, &temporary);
    status = tce__block_create(&store->hooks, "the header of a tce_store", &arena, &unused);
    if (status != TCE_OK)
        return status;
    unsigned char *header = save_layout(&arena, n_header, folder + MAX_TEMPORARY, &temporary);

    (void)tce__header_write(store, checksum, header);
    status = replace(store, path, header, n_header, folder, temporary, folder + MAX_TEMPORARY);
    tce__block_free(&store->hooks, header);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Reads n bytes. 0, the system's error, or ENODATA when the file ends early. */
static int read_all(int file, unsigned char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t got = read(file, bytes, n < MAX_PIECE ? n : MAX_PIECE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (got == 0)
            return ENODATA;
        bytes += got;
        n -= (size_t)got;
    }
    return 0;
}

/* The open file as one block, to be freed by the caller. */
static tce_status read_file(int file, const char *path, const tce_hooks *hooks, unsigned char **out,
                            size_t *out_size)
{
    struct stat info;
    tce__arena arena = { NULL, 0 };
    tce_hooks unused;

    if (fstat(file, &info) != 0)
        return fail_io("read", path, errno);
    if (!S_ISREG(info.st_mode))
        return tce_fail(TCE_E_IO,
                        "cannot read \"%s\": it is not a regular file; give the name of a file",
                        path);
    if ((uintmax_t)info.st_size >= SIZE_MAX)
        return tce_fail(TCE_E_NOMEM, "\"%s\" is larger than memory", path);

    const size_t size = (size_t)info.st_size;
    (void)tce__arena_take(&arena, size + 1, 1);
    tce_status status = tce__block_create(hooks, "the content of a file", &arena, &unused);
    if (status != TCE_OK)
        return status;
    unsigned char *bytes = tce__arena_take(&arena, size + 1, 1);
    const int error = read_all(file, bytes, size);
    if (error) {
        tce__block_free(hooks, bytes);
        return error == ENODATA
                   ? tce_fail(TCE_E_IO, "\"%s\" became shorter while it was read; read it again",
                              path)
                   : fail_io("read", path, error);
    }
    *out = bytes;
    *out_size = size;
    return TCE_OK;
}

tce_status tce_store_load(const char *path, const tce_hooks *hooks, tce_store **out)
{
    tce_hooks complete;
    unsigned char *bytes = NULL;
    size_t size = 0;
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;
    status = tce__check_pointer("path", path);
    if (status == TCE_OK)
        status = tce__hooks_read(hooks, &complete);
    if (status != TCE_OK)
        return status;

    /* not blocking: a pipe must be refused, not waited for */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && (errno == ENOENT || errno == ENOTDIR))
        return tce_fail(TCE_E_NOT_FOUND, "no file \"%s\"; check the path", path);
    if (file < 0)
        return fail_io("open", path, errno);
    status = read_file(file, path, &complete, &bytes, &size);
    (void)close(file);
    if (status != TCE_OK)
        return status;

    status = tce_store_parse(bytes, size, &complete, out);
    tce__block_free(&complete, bytes);
    return status != TCE_OK ? tce_fail(status, "\"%s\": %s", path, tce_error_message()) : TCE_OK;
}
