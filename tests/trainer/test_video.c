/*
 * Pictures and videos: a PNG read back by a reader written from the format's description, moments of
 * an episode in one picture, and what is said when ffmpeg is not there.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "support.h"
#include "commands/still.h"
#include "commands/video.h"
#include "tools/png.h"

static char folder[TEST_FOLDER], path[128], programs[4096];

static void make_folder(void)
{
    test_make_folder("video", folder);
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(programs, sizeof programs, "%s", getenv("PATH"));
}

static void remove_folder(void)
{
    setenv("PATH", programs, 1);
    test_remove_folder(folder);
}

static uint32_t read_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/*
 * Checks length, type and checksum of the chunk at *at; returns its data and moves to the next.
 */
static const uint8_t *next_chunk(const uint8_t **at, const char *type, uint32_t *size)
{
    const uint8_t *p = *at;
    *size = read_u32(p);
    ck_assert_mem_eq(p + 4, type, 4);
    ck_assert_uint_eq(crc32(0, p + 4, *size + 4), read_u32(p + 8 + *size));
    *at = p + 12 + *size;
    return p + 8;
}

START_TEST(a_png_holds_what_was_given)
{
    enum { W = 7, H = 5, ROW = 3 * W + 1 };
    static uint8_t file[10000];
    uint8_t rgb[H * W * 3], raw[H * ROW];
    tce_random random;
    tce_random_start(&random, 1, 0, 0, 0);
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)tce_random_below(&random, 256);
    ok(png_write(path, W, H, rgb));
    FILE *stream = fopen(path, "rb");
    ck_assert_ptr_nonnull(stream);
    const size_t n = fread(file, 1, sizeof file, stream);
    fclose(stream);

    ck_assert_mem_eq(file, "\x89PNG\r\n\x1a\n", 8);
    const uint8_t *at = file + 8;
    uint32_t size;
    const uint8_t *header = next_chunk(&at, "IHDR", &size);
    ck_assert_uint_eq(size, 13);
    ck_assert_uint_eq(read_u32(header), W);
    ck_assert_uint_eq(read_u32(header + 4), H);
    ck_assert_mem_eq(header + 8, "\x08\x02\x00\x00\x00", 5);
    const uint8_t *packed = next_chunk(&at, "IDAT", &size);
    uLongf raw_size = sizeof raw;
    ck_assert_int_eq(uncompress(raw, &raw_size, packed, size), Z_OK);
    ck_assert_uint_eq(raw_size, sizeof raw);
    next_chunk(&at, "IEND", &size);
    ck_assert_ptr_eq(at, file + n);

    for (int y = 0; y < H; y++) {
        ck_assert_uint_eq(raw[y * ROW], 1);
        for (int i = 0; i < 3 * W; i++) {
            const uint8_t left = i >= 3 ? rgb[y * 3 * W + i - 3] : 0;
            ck_assert_uint_eq((uint8_t)(raw[y * ROW + 1 + i] + left), rgb[y * 3 * W + i]);
        }
    }
}
END_TEST

START_TEST(a_place_that_cannot_be_written_is_named)
{
    const uint8_t rgb[3] = { 0 };
    ck_assert_int_eq(png_write("/nowhere/x.png", 1, 1, rgb), TCE_E_IO);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "/nowhere/x.png"));
}
END_TEST

START_TEST(without_ffmpeg_the_remedy_is_named)
{
    video *v = (video *)path;
    setenv("PATH", folder, 1);
    ck_assert_int_eq(video_open(path, 16, 16, 25.0, &v), TCE_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "apt-get install -y ffmpeg"));
    ck_assert_ptr_null(v);
    ck_assert_int_eq(video_open(path, 15, 16, 25.0, &v), TCE_E_VALUE);
}
END_TEST

