/*
 * Order on the disk: rows into files, files synced, folder synced; then the caller renames the
 * checkpoint into its place. What a checkpoint names is therefore there, whatever happens.
 */
#include "tools/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file is at most a quarter of the ring, so that little is kept beyond it, and at most this. */
#define FILE_SHARE 4
#define FILE_BYTES ((int64_t)1 << 25)
/* Beyond this many, the files in a checkpoint cannot be a list of files. */
#define MOST_FILES ((size_t)1 << 20)

#define PREFIX "rows-"
#define SUFFIX ".bin"

/* ---- checksums ------------------------------------------------------------------------------- */

/*
 * h <- rotate(h xor w K, 29) L for the words w of a row, the last one filled up with zeros; K and L
 * are odd. Every step is one to one in h and in w, so a change within one word is always found.
 */
#define K UINT64_C(0x9e3779b97f4a7c15)
#define L UINT64_C(0xd6e8feb86659fd93)
#define EMPTY UINT64_C(0x243f6a8885a308d3)

static uint64_t mix(uint64_t h, uint64_t word)
{
    h ^= word * K;
    h = h << 29 | h >> 35;
    return h * L;
}

/* The checksum of rows that follow those of h. */
static uint64_t checksum(uint64_t h, size_t size, size_t n, const unsigned char *rows)
{
    const size_t whole = size / sizeof h, rest = size % sizeof h;
    for (size_t i = 0; i < n; i++, rows += size) {
        uint64_t word = 0;
        for (size_t k = 0; k < whole; k++) {
            memcpy(&word, rows + k * sizeof word, sizeof word);
            h = mix(h, word);
        }
        if (rest > 0) {
            word = 0;
            memcpy(&word, rows + whole * sizeof word, rest);
            h = mix(h, word);
        }
    }
    return h;
}

/* ---- files ----------------------------------------------------------------------------------- */

int64_t journal_file_rows(const journal_rows *rows)
{
    const int64_t by_share = rows->capacity / FILE_SHARE;
    const int64_t by_size = FILE_BYTES / (int64_t)rows->size;
    const int64_t least = by_share < by_size ? by_share : by_size;
    return least > 1 ? least : 1;
}

static tce_status file_path(const journal *j, int64_t first, char out[FILE_PATH])
{
    const int n = snprintf(out, FILE_PATH, "%s/" PREFIX "%012" PRId64 SUFFIX, j->folder, first);
    return n < 0 || n >= FILE_PATH ? file_fail_write(j->folder, ENAMETOOLONG) : TCE_OK;
}

/* The first row of a file of the journal, which is part of its name; -1: another file. */
static int64_t first_of(const char *name)
{
    const size_t prefix = strlen(PREFIX);
    char *end;
    if (strncmp(name, PREFIX, prefix) != 0 || name[prefix] < '0' || name[prefix] > '9')
        return -1;
    errno = 0;
    const long long first = strtoll(name + prefix, &end, 10);
    return errno == 0 && strcmp(end, SUFFIX) == 0 ? first : -1;
}

/* Removes the files with first rows in from … to - 1. */
static void remove_files(const journal *j, int64_t from, int64_t to)
{
    DIR *entries = opendir(j->folder);
    for (const struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        const int64_t first = first_of(entry->d_name);
        if (first >= from && first < to)
            unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries)
        closedir(entries);
}

/* How many rows follow each other in the ring, from `row` on, of n. */
static int64_t run_length(const journal_rows *rows, int64_t row, int64_t n)
{
    const int64_t to_end = rows->capacity - row % rows->capacity;
    return n < to_end ? n : to_end;
}

static unsigned char *place(const journal_rows *rows, int64_t row)
{
    return rows->ring + (size_t)(row % rows->capacity) * rows->size;
}

tce_status journal_open(journal *j, const char *folder, journal_rows *rows)
{
    memset(j, 0, sizeof *j);
    j->rows = rows;
    j->leftovers = 1;
    const size_t length = strlen(folder);
    if (length >= sizeof j->folder)
        return file_fail_write(folder, ENAMETOOLONG);
    memcpy(j->folder, folder, length + 1);
    return TCE_OK;
}

