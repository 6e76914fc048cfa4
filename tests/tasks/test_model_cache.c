/*
 * The cache of compiled models: what is kept comes back, and nothing that is damaged, outdated, of
 * another model, or could be another user's.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache.h"
#include "model.h"
#include "support.h"

enum { PATH = 1024, SOMEBODY = 65534 };

static const char BALL[] =
    "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>";
static const char PAIR[] = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body>"
                           "<body><freejoint/><geom size='.1'/></body></worldbody></mujoco>";

static char root[TEST_FOLDER], user[TEST_FOLDER], cache[PATH];
static const mjModel *ball, *two;
static model_key key;

/* A folder of models, one for the user's caches, and two models that can be told apart. */
static void begin(void)
{
    test_make_folder("root", root);
    test_make_folder("user", user);
    snprintf(cache, sizeof cache, "%s/cache", root);
    setenv("XDG_CACHE_HOME", user, 1);
    unsetenv("TCE_MODEL_CACHE");
    ok(model_open_text("ball", BALL, &ball));
    ok(model_open_text("two", PAIR, &two));
    key = (model_key){ root, "/models/ball.xml", 1, 2 };
}

static void end(void)
{
    model_close(ball);
    model_close(two);
    test_remove_folder(root);
    test_remove_folder(user);
}

/* How many velocities the model has that comes from the cache; 0 when none comes. */
static int loaded(const model_key *which)
{
    mjModel *model = model_cache_load(which);
    const int nv = model ? (int)model->nv : 0;
    if (model)
        mj_deleteModel(model);
    return nv;
}

/* The one entry of a folder that is not `other`; 0 when there is none. */
static int find_entry(const char *folder, const char *other, char *out)
{
    int found = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (entry->d_name[0] != '.') {
            char path[PATH];
            snprintf(path, sizeof path, "%s/%.250s", folder, entry->d_name);
            if (other && strcmp(path, other) == 0)
                continue;
            memcpy(out, path, sizeof path);
            found++;
        }
    if (entries)
        closedir(entries);
    ck_assert_int_le(found, 1);
    return found;
}

static void copy(const char *from, const char *to)
{
    char command[2 * PATH + 16];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(what_is_kept_comes_back_and_is_replaced)
{
    char path[PATH];
    ck_assert_int_eq(loaded(&key), 0);
    model_cache_save(&key, ball);
    ck_assert_int_eq(loaded(&key), 6);
    key.sources = 3;
    ck_assert_int_eq(loaded(&key), 0);
    model_cache_save(&key, two);
    ck_assert_int_eq(loaded(&key), 12);
    /* one entry for one model, however often its files change */
    ck_assert_int_eq(find_entry(cache, NULL, path), 1);
    setenv("TCE_MODEL_CACHE", "0", 1);
    ck_assert_int_eq(loaded(&key), 0);
}
END_TEST

START_TEST(the_cache_is_private_to_its_owner)
{
    char path[PATH];
    struct stat about;
    umask(0);
    model_cache_save(&key, ball);
    ck_assert_int_eq(stat(cache, &about), 0);
    ck_assert_int_eq(about.st_mode & 0777, 0700);
    ck_assert_int_eq(find_entry(cache, NULL, path), 1);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_int_eq(about.st_mode & 0777, 0600);

    /* one that is not becomes so before anything in it is read */
    ck_assert_int_eq(chmod(cache, 0777), 0);
    ck_assert_int_eq(loaded(&key), 6);
    ck_assert_int_eq(stat(cache, &about), 0);
    ck_assert_int_eq(about.st_mode & 0777, 0700);
}
END_TEST

/* Each entry is whole, and its sum is right. */
START_TEST(an_entry_that_could_be_another_users_is_not_read)
{
    char path[PATH], beside[PATH];
    model_cache_save(&key, ball);
    ck_assert_int_eq(find_entry(cache, NULL, path), 1);
    snprintf(beside, sizeof beside, "%s/beside", root);

    ck_assert_int_eq(chmod(path, 0660), 0);
    ck_assert_int_eq(loaded(&key), 0);
    ck_assert_int_eq(chmod(path, 0606), 0);
    ck_assert_int_eq(loaded(&key), 0);
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(loaded(&key), 6);

    ck_assert_int_eq(link(path, beside), 0);
    ck_assert_int_eq(loaded(&key), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(beside, path), 0);
    ck_assert_int_eq(loaded(&key), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(loaded(&key), 0);

    /* what was there is replaced */
    model_cache_save(&key, ball);
    ck_assert_int_eq(loaded(&key), 6);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path, SOMEBODY, SOMEBODY), 0);
        ck_assert_int_eq(loaded(&key), 0);
    }
}
END_TEST

