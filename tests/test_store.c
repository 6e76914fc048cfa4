/*
 * store: files to the byte, round trips, hostile and damaged files, failing disks, failing memory.
 */
#define _DEFAULT_SOURCE /* syscall() */

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tce/store.h>

#include "fuzz/fuzz_store.c"
#include "support.h"

/* Room for the files made in memory. */
#define MAX_FILE 65536

/* A header's entry for an array; one of 8 bytes. */
#define ARRAY(dtype, shape, offsets) \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define A8 ARRAY("F64", "[1]", "[0,8]")

/* ---- a disk that fails on demand ------------------------------------------------------------- */

/*
 * The library's calls of these functions end here; everything is passed on to the kernel until
 * armed.
 */
static struct {
    int armed;
    int write_error;  /* errno of write() once `allowance` bytes have been written; 0: none */
    size_t allowance; /* bytes that can still be written */
    size_t piece;     /* most bytes a write() takes; 0: all */
    int interrupts;   /* so many calls are interrupted first */
    int fsync_error;
    int rename_error;
    int n_write, n_fsync, n_rename;
} disk;

ssize_t write(int file, const void *bytes, size_t n)
{
    if (disk.armed) {
        disk.n_write++;
        if (disk.interrupts > 0) {
            disk.interrupts--;
            errno = EINTR;
            return -1;
        }
        if (disk.piece > 0 && n > disk.piece)
            n = disk.piece;
        if (disk.write_error && n > disk.allowance) {
            n = disk.allowance;
            if (n == 0) {
                errno = disk.write_error;
                return -1;
            }
        }
        disk.allowance -= disk.write_error ? n : 0;
    }
    return (ssize_t)syscall(SYS_write, file, bytes, n);
}

int fsync(int file)
{
    if (disk.armed) {
        disk.n_fsync++;
        if (disk.fsync_error) {
            errno = disk.fsync_error;
            return -1;
        }
    }
    return (int)syscall(SYS_fsync, file);
}

