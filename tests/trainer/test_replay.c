/*
 * Replay and its journal: records in the networks' precision, draws that are uniform and never meet
 * a lost transition; rows that come back from the disk after any number of checkpoints, kills,
 * damaged files and full disks.
 */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tce/tce.h>

#include "methods/replay.h"
#include "support.h"

static memory arrays;
static char folder[TEST_FOLDER];

static void begin(void)
{
    arrays = (memory){ 0 };
    test_make_folder("replay", folder);
}

static void end(void)
{
    memory_free(&arrays);
    test_remove_folder(folder);
}

/* ---- replay ---------------------------------------------------------------------------------- */

enum { N = 3, WIDTH = 4 };

static replay create(size_t size, int32_t precision)
{
    const replay_options options = { N, size, WIDTH, precision };
    replay r;
    ok(replay_create(&r, &options, &arrays));
    return r;
}

/* Number k of environment i in row `row` of all. */
static double number_of(int64_t row, size_t i, size_t k)
{
    return (double)row + 0.1 * (double)i + 0.01 * (double)k;
}

/* A row, of which the environments of the bits of `lost` are lost. */
static void write_row(replay *r, int64_t row, unsigned lost)
{
    double records[N * WIDTH];
    uint8_t flags[N];
    for (size_t i = 0; i < N; i++) {
        flags[i] = lost >> i & 1;
        for (size_t k = 0; k < WIDTH; k++)
            records[i * WIDTH + k] = flags[i] ? NAN : number_of(row, i, k);
    }
    replay_write(r, records, flags);
}

START_TEST(records_come_back_in_the_precision_of_the_networks)
{
    enum { ROWS = 5, WRITTEN = 12 };
    for (int is_double = 0; is_double < 2; is_double++) {
        replay r = create(N * ROWS + 2, is_double ? TCE_NET_DOUBLE : TCE_NET_FLOAT);
        ck_assert_int_eq(r.rows.capacity, ROWS);
        for (int64_t row = 0; row < WRITTEN; row++) {
            ck_assert_uint_eq(replay_filled(&r), row < ROWS ? (size_t)row : ROWS);
            ck_assert_uint_eq(replay_position(&r), (size_t)(row % ROWS));
            write_row(&r, row, 0);
        }
        for (int64_t row = WRITTEN - ROWS; row < WRITTEN; row++)
            for (uint32_t i = 0; i < N; i++) {
                const replay_place place = { (uint32_t)(row % ROWS), i };
                double out[2];
                replay_gather(&r, 1, &place, 1, 2, out, 2);
                for (size_t k = 0; k < 2; k++) {
                    const double x = number_of(row, i, k + 1);
                    ck_assert_double_eq(out[k], is_double ? x : (double)(float)x);
                }
            }
    }
}
END_TEST

START_TEST(parts_of_records_land_in_rows_of_a_wider_array)
{
    const replay_place places[] = { { 1, 2 }, { 0, 1 } };
    double out[2][5] = { { -1.0, -1.0, -1.0, -1.0, -1.0 }, { -1.0, -1.0, -1.0, -1.0, -1.0 } };
    replay r = create(2 * N, TCE_NET_DOUBLE);
    write_row(&r, 0, 0);
    write_row(&r, 1, 0);
    replay_gather(&r, 2, places, 0, 3, out[0] + 1, 5);
    for (size_t n = 0; n < 2; n++) {
        ck_assert(out[n][0] == -1.0 && out[n][4] == -1.0);
        for (size_t k = 0; k < 3; k++)
            ck_assert_double_eq(out[n][1 + k], number_of(places[n].row, places[n].env, k));
    }
}
END_TEST