void journal_close(journal *j)
{
    free(j->files);
    memset(j, 0, sizeof *j);
}

static tce_status add_file(journal *j, int64_t first)
{
    if (j->n_files == j->room) {
        const size_t room = j->room ? 2 * j->room : 16;
        journal_file *more = realloc(j->files, room * sizeof *more);
        if (!more)
            return tce_fail(TCE_E_NOMEM, "no memory for a list of %zu files", room);
        j->files = more;
        j->room = room;
    }
    j->files[j->n_files++] = (journal_file){ first, 0, EMPTY };
    return TCE_OK;
}

/* ---- appending ------------------------------------------------------------------------------- */

/* Rows first + file->n … of the ring behind those that the file has; 0, or the system's error. */
static int write_rows(const journal_rows *rows, const journal_file *file, int64_t n, FILE *out,
                      uint64_t *sum)
{
    const off_t end = (off_t)file->n * (off_t)rows->size;
    errno = 0;
    /* what a killed process had written, or a full disk broke off */
    if (ftruncate(fileno(out), end) != 0 || fseeko(out, end, SEEK_SET) != 0)
        return errno;
    *sum = file->checksum;
    for (int64_t done = 0; done < n;) {
        const int64_t row = file->first + file->n + done;
        const int64_t m = run_length(rows, row, n - done);
        if (fwrite(place(rows, row), rows->size, (size_t)m, out) != (size_t)m)
            return errno ? errno : EIO;
        *sum = checksum(*sum, rows->size, (size_t)m, place(rows, row));
        done += m;
    }
    return file_sync(out);
}

/* Appends n rows to a file, which has room for them, or leaves it as it was. */
static tce_status extend(const journal *j, journal_file *file, int64_t n)
{
    char path[FILE_PATH];
    FILE *out;
    uint64_t sum = 0;
    tce_status status = file_path(j, file->first, path);
    if (status == TCE_OK)
        status = file_open(path, O_WRONLY | O_CREAT, "w", &out);
    if (status != TCE_OK)
        return status;
    int error = write_rows(j->rows, file, n, out, &sum);
    if (fclose(out) != 0 && !error)
        error = errno;
    if (error) {
        /* gives the room back that the broken rows take */
        if (file->n == 0)
            unlink(path);
        else if (truncate(path, (off_t)file->n * (off_t)j->rows->size) != 0)
            return file_fail_write(path, errno);
        return file_fail_write(path, error);
    }
    file->n += n;
    file->checksum = sum;
    return TCE_OK;
}

/* The row behind the last one in a file. */
static int64_t end_of(const journal *j)
{
    if (j->n_files == 0)
        return 0;
    const journal_file *last = &j->files[j->n_files - 1];
    return last->first + last->n;
}

/* All rows of the ring that are in no file; each file that is completed stays, whatever follows. */
static tce_status append_rows(journal *j)
{
    const journal_rows *rows = j->rows;
    const int64_t per_file = journal_file_rows(rows);
    const int64_t oldest = rows->written - rows->capacity;
    tce_status status = TCE_OK;
    while (status == TCE_OK && end_of(j) < rows->written) {
        /* rows that came and went between two checkpoints are in no file: the next begins later */
        const int gap = end_of(j) < oldest;
        if (gap || j->n_files == 0 || j->files[j->n_files - 1].n == per_file)
            status = add_file(j, gap ? oldest : end_of(j));
        if (status != TCE_OK)
            return status;
        journal_file *last = &j->files[j->n_files - 1];
        const int64_t missing = rows->written - end_of(j), room = per_file - last->n;
        status = extend(j, last, missing < room ? missing : room);
        if (last->n == 0)
            j->n_files--;
    }
    return status;
}

/*
 * Files of the list that the present rows do not need any more; their time on the disk is trim's.
 */
static void forget_old(journal *j)
{
    const int64_t oldest = j->rows->written - j->rows->capacity;
    size_t n = 0;
    while (n < j->n_files && j->files[n].first + j->files[n].n <= oldest)
        n++;
    if (n > 0)
        memmove(j->files, j->files + n, (j->n_files - n) * sizeof *j->files);
    j->n_files -= n;
}