int rename(const char *from, const char *to)
{
    if (disk.armed) {
        disk.n_rename++;
        if (disk.rename_error) {
            errno = disk.rename_error;
            return -1;
        }
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static char folder[TEST_FOLDER];
static char path[96];

/* Every test has a folder of its own, which must hold at most the one file at the end. */
static void setup(void)
{
    memset(&disk, 0, sizeof disk);
    test_make_folder("store", folder);
    snprintf(path, sizeof path, "%s/store.safetensors", folder);
}

static int count_files(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void teardown(void)
{
    disk.armed = 0;
    unlink(path);
    ck_assert_int_eq(count_files(), 0);
    rmdir(folder);
}

static size_t slurp(unsigned char *out)
{
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    const size_t n = fread(out, 1, MAX_FILE, f);
    ck_assert_uint_lt(n, MAX_FILE);
    fclose(f);
    return n;
}

/* A file from its header and n_data bytes 0, 1, 2, …; returns its size. */
static size_t make_file(const char *json, size_t n_data, unsigned char *out)
{
    const uint64_t n = strlen(json);
    memcpy(out, &n, 8);
    memcpy(out + 8, json, n);
    for (size_t i = 0; i < n_data; i++)
        out[8 + n + i] = (unsigned char)i;
    return 8 + n + n_data;
}

static const double MEAN[6] = { 1.0, -2.5, 3.0, 1e-300, 5.0, 6.0 };
static const float SCALE[3] = { 0.5f, 1.0f, 2.0f };
static const int64_t COUNT = -5;
static const uint8_t FLAGS[3] = { 7, 8, 9 };

/* A store with something of everything. */
static tce_store *sample(const tce_hooks *hooks)
{
    tce_store *store;
    ok(tce_store_create(hooks, &store));
    ok(tce_store_put(store, "policy.mean", TCE_STORE_F64, 2, (const size_t[]){ 2, 3 }, MEAN));
    ok(tce_store_put(store, "flags", TCE_STORE_U8, 1, (const size_t[]){ 3 }, FLAGS));
    ok(tce_store_put(store, "scale \"\\ \xc3\xa9", TCE_STORE_F32, 1, (const size_t[]){ 3 }, SCALE));
    ok(tce_store_put(store, "count", TCE_STORE_I64, 0, NULL, &COUNT));
    ok(tce_store_put(store, "none", TCE_STORE_I32, 2, (const size_t[]){ 0, 4 }, NULL));
    ok(tce_store_put_text(store, "note", "a \"quote\", a \\,\na line, \xc3\xa9 and \x01"));
    ok(tce_store_put_text(store, "empty", ""));
    return store;
}

static void assert_sample(const tce_store *store)
{
    tce_store_array array = TCE_INIT(tce_store_array);

    ck_assert_uint_eq(tce_store_n_arrays(store), 5);
    ok(tce_store_get(store, "policy.mean", &array));
    ck_assert_int_eq(array.type, TCE_STORE_F64);
    ck_assert_int_eq(array.rank, 2);
    ck_assert_uint_eq(array.shape[0], 2);
    ck_assert_uint_eq(array.shape[1], 3);
    ck_assert_uint_eq(array.shape[2], 0);
    ck_assert_mem_eq(array.data, MEAN, sizeof MEAN);
    ck_assert_uint_eq((uintptr_t)array.data % 64, 0);
    ok(tce_store_get(store, "flags", &array));
    ck_assert_mem_eq(array.data, FLAGS, sizeof FLAGS);
    ok(tce_store_get(store, "scale \"\\ \xc3\xa9", &array));
    ck_assert_int_eq(array.type, TCE_STORE_F32);
    ck_assert_mem_eq(array.data, SCALE, sizeof SCALE);
    ok(tce_store_get(store, "count", &array));
    ck_assert_int_eq(array.rank, 0);
    ck_assert_mem_eq(array.data, &COUNT, sizeof COUNT);
    ok(tce_store_get(store, "none", &array));
    ck_assert_uint_eq(array.shape[1], 4);
    ck_assert_str_eq(tce_store_get_text(store, "note"),
                     "a \"quote\", a \\,\na line, \xc3\xa9 and \x01");
    ck_assert_str_eq(tce_store_get_text(store, "empty"), "");
    ck_assert_ptr_null(tce_store_get_text(store, "policy.mean"));
    ck_assert_ptr_null(tce_store_get_text(store, "tce.checksum"));
}

START_TEST(a_store_tells_whether_a_checksum_was_verified)
{
    static const char OTHER[] = "\x02\0\0\0\0\0\0\0{}";
    tce_store *store, *loaded, *other;

    ok(tce_store_create(NULL, &store));
    ck_assert_ptr_null(tce_store_get_text(store, "tce.format"));
    ok(tce_store_save(store, path));
    ok(tce_store_load(path, NULL, &loaded));
    ck_assert_str_eq(tce_store_get_text(loaded, "tce.format"), "1");
    ok(tce_store_parse(OTHER, sizeof OTHER - 1, NULL, &other));
    ck_assert_ptr_null(tce_store_get_text(other, "tce.format"));
    tce_store_free(store);
    tce_store_free(loaded);
    tce_store_free(other);
}
END_TEST

/* ---- golden ---------------------------------------------------------------------------------- */

/*
 * The checksum was computed with Python's xxhash 4.1.0 from the recipe in docs/api/store.md:
 * xxh3_128_hexdigest(n(1) "1" n(1) n(4) "note" n(2) "hi"
 *                    n(2) n(1) "b" n(2) "U8" n(1) n(2) 07 08 n(1) "x" n(3) "F64" n(0) le(1.5)).
 */
START_TEST(the_file_is_known_to_the_byte)
{
    static const char HEADER[] =
        "{\"__metadata__\":{\"tce.checksum\":\"bc9de9624b95a56e93029f16c531e208\","
        "\"tce.format\":\"1\",\"note\":\"hi\"},"
        "\"x\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[8,10]}}";
    static const double X = 1.5;
    unsigned char bytes[MAX_FILE];
    uint64_t length;
    tce_store *store;

    ok(tce_store_create(NULL, &store));
    ok(tce_store_put(store, "b", TCE_STORE_U8, 1, (const size_t[]){ 2 }, FLAGS));
    ok(tce_store_put(store, "x", TCE_STORE_F64, 0, NULL, &X));
    ok(tce_store_put_text(store, "note", "hi"));
    ok(tce_store_save(store, path));
    const size_t n = slurp(bytes);

    /* length, header, spaces up to a multiple of 8, data */
    const size_t n_header = (sizeof HEADER - 1 + 7) / 8 * 8;
    memcpy(&length, bytes, 8);
    ck_assert_uint_eq(length, n_header);
    ck_assert_uint_eq(n, 8 + n_header + 10);
    ck_assert_mem_eq(bytes + 8, HEADER, sizeof HEADER - 1);
    for (size_t i = sizeof HEADER - 1; i < n_header; i++)
        ck_assert_int_eq(bytes[8 + i], ' ');
    ck_assert_mem_eq(bytes + 8 + n_header, &X, 8);
    ck_assert_mem_eq(bytes + 16 + n_header, FLAGS, 2);
    tce_store_free(store);
}
END_TEST

/*
 * As another writer may spell it: other order, blanks, escapes, metadata last, no padding, data
 * that is not aligned.
 */
START_TEST(a_file_of_another_program_loads)
{
    static const char HEADER[] =
        "{ \"b\\u0065\\ud83d\\ude00\" : "
        "{\"shape\":[ 3 ], \"data_offsets\":[0,3], \"dtype\":\"U8\"},\r\n"
        "\t\"x\":{\"data_offsets\":[3,11],\"dtype\":\"F64\",\"shape\":[1,1]} ,"
        "\"__metadata__\":{\"format\":\"p\\n\\/t\"}}  ";
    unsigned char bytes[MAX_FILE];
    tce_store_array array;
    tce_store *store;
    double x;

    const size_t n = make_file(HEADER, 11, bytes);
    ok(tce_store_parse(bytes, n, NULL, &store));
    array = TCE_INIT(tce_store_array);
    ok(tce_store_get(store, "be\xf0\x9f\x98\x80", &array));
    ck_assert_mem_eq(array.data, ((const unsigned char[]){ 0, 1, 2 }), 3);
    ok(tce_store_read(store, "x", TCE_STORE_F64, 1, &x));
    ck_assert_mem_eq(&x, bytes + n - 8, 8);
    ck_assert_str_eq(tce_store_get_text(store, "format"), "p\n/t");
    tce_store_free(store);

    /* nothing in it at all */
    ok(tce_store_parse(bytes, make_file("{}", 0, bytes), NULL, &store));
    ck_assert_uint_eq(tce_store_n_arrays(store), 0);
    tce_store_free(store);
}
END_TEST

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(what_was_saved_is_loaded)
{
    tce_store *store = sample(NULL);
    tce_store *loaded;

    assert_sample(store);
    ok(tce_store_save(store, path));
    ok(tce_store_load(path, NULL, &loaded));
    assert_sample(loaded);
    tce_store_free(store);
    tce_store_free(loaded);
}
END_TEST

/* Puts n random arrays and texts, named by number, in the given order. */
static tce_store *random_store(uint64_t seed, size_t n, const uint32_t *sequence)
{
    static const size_t SIZES[] = { 8, 4, 8, 8, 4, 1 };
    unsigned char data[8 * 4 * 4 * 4 * 4];
    char name[64], text[64];
    tce_store *store;

    ok(tce_store_create(NULL, &store));
    for (size_t i = 0; i < n; i++) {
        tce_random random;
        size_t shape[4];
        tce_random_start(&random, seed, 1, sequence[i], 0);
        snprintf(name, sizeof name, "%llx", (unsigned long long)tce_random_bits(&random));
        const int32_t type = (int32_t)tce_random_below(&random, 6);
        const int32_t rank = (int32_t)tce_random_below(&random, 5);
        size_t n_bytes = SIZES[type];
        for (int32_t k = 0; k < rank; k++)
            n_bytes *= shape[k] = (size_t)tce_random_below(&random, 5);
        for (size_t k = 0; k < n_bytes; k++)
            data[k] = (unsigned char)tce_random_bits(&random);
        ok(tce_store_put(store, name, type, rank, shape, data));

        /* a text of any characters but 0 and those beyond ASCII */
        const size_t length = (size_t)tce_random_below(&random, sizeof text);
        for (size_t k = 0; k < length; k++)
            text[k] = (char)(1 + tce_random_below(&random, 127));
        text[length < sizeof text ? length : sizeof text - 1] = '\0';
        ok(tce_store_put_text(store, name, text));
    }
    return store;
}

START_TEST(the_same_content_gives_the_same_bytes)
{
    unsigned char *first = malloc(MAX_FILE), *second = malloc(MAX_FILE);
    uint32_t sequence[20];

    for (uint64_t seed = 0; seed < 100; seed++) {
        /* put in another order, saved over the other file */
        tce_random random;
        tce_random_start(&random, seed, 2, 0, 0);
        const size_t n = (size_t)tce_random_below(&random, 10);
        for (int round = 0; round < 2; round++) {
            tce_random_permutation(&random, n, sequence);
            tce_store *store = random_store(seed, n, sequence);
            ok(tce_store_save(store, path));
            tce_store_free(store);
            const size_t size = slurp(round ? second : first);
            ck_assert_msg(round == 0 || memcmp(first, second, size) == 0, "seed %d", (int)seed);
        }

        /* and loaded and saved again */
        tce_store *store;
        ok(tce_store_load(path, NULL, &store));
        ok(tce_store_save(store, path));
        tce_store_free(store);
        const size_t size = slurp(second);
        ck_assert_msg(memcmp(first, second, size) == 0, "seed %d", (int)seed);
    }
    free(first);
    free(second);
}
END_TEST

START_TEST(a_put_replaces_and_may_take_from_the_store_itself)
{
    tce_store *store = sample(NULL);
    tce_store_array array;
    float mean[6];

    array = TCE_INIT(tce_store_array);
    ok(tce_store_get(store, "policy.mean", &array));
    ok(tce_store_put(store, "policy.mean", TCE_STORE_F64, 1, (const size_t[]){ 2 },
                     (const double *)array.data + 1));
    ok(tce_store_put_text(store, "note", tce_store_get_text(store, "note") + 2));
    ck_assert_uint_eq(tce_store_n_arrays(store), 5);
    ok(tce_store_read(store, "policy.mean", TCE_STORE_F32, 2, mean));
    ck_assert_float_eq(mean[0], -2.5f);
    ck_assert_int_eq(tce_store_get_text(store, "note")[0], '"');
    tce_store_free(store);
}
END_TEST

START_TEST(float_and_double_convert_into_each_other)
{
    tce_store *store = sample(NULL);
    double scale[3];
    float mean[6];
    int64_t count;

    ok(tce_store_read(store, "scale \"\\ \xc3\xa9", TCE_STORE_F64, 3, scale));
    ok(tce_store_read(store, "policy.mean", TCE_STORE_F32, 6, mean));
    ok(tce_store_read(store, "count", TCE_STORE_I64, 1, &count));
    ok(tce_store_read(store, "none", TCE_STORE_I32, 0, NULL));
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq(scale[i], (double)SCALE[i]);
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq(mean[i], (float)MEAN[i]);
    ck_assert_int_eq(count, COUNT);
    tce_store_free(store);
}
END_TEST

/* Harmless is the case of a digit in an escape. */
START_TEST(every_flipped_bit_is_noticed_or_harmless)
{
    unsigned char *bytes = malloc(MAX_FILE);
    tce_store *store = sample(NULL), *loaded;
    int n_harmless = 0;

    ok(tce_store_save(store, path));
    tce_store_free(store);
    const size_t n = slurp(bytes);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        /* a copy of just this size, so that the sanitizer sees a read behind it */
        unsigned char *copy = malloc(n);
        memcpy(copy, bytes, n);
        copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
        const tce_status status = tce_store_parse(copy, n, NULL, &loaded);
        free(copy);
        ck_assert_msg(status == TCE_OK || status == TCE_E_CORRUPT || status == TCE_E_UNSUPPORTED ||
                          status == TCE_E_VERSION,
                      "bit %zu: %s", bit, tce_status_name(status));
        if (status == TCE_OK) {
            assert_sample(loaded);
            n_harmless++;
        } else {
            ck_assert_ptr_null(loaded);
        }
        tce_store_free(loaded);
    }
    ck_assert_int_le(n_harmless, 4);
    free(bytes);
}
END_TEST

START_TEST(every_shorter_or_longer_file_is_refused)
{
    unsigned char *bytes = calloc(MAX_FILE, 1);
    tce_store *store = sample(NULL), *loaded;

    ok(tce_store_save(store, path));
    tce_store_free(store);
    const size_t n = slurp(bytes);
    for (size_t size = 0; size < n + 20; size++) {
        if (size == n)
            continue;
        unsigned char *copy = malloc(size > 0 ? size : 1);
        memcpy(copy, bytes, size);
        ck_assert_int_eq(tce_store_parse(copy, size, NULL, &loaded), TCE_E_CORRUPT);
        free(copy);
    }
    free(bytes);
}
END_TEST

/*
 * One mutation of bytes [*n]: change, insert, delete, copy a piece, or write a piece of a header.
 */
static void mutate(tce_random *random, unsigned char *bytes, size_t *n)
{
    static const char *const PIECES[] = {
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\u0000",
        "\\ud800",
        "-1",
        "1e3",
        "18446744073709551615",
        "00",
        "F64",
        "U8",
        "\xff",
        "\"shape\":[",
        "\"data_offsets\":[0,0]",
        "\"dtype\":\"F64\"",
        "\"__metadata__\":{",
        "\"tce.format\":\"2\"",
        "null",
        "true",
    };
    const size_t at = (size_t)tce_random_below(random, *n + 1);

    switch (tce_random_below(random, 5)) {
    case 0:
        if (at < *n)
            bytes[at] = (unsigned char)tce_random_bits(random);
        break;
    case 1:
        if (*n < MAX_FILE / 2) {
            memmove(bytes + at + 1, bytes + at, *n - at);
            bytes[at] = (unsigned char)tce_random_bits(random);
            ++*n;
        }
        break;
    case 2:
        if (at < *n) {
            memmove(bytes + at, bytes + at + 1, *n - at - 1);
            --*n;
        }
        break;
    case 3: {
        const size_t from = (size_t)tce_random_below(random, *n + 1);
        const size_t longest = *n - (from > at ? from : at);
        memmove(bytes + at, bytes + from, (size_t)tce_random_below(random, longest + 1));
        break;
    }
    default: {
        const char *piece = PIECES[tce_random_below(random, sizeof PIECES / sizeof PIECES[0])];
        const size_t length = strlen(piece);
        memcpy(bytes + at, piece, at + length <= *n ? length : *n - at);
    }
    }

    /* often the length is put right, so that the header is read at all */
    if (*n >= 8 && tce_random_below(random, 4) > 0) {
        const uint64_t length = tce_random_below(random, *n - 7);
        const uint64_t old = bytes[0] | (uint64_t)bytes[1] << 8;
        const uint64_t fitting = old <= *n - 8 && tce_random_below(random, 4) > 0 ? old : length;
        memcpy(bytes, &fitting, 8);
    }
}

START_TEST(mutated_files_never_harm)
{
    enum { N_ROUNDS = 30000 };
    static const char *const SEEDS[] = {
        "{}",
        ("{\"a\":" ARRAY("F64", "[2]", "[0,16]") "}"),
        ("{\"__metadata__\":{\"k\":\"v\",\"w\":\"\\u00e9\"},\"a\":" ARRAY(
            "U8", "[2,3,1]", "[0,6]") ",\"b\":" ARRAY("I32", "[]",
                                                      "[6,10]") ",\"c\":" ARRAY("F32", "[0]",
                                                                                "[6,6]") "}"),
    };
    static const size_t N_DATA[] = { 0, 16, 10 };
    unsigned char *bytes = malloc(MAX_FILE), *real = malloc(MAX_FILE);
    tce_store *store = sample(NULL);
    tce_random random;

    ok(tce_store_save(store, path));
    tce_store_free(store);
    const size_t n_real = slurp(real);
    tce_random_start(&random, 7, 3, 0, 0);
    for (int round = 0; round < N_ROUNDS; round++) {
        const size_t k = (size_t)tce_random_below(&random, 4);
        size_t n = n_real;
        if (k < 3)
            n = make_file(SEEDS[k], N_DATA[k], bytes);
        else
            memcpy(bytes, real, n_real);
        for (uint64_t m = 1 + tce_random_below(&random, 4); m > 0; m--)
            mutate(&random, bytes, &n);
        unsigned char *copy = malloc(n > 0 ? n : 1);
        memcpy(copy, bytes, n);
        LLVMFuzzerTestOneInput(copy, n);
        free(copy);
    }
    free(bytes);
    free(real);
}
END_TEST

/* Sorting must not become quadratic, whatever the order in the file. */
START_TEST(many_arrays_in_reverse_order_load_at_once)
{
    enum { N = 50000, ROW = 80 };
    char *json = malloc(N * ROW + 3);
    unsigned char *bytes = malloc(N * (ROW + 1) + 16);
    size_t at = 0;
    tce_store *store;
    tce_store_array array;

    json[at++] = '{';
    for (int i = 0; i < N; i++)
        at += (size_t)sprintf(json + at, "%s\"%06d\":" ARRAY("U8", "[1]", "[%d,%d]"), i ? "," : "",
                              N - 1 - i, i, i + 1);
    strcpy(json + at, "}");
    ok(tce_store_parse(bytes, make_file(json, N, bytes), NULL, &store));
    ck_assert_uint_eq(tce_store_n_arrays(store), N);
    array = TCE_INIT(tce_store_array);
    ok(tce_store_at(store, 0, &array));
    ck_assert_str_eq(array.name, "000000");
    ck_assert_int_eq(*(const unsigned char *)array.data, (N - 1) % 256);
    tce_store_free(store);
    free(json);
    free(bytes);
}
END_TEST

/* Saves the store given as context to the one path. */
static tce_status save_work(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    (void)chunk;
    (void)begin;
    (void)end;
    (void)worker;
    return tce_store_save(context, path);
}

START_TEST(parallel_saves_to_one_path_leave_one_whole_file)
{
    tce_store *store = sample(NULL), *loaded;

    tce_pool *pool = test_pool(4);
    ok(tce_pool_run(pool, 40, 1, save_work, store));
    tce_pool_free(pool);
    ok(tce_store_load(path, NULL, &loaded));
    assert_sample(loaded);
    ck_assert_int_eq(count_files(), 1);
    tce_store_free(store);
    tce_store_free(loaded);
}
END_TEST

START_TEST(a_replaced_file_keeps_its_permissions)
{
    tce_store *store = sample(NULL);
    struct stat info;

    ok(tce_store_save(store, path));
    ck_assert_int_eq(chmod(path, 0640), 0);
    ok(tce_store_save(store, path));
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_mode & 0777, 0640);
    tce_store_free(store);
}
END_TEST

START_TEST(a_path_without_a_folder_is_in_the_present_one)
{
    tce_store *store = sample(NULL);
    char here[4096];

    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_int_eq(chdir(folder), 0);
    ok(tce_store_save(store, "store.safetensors"));
    ck_assert_int_eq(chdir(here), 0);
    tce_store_free(store);
    ok(tce_store_load(path, NULL, &store));
    assert_sample(store);
    tce_store_free(store);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(bad_arguments_are_refused_and_nothing_is_written)
{
    tce_store *store = sample(NULL);
    tce_store_array array;
    double out = 77.0;
    char name[300];

    memset(name, 'n', sizeof name);
    name[256] = '\0';
    array = TCE_INIT(tce_store_array);
    fails(tce_store_create(NULL, NULL), TCE_E_ARGUMENT, "out");
    fails(tce_store_put(NULL, "a", TCE_STORE_F64, 0, NULL, &out), TCE_E_ARGUMENT, "store");
    fails(tce_store_put(store, NULL, TCE_STORE_F64, 0, NULL, &out), TCE_E_ARGUMENT, "name");
    fails(tce_store_put(store, "", TCE_STORE_F64, 0, NULL, &out), TCE_E_VALUE, "1 to 255");
    fails(tce_store_put(store, name, TCE_STORE_F64, 0, NULL, &out), TCE_E_VALUE, "256 bytes");
    fails(tce_store_put(store, "a\nb", TCE_STORE_F64, 0, NULL, &out), TCE_E_VALUE, "0x0a");
    fails(tce_store_put(store, "a\xff", TCE_STORE_F64, 0, NULL, &out), TCE_E_VALUE, "0xff");
    fails(tce_store_put(store, "\xc0\x80", TCE_STORE_F64, 0, NULL, &out), TCE_E_VALUE, "0xc0");
    fails(tce_store_put(store, "__metadata__", TCE_STORE_F64, 0, NULL, &out), TCE_E_VALUE,
          "reserved");
    fails(tce_store_put(store, "a", 6, 0, NULL, &out), TCE_E_ARGUMENT, "type = 6");
    fails(tce_store_put(store, "a", -1, 0, NULL, &out), TCE_E_ARGUMENT, "type = -1");
    fails(tce_store_put(store, "a", TCE_STORE_F64, 5, (const size_t[]){ 1, 1, 1, 1, 1 }, &out),
          TCE_E_VALUE, "rank");
    fails(tce_store_put(store, "a", TCE_STORE_F64, -1, NULL, &out), TCE_E_VALUE, "rank");
    fails(tce_store_put(store, "a", TCE_STORE_F64, 1, NULL, &out), TCE_E_ARGUMENT, "shape");
    fails(tce_store_put(store, "a", TCE_STORE_F64, 1, (const size_t[]){ 1 }, NULL), TCE_E_ARGUMENT,
          "data");
    fails(tce_store_put(store, "a", TCE_STORE_F64, 2, (const size_t[]){ SIZE_MAX / 8, 16 }, &out),
          TCE_E_SHAPE, "shape[");
    fails(tce_store_put_text(store, "a", NULL), TCE_E_ARGUMENT, "text");
    fails(tce_store_put_text(store, "a", "\xed\xa0\x80"), TCE_E_VALUE, "UTF-8");
    fails(tce_store_put_text(store, "tce.format", "1"), TCE_E_VALUE, "tce.format");
    fails(tce_store_put_text(store, "tce.checksum", "1"), TCE_E_VALUE, "tce.checksum");
    fails(tce_store_get(store, "policy.std", &array), TCE_E_NOT_FOUND, "policy.std");
    fails(tce_store_get(store, "count", NULL), TCE_E_ARGUMENT, "out");
    tce_store_array unstarted = { 0 };
    fails(tce_store_get(store, "count", &unstarted), TCE_E_ARGUMENT, "TCE_INIT(tce_store_array)");
    fails(tce_store_at(store, 0, &unstarted), TCE_E_ARGUMENT, "TCE_INIT(tce_store_array)");
    fails(tce_store_at(store, 5, &array), TCE_E_NOT_FOUND, "i = 5");
    fails(tce_store_read(store, "policy.std", TCE_STORE_F64, 1, &out), TCE_E_NOT_FOUND,
          "policy.std");
    fails(tce_store_read(store, "policy.mean", TCE_STORE_F64, 1, &out), TCE_E_SHAPE, "6 elements");
    fails(tce_store_read(store, "count", TCE_STORE_F64, 1, &out), TCE_E_VALUE, "I64");
    fails(tce_store_read(store, "count", 9, 1, &out), TCE_E_ARGUMENT, "type = 9");
    fails(tce_store_read(store, "count", TCE_STORE_I64, 1, NULL), TCE_E_ARGUMENT, "out");
    fails(tce_store_save(store, NULL), TCE_E_ARGUMENT, "path");
    fails(tce_store_save(store, ""), TCE_E_ARGUMENT, "path");
    fails(tce_store_save(NULL, path), TCE_E_ARGUMENT, "store");
    ck_assert_ptr_null(tce_store_get_text(store, NULL));
    ck_assert_ptr_null(tce_store_get_text(NULL, "a"));
    ck_assert_uint_eq(tce_store_n_arrays(NULL), 0);
    ck_assert_double_eq(out, 77.0);
    ck_assert_ptr_null(array.name);
    assert_sample(store);
    tce_store_free(store);
    tce_store_free(NULL);
}
END_TEST

START_TEST(a_struct_of_an_older_or_newer_program_is_served)
{
    tce_store *store = sample(NULL);
    struct {
        tce_store_array known;
        double tail;
    } longer = { .tail = 3.0 };
    tce_store_array shorter;

    /* only the name fits; only the known part is written */
    memset(&shorter, 0x55, sizeof shorter);
    shorter.struct_size = offsetof(tce_store_array, data);
    ok(tce_store_get(store, "count", &shorter));
    ck_assert_str_eq(shorter.name, "count");
    ck_assert_int_eq(shorter.rank, 0x55555555);
    longer.known.struct_size = sizeof longer;
    ok(tce_store_get(store, "count", &longer.known));
    ck_assert_int_eq(longer.known.type, TCE_STORE_I64);
    ck_assert_double_eq(longer.tail, 3.0);
    tce_store_free(store);
}
END_TEST

/* What is said of a shape that is too large; where size_t has 32 bits, a single entry may be. */
#if SIZE_MAX < UINT64_MAX
#define TOO_LARGE "does not fit into memory"
#else
#define TOO_LARGE "overflows"
#endif

/* Headers with 8 bytes of data, each with what the message has to say. */
static const struct {
    const char *json;
    tce_status status;
    const char *part;
} HOSTILE[] = {
    { "", TCE_E_CORRUPT, "begin with '{'" },
    { " {}", TCE_E_CORRUPT, "begin with '{'" },
    { "[]", TCE_E_CORRUPT, "begin with '{'" },
    { "{", TCE_E_CORRUPT, "expected '\"'" },
    { "{}", TCE_E_CORRUPT, "end at byte 0" },
    { "{\"a\":" A8, TCE_E_CORRUPT, "expected '}'" },
    { "{\"a\":" A8 ",}", TCE_E_CORRUPT, "expected '\"'" },
    { "{\"a\":" A8 "}}", TCE_E_CORRUPT, "last brace" },
    { "{\"a\":" A8 "} x", TCE_E_CORRUPT, "last brace" },
    { "{\"a\" " A8 "}", TCE_E_CORRUPT, "expected ':'" },
    { "{a:" A8 "}", TCE_E_CORRUPT, "expected '\"'" },
    { "{\"a\":[]}", TCE_E_CORRUPT, "expected '{'" },
    { "{\"a\":null}", TCE_E_CORRUPT, "expected '{'" },
    { "{\"a\":" A8 ",\"a\":" ARRAY("F64", "[0]", "[8,8]") "}", TCE_E_CORRUPT, "twice" },
    { "{\"a\":" A8 ",\"\\u0061\":" ARRAY("F64", "[0]", "[8,8]") "}", TCE_E_CORRUPT, "twice" },
    { "{\"\":" A8 "}", TCE_E_CORRUPT, "name" },
    { "{\"\\u0007\":" A8 "}", TCE_E_CORRUPT, "printable" },
    { "{\"a\\u0000b\":" A8 "}", TCE_E_CORRUPT, "U+0000" },
    { "{\"a\\ud800\":" A8 "}", TCE_E_CORRUPT, "surrogate" },
    { "{\"a\\ud800\\u0041\":" A8 "}", TCE_E_CORRUPT, "surrogate" },
    { "{\"a\\udc00\":" A8 "}", TCE_E_CORRUPT, "surrogate" },
    { "{\"a\\u12g4\":" A8 "}", TCE_E_CORRUPT, "hexadecimal" },
    { "{\"a\\x41\":" A8 "}", TCE_E_CORRUPT, "escape" },
    { "{\"a\xff\":" A8 "}", TCE_E_CORRUPT, "UTF-8" },
    { "{\"a\xc0\xaf\":" A8 "}", TCE_E_CORRUPT, "UTF-8" },
    { "{\"a\x01\":" A8 "}", TCE_E_CORRUPT, "control" },
    { "{\"a", TCE_E_CORRUPT, "does not end" },
    { "{\"a\\", TCE_E_CORRUPT, "does not end" },
    { "{\"a\\ud800\\u", TCE_E_CORRUPT, "hexadecimal" },
    { "{\"a\":{\"dtype\":\"F64\",\"shape\":[1]}}", TCE_E_CORRUPT, "expected ','" },
    { "{\"a\":{\"dtype\":\"F64\",\"dtype\":\"F64\",\"data_offsets\":[0,8]}}", TCE_E_CORRUPT,
      "each once" },
    { "{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8],\"x\":1}}", TCE_E_CORRUPT,
      "expected '}'" },
    { "{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"x\":[0,8]}}", TCE_E_CORRUPT, "each once" },
    { "{\"a\":{\"dtype\":64,\"shape\":[1],\"data_offsets\":[0,8]}}", TCE_E_CORRUPT,
      "expected '\"'" },
    { "{\"a\":" ARRAY("", "[1]", "[0,8]") "}", TCE_E_CORRUPT, "dtype" },
    { "{\"a\":" ARRAY("\\u001b[2J", "[1]", "[0,8]") "}", TCE_E_CORRUPT, "dtype" },
    { "{\"a\":" ARRAY("F6464646464646464", "[1]", "[0,8]") "}", TCE_E_CORRUPT, "dtype" },
    { "{\"a\":" ARRAY("F16", "[4]", "[0,8]") "}", TCE_E_UNSUPPORTED, "F16" },
    { "{\"a\":" ARRAY("BF16", "[4]", "[0,8]") "}", TCE_E_UNSUPPORTED, "BF16" },
    { "{\"a\":" ARRAY("BOOL", "[8]", "[0,8]") "}", TCE_E_UNSUPPORTED, "BOOL" },
    { "{\"a\":" ARRAY("f64", "[1]", "[0,8]") "}", TCE_E_UNSUPPORTED, "f64" },
    { "{\"a\":" ARRAY("F64", "[1,1,1,1,1]", "[0,8]") "}", TCE_E_UNSUPPORTED, "rank 5" },
    { "{\"a\":" ARRAY("F64", "[-1]", "[0,8]") "}", TCE_E_CORRUPT, "whole number" },
    { "{\"a\":" ARRAY("F64", "[1.0]", "[0,8]") "}", TCE_E_CORRUPT, "expected ']'" },
    { "{\"a\":" ARRAY("F64", "[1e0]", "[0,8]") "}", TCE_E_CORRUPT, "expected ']'" },
    { "{\"a\":" ARRAY("F64", "[01]", "[0,8]") "}", TCE_E_CORRUPT, "leading zero" },
    { "{\"a\":" ARRAY("F64", "[1,]", "[0,8]") "}", TCE_E_CORRUPT, "whole number" },
    { "{\"a\":" ARRAY("F64", "[18446744073709551616]", "[0,8]") "}", TCE_E_CORRUPT, "64 bits" },
    { "{\"a\":" ARRAY("F64", "[4611686018427387904,4]", "[0,8]") "}", TCE_E_CORRUPT, TOO_LARGE },
    { "{\"a\":" ARRAY("U8", "[4294967296,4294967296]", "[0,0]") "}", TCE_E_CORRUPT, TOO_LARGE },
    { "{\"a\":" ARRAY("F64", "[2]", "[0,8]") "}", TCE_E_CORRUPT, "needs 16 bytes" },
    { "{\"a\":" ARRAY("F64", "[2]", "[0,16]") "}", TCE_E_CORRUPT, "within 8" },
    { "{\"a\":" ARRAY("F64", "[1]", "[8,0]") "}", TCE_E_CORRUPT, "data_offsets 8 to 0" },
    { "{\"a\":" ARRAY("F64", "[1]", "[0]") "}", TCE_E_CORRUPT, "two numbers" },
    { "{\"a\":" ARRAY("F64", "[1]", "[0,8,8]") "}", TCE_E_CORRUPT, "two numbers" },
    { "{\"a\":" ARRAY("U8", "[4]", "[0,4]") "}", TCE_E_CORRUPT, "end at byte 4" },
    { "{\"a\":" ARRAY("U8", "[4]", "[4,8]") "}", TCE_E_CORRUPT, "start at 0" },
    { "{\"a\":" ARRAY("U8", "[4]", "[0,4]") ",\"b\":" ARRAY("U8", "[3]", "[5,8]") "}",
      TCE_E_CORRUPT, "start at 4" },
    { "{\"a\":" ARRAY("U8", "[5]", "[0,5]") ",\"b\":" ARRAY("U8", "[4]", "[4,8]") "}",
      TCE_E_CORRUPT, "start at 5" },
    { "{\"a\":" A8 ",\"b\":" A8 "}", TCE_E_CORRUPT, "start at 8" },
    { "{\"__metadata__\":{\"a\":1},\"a\":" A8 "}", TCE_E_CORRUPT, "expected '\"'" },
    { "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"},\"a\":" A8 "}", TCE_E_CORRUPT, "twice" },
    { "{\"__metadata__\":{},\"__metadata__\":{},\"a\":" A8 "}", TCE_E_CORRUPT, "twice" },
    { "{\"__metadata__\":\"x\",\"a\":" A8 "}", TCE_E_CORRUPT, "expected '{'" },
    { "{\"__metadata__\":{\"tce.format\":\"2\"},\"a\":" ARRAY("F4", "[1]", "[0,8]") "}",
      TCE_E_VERSION, "newer" },
    { "{\"__metadata__\":{\"tce.format\":\"one\"},\"a\":" A8 "}", TCE_E_CORRUPT, "tce.format" },
    { "{\"__metadata__\":{\"tce.format\":\"1\"},\"a\":" A8 "}", TCE_E_CORRUPT, "no tce.checksum" },
    { "{\"__metadata__\":{\"tce.checksum\":\"1\"},\"a\":" A8 "}", TCE_E_CORRUPT, "no tce.format" },
    { "{\"__metadata__\":{\"tce.format\":\"1\",\"tce.checksum\":\"0\"},\"a\":" A8 "}",
      TCE_E_CORRUPT, "checksum" },
};

START_TEST(a_hostile_file_is_refused_with_the_reason)
{
    unsigned char bytes[MAX_FILE];
    tce_store *store = (tce_store *)bytes;

    const size_t n = make_file(HOSTILE[_i].json, 8, bytes);
    unsigned char *copy = malloc(n);
    memcpy(copy, bytes, n);
    fails(tce_store_parse(copy, n, NULL, &store), HOSTILE[_i].status, HOSTILE[_i].part);
    ck_assert_ptr_null(store);
    free(copy);
}
END_TEST

START_TEST(a_header_length_beyond_the_file_or_the_limit_is_refused)
{
    const uint64_t lengths[] = { 3, 100000001, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63 };
    unsigned char bytes[10] = "........{}";
    tce_store *store;

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        memcpy(bytes, &lengths[i], 8);
        fails(tce_store_parse(bytes, sizeof bytes, NULL, &store), TCE_E_CORRUPT, "header claims");
    }
    fails(tce_store_parse(bytes, 7, NULL, &store), TCE_E_CORRUPT, "7 bytes");
    fails(tce_store_parse(NULL, 0, NULL, &store), TCE_E_CORRUPT, "0 bytes");
    fails(tce_store_parse(NULL, 9, NULL, &store), TCE_E_ARGUMENT, "bytes");
    fails(tce_store_parse(bytes, 10, NULL, NULL), TCE_E_ARGUMENT, "out");
}
END_TEST