START_TEST(draws_are_uniform_and_never_meet_a_lost_record)
{
    enum { ROWS = 4, DRAWS = 120000 };
    static replay_place places[DRAWS];
    tce_random random;
    replay r = create(N * ROWS, TCE_NET_FLOAT);
    tce_random_start(&random, 1, 2, 3, 4);
    /* those in row 0 of the ring are overwritten by row 4, which loses another environment */
    write_row(&r, 0, 1u << 0);
    write_row(&r, 1, 0);
    write_row(&r, 2, 1u << 1 | 1u << 2);
    write_row(&r, 3, 0);
    write_row(&r, 4, 1u << 2);
    ck_assert_int_eq(r.lost, 3);

    double counts[ROWS][N] = { { 0 } };
    ok(replay_sample(&r, &random, DRAWS, places));
    for (size_t i = 0; i < DRAWS; i++)
        counts[places[i].row][places[i].env] += 1.0;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < N; i++) {
            const int lost = (row == 0 && i == 2) || (row == 2 && i > 0);
            /* nine are left, to five standard errors */
            const double want = lost ? 0.0 : DRAWS / 9.0;
            ck_assert_double_le(fabs(counts[row][i] - want), 5.0 * sqrt(want));
        }
}
END_TEST

START_TEST(rows_that_are_not_filled_are_not_drawn)
{
    replay_place places[500];
    tce_random random;
    replay r = create(10 * N, TCE_NET_FLOAT);
    tce_random_start(&random, 1, 2, 3, 4);
    write_row(&r, 0, 0);
    write_row(&r, 1, 0);
    ok(replay_sample(&r, &random, 500, places));
    for (size_t i = 0; i < 500; i++)
        ck_assert(places[i].row < 2 && places[i].env < N);
}
END_TEST

START_TEST(with_nothing_to_draw_there_is_an_error)
{
    replay_place place;
    tce_random random;
    replay r = create(2 * N, TCE_NET_FLOAT);
    tce_random_start(&random, 1, 2, 3, 4);
    fails(replay_sample(&r, &random, 1, &place), TCE_E_STATE, "empty");
    write_row(&r, 0, 7);
    write_row(&r, 1, 7);
    fails(replay_sample(&r, &random, 1, &place), TCE_E_STATE, "all 6 transitions");
    write_row(&r, 2, 5);
    ok(replay_sample(&r, &random, 1, &place));
    ck_assert(place.row == 0 && place.env == 1);
}
END_TEST

START_TEST(a_replay_without_a_row_is_refused_and_a_large_one_is_measured)
{
    const replay_options small = { N, N - 1, WIDTH, TCE_NET_FLOAT };
    const replay_options large = { 8, 2000000, 64, TCE_NET_FLOAT };
    memory counted = { .measure = 1 };
    replay r;
    fails(replay_create(&r, &small, &arrays), TCE_E_VALUE, "too small");
    ok(replay_create(&r, &large, &counted));
    ck_assert_double_eq(counted.bytes, 2000000.0 * 65.0 * 4.0);
}
END_TEST

/* ---- a journal ------------------------------------------------------------------------------- */

/* A ring of rows whose bytes are a function of their number, and its journal. */
typedef struct keeper {
    journal_rows rows;
    journal journal;
} keeper;

static void fill_row(const journal_rows *rows, int64_t row)
{
    unsigned char *at = rows->ring + (size_t)(row % rows->capacity) * rows->size;
    for (size_t k = 0; k < rows->size; k++)
        at[k] = (unsigned char)((uint64_t)row * 2654435761u >> (8 * (k % 4))) ^ (unsigned char)k;
}

static void open_keeper(keeper *k, size_t size, int64_t capacity)
{
    k->rows = (journal_rows){ .size = size, .capacity = capacity };
    k->rows.ring = memory_take(&arrays, (size_t)capacity, size);
    ok(journal_open(&k->journal, folder, &k->rows));
}

static void write_rows(keeper *k, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        fill_row(&k->rows, k->rows.written++);
}

/* What a checkpoint would hold. tce_store_free when done. */
static tce_store *checkpoint(keeper *k)
{
    tce_store *store;
    ok(tce_store_create(NULL, &store));
    ok(journal_append(&k->journal, store));
    return store;
}

/* The ring has the last of all these rows. */
static void check_ring(const keeper *k, int64_t written)
{
    journal_rows want = k->rows;
    ck_assert_int_eq(k->rows.written, written);
    want.ring = calloc((size_t)want.capacity, want.size);
    ck_assert_ptr_nonnull(want.ring);
    for (int64_t row = written > want.capacity ? written - want.capacity : 0; row < written; row++)
        fill_row(&want, row);
    const size_t filled = (size_t)(written < want.capacity ? written : want.capacity);
    ck_assert_mem_eq(k->rows.ring, want.ring, filled * want.size);
    free(want.ring);
}

