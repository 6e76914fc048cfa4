/*
 * One process per run folder: a POSIX record lock on the file "lock". The kernel drops it when the
 * process ends, however it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run.h"

/* Neither through a link nor waiting. */
#define OPEN_LOCK (O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK)

/* length 0: to the end of the file, however long it becomes */
static struct flock range_of(off_t first, off_t length)
{
    struct flock range;
    memset(&range, 0, sizeof range);
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = first;
    range.l_len = length;
    return range;
}

/* Who has any of the range, or 0. */
static long holder(int file, struct flock range)
{
    if (fcntl(file, F_GETLK, &range) != 0 || range.l_type == F_UNLCK)
        return 0;
    return range.l_pid > 0 ? (long)range.l_pid : RUN_LOCK_REMOTE;
}

/* By the process's number, which says nothing on a machine where there is no such process. */
static tce_status fail_in_use(const char *folder, long other)
{
    if (other <= 0 || (kill((pid_t)other, 0) != 0 && errno == ESRCH))
        return tce_fail(TCE_E_STATE,
                        "%s is in use by a process on another machine: wait for it, stop it, or "
                        "choose another --out",
                        folder);
    return tce_fail(
        TCE_E_STATE,
        "%s is in use by process %ld: wait for it, stop it (kill %ld), or choose another --out",
        folder, other, other);
}

static tce_status lock_range(const char *folder, struct flock range, int *out)
{
    char path[RUN_PATH];
    const tce_status status = run_path(folder, "lock", path);
    if (status != TCE_OK)
        return status;
    struct stat info;
    const int file = open(path, O_CREAT | OPEN_LOCK, 0666);
    if (file < 0)
        return file_fail_write(path, errno);
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(file);
        return file_fail_write(path, ENXIO);
    }

    *out = file;
    if (fcntl(file, F_SETLK, &range) == 0)
        return TCE_OK;
    const int error = errno;
    const long other = holder(file, range);
    close(file);
    *out = RUN_NO_LOCK;
    /* Lustre without the mount option flock, NFS without its lock service */
    if (error == ENOSYS || error == ENOLCK || error == EOPNOTSUPP)
        return TCE_OK;
    if (error != EACCES && error != EAGAIN)
        return tce_fail(TCE_E_IO, "cannot lock %s: %s", path, strerror(error));
    return fail_in_use(folder, other);
}

tce_status run_lock(const char *folder, int *out)
{
    return lock_range(folder, range_of(0, 0), out);
}

tce_status run_lock_share(const char *folder, int64_t share, int *out)
{
    return lock_range(folder, range_of((off_t)share, 1), out);
}

void run_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

long run_lock_holder(const char *folder)
{
    char path[RUN_PATH];
    const int file = run_path(folder, "lock", path) == TCE_OK ? open(path, OPEN_LOCK) : -1;
    const long other = file < 0 ? 0 : holder(file, range_of(0, 0));
    run_unlock(file);
    return other;
}