START_TEST(deep_nesting_does_not_exhaust_the_stack)
{
    enum { N = 1000000 };
    static const char *const OPENINGS[] = { "{", "[", "{\"a\":", "{\"__metadata__\":{\"a\":",
                                            "{\"a\":{\"shape\":[" };
    char *json = malloc(N * 24 + 1);
    unsigned char *bytes = malloc(N * 24 + 16);
    tce_store *store;

    for (size_t k = 0; k < sizeof OPENINGS / sizeof OPENINGS[0]; k++) {
        const size_t n = strlen(OPENINGS[k]);
        for (size_t i = 0; i < N; i++)
            memcpy(json + i * n, OPENINGS[k], n);
        json[N * n] = '\0';
        ck_assert_int_eq(tce_store_parse(bytes, make_file(json, 0, bytes), NULL, &store),
                         TCE_E_CORRUPT);
    }
    free(json);
    free(bytes);
}
END_TEST

START_TEST(a_missing_file_and_a_folder_are_told_apart)
{
    char buffer[128];
    tce_store *store;

    fails(tce_store_load(path, NULL, &store), TCE_E_NOT_FOUND, path);
    ck_assert_ptr_null(store);
    fails(tce_store_load(folder, NULL, &store), TCE_E_IO, "not a regular file");
    snprintf(buffer, sizeof buffer, "%s/pipe", folder);
    ck_assert_int_eq(mkfifo(buffer, 0600), 0);
    fails(tce_store_load(buffer, NULL, &store), TCE_E_IO, "not a regular file");
    unlink(buffer);
    fails(tce_store_load(NULL, NULL, &store), TCE_E_ARGUMENT, "path");
    fails(tce_store_load(path, NULL, NULL), TCE_E_ARGUMENT, "out");
}
END_TEST