/* Files of the journal, and their bytes. */
static int count_files(int64_t *bytes)
{
    char command[200], text[80] = "";
    long long total = 0;
    int n = 0;
    snprintf(command, sizeof command,
             "cd %s && ls | grep -c '^rows-.*bin$'; cat rows-*.bin 2>/dev/null | wc -c", folder);
    FILE *out = popen(command, "r");
    ck_assert_ptr_nonnull(out);
    const size_t got = fread(text, 1, sizeof text - 1, out);
    ck_assert_uint_gt(got, 0);
    pclose(out);
    ck_assert_int_eq(sscanf(text, "%d %lld", &n, &total), 2);
    if (bytes)
        *bytes = total;
    return n;
}

START_TEST(rows_come_back_from_every_checkpoint)
{
    static const struct {
        size_t size;
        int64_t capacity;
    } RINGS[] = { { 4, 1 }, { 12, 7 }, { 20, 64 }, { 9, 100 }, { 4096, 30 } };
    const int ring = _i;
    const size_t size = RINGS[ring].size;
    const int64_t capacity = RINGS[ring].capacity;
    tce_random random;
    keeper keepers[2], *first = &keepers[0], *again = &keepers[1];
    open_keeper(first, size, capacity);
    open_keeper(again, size, capacity);
    tce_random_start(&random, 3, 0, 0, (uint64_t)ring);
    for (int turn = 0; turn < 60; turn++) {
        /* none, some, or more than the ring holds */
        const uint64_t most = (uint64_t)(turn % 10 == 9 ? 3 * capacity : capacity / 3 + 2);
        write_rows(first, (int64_t)tce_random_below(&random, most));
        tce_store *store = checkpoint(first);
        journal_trim(&first->journal, journal_rows_of(store));
        ck_assert_int_eq(journal_rows_of(store), first->rows.written);
        memset(again->rows.ring, 0xee, (size_t)capacity * size);
        ok(journal_load(&again->journal, store));
        check_ring(again, first->rows.written);
        /* every third time the loaded one continues in its place */
        if (turn % 3 == 2) {
            keeper *const other = first;
            first = again;
            again = other;
        }
        tce_store_free(store);

        /* not much more than the ring is on the disk */
        int64_t bytes;
        count_files(&bytes);
        ck_assert_int_le(bytes, (capacity + 2 * journal_file_rows(&first->rows)) * (int64_t)size);
    }
    journal_close(&first->journal);
    journal_close(&again->journal);
}
END_TEST