static tce_status put_files(const journal *j, tce_store *store)
{
    const size_t n = j->n_files;
    const int64_t size = (int64_t)j->rows->size;
    const size_t shape[2] = { n, 2 };
    int64_t *ranges = calloc(2 * n + 1, sizeof *ranges);
    uint64_t *sums = calloc(n + 1, sizeof *sums);
    tce_status status = ranges && sums ? TCE_OK
                                       : tce_fail(TCE_E_NOMEM, "no memory for %zu files", n);
    for (size_t i = 0; status == TCE_OK && i < n; i++) {
        ranges[2 * i] = j->files[i].first;
        ranges[2 * i + 1] = j->files[i].n;
        sums[i] = j->files[i].checksum;
    }
    if (status == TCE_OK)
        status = tce_store_put(store, "journal.rows", TCE_STORE_I64, 0, NULL, &j->rows->written);
    if (status == TCE_OK)
        status = tce_store_put(store, "journal.row_size", TCE_STORE_I64, 0, NULL, &size);
    if (status == TCE_OK)
        status = tce_store_put(store, "journal.files", TCE_STORE_I64, 2, shape, ranges);
    if (status == TCE_OK)
        status = tce_store_put(store, "journal.checksums", TCE_STORE_U64, 1, shape, sums);
    free(ranges);
    free(sums);
    return status;
}

tce_status journal_append(journal *j, tce_store *store)
{
    if (j->leftovers) {
        const int64_t last = j->n_files ? j->files[j->n_files - 1].first : -1;
        remove_files(j, last + 1, INT64_MAX);
        j->leftovers = 0;
    }
    tce_status status = append_rows(j);
    if (status == TCE_OK)
        status = folder_sync(j->folder);
    if (status != TCE_OK)
        return status;
    forget_old(j);
    return put_files(j, store);
}

/* ---- loading --------------------------------------------------------------------------------- */

int64_t journal_rows_of(const tce_store *store)
{
    int64_t rows = 0;
    return tce_store_read(store, "journal.rows", TCE_STORE_I64, 1, &rows) == TCE_OK ? rows : 0;
}

/* The list of files of a checkpoint, for `written` rows: in order, without gaps, and enough. */
static tce_status check_list(const journal *j, int64_t written)
{
    const int64_t per_file = journal_file_rows(j->rows);
    const int64_t oldest = written > j->rows->capacity ? written - j->rows->capacity : 0;
    int fine = written >= 0 && (j->n_files > 0) == (written > 0);
    for (size_t i = 0; i < j->n_files; i++) {
        const journal_file *file = &j->files[i];
        fine = fine && file->first >= 0 && file->n >= 1 && file->n <= per_file &&
               (i == 0 ? file->first <= oldest
                       : file->first == j->files[i - 1].first + j->files[i - 1].n);
    }
    if (fine && end_of(j) == written)
        return TCE_OK;
    return tce_fail(TCE_E_CORRUPT,
                    "journal.files does not list the last %" PRId64 " of %" PRId64 " rows",
                    written - oldest, written);
}