START_TEST(a_message_about_a_file_has_its_path)
{
    FILE *f = fopen(path, "wb");
    tce_store *store;

    fputs("hello, world", f);
    fclose(f);
    fails(tce_store_load(path, NULL, &store), TCE_E_CORRUPT, path);
}
END_TEST

START_TEST(a_save_to_an_impossible_place_says_what_to_do)
{
    tce_store *store = sample(NULL);
    char buffer[512];

    snprintf(buffer, sizeof buffer, "%s/missing/x", folder);
    fails(tce_store_save(store, buffer), TCE_E_IO, "make the folder");
    fails(tce_store_save(store, folder), TCE_E_IO, "not a regular file");
    fails(tce_store_save(store, "/dev/null"), TCE_E_IO, "not a regular file");
    snprintf(buffer, sizeof buffer, "%s/%0300d", folder, 1);
    fails(tce_store_save(store, buffer), TCE_E_IO, "cannot replace");
    snprintf(buffer, sizeof buffer, "%s/", folder);
    fails(tce_store_save(store, buffer), TCE_E_IO, folder);
    tce_store_free(store);
}
END_TEST

/* Where the permissions count, which is not for root. */
START_TEST(a_folder_that_may_not_be_written_is_reported)
{
    tce_store *store = sample(NULL);

    ck_assert_int_eq(chmod(folder, 0500), 0);
    const tce_status status = tce_store_save(store, path);
    ck_assert_int_eq(chmod(folder, 0700), 0);
    if (geteuid() != 0)
        fails(status, TCE_E_IO, "permissions");
    else
        ok(status);
    tce_store_free(store);
}
END_TEST