/* An ffmpeg that gives up at once: no signal kills us, the failure is told, twice. */
START_TEST(an_ffmpeg_that_gives_up_is_an_error)
{
    static uint8_t rgb[640 * 480 * 3];
    char fake[128];
    snprintf(fake, sizeof fake, "%s/ffmpeg", folder);
    FILE *script = fopen(fake, "w");
    ck_assert_ptr_nonnull(script);
    fputs("#!/bin/sh\nexit 3\n", script);
    fclose(script);
    ck_assert_int_eq(chmod(fake, 0755), 0);
    setenv("PATH", folder, 1);
    video *v;
    ok(video_open(path, 640, 480, 25.0, &v));
    tce_status status = TCE_OK;
    for (int i = 0; status == TCE_OK && i < 100; i++)
        status = video_frame(v, rgb);
    ck_assert_int_eq(status, TCE_E_IO);
    ck_assert_int_eq(video_close(v), TCE_E_IO);
    unlink(fake);
}
END_TEST

/* A dark dot moves over a light ground, from pixel to pixel. */
START_TEST(moments_lie_over_each_other_the_latest_on_top)
{
    enum { N = 5, SIZE = 3 * (N + 1) };
    uint8_t pictures[N * SIZE], rgb[SIZE];
    memset(pictures, 200, sizeof pictures);
    for (size_t m = 0; m < N; m++)
        memset(pictures + m * SIZE + 3 * m, 0, 3);
    still_blend(N, N, SIZE, pictures, rgb);
    /* a quarter of the dot to all of it, in equal steps; nothing was at the last pixel */
    static const uint8_t SEEN[N + 1] = { 150, 113, 75, 38, 0, 200 };
    for (size_t i = 0; i < SIZE; i++)
        ck_assert_int_le(abs(rgb[i] - SEEN[i / 3]), 1);

    /* where two moments show something, the later one does; noise of the ground does not show */
    for (size_t m = 0; m < N; m++) {
        memset(pictures + m * SIZE, 200, SIZE);
        pictures[m * SIZE] = (uint8_t)(200 + m % 2);
    }
    memset(pictures + SIZE + 3, 0, 3);
    memset(pictures + 4 * SIZE + 3, 100, 3);
    still_blend(N, N, SIZE, pictures, rgb);
    ck_assert_int_eq(rgb[3], 100);
    ck_assert_int_eq(rgb[0], 200);

    /* a dot that leaves its place in the last moment only: other pictures tell what lies under it */
    uint8_t all[2 * N * SIZE];
    memset(all, 200, sizeof all);
    for (size_t m = 0; m + 1 < N; m++)
        memset(all + m * SIZE, 0, 3);
    still_blend(N, N, SIZE, all, rgb);
    ck_assert_int_eq(rgb[0], 200); /* the ground as if it were the dot */
    still_blend(N, 2 * N, SIZE, all, rgb);
    ck_assert_int_lt(rgb[0], 10);
}
END_TEST

START_TEST(moments_divide_what_changes_and_not_the_time)
{
    enum { STEPS = 10, N = 4 };
    /* at rest for four steps, then even motion, and at rest again */
    static const double CHANGE[STEPS + 1] = { 0, 0, 0, 0, 0, 2, 4, 6, 6, 6, 6 };
    size_t at[N];
    still_moments(STEPS, CHANGE, N, at);
    static const size_t WANTED[N] = { 0, 5, 6, STEPS };
    ck_assert_mem_eq(at, WANTED, sizeof at);

    static const double NOTHING[STEPS + 1] = { 0 };
    still_moments(STEPS, NOTHING, N, at);
    for (size_t m = 0; m + 1 < N; m++)
        ck_assert_uint_eq(at[m], 0);
    ck_assert_uint_eq(at[N - 1], STEPS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("video");
    TCase *golden = test_case(suite, "golden", 0);
    tcase_add_checked_fixture(golden, make_folder, remove_folder);
    tcase_add_test(golden, a_png_holds_what_was_given);
    tcase_add_test(golden, moments_lie_over_each_other_the_latest_on_top);
    tcase_add_test(golden, moments_divide_what_changes_and_not_the_time);
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_checked_fixture(errors, make_folder, remove_folder);
    tcase_add_test(errors, a_place_that_cannot_be_written_is_named);
    tcase_add_test(errors, without_ffmpeg_the_remedy_is_named);
    tcase_add_test(errors, an_ffmpeg_that_gives_up_is_an_error);

    return test_run(suite);
}