START_TEST(a_checkpoint_writes_what_is_new_and_full_files_never_change)
{
    enum { SIZE = 8, CAPACITY = 40, PER_FILE = CAPACITY / 4 };
    char path[200];
    struct stat before, after;
    keeper k;
    open_keeper(&k, SIZE, CAPACITY);
    ck_assert_int_eq(journal_file_rows(&k.rows), PER_FILE);
    write_rows(&k, PER_FILE + 3);
    tce_store_free(checkpoint(&k));
    int64_t bytes;
    ck_assert_int_eq(count_files(&bytes), 2);
    ck_assert_int_eq(bytes, (PER_FILE + 3) * SIZE);

    snprintf(path, sizeof path, "%s/rows-%012d.bin", folder, 0);
    const struct timespec long_ago[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
    ck_assert_int_eq(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    ck_assert_int_eq(stat(path, &before), 0);
    write_rows(&k, 2);
    tce_store_free(checkpoint(&k));
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert(before.st_mtime == after.st_mtime && before.st_ino == after.st_ino);
    ck_assert_int_eq(count_files(&bytes), 2);
    ck_assert_int_eq(bytes, (PER_FILE + 5) * SIZE);
    journal_close(&k.journal);
}
END_TEST

START_TEST(an_older_checkpoint_keeps_its_rows_until_it_goes)
{
    enum { SIZE = 12, CAPACITY = 20 };
    keeper k, old;
    open_keeper(&k, SIZE, CAPACITY);
    open_keeper(&old, SIZE, CAPACITY);
    write_rows(&k, 33);
    tce_store *then = checkpoint(&k);
    for (int turn = 0; turn < 4; turn++) {
        write_rows(&k, 11);
        tce_store *now = checkpoint(&k);
        journal_trim(&k.journal, journal_rows_of(then));
        ok(journal_load(&old.journal, then));
        check_ring(&old, 33);
        tce_store_free(now);
    }
    /* without it its files go */
    tce_store *now = checkpoint(&k);
    const int before = count_files(NULL);
    ck_assert(journal_has_old_files(&k.journal));
    journal_trim(&k.journal, journal_rows_of(now));
    ck_assert(!journal_has_old_files(&k.journal));
    ck_assert_int_lt(count_files(NULL), before);
    ok(journal_load(&old.journal, now));
    check_ring(&old, 77);
    tce_store_free(now);
    tce_store_free(then);
    journal_close(&k.journal);
    journal_close(&old.journal);
}
END_TEST

START_TEST(what_goes_on_from_an_older_checkpoint_cuts_off_the_later_rows)
{
    enum { SIZE = 12, CAPACITY = 20 };
    keeper k, old;
    open_keeper(&k, SIZE, CAPACITY);
    open_keeper(&old, SIZE, CAPACITY);
    write_rows(&k, 33);
    tce_store *then = checkpoint(&k);
    write_rows(&k, 26);
    tce_store *lost = checkpoint(&k);
    ok(journal_load(&old.journal, then));
    /* rows that are not those of before */
    write_rows(&old, 2);
    old.rows.ring[34 % CAPACITY * SIZE] ^= 1;
    tce_store *now = checkpoint(&old);
    ok(journal_load(&k.journal, now));
    ck_assert_mem_eq(k.rows.ring, old.rows.ring, CAPACITY * SIZE);
    ck_assert_int_eq(k.rows.written, 35);
    fails(journal_load(&k.journal, lost), TCE_E_CORRUPT, "rows-");
    ck_assert_int_eq(k.rows.written, 0);

    /* a run that begins again takes the folder over */
    keeper fresh;
    open_keeper(&fresh, SIZE, CAPACITY);
    write_rows(&fresh, 1);
    tce_store *first = checkpoint(&fresh);
    ck_assert_int_eq(count_files(NULL), 1);
    ok(journal_load(&k.journal, first));
    check_ring(&k, 1);
    tce_store_free(first);
    tce_store_free(now);
    tce_store_free(lost);
    tce_store_free(then);
    journal_close(&fresh.journal);
    journal_close(&k.journal);
    journal_close(&old.journal);
}
END_TEST

/* ---- faults ---------------------------------------------------------------------------------- */

enum { SIZE = 12, CAPACITY = 20, WRITTEN = 33, PER_FILE = CAPACITY / 4 };

/* The checkpoint does not load, for a reason that names the file. */
static void check_refused(tce_store *store, const char *name, const char *part)
{
    keeper k;
    open_keeper(&k, SIZE, CAPACITY);
    write_rows(&k, 3);
    fails(journal_load(&k.journal, store), TCE_E_CORRUPT, part);
    if (name)
        ck_assert_ptr_nonnull(strstr(tce_error_message(), name));
    ck_assert_int_eq(k.rows.written, 0);
    journal_close(&k.journal);
}

START_TEST(a_file_that_is_missing_short_or_changed_is_found)
{
    keeper k;
    open_keeper(&k, SIZE, CAPACITY);
    write_rows(&k, CAPACITY);
    tce_store_free(checkpoint(&k));
    write_rows(&k, WRITTEN - CAPACITY);
    tce_store *store = checkpoint(&k);
    for (int first = (WRITTEN - CAPACITY) / PER_FILE * PER_FILE; first < WRITTEN;
         first += PER_FILE) {
        char name[40], path[200], aside[220];
        unsigned char bytes[PER_FILE * SIZE];
        snprintf(name, sizeof name, "rows-%012d.bin", first);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        snprintf(aside, sizeof aside, "%s.aside", path);
        FILE *file = fopen(path, "rb");
        ck_assert_ptr_nonnull(file);
        const size_t n = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        ck_assert_uint_gt(n, 0);

        ck_assert_int_eq(rename(path, aside), 0);
        check_refused(store, name, "is missing");
        ck_assert_int_eq(rename(aside, path), 0);
        for (size_t cut = 0; cut < n; cut += 5) {
            ck_assert_int_eq(truncate(path, (off_t)cut), 0);
            check_refused(store, name, "cut short");
            file = fopen(path, "wb");
            ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
            fclose(file);
        }
        for (size_t bit = 0; bit < 8 * n; bit += 3) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            file = fopen(path, "wb");
            ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
            fclose(file);
            check_refused(store, name, "damaged");
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        /* rows behind those of the checkpoint are none of its business */
        file = fopen(path, "wb");
        ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
        ck_assert_uint_eq(fwrite("more", 1, 4, file), 4);
        fclose(file);
        ok(journal_load(&k.journal, store));
        check_ring(&k, WRITTEN);
    }
    tce_store_free(store);
    journal_close(&k.journal);
}
END_TEST

START_TEST(a_list_of_files_that_no_journal_wrote_is_refused)
{
    /* rows, then pairs of first and n */
    static const struct {
        int64_t rows, n, files[3][2];
    } LISTS[] = {
        { 33, 0, { { 0, 0 } } },                        /* none */
        { -1, 0, { { 0, 0 } } },                        /* fewer than none */
        { 33, 1, { { 30, 3 } } },                       /* too few */
        { 33, 3, { { 10, 5 }, { 16, 4 }, { 20, 5 } } }, /* a gap */
        { 8, 2, { { 0, 5 }, { 4, 4 } } },               /* an overlap */
        { 8, 2, { { 0, 5 }, { 5, 0 } } },               /* an empty one */
        { 9, 2, { { 0, 6 }, { 6, 3 } } },               /* too large */
        { 8, 2, { { -1, 5 }, { 4, 4 } } },              /* before the first row */
        { INT64_MAX, 1, { { INT64_MAX - 5, 5 } } },
    };
    for (size_t i = 0; i < sizeof LISTS / sizeof LISTS[0]; i++) {
        const size_t shape[2] = { (size_t)LISTS[i].n, 2 };
        const int64_t size = SIZE;
        const uint64_t sums[3] = { 0 };
        tce_store *store;
        ok(tce_store_create(NULL, &store));
        ok(tce_store_put(store, "journal.rows", TCE_STORE_I64, 0, NULL, &LISTS[i].rows));
        ok(tce_store_put(store, "journal.row_size", TCE_STORE_I64, 0, NULL, &size));
        ok(tce_store_put(store, "journal.files", TCE_STORE_I64, 2, shape, LISTS[i].files));
        ok(tce_store_put(store, "journal.checksums", TCE_STORE_U64, 1, shape, sums));
        check_refused(store, NULL, "journal.files");
        tce_store_free(store);
    }
}
END_TEST

START_TEST(rows_of_another_size_are_refused)
{
    keeper k, other;
    open_keeper(&k, SIZE, CAPACITY);
    open_keeper(&other, SIZE + 4, CAPACITY);
    write_rows(&k, WRITTEN);
    tce_store *store = checkpoint(&k);
    fails(journal_load(&other.journal, store), TCE_E_SHAPE, "rows of 12 bytes, this run's have 16");
    tce_store_free(store);
    journal_close(&k.journal);
    journal_close(&other.journal);
}
END_TEST

/* A limit on the size of files stands for a disk that is full. */
START_TEST(a_full_disk_is_told_and_nothing_is_lost)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    signal(SIGXFSZ, SIG_IGN);
    keeper k, again;
    open_keeper(&k, SIZE, 4 * CAPACITY);
    open_keeper(&again, SIZE, 4 * CAPACITY);
    write_rows(&k, 7);
    tce_store *then = checkpoint(&k);

    write_rows(&k, 60);
    tce_store *store;
    ok(tce_store_create(NULL, &store));
    limit.rlim_cur = 10 * SIZE + 5;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fails(journal_append(&k.journal, store), TCE_E_IO, "ulimit -f");
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(journal_rows_of(store), 0);

    /* the checkpoint before still loads, and the next one has everything */
    ok(journal_load(&again.journal, then));
    check_ring(&again, 7);
    ok(journal_append(&k.journal, store));
    ok(journal_load(&again.journal, store));
    check_ring(&again, 67);
    tce_store_free(store);
    tce_store_free(then);
    journal_close(&k.journal);
    journal_close(&again.journal);
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_is_told)
{
    keeper k;
    tce_store *store;
    open_keeper(&k, SIZE, CAPACITY);
    write_rows(&k, 1);
    ok(tce_store_create(NULL, &store));
    snprintf(k.journal.folder, sizeof k.journal.folder, "%s/gone", folder);
    fails(journal_append(&k.journal, store), TCE_E_IO, "the folder is gone");
    tce_store_free(store);
    journal_close(&k.journal);
}
END_TEST

/* ---- kills ----------------------------------------------------------------------------------- */

static const char *checkpoint_path(void)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/ckpt.safetensors", folder);
    return path;
}

