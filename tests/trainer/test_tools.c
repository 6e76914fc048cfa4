/*
 * What every room of the trainer uses: numbers as text, rows of CSV files, files and folders.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "support.h"
#include "tools/blas.h"
#include "tools/csv.h"
#include "tools/files.h"
#include "tools/numbers.h"
#include "tools/protobuf.h"
#include "tools/words.h"

/* ---- numbers --------------------------------------------------------------------------------- */

START_TEST(a_number_as_text_reads_back_to_the_same_bits)
{
    tce_random random;
    tce_random_start(&random, (uint64_t)_i, 0, 0, 0);
    for (int i = 0; i < 1000; i++) {
        const uint64_t bits = tce_random_bits(&random);
        char text[NUMBER_TEXT];
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        number_text(value, 0, text);
        ck_assert_msg(strtod(text, NULL) == value, "%a is %s", value, text);
        const float single = (float)(value * exp2(-900.0 * (fabs(value) > 1e30)));
        number_text((double)single, 1, text);
        ck_assert_msg(!isfinite(single) || strtof(text, NULL) == single, "%a is %s", (double)single,
                      text);
    }
}
END_TEST

START_TEST(a_number_as_text_is_as_short_as_people_write_it)
{
    static const struct {
        double value;
        int is_float;
        const char *text;
    } CASES[] = {
        { 10.0, 0, "10" },
        { -300000.0, 0, "-300000" },
        { 0.1, 0, "0.1" },
        { 1e6, 0, "1e+06" },
        { 0.1 + 0.2, 0, "0.30000000000000004" },
        { (double)0.1F, 1, "0.1" },
        { 0.0, 0, "0" },
        { 5e-324, 0, "5e-324" },
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char text[NUMBER_TEXT];
        number_text(CASES[i].value, CASES[i].is_float, text);
        ck_assert_str_eq(text, CASES[i].text);
    }
}
END_TEST

/* ---- CSV ------------------------------------------------------------------------------------- */

START_TEST(a_row_has_as_many_fields_as_its_line)
{
    enum { N = 300 };
    csv_row row = { 0 };
    char few[] = "a,\"b,c\",\n", many[4 * N] = "", open[] = "a,\"b\n";
    ok(csv_row_cut(&row, few));
    ck_assert_uint_eq(row.n, 3);
    ck_assert_str_eq(row.fields[1], "b,c");
    ck_assert_str_eq(row.fields[2], "");
    ck_assert_uint_eq(csv_row_find(&row, "b,c"), 1);
    ck_assert_uint_eq(csv_row_find(&row, "d"), 3);

    for (int i = 0; i < N; i++)
        sprintf(many + strlen(many), "%s%d", i ? "," : "", i % 100);
    ok(csv_row_cut(&row, many));
    ck_assert_uint_eq(row.n, N);
    ck_assert_str_eq(row.fields[N - 1], "99");
    ck_assert_int_eq(csv_row_cut(&row, open), TCE_E_CORRUPT);
    csv_row_free(&row);
}
END_TEST