/* Arms the disk, saves over an old file, and sees that the old file is still whole and alone. */
static void assert_save_fails(const char *part)
{
    tce_store *old = sample(NULL), *new = sample(NULL), *loaded;

    ok(tce_store_save(old, path));
    ok(tce_store_put(new, "more", TCE_STORE_F64, 1, (const size_t[]){ 6 }, MEAN));
    disk.armed = 1;
    const tce_status status = tce_store_save(new, path);
    disk.armed = 0;
    fails(status, TCE_E_IO, part);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), path));
    ck_assert_int_eq(count_files(), 1);
    ok(tce_store_load(path, NULL, &loaded));
    assert_sample(loaded);
    tce_store_free(old);
    tce_store_free(new);
    tce_store_free(loaded);
}

START_TEST(a_full_disk_leaves_the_old_file)
{
    disk.write_error = ENOSPC;
    disk.allowance = (size_t)_i * 100;
    assert_save_fails("free some space");
}
END_TEST

START_TEST(a_failing_fsync_leaves_the_old_file)
{
    disk.fsync_error = EIO;
    assert_save_fails("check the disk");
    ck_assert_int_eq(disk.n_rename, 0);
}
END_TEST

START_TEST(a_failing_rename_leaves_the_old_file)
{
    disk.rename_error = EACCES;
    assert_save_fails("permissions");
}
END_TEST