START_TEST(a_folder_that_could_be_another_users_is_not_used)
{
    char own[PATH], path[PATH], elsewhere[PATH];
    snprintf(own, sizeof own, "%s/tce", user);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", root);
    ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
    ck_assert_int_eq(symlink(elsewhere, cache), 0);
    model_cache_save(&key, ball);
    ck_assert_int_eq(find_entry(elsewhere, NULL, path), 0);
    ck_assert_int_eq(find_entry(own, NULL, path), 1);
    ck_assert_int_eq(loaded(&key), 6);

    if (geteuid() == 0) {
        ck_assert_int_eq(unlink(cache), 0);
        ck_assert_int_eq(rename(own, cache), 0);
        ck_assert_int_eq(loaded(&key), 6);
        ck_assert_int_eq(chown(cache, SOMEBODY, SOMEBODY), 0);
        ck_assert_int_eq(loaded(&key), 0);
        /* nor is one made in another's folder */
        ck_assert_int_eq(rmdir(own), 0);
        ck_assert_int_eq(chown(user, SOMEBODY, SOMEBODY), 0);
        model_cache_save(&key, ball);
        ck_assert_int_ne(access(own, F_OK), 0);
    }
}
END_TEST

START_TEST(a_relative_folder_for_caches_does_not_count)
{
    ck_assert_int_eq(symlink("/nowhere", cache), 0);
    ck_assert_int_eq(chdir(user), 0);
    setenv("XDG_CACHE_HOME", ".", 1);
    unsetenv("HOME");
    model_cache_save(&key, ball);
    ck_assert_int_ne(access("tce", F_OK), 0);
    setenv("HOME", ".", 1);
    model_cache_save(&key, ball);
    ck_assert_int_ne(access(".cache", F_OK), 0);
    setenv("HOME", user, 1);
    model_cache_save(&key, ball);
    ck_assert_int_eq(access(".cache/tce", F_OK), 0);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(an_entry_of_another_file_is_not_read)
{
    char path[PATH], other_path[PATH];
    model_key other = key;
    other.file = "/planted/ball.xml";
    model_cache_save(&key, ball);
    ck_assert_int_eq(find_entry(cache, NULL, path), 1);
    model_cache_save(&other, two);
    ck_assert_int_eq(find_entry(cache, path, other_path), 1);
    ck_assert_int_eq(loaded(&other), 12);
    /* the name of an entry is a hash, which can be made to fit; the path in it cannot */
    copy(other_path, path);
    ck_assert_int_eq(loaded(&key), 0);
}
END_TEST

START_TEST(a_damaged_entry_is_not_read)
{
    char path[PATH], kept[PATH];
    struct stat about;
    model_cache_save(&key, ball);
    ck_assert_int_eq(find_entry(cache, NULL, path), 1);
    snprintf(kept, sizeof kept, "%s/kept", root);
    copy(path, kept);
    ck_assert_int_eq(stat(path, &about), 0);

    /* every byte of the header and of the path, some of the model */
    for (long at = 0; at < about.st_size; at += at < 64 ? 1 : 97) {
        unsigned char byte = 0;
        const int file = open(path, O_RDWR);
        ck_assert(pread(file, &byte, 1, at) == 1);
        byte ^= 0x10;
        ck_assert(pwrite(file, &byte, 1, at) == 1);
        close(file);
        ck_assert_msg(loaded(&key) == 0, "byte %ld was changed", at);
        copy(kept, path);
    }
    for (long size = 0; size < about.st_size; size += size < 64 ? 1 : 97) {
        ck_assert_int_eq(truncate(path, size), 0);
        ck_assert_msg(loaded(&key) == 0, "cut to %ld bytes", size);
        copy(kept, path);
    }
    ck_assert_int_eq(loaded(&key), 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model_cache");
    TCase *property = test_case(suite, "property", 60);
    tcase_add_checked_fixture(property, begin, end);
    tcase_add_test(property, what_is_kept_comes_back_and_is_replaced);
    tcase_add_test(property, the_cache_is_private_to_its_owner);

    TCase *errors = test_case(suite, "errors", 120);
    tcase_add_checked_fixture(errors, begin, end);
    tcase_add_test(errors, an_entry_that_could_be_another_users_is_not_read);
    tcase_add_test(errors, a_folder_that_could_be_another_users_is_not_used);
    tcase_add_test(errors, a_relative_folder_for_caches_does_not_count);
    tcase_add_test(errors, an_entry_of_another_file_is_not_read);
    tcase_add_test(errors, a_damaged_entry_is_not_read);
    return test_run(suite);
}