START_TEST(a_field_is_a_number_as_a_whole_or_not_at_all)
{
    double value = 0.0;
    ck_assert(csv_number("-1.5e3", &value));
    ck_assert_double_eq(value, -1500.0);
    ck_assert(csv_number("", &value));
    ck_assert(isnan(value));
    ck_assert(!csv_number("1.5x", &value));
    ck_assert(!csv_number(" ", &value));
    ck_assert(!csv_number("two", &value));
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------- */

static char folder[TEST_FOLDER], path[TEST_FOLDER + 64];

static void make_folder(void)
{
    test_make_folder("tools", folder);
}

static void remove_folder(void)
{
    test_remove_folder(folder);
}

static const char *inside(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(FILE *file, const void *text)
{
    fputs(text, file);
}

/* A disk that is full while the file is written. */
static void write_nowhere(FILE *file, const void *text)
{
    fputs(text, file);
    ck_assert_ptr_nonnull(freopen("/dev/full", "w", file));
    fputs(text, file);
}

static void holds(const char *name, const char *text)
{
    char content[64] = "";
    FILE *file = fopen(inside(name), "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(content, 1, sizeof content - 1, file), strlen(text));
    fclose(file);
    ck_assert_str_eq(content, text);
}

START_TEST(a_folder_is_made_with_its_parents_and_may_be_there)
{
    for (int i = 0; i < 2; i++)
        ok(folder_make(inside("a/b//c/")));
    ok(file_replace(inside("a/b/c/file"), write_text, "text"));
    holds("a/b/c/file", "text");
    ck_assert_int_eq(folder_make(inside("a/b/c/file/d")), TCE_E_IO);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "a file is in the way"));
}
END_TEST

START_TEST(a_file_is_replaced_as_a_whole_or_stays)
{
    ok(file_replace(inside("file"), write_text, "old"));
    ok(file_replace(inside("file"), write_text, "new"));
    holds("file", "new");
    ck_assert_int_eq(file_replace(inside("file"), write_nowhere, "full"), TCE_E_IO);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "free some space"));
    holds("file", "new");
    ck_assert_int_ne(access(inside(".file.tmp"), F_OK), 0);

    /* what a killed process left does not stand in the way, and a link there is not followed */
    ck_assert_int_eq(symlink("file", inside(".other.tmp")), 0);
    ok(file_replace(inside("other"), write_text, "mine"));
    holds("file", "new");
    holds("other", "mine");
}
END_TEST

/* ---- words that people mistype --------------------------------------------------------------- */

START_TEST(words_that_are_like_it_are_suggested)
{
    static const char *const NAMES[] = { "point", "reacher5", "box_pushing_dense" };
    static const struct {
        const char *wrong, *right;
    } CASES[] = {
        { "reacher", "; the nearest is \"reacher5\"" },
        { "Reacher5", "; the nearest is \"reacher5\"" },
        { "piont", "; the nearest is \"point\"" },
        { "box_pushing", "; the nearest is \"box_pushing_dense\"" },
        { "box-pushing-dense", "; the nearest is \"box_pushing_dense\"" },
        { "dense", "; the nearest is \"box_pushing_dense\"" },
        { "nope", "" },
        { "", "" },
        { "x", "" },
        { "qqqqqqqqqqqq", "" },
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char text[256];
        nearest names;
        nearest_start(&names, CASES[i].wrong);
        for (size_t k = 0; k < sizeof NAMES / sizeof NAMES[0]; k++)
            nearest_try(&names, NAMES[k]);
        ck_assert_str_eq(nearest_words(&names, text, sizeof text), CASES[i].right);
        ck_assert_int_eq(nearest_found(&names) == NULL, CASES[i].right[0] == '\0');
    }
}
END_TEST

START_TEST(at_most_three_words_are_suggested_best_first)
{
    char list[12][16], text[256];
    nearest names;

    for (int i = 0; i < 12; i++)
        snprintf(list[i], sizeof list[i], "task_%02d", i + 1);
    nearest_start(&names, "task_0");
    for (int i = 0; i < 12; i++)
        nearest_try(&names, list[i]);
    ck_assert_str_eq(nearest_words(&names, text, sizeof text),
                     "; the nearest are \"task_01\", \"task_02\", \"task_03\"");
    nearest_start(&names, "task_07x");
    for (int i = 0; i < 12; i++)
        nearest_try(&names, list[i]);
    ck_assert_str_eq(nearest_found(&names), "task_07");
    ck_assert_str_eq(nearest_words(&names, text, 20), "; the nearest are \"");
}
END_TEST

/* ---- protobuf -------------------------------------------------------------------------------- */

