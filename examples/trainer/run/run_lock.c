/*
 * One process a run folder: a POSIX record lock on the file "lock". The kernel drops it when the
 * process ends, however it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run.h"

/* Neither through a link nor waiting. */
#define OPEN_LOCK (O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK)

static struct flock whole_file(void)
{
    struct flock whole;
    memset(&whole, 0, sizeof whole);
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    return whole;
}

/* Who has the open file, or 0. */
static long holder(int file)
{
    struct flock whole = whole_file();
    return fcntl(file, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK ? (long)whole.l_pid : 0;
}

tce_status run_lock(const char *folder, int *out)
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

    struct flock whole = whole_file();
    if (fcntl(file, F_SETLK, &whole) == 0) {
        *out = file;
        return TCE_OK;
    }
    const int error = errno;
    const long other = holder(file);
    close(file);
    if (error != EACCES && error != EAGAIN)
        return tce_fail(TCE_E_IO, "cannot lock %s: %s", path, strerror(error));
    return tce_fail(
        TCE_E_STATE,
        "%s is in use by process %ld: wait for it, stop it (kill %ld), or choose another --out",
        folder, other, other);
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
    const long other = file < 0 ? 0 : holder(file);
    run_unlock(file);
    return other;
}
