/*
 * Files and folders: opened with care, replaced as a whole, and what to say when the disk refuses.
 */
#include "tools/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ENXIO stands for what is not a regular file, which the system opens or calls a missing device. */
static const char *reason_of(int error)
{
    return error == ENXIO ? "it is not a regular file" : strerror(error);
}

tce_status file_fail_write(const char *path, int error)
{
    const char *remedy = "is the disk there, and healthy?";
    if (error == ENOSPC || error == EDQUOT)
        remedy = "free some space";
    else if (error == EFBIG)
        remedy = "raise the limit on file sizes (ulimit -f)";
    else if (error == EACCES || error == EPERM || error == EROFS)
        remedy = "give yourself permission to write there, or choose another folder with --out";
    else if (error == ENOTDIR || error == EEXIST)
        remedy = "a file is in the way: choose another folder with --out";
    else if (error == EISDIR)
        remedy = "a folder is in the way: remove it or choose another folder with --out";
    else if (error == ELOOP)
        remedy = "it is a symbolic link, which is not followed: remove it or choose another folder "
                 "with --out";
    else if (error == ENXIO)
        remedy = "remove it or choose another folder with --out";
    else if (error == EMFILE || error == ENFILE)
        remedy = "close some files or raise the limit (ulimit -n)";
    else if (error == ENAMETOOLONG)
        remedy = "choose a shorter --out";
    else if (error == ENOENT)
        remedy = "the folder is gone";
    else if (error == ENOMEM)
        remedy = "free some memory";
    return tce_fail(TCE_E_IO, "cannot write %s: %s; %s", path, reason_of(error), remedy);
}

tce_status file_open(const char *path, int flags, const char *mode, FILE **out)
{
    struct stat info;
    const int writes = (flags & O_ACCMODE) != O_RDONLY;
    *out = NULL;
    const int file = open(
        path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (writes ? O_NOFOLLOW : 0), 0666);
    int error = file < 0 ? errno : 0;
    if (!error && fstat(file, &info) != 0)
        error = errno;
    if (!error && !S_ISREG(info.st_mode))
        error = S_ISDIR(info.st_mode) ? EISDIR : ENXIO;
    if (!error && !(*out = fdopen(file, mode)))
        error = errno;
    if (!error)
        return TCE_OK;
    if (file >= 0)
        close(file);
    if (writes)
        return file_fail_write(path, error);
    return tce_fail(error == ENOENT || error == ENOTDIR ? TCE_E_NOT_FOUND : TCE_E_IO,
                    "cannot read %s: %s", path, reason_of(error));
}

int file_sync(FILE *file)
{
    errno = 0;
    if (fflush(file) != 0 || ferror(file))
        return errno ? errno : EIO;
#ifdef F_FULLFSYNC
    /* macOS's fsync leaves the disk's own memory alone; not every file system has more */
    if (fcntl(fileno(file), F_FULLFSYNC) == 0)
        return 0;
#endif
    return fsync(fileno(file)) == 0 ? 0 : errno;
}

/* <folder>/.<name>.tmp for <folder>/<name>, or <folder>/.<name>.<writer>.tmp */
static tce_status temporary_name(const char *path, const char *writer, char out[FILE_PATH])
{
    const char *slash = strrchr(path, '/');
    const int length = slash ? (int)(slash - path) + 1 : 0;
    const int n = snprintf(out, FILE_PATH, "%.*s.%s%s%s.tmp", length, path, path + length,
                           *writer ? "." : "", writer);
    return n < 0 || n >= FILE_PATH ? file_fail_write(path, ENAMETOOLONG) : TCE_OK;
}

tce_status file_replace_as(const char *path, const char *writer,
                           void (*write)(FILE *file, const void *content), const void *content)
{
    char temporary[FILE_PATH];
    tce_status status = temporary_name(path, writer, temporary);
    if (status != TCE_OK)
        return status;
    /* what a killed process left there, and never through a link */
    unlink(temporary);
    FILE *file;
    status = file_open(temporary, O_WRONLY | O_CREAT | O_EXCL, "w", &file);
    if (status != TCE_OK)
        return status;

    /* beside the old one, to the disk, then in its place */
    write(file, content);
    int error = file_sync(file);
    if (fclose(file) != 0 && !error)
        error = errno;
    if (!error && rename(temporary, path) != 0)
        error = errno;
    if (!error)
        return TCE_OK;
    unlink(temporary);
    return file_fail_write(path, error);
}

tce_status file_replace(const char *path, void (*write)(FILE *file, const void *content),
                        const void *content)
{
    return file_replace_as(path, "", write, content);
}

tce_status folder_sync(const char *folder)
{
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = file < 0 ? errno : 0;
    /* not every file system has something to sync there */
    if (!error && fsync(file) != 0 && errno != EINVAL && errno != EBADF)
        error = errno;
    if (file >= 0)
        close(file);
    return error ? file_fail_write(folder, error) : TCE_OK;
}

/* A folder that may be there already. */
static tce_status make_one(const char *path)
{
    struct stat there;
    if (mkdir(path, 0777) == 0)
        return TCE_OK;
    const int error = errno;
    if (error == EEXIST && stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        return TCE_OK;
    return file_fail_write(path, error);
}

tce_status folder_make(const char *folder)
{
    char path[FILE_PATH];
    const int n = snprintf(path, sizeof path, "%s/", folder);
    tce_status status = n < 0 || n >= FILE_PATH ? file_fail_write(folder, ENAMETOOLONG) : TCE_OK;
    for (char *slash = strchr(path + 1, '/'); status == TCE_OK && slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one(path);
        *slash = '/';
    }
    return status;
}

tce_status folder_make_inside(const char *folder)
{
    struct stat there;
    const tce_status status = folder_make(folder);
    if (status == TCE_OK && lstat(folder, &there) == 0 && S_ISLNK(there.st_mode))
        return file_fail_write(folder, ELOOP);
    return status;
}