/* The bytes of the examples in protobuf's own description of its encoding, and of IEEE numbers. */
START_TEST(a_message_has_the_bytes_of_the_wire_format)
{
    static const uint8_t EXPECTED[] = {
        0x08, 0x96, 0x01,                                                 /* 1: 150 */
        0x12, 0x07, 't',  'e',  's',  't',  'i',  'n',  'g',              /* 2: "testing" */
        0x1a, 0x03, 0x08, 0x96, 0x01,                                     /* 3: { 1: 150 } */
        0x25, 0x00, 0x00, 0xc0, 0xbf,                                     /* 4: -1.5f */
        0x29, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf8, 0xbf,             /* 5: -1.5 */
        0x30, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, /* 6: -2 */
        0x82, 0x01, 0x00,                                                 /* 16: no bytes */
    };
    protobuf outer = { 0 }, inner = { 0 };

    protobuf_int(&inner, 7, 1);
    protobuf_clear(&inner);
    protobuf_int(&inner, 1, 150);
    protobuf_int(&outer, 1, 150);
    protobuf_text(&outer, 2, "testing");
    protobuf_message(&outer, 3, &inner);
    protobuf_float(&outer, 4, -1.5f);
    protobuf_double(&outer, 5, -1.5);
    protobuf_int(&outer, 6, -2);
    protobuf_bytes(&outer, 16, NULL, 0);
    ok(protobuf_check(&outer, "a message"));
    ck_assert_uint_eq(outer.n, sizeof EXPECTED);
    ck_assert_mem_eq(outer.bytes, EXPECTED, sizeof EXPECTED);
    protobuf_free(&outer);
    protobuf_free(&inner);
}
END_TEST

START_TEST(a_message_without_memory_says_so_and_so_does_the_one_around_it)
{
    protobuf outer = { 0 }, inner = { 0 };
    protobuf_bytes(&inner, 1, "", SIZE_MAX - 64);
    protobuf_message(&outer, 1, &inner);
    protobuf_int(&outer, 2, 1);
    ck_assert_int_eq(protobuf_check(&outer, "a message"), TCE_E_NOMEM);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "no memory for a message"));
    protobuf_free(&outer);
    protobuf_free(&inner);
}
END_TEST

/*
 * ---- kernels of OpenBLAS ----------------------------------------------------------------------
 */

START_TEST(only_kernels_older_than_the_processor_are_replaced)
{
    ck_assert_str_eq(better_kernels_than("Prescott", 1, 1), "SkylakeX");
    ck_assert_str_eq(better_kernels_than("Prescott", 1, 0), "Haswell");
    ck_assert_str_eq(better_kernels_than("Sandybridge", 1, 0), "Haswell");
    ck_assert_ptr_null(better_kernels_than("Prescott", 0, 0));
    ck_assert_ptr_null(better_kernels_than("Haswell", 1, 1));
    ck_assert_ptr_null(better_kernels_than("Zen", 1, 1));
    ck_assert_ptr_null(better_kernels_than("armv8", 0, 0));
}
END_TEST

START_TEST(kernels_that_were_asked_for_are_kept)
{
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    ck_assert_ptr_null(better_kernels());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools");
    TCase *property = test_case(suite, "property", 0);
    tcase_add_loop_test(property, a_number_as_text_reads_back_to_the_same_bits, 0, 10);
    tcase_add_test(property, a_number_as_text_is_as_short_as_people_write_it);
    tcase_add_test(property, a_row_has_as_many_fields_as_its_line);
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, a_field_is_a_number_as_a_whole_or_not_at_all);

    TCase *files = test_case(suite, "files", 0);
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_test(files, a_folder_is_made_with_its_parents_and_may_be_there);
    tcase_add_test(files, a_file_is_replaced_as_a_whole_or_stays);

    TCase *words = test_case(suite, "words", 0);
    tcase_add_test(words, words_that_are_like_it_are_suggested);
    tcase_add_test(words, at_most_three_words_are_suggested_best_first);
    TCase *messages = test_case(suite, "protobuf", 0);
    tcase_add_test(messages, a_message_has_the_bytes_of_the_wire_format);
    tcase_add_test(messages, a_message_without_memory_says_so_and_so_does_the_one_around_it);
    TCase *kernels = test_case(suite, "kernels", 0);
    tcase_add_test(kernels, only_kernels_older_than_the_processor_are_replaced);
    tcase_add_test(kernels, kernels_that_were_asked_for_are_kept);

    return test_run(suite);
}