static tce_status read_list(journal *j, const tce_store *store, int64_t *written)
{
    int64_t size = 0, *ranges = NULL;
    uint64_t *sums = NULL;
    tce_store_array files = TCE_INIT(tce_store_array);
    tce_status status = tce_store_read(store, "journal.rows", TCE_STORE_I64, 1, written);
    if (status == TCE_OK)
        status = tce_store_read(store, "journal.row_size", TCE_STORE_I64, 1, &size);
    if (status == TCE_OK && size != (int64_t)j->rows->size)
        status = tce_fail(TCE_E_SHAPE,
                          "its replay has rows of %" PRId64 " bytes, this run's have %zu", size,
                          j->rows->size);
    if (status == TCE_OK)
        status = tce_store_get(store, "journal.files", &files);
    if (status != TCE_OK)
        return status;
    const size_t n = files.shape[0];
    if (files.rank != 2 || files.shape[1] != 2 || n > MOST_FILES)
        return tce_fail(TCE_E_CORRUPT, "journal.files is not a list of files");

    ranges = calloc(2 * n + 1, sizeof *ranges);
    sums = calloc(n + 1, sizeof *sums);
    if (!ranges || !sums)
        status = tce_fail(TCE_E_NOMEM, "no memory for a list of %zu files", n);
    if (status == TCE_OK)
        status = tce_store_read(store, "journal.files", TCE_STORE_I64, 2 * n, ranges);
    if (status == TCE_OK)
        status = tce_store_read(store, "journal.checksums", TCE_STORE_U64, n, sums);
    for (size_t i = 0; status == TCE_OK && i < n; i++) {
        status = add_file(j, ranges[2 * i]);
        if (status == TCE_OK) {
            j->files[i].n = ranges[2 * i + 1];
            j->files[i].checksum = sums[i];
        }
    }
    free(ranges);
    free(sums);
    return status == TCE_OK ? check_list(j, *written) : status;
}

/*
 * The rows of a file into the ring. Those that are too old for it are overwritten there by younger
 * ones, which come later.
 */
static tce_status read_rows(const journal_rows *rows, const journal_file *file, const char *path,
                            FILE *in)
{
    struct stat info;
    const int64_t bytes = file->n * (int64_t)rows->size;
    uint64_t sum = EMPTY;
    if (fstat(fileno(in), &info) != 0)
        return tce_fail(TCE_E_IO, "cannot read %s: %s", path, strerror(errno));
    if ((int64_t)info.st_size < bytes)
        return tce_fail(TCE_E_CORRUPT,
                        "%s has %" PRId64 " bytes, and the rows of the checkpoint take %" PRId64
                        ": it was cut short",
                        path, (int64_t)info.st_size, bytes);
    for (int64_t done = 0; done < file->n;) {
        const int64_t row = file->first + done, m = run_length(rows, row, file->n - done);
        if (fread(place(rows, row), rows->size, (size_t)m, in) != (size_t)m)
            return tce_fail(TCE_E_IO, "cannot read %s: %s", path,
                            ferror(in) ? strerror(errno) : "it ends early");
        sum = checksum(sum, rows->size, (size_t)m, place(rows, row));
        done += m;
    }
    if (sum != file->checksum)
        return tce_fail(TCE_E_CORRUPT,
                        "%s is damaged: its checksum is not the one that the checkpoint has", path);
    return TCE_OK;
}

static tce_status read_file(const journal *j, const journal_file *file)
{
    char path[FILE_PATH];
    FILE *in = NULL;
    tce_status status = file_path(j, file->first, path);
    if (status == TCE_OK)
        status = file_open(path, O_RDONLY, "r", &in);
    if (status == TCE_E_NOT_FOUND)
        return tce_fail(TCE_E_CORRUPT, "%s is missing, and the checkpoint needs its rows", path);
    if (status == TCE_OK)
        status = read_rows(j->rows, file, path, in);
    if (in)
        fclose(in);
    return status;
}

tce_status journal_load(journal *j, const tce_store *store)
{
    int64_t written = 0;
    j->n_files = 0;
    j->leftovers = 1;
    j->rows->written = 0;
    tce_status status = read_list(j, store, &written);
    for (size_t i = 0; status == TCE_OK && i < j->n_files; i++)
        status = read_file(j, &j->files[i]);
    if (status == TCE_OK)
        j->rows->written = written;
    else
        j->n_files = 0;
    return status;
}

int journal_has_old_files(const journal *j)
{
    DIR *entries = j->n_files > 0 ? opendir(j->folder) : NULL;
    int found = 0;
    for (const struct dirent *entry; entries && !found && (entry = readdir(entries)) != NULL;) {
        const int64_t first = first_of(entry->d_name);
        found = first >= 0 && first < j->files[0].first;
    }
    if (entries)
        closedir(entries);
    return found;
}

void journal_trim(const journal *j, int64_t oldest)
{
    const int64_t needed = oldest - j->rows->capacity;
    remove_files(j, 0, needed - journal_file_rows(j->rows) + 1);
}