START_TEST(a_file_size_limit_leaves_the_old_file)
{
    struct rlimit old, limit;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    tce_store *big, *store = sample(NULL), *loaded;
    double *zeros = calloc(100000, sizeof *zeros);
    ok(tce_store_create(NULL, &big));
    ok(tce_store_put(big, "zeros", TCE_STORE_F64, 1, (const size_t[]){ 100000 }, zeros));
    ok(tce_store_save(store, path));
    limit = old;
    limit.rlim_cur = 65536;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const tce_status status = tce_store_save(big, path);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    fails(status, TCE_E_IO, "ulimit -f");
    ck_assert_int_eq(count_files(), 1);
    ok(tce_store_load(path, NULL, &loaded));
    assert_sample(loaded);
    tce_store_free(loaded);
    tce_store_free(store);
    tce_store_free(big);
    free(zeros);
}
END_TEST

START_TEST(interrupted_and_short_writes_are_continued)
{
    tce_store *store = sample(NULL), *loaded;

    disk.armed = 1;
    disk.interrupts = 3;
    disk.piece = 7;
    ok(tce_store_save(store, path));
    disk.armed = 0;
    ck_assert_int_gt(disk.n_write, 50);
    ck_assert_int_eq(disk.n_fsync, 2);
    ok(tce_store_load(path, NULL, &loaded));
    assert_sample(loaded);
    tce_store_free(store);
    tce_store_free(loaded);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(failing_memory_is_reported_and_changes_nothing)
{
    test_memory memory = { .budget = SIZE_MAX };
    tce_hooks hooks;
    tce_store *store = sample(NULL), *copy;
    tce_status status = TCE_E_NOMEM;
    unsigned char *bytes = malloc(MAX_FILE);

    ok(tce_store_save(store, path));
    tce_store_free(store);
    const size_t n = slurp(bytes);

    /* create, load and parse, until there is enough */
    for (size_t budget = 0; status; budget++) {
        memory.budget = budget;
        test_hooks(&memory, &hooks);
        status = tce_store_load(path, &hooks, &copy);
        if (status) {
            fails(status, TCE_E_NOMEM, "no memory");
            ck_assert_ptr_null(copy);
        } else {
            ck_assert_uint_gt(budget, 5);
            assert_sample(copy);
            tce_store_free(copy);
        }
        ck_assert_uint_eq(memory.live, 0);
    }
    memory.budget = 0;
    ck_assert_int_eq(tce_store_create(&hooks, &copy), TCE_E_NOMEM);
    ck_assert_int_eq(tce_store_parse(bytes, n, &hooks, &copy), TCE_E_NOMEM);
    ck_assert_ptr_null(copy);
    free(bytes);
}
END_TEST

START_TEST(a_put_without_memory_leaves_the_store_as_it_was)
{
    test_memory memory = { .budget = SIZE_MAX };
    tce_hooks hooks;
    char name[16];

    test_hooks(&memory, &hooks);
    tce_store *store = sample(&hooks);
    for (size_t budget = 0; budget < 1; budget++) {
        memory.budget = budget;
        fails(tce_store_put(store, "policy.mean", TCE_STORE_F64, 0, NULL, MEAN), TCE_E_NOMEM,
              "no memory");
        fails(tce_store_put(store, "new", TCE_STORE_F64, 0, NULL, MEAN), TCE_E_NOMEM, "no memory");
        fails(tce_store_put_text(store, "note", "new"), TCE_E_NOMEM, "no memory");
        fails(tce_store_save(store, path), TCE_E_NOMEM, "no memory");
        assert_sample(store);
    }

    /* with the list full, its growth is what fails */
    memory.budget = SIZE_MAX;
    for (int i = 0; i < 11; i++) {
        snprintf(name, sizeof name, "%d", i);
        ok(tce_store_put(store, name, TCE_STORE_F64, 0, NULL, MEAN));
    }
    const size_t live = memory.live;
    memory.budget = 1;
    fails(tce_store_put(store, "new", TCE_STORE_F64, 0, NULL, MEAN), TCE_E_NOMEM, "no memory");
    ck_assert_uint_eq(memory.live, live);
    ck_assert_uint_eq(tce_store_n_arrays(store), 16);
    memory.budget = SIZE_MAX;
    ok(tce_store_put(store, "new", TCE_STORE_F64, 0, NULL, MEAN));
    ck_assert_uint_eq(tce_store_n_arrays(store), 17);
    tce_store_free(store);
    ck_assert_uint_eq(memory.live, 0);
}
END_TEST

START_TEST(getting_and_reading_do_not_allocate)
{
    test_memory memory = { .budget = SIZE_MAX };
    tce_hooks hooks;

    test_hooks(&memory, &hooks);
    tce_store *store = sample(&hooks);
    const size_t before = memory.n_alloc;
    double mean[6];
    for (int i = 0; i < 100; i++) {
        assert_sample(store);
        ok(tce_store_read(store, "policy.mean", TCE_STORE_F64, 6, mean));
    }
    ck_assert_uint_eq(memory.n_alloc, before);
    tce_store_free(store);
    ck_assert_uint_eq(memory.live, 0);
}
END_TEST

/* ---- suite ----------------------------------------------------------------------------------- */

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = test_case(suite, name, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *golden = add_case(suite, "golden");
    TCase *property = add_case(suite, "property");
    TCase *errors = add_case(suite, "errors");
    TCase *memory = add_case(suite, "memory");

    tcase_add_test(golden, the_file_is_known_to_the_byte);
    tcase_add_test(golden, a_file_of_another_program_loads);

    tcase_add_test(property, what_was_saved_is_loaded);
    tcase_add_test(property, a_store_tells_whether_a_checksum_was_verified);
    tcase_add_test(property, the_same_content_gives_the_same_bytes);
    tcase_add_test(property, a_put_replaces_and_may_take_from_the_store_itself);
    tcase_add_test(property, float_and_double_convert_into_each_other);
    tcase_add_test(property, every_flipped_bit_is_noticed_or_harmless);
    tcase_add_test(property, every_shorter_or_longer_file_is_refused);
    tcase_add_test(property, mutated_files_never_harm);
    tcase_add_test(property, many_arrays_in_reverse_order_load_at_once);
    tcase_add_test(property, parallel_saves_to_one_path_leave_one_whole_file);
    tcase_add_test(property, a_replaced_file_keeps_its_permissions);
    tcase_add_test(property, a_path_without_a_folder_is_in_the_present_one);

    tcase_add_test(errors, bad_arguments_are_refused_and_nothing_is_written);
    tcase_add_test(errors, a_struct_of_an_older_or_newer_program_is_served);
    const int n_hostile = (int)(sizeof HOSTILE / sizeof HOSTILE[0]);
    tcase_add_loop_test(errors, a_hostile_file_is_refused_with_the_reason, 0, n_hostile);
    tcase_add_test(errors, a_header_length_beyond_the_file_or_the_limit_is_refused);
    tcase_add_test(errors, deep_nesting_does_not_exhaust_the_stack);
    tcase_add_test(errors, a_missing_file_and_a_folder_are_told_apart);
    tcase_add_test(errors, a_message_about_a_file_has_its_path);
    tcase_add_test(errors, a_save_to_an_impossible_place_says_what_to_do);
    tcase_add_test(errors, a_folder_that_may_not_be_written_is_reported);
    tcase_add_loop_test(errors, a_full_disk_leaves_the_old_file, 0, 6);
    tcase_add_test(errors, a_failing_fsync_leaves_the_old_file);
    tcase_add_test(errors, a_failing_rename_leaves_the_old_file);
    tcase_add_test(errors, a_file_size_limit_leaves_the_old_file);
    tcase_add_test(errors, interrupted_and_short_writes_are_continued);

    tcase_add_test(memory, failing_memory_is_reported_and_changes_nothing);
    tcase_add_test(memory, a_put_without_memory_leaves_the_store_as_it_was);
    tcase_add_test(memory, getting_and_reading_do_not_allocate);

    return test_run(suite);
}