/* What a run does until it is killed: rows, checkpoints, and what these do not need goes. */
static void run_for_ever(keeper *k, uint64_t seed)
{
    tce_random random;
    tce_random_start(&random, seed, 0, 0, 0);
    for (;;) {
        write_rows(k, (int64_t)tce_random_below(&random, 90));
        tce_store *store = checkpoint(k);
        ok(tce_store_save(store, checkpoint_path()));
        journal_trim(&k->journal, journal_rows_of(store));
        tce_store_free(store);
    }
}

/* The checkpoint that is there, if any, into the ring. */
static void resume(keeper *k)
{
    tce_store *store = NULL;
    const tce_status status = tce_store_load(checkpoint_path(), NULL, &store);
    if (status == TCE_E_NOT_FOUND)
        return;
    ok(status);
    ok(journal_load(&k->journal, store));
    tce_store_free(store);
}

START_TEST(a_kill_at_any_instant_loses_nothing_that_a_checkpoint_has)
{
    enum { KILLS = 30, RING = 200 };
    tce_random random;
    int64_t before = 0;
    tce_random_start(&random, 9, 0, 0, 0);
    for (uint64_t i = 0; i < KILLS; i++) {
        const pid_t child = fork();
        ck_assert_int_ge(child, 0);
        keeper k;
        open_keeper(&k, SIZE, RING);
        if (child == 0) {
            resume(&k);
            run_for_ever(&k, i);
        }
        const struct timespec pause = { 0, (long)(1000000 + tce_random_below(&random, 80000000)) };
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        int how;
        ck_assert_int_eq(waitpid(child, &how, 0), child);
        ck_assert_int_eq(WTERMSIG(how), SIGKILL);
        resume(&k);
        check_ring(&k, k.rows.written);
        ck_assert_int_ge(k.rows.written, before);
        before = k.rows.written;
        journal_close(&k.journal);
    }
    /* it got somewhere */
    ck_assert_int_gt(before, RING);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replay");
    TCase *ring = test_case(suite, "replay", 0);
    tcase_add_checked_fixture(ring, begin, end);
    tcase_add_test(ring, records_come_back_in_the_precision_of_the_networks);
    tcase_add_test(ring, parts_of_records_land_in_rows_of_a_wider_array);
    tcase_add_test(ring, draws_are_uniform_and_never_meet_a_lost_record);
    tcase_add_test(ring, rows_that_are_not_filled_are_not_drawn);
    tcase_add_test(ring, with_nothing_to_draw_there_is_an_error);
    tcase_add_test(ring, a_replay_without_a_row_is_refused_and_a_large_one_is_measured);
    TCase *kept = test_case(suite, "journal", 60);
    tcase_add_checked_fixture(kept, begin, end);
    tcase_add_loop_test(kept, rows_come_back_from_every_checkpoint, 0, 5);
    tcase_add_test(kept, a_checkpoint_writes_what_is_new_and_full_files_never_change);
    tcase_add_test(kept, an_older_checkpoint_keeps_its_rows_until_it_goes);
    tcase_add_test(kept, what_goes_on_from_an_older_checkpoint_cuts_off_the_later_rows);
    TCase *faults = test_case(suite, "faults", 60);
    tcase_add_checked_fixture(faults, begin, end);
    tcase_add_test(faults, a_file_that_is_missing_short_or_changed_is_found);
    tcase_add_test(faults, a_list_of_files_that_no_journal_wrote_is_refused);
    tcase_add_test(faults, rows_of_another_size_are_refused);
    tcase_add_test(faults, a_full_disk_is_told_and_nothing_is_lost);
    tcase_add_test(faults, a_folder_that_cannot_be_written_is_told);
    tcase_add_test(faults, a_kill_at_any_instant_loses_nothing_that_a_checkpoint_has);
    return test_run(suite);
}
