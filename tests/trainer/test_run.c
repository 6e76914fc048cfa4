/*
 * Parts of a run: event records, logs and their cutting, lock, folder names, checkpoints, the line
 * of the display, lists of seeds, queues on disk.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "queue/display.h"
#include "queue/queue.h"
#include "tools/csv.h"
#include "tools/shell.h"
#include "support.h"

/* ---- a folder and a method for the tests ----------------------------------------------------- */

static char folder[TEST_FOLDER];

static void make_folder(void)
{
    test_make_folder("run", folder);
    ok(run_folder_create(folder));
}

static void remove_folder(void)
{
    test_remove_folder(folder);
}

static const char *in_folder(const char *name)
{
    static char path[RUN_PATH];
    ok(run_path(folder, name, path));
    return path;
}

static size_t read_all(const char *name, char *out, size_t size)
{
    FILE *file = fopen(in_folder(name), "rb");
    ck_assert_ptr_nonnull(file);
    const size_t n = fread(out, 1, size - 1, file);
    fclose(file);
    out[n] = '\0';
    return n;
}

/* Two numbers are all that this learner knows, in two arrays. */
typedef struct pair {
    double value, twice;
} pair;

static tce_status save_half(const void *learner, tce_store *store)
{
    return tce_store_put(store, "value", TCE_STORE_F64, 0, NULL, &((const pair *)learner)->value);
}

static tce_status save(const void *learner, tce_store *store)
{
    ok(save_half(learner, store));
    return tce_store_put(store, "twice", TCE_STORE_F64, 0, NULL, &((const pair *)learner)->twice);
}

static tce_status load(void *learner, const tce_store *store)
{
    pair *l = learner;
    const tce_status status = tce_store_read(store, "value", TCE_STORE_F64, 1, &l->value);
    return status == TCE_OK ? tce_store_read(store, "twice", TCE_STORE_F64, 1, &l->twice) : status;
}

/* Of every such learner. */
static agent idle;

static const agent *agent_of(const void *learner)
{
    (void)learner;
    return &idle;
}

static void make_agent(void)
{
    tce_mp_options mp;
    tce_policy_options policy;
    tce_mp_options_init(&mp, sizeof mp);
    ok(tce_mp_create(&mp, NULL, &idle.mp));
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = 2;
    policy.n_dims = (int32_t)tce_mp_n_params(idle.mp);
    policy.max_batch = 1;
    ok(tce_policy_create(&policy, NULL, &idle.policy));
    idle.task = "idle";
}

static void free_agent(void)
{
    agent_close(&idle);
}

static const method NUMBER = {
    .settings = { .name = "number" }, .agent = agent_of, .save = save, .load = load
};
/* As an accident would leave it. */
static const method HALF = {
    .settings = { .name = "number" }, .agent = agent_of, .save = save_half, .load = load
};

static const char *const PHASES[] = { "simulation", "critic", "policy", NULL };
static const double NO_SECONDS[3] = { 0 };
static const run_times HALF_A_SECOND = { NO_SECONDS, 0.0, 0.5 };

/* ---- events ---------------------------------------------------------------------------------- */

START_TEST(crc32c_gives_the_published_check_values)
{
    const uint8_t zeros[32] = { 0 };
    ck_assert_uint_eq(tensorboard_crc32c("123456789", 9), 0xe3069283u);
    ck_assert_uint_eq(tensorboard_crc32c(zeros, sizeof zeros), 0x8a9136aau); /* RFC 3720, B.4 */
    ck_assert_uint_eq(tensorboard_crc32c("", 0), 0u);
}
END_TEST

START_TEST(an_event_file_is_cut_where_it_is_told)
{
    tensorboard *e;
    int64_t first, second, again;
    metrics m = { 0 };
    const double spent[] = { 1.0, 2.0, 3.0 };
    metrics_put(&m, "return", 1.5);
    metrics_put(&m, "eval_success", NAN);
    ok(tensorboard_open(in_folder("events"), 0, &e));
    ok(tensorboard_write(e, 100, &m, PHASES, spent));
    ok(tensorboard_sync(e, &first));
    ok(tensorboard_write(e, 200, &m, PHASES, spent));
    ok(tensorboard_sync(e, &second));
    tensorboard_close(e);

    ok(tensorboard_open(in_folder("events"), first, &e));
    ok(tensorboard_write(e, 200, &m, PHASES, spent));
    ok(tensorboard_sync(e, &again));
    tensorboard_close(e);
    ck_assert_int_eq(again, second);

    char text[4096];
    ck_assert_uint_eq(read_all("events", text, sizeof text), (size_t)second);
    ck_assert_mem_eq(text + 12 + 9 + 2,
                     "\x1a\x0d"
                     "brain.Event:2",
                     15);
    metrics_free(&m);
}
END_TEST

/* ---- logs ------------------------------------------------------------------------------------ */

static void put_row(run_log *log, int64_t i, double value, int evaluated)
{
    metrics m = { 0 };
    metrics_put(&m, "return", value);
    metrics_put(&m, "eval_return", evaluated ? -value : NAN);
    ok(run_log_row(log, i, 10 * i, &m, &HALF_A_SECOND));
    metrics_free(&m);
}

START_TEST(a_log_that_goes_on_from_a_mark_has_the_same_bytes)
{
    run_log log;
    run_mark mark = { 0 };
    int cut_short;
    metrics start = { 0 };
    char whole[4096], again[4096];
    metrics_put(&start, "return", NAN);
    metrics_put(&start, "eval_return", 0.25);

    ok(run_log_open(&log, folder, PHASES, NULL, NULL, &cut_short));
    ok(run_log_start(&log, &start));
    metrics_free(&start);
    put_row(&log, 1, 0.1, 0);
    put_row(&log, 2, 0.2, 1);
    mark.iteration = 2;
    ok(run_log_mark(&log, &mark));
    ck_assert_str_eq(log.columns, "return,eval_return");
    put_row(&log, 3, 0.3, 0);
    run_log_close(&log);
    const size_t n = read_all("progress.csv", whole, sizeof whole);
    ck_assert_str_eq(
        whole, "iteration,env_steps,return,eval_return\n0,0,,0.25\n1,10,0.10000000000000001,\n"
               "2,20,0.20000000000000001,-0.20000000000000001\n3,30,0.29999999999999999,\n");

    ok(run_log_open(&log, folder, PHASES, &mark, "return,eval_return", &cut_short));
    ck_assert_int_eq(cut_short, 0);
    put_row(&log, 3, 0.3, 0);
    run_log_close(&log);
    ck_assert_uint_eq(read_all("progress.csv", again, sizeof again), n);
    ck_assert_str_eq(again, whole);
    read_all("timing.csv", again, sizeof again);
    ck_assert_str_eq(again, "iteration,simulation,critic,policy,evaluation,total\n1,0.000000,0."
                            "000000,0.000000,0.000000,0.500000\n"
                            "2,0.000000,0.000000,0.000000,0.000000,0.500000\n3,0.000000,0.000000,0."
                            "000000,0.000000,0.500000\n");
}
END_TEST

START_TEST(many_metrics_with_long_names_are_all_written)
{
    enum { N = 300, LENGTH = METRIC_NAME - 1 };
    static char names[N][METRIC_NAME], text[2 * N * METRIC_NAME];
    run_log log;
    int cut_short;
    metrics m = { 0 };
    for (int i = 0; i < N; i++) {
        memset(names[i], 'a', LENGTH);
        snprintf(names[i] + LENGTH - 3, 4, "%03u", (unsigned)i % 1000u);
        metrics_put(&m, names[i], i);
    }
    ck_assert_int_eq(m.n, N);
    ck_assert_double_eq(metrics_get(&m, names[N - 1]), N - 1);
    ok(run_log_open(&log, folder, PHASES, NULL, NULL, &cut_short));
    ok(run_log_row(&log, 1, 10, &m, &HALF_A_SECOND));
    run_log_close(&log);
    metrics_free(&m);

    read_all("progress.csv", text, sizeof text);
    const char *row = strchr(text, '\n') + 1;
    ck_assert_ptr_eq(strstr(text, names[N - 1]) + LENGTH + 1, row);
    ck_assert_int_eq(strncmp(row, "1,10,0,1,2,", 11), 0);
    ck_assert_str_eq(row + strlen(row) - 9, ",298,299\n");

    /* a record for the version, one for the values: tag, number and three lengths each */
    struct stat info;
    ck_assert_int_eq(stat(in_folder("events.out.tfevents.tce"), &info), 0);
    ck_assert_int_ge(info.st_size, N * (LENGTH + (int)strlen("train/")));
}
END_TEST

START_TEST(a_log_that_lost_rows_says_so_and_goes_on)
{
    run_log log;
    const run_mark mark = { .iteration = 2, .env_steps = 20, .progress_bytes = 1000 };
    int cut_short = 0;
    char text[4096];
    ok(run_log_open(&log, folder, PHASES, &mark, "return", &cut_short));
    ck_assert_int_eq(cut_short, 1);
    put_row(&log, 3, 0.5, 0);
    run_log_close(&log);
    read_all("progress.csv", text, sizeof text);
    ck_assert_str_eq(text, "iteration,env_steps,return\n3,30,0.5\n");
}
END_TEST

START_TEST(a_log_on_a_full_disk_names_the_file_and_the_remedy)
{
    if (access("/dev/full", W_OK) != 0)
        return;
    run_log log;
    int cut_short;
    metrics m = { 0 };
    metrics_put(&m, "return", 1.0);
    ok(run_log_open(&log, folder, PHASES, NULL, NULL, &cut_short));
    fclose(log.progress);
    log.progress = fopen("/dev/full", "w");
    ck_assert_int_eq(run_log_row(&log, 1, 10, &m, &HALF_A_SECOND), TCE_E_IO);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "progress.csv"));
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "free some space"));
    run_log_close(&log);
    metrics_free(&m);
}
END_TEST

/* ---- folder and lock ------------------------------------------------------------------------- */

START_TEST(a_folder_name_is_never_taken_twice)
{
    settings s;
    char first[RUN_PATH], second[RUN_PATH];
    ok(settings_init(&s, METHODS, NULL));
    s.run.seed = 12;
    run_folder_name(&s, folder, first, sizeof first);
    ck_assert_int_eq(mkdir(first, 0777), 0);
    run_folder_name(&s, folder, second, sizeof second);
    ck_assert_str_ne(first, second);
    ck_assert_ptr_nonnull(strstr(first, "/reacher5__tce__12__2"));
}
END_TEST

START_TEST(only_an_empty_folder_is_discarded)
{
    settings s;
    int lock;
    ok(settings_init(&s, METHODS, NULL));
    ok(run_lock(folder, &lock));
    ok(run_write_settings(folder, &s));
    run_folder_discard(folder);
    ck_assert_int_eq(run_exists(folder), 1);
    ck_assert_int_eq(unlink(in_folder("config.yaml")), 0);
    run_folder_discard(folder);
    ck_assert_int_ne(access(folder, F_OK), 0);
    run_unlock(lock);
}
END_TEST

START_TEST(a_locked_folder_is_refused_with_the_process_that_has_it)
{
    int lock = -1;
    char number[32];
    ok(run_lock(folder, &lock));
    snprintf(number, sizeof number, "process %ld", (long)getpid());
    const pid_t child = fork();
    if (child == 0) {
        int second;
        const tce_status status = run_lock(folder, &second);
        _exit(status == TCE_E_STATE && strstr(tce_error_message(), number) ? 0 : 1);
    }
    int code;
    ck_assert_int_eq(waitpid(child, &code, 0), child);
    ck_assert_int_eq(code, 0);
    run_unlock(lock);
}
END_TEST

START_TEST(a_failure_to_write_comes_with_a_remedy)
{
    char path[RUN_PATH];
    ck_assert_int_eq(run_folder_create("/dev/null/run"), TCE_E_IO);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "/dev/null"));
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "--out"));
    char *name = malloc(RUN_PATH + 1);
    ck_assert_ptr_nonnull(name);
    memset(name, 'a', RUN_PATH);
    name[RUN_PATH] = '\0';
    ck_assert_int_eq(run_path("x", name, path), TCE_E_VALUE);
    free(name);

    /* the remedy is that of the error */
    static const struct {
        int error;
        const char *part;
    } REMEDIES[] = {
        { EMFILE, "ulimit -n" },
        { EISDIR, "a folder is in the way" },
        { ELOOP, "symbolic link" },
        { ENAMETOOLONG, "shorter" },
        { ENXIO, "file: it is not a regular file; remove it" },
        { EIO, "healthy" },
    };
    for (size_t i = 0; i < sizeof REMEDIES / sizeof REMEDIES[0]; i++)
        fails(file_fail_write("file", REMEDIES[i].error), TCE_E_IO, REMEDIES[i].part);
}
END_TEST

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* What the learner logs. */
static const char *column = "return";
static metrics row = { .n = 1, .names = &column };

static void save_at(const settings *s, int64_t iteration, double value)
{
    pair l = { value, 2.0 * value };
    const run_mark mark = { iteration, 10 * iteration, 70, 80, 0.5 };
    ok(checkpoint_save(folder, &(run_subject){ s, &NUMBER, &l, &row, NULL, NULL, NULL }, &mark,
                       "return"));
}

static tce_status load_newest(const settings *s, pair *l, run_mark *mark)
{
    const messages silent = { 0 };
    char *columns;
    const tce_status status = checkpoint_load(
        folder, &(run_subject){ s, &NUMBER, l, &row, NULL, NULL, NULL }, &silent, mark, &columns);
    if (status == TCE_OK)
        ck_assert_str_eq(columns, "return");
    free(columns);
    return status;
}

START_TEST(a_checkpoint_comes_back_as_it_was_and_old_ones_go)
{
    settings s;
    pair l = { 0.0, 0.0 };
    run_mark mark;
    ok(settings_init(&s, METHODS, NULL));
    ck_assert_int_eq(load_newest(&s, &l, &mark), TCE_E_NOT_FOUND);
    save_at(&s, 9, 0.9);
    save_at(&s, 10, 1.0);
    save_at(&s, 100, 10.0);
    ck_assert_int_ne(access(in_folder("checkpoints/ckpt-00000009.safetensors"), F_OK), 0);
    ck_assert_int_eq(access(in_folder("checkpoints/ckpt-00000010.safetensors"), F_OK), 0);
    ck_assert_int_eq(access(in_folder("policy.safetensors"), F_OK), 0);
    ok(load_newest(&s, &l, &mark));
    ck_assert_double_eq(l.value, 10.0);
    ck_assert_int_eq(mark.iteration, 100);
    ck_assert_int_eq(mark.env_steps, 1000);
    ck_assert_int_eq(mark.progress_bytes, 70);
    ck_assert_int_eq(mark.events_bytes, 80);
    ck_assert_double_eq(mark.eval_success, 0.5);
}
END_TEST

/* Warnings that a test provokes by the hundred need not be seen. */
static int silence_stderr(void)
{
    const int before = dup(STDERR_FILENO);
    FILE *nothing = fopen("/dev/null", "w");
    ck_assert_ptr_nonnull(nothing);
    dup2(fileno(nothing), STDERR_FILENO);
    fclose(nothing);
    return before;
}

/* As a run leaves them that kept all of its checkpoints. */
START_TEST(thousands_of_checkpoints_are_all_seen)
{
    enum { MANY = 5000 };
    settings s;
    pair l = { 0.0, 0.0 };
    run_mark mark;
    ok(settings_init(&s, METHODS, NULL));
    for (int i = 1; i <= MANY; i++) {
        char name[64];
        snprintf(name, sizeof name, "checkpoints/ckpt-%08d.safetensors", i);
        FILE *file = fopen(in_folder(name), "wb");
        ck_assert_ptr_nonnull(file);
        fclose(file);
    }
    s.run.checkpoint_keep = 1;
    save_at(&s, MANY + 1, 0.5);
    for (int i = 1; i <= MANY; i++) {
        char name[64];
        snprintf(name, sizeof name, "checkpoints/ckpt-%08d.safetensors", i);
        ck_assert_int_ne(access(in_folder(name), F_OK), 0);
    }
    ok(load_newest(&s, &l, &mark));
    ck_assert_int_eq(mark.iteration, MANY + 1);
}
END_TEST

START_TEST(every_cut_of_a_checkpoint_is_found_and_the_one_before_is_used)
{
    settings s;
    char bytes[16384];
    ok(settings_init(&s, METHODS, NULL));
    save_at(&s, 1, 0.1);
    save_at(&s, 2, 0.2);
    const char *newest = "checkpoints/ckpt-00000002.safetensors";
    const size_t n = read_all(newest, bytes, sizeof bytes);
    ck_assert_uint_lt(n, sizeof bytes - 1);
    const int before = silence_stderr();
    for (size_t cut = 0; cut < n; cut += 97) {
        pair l = { 0.0, 0.0 };
        run_mark mark;
        FILE *file = fopen(in_folder(newest), "wb");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fwrite(bytes, 1, cut, file), cut);
        fclose(file);
        ok(load_newest(&s, &l, &mark));
        ck_assert_double_eq(l.value, 0.1);
        ck_assert_int_eq(mark.iteration, 1);
    }
    dup2(before, STDERR_FILENO);
    close(before);
}
END_TEST

/* Loading is all or nothing. */
static void check_nothing_loads(const settings *s)
{
    pair l = { 7.0, 14.0 };
    run_mark mark = { 1, 2, 3, 4, 0.25 };
    const int before = silence_stderr();
    ck_assert_int_eq(load_newest(s, &l, &mark), TCE_E_NOT_FOUND);
    dup2(before, STDERR_FILENO);
    close(before);
    ck_assert_double_eq(l.value, 7.0);
    ck_assert_double_eq(l.twice, 14.0);
    ck_assert_int_eq(mark.iteration, 1);
    ck_assert_int_eq(mark.env_steps, 2);
    ck_assert_int_eq(mark.events_bytes, 4);
}

START_TEST(a_checkpoint_that_lacks_an_array_changes_nothing)
{
    settings s;
    pair half = { 0.5, 1.0 };
    const run_mark at = { 4, 40, 70, 80, 0.5 };
    ok(settings_init(&s, METHODS, NULL));
    ok(checkpoint_save(folder, &(run_subject){ &s, &HALF, &half, &row, NULL, NULL, NULL }, &at,
                       "return"));
    check_nothing_loads(&s);
    ck_assert_int_eq(access(in_folder("checkpoints/ckpt-00000004.safetensors.damaged"), F_OK), 0);
}
END_TEST

START_TEST(a_mark_that_no_run_could_have_left_is_refused)
{
    static const run_mark MARKS[] = {
        { 4, INT64_MAX, 70, 80, 0.5 }, { 4, -1, 70, 80, 0.5 }, { 4, 40, -1, 80, 0.5 },
        { 4, 40, 70, INT64_MIN, 0.5 }, { 4, 40, 70, 3, 0.5 },  { 4, 40, 3, 80, 0.5 },
        { 4, 40, 70, 80, INFINITY },
    };
    settings s;
    pair l = { 0.5, 1.0 };
    ok(settings_init(&s, METHODS, NULL));
    for (size_t i = 0; i < sizeof MARKS / sizeof MARKS[0]; i++) {
        ok(checkpoint_save(folder, &(run_subject){ &s, &NUMBER, &l, &row, NULL, NULL, NULL },
                           &MARKS[i], "return"));
        check_nothing_loads(&s);
    }

    /* the iteration is not the one in the file's name */
    save_at(&s, 3, 0.3);
    char other[RUN_PATH];
    snprintf(other, sizeof other, "%s", in_folder("checkpoints/ckpt-00000005.safetensors"));
    ck_assert_int_eq(rename(in_folder("checkpoints/ckpt-00000003.safetensors"), other), 0);
    check_nothing_loads(&s);
}
END_TEST

START_TEST(only_settings_that_may_change_may_differ)
{
    settings s;
    pair l = { 0.0, 0.0 };
    run_mark mark;
    ok(settings_init(&s, METHODS, NULL));
    save_at(&s, 1, 0.1);
    s.run.iterations++;
    s.run.threads = 3;
    s.evaluate.every = 1;
    snprintf(s.task.library, sizeof s.task.library, "elsewhere.so");
    ok(load_newest(&s, &l, &mark));
    s.critic.adam.l2 = 0.125;
    l.value = 7.0;
    ck_assert_int_eq(load_newest(&s, &l, &mark), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "critic.l2 = 5e-05, but now it is 0.125"));
    ck_assert_double_eq(l.value, 7.0);
}
END_TEST

START_TEST(threads_and_places_do_not_change_a_checkpoint)
{
    settings s;
    char one[16384], two[16384];
    ok(settings_init(&s, METHODS, NULL));
    save_at(&s, 1, 0.1);
    const size_t n = read_all("checkpoints/ckpt-00000001.safetensors", one, sizeof one);
    s.run.threads = 2;
    snprintf(s.task.library, sizeof s.task.library, "elsewhere.so");
    save_at(&s, 1, 0.1);
    ck_assert_uint_eq(read_all("checkpoints/ckpt-00000001.safetensors", two, sizeof two), n);
    ck_assert_mem_eq(one, two, n);
}
END_TEST

/* ---- display and seeds ----------------------------------------------------------------------- */

START_TEST(the_line_fits_its_width)
{
    display d;
    metrics m = { 0 };
    const double spent[] = { 1.0, 2.0, 1.0 };
    const run_standing state = { 50, 100, 12345, 0, 0, 0, 0, &m, PHASES, spent, NULL };
    char text[1024];
    display_init(&d, 1);
    display_update(&d, &state);
    metrics_put(&m, "return", -1.5);
    metrics_put(&m, "success", 0.25);
    metrics_put(&m, "kl_mean", 0.03);
    metrics_put(&m, "kl_cov", 0.02);
    display_line(&d, &state, d.started + 10.0, 0, text, sizeof text);
    ck_assert_str_eq(text, "50/100  ETA 0:10  12.3k steps  1.23k/s  return -1.5  success 0.25  KL "
                           "0.05  simulation 25% critic 50% policy 25%");
    for (size_t width = 1; width < 120; width++) {
        display_line(&d, &state, d.started + 10.0, width, text, sizeof text);
        ck_assert_uint_le(strlen(text), width);
    }
    metrics_free(&m);
}
END_TEST

START_TEST(durations_read_like_a_clock)
{
    char text[32];
    display_duration(65.2, text, sizeof text);
    ck_assert_str_eq(text, "1:05");
    display_duration(7384.0, text, sizeof text);
    ck_assert_str_eq(text, "2:03:04");
    display_duration(NAN, text, sizeof text);
    ck_assert_str_eq(text, "0:00");
}
END_TEST

START_TEST(a_path_in_a_proposed_command_is_one_word)
{
    static const char *const WORDS[][2] = {
        { "runs/a__b-1.2", "runs/a__b-1.2" },
        { "my runs", "'my runs'" },
        { "it's", "'it'\\''s'" },
        { "$HOME;ls", "'$HOME;ls'" },
        { "", "''" },
        { "-q", "./-q" },
        { "-q r", "'./-q r'" },
        { "~", "'~'" },
        { "caf\xc3\xa9", "'caf\xc3\xa9'" },
    };
    char word[SHELL_WORD], small[8];
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        ck_assert_str_eq(shell_word(WORDS[i][0], word, sizeof word), WORDS[i][1]);
    ck_assert_uint_lt(strlen(shell_word("a long name", small, sizeof small)), sizeof small);
}
END_TEST

START_TEST(seeds_are_numbers_and_ranges)
{
    uint64_t *seeds;
    size_t n;
    ok(seeds_parse("1-3,25,18446744073709551615", &seeds, &n));
    ck_assert_uint_eq(n, 5);
    ck_assert_uint_eq(seeds[2], 3);
    ck_assert_uint_eq(seeds[3], 25);
    ck_assert_uint_eq(seeds[4], UINT64_MAX);
    free(seeds);
    const char *const wrong[] = { "",      ",",  "1,",  "-1",      "3-1",
                                  "1-",    "a",  "1 2", "1-99999", "99999999999999999999",
                                  "1-5,3", "4,4" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_assert_msg(seeds_parse(wrong[i], &seeds, &n) == TCE_E_VALUE, "%s", wrong[i]);
        ck_assert_ptr_null(seeds);
    }
}
END_TEST

/* ---- queues ---------------------------------------------------------------------------------- */

START_TEST(a_field_comes_back_as_it_was)
{
    static const char *const TEXTS[] = { "plain", "",  "a,b",   "say \"no\"", "\"",
                                         "\"\"",  ",", "\",\"", "caf\xc3\xa9" };
    enum { N = sizeof TEXTS / sizeof TEXTS[0] };
    char line[256], *fields[N];
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < N; i++) {
        csv_put_text(file, TEXTS[i]);
        fputs(i + 1 < N ? "," : "\r\n", file);
    }
    rewind(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    fclose(file);
    ck_assert_uint_eq(csv_split(line, N, fields), N);
    for (size_t i = 0; i < N; i++)
        ck_assert_str_eq(fields[i], TEXTS[i]);

    char open_quote[] = "a,\"b,c\n", many[] = "1,2,3,4\n";
    ck_assert_uint_eq(csv_split(open_quote, 2, fields), 0);
    ck_assert_uint_eq(csv_split(many, 2, fields), 4);
    ck_assert_str_eq(fields[1], "2");
}
END_TEST

START_TEST(a_queue_comes_back_as_it_was)
{
    settings s;
    queue q, other;
    char names[][TASK_NAME] = { "one", "two" };
    task_list tasks = { 2, names };
    const uint64_t seeds[] = { 5, UINT64_MAX };
    ok(settings_init(&s, METHODS, NULL));
    s.policy.epochs = 17;
    const queue_plan plan = { 1, &s, &tasks };
    ok(queue_create(&q, folder, &plan, 2, seeds, 1));
    ck_assert_uint_eq(q.n, 4);
    ck_assert_int_eq(queue_exists(folder), 0);
    q.n_jobs = 3;
    q.entries[1].state = QUEUE_FAILED;
    snprintf(q.entries[1].message, sizeof q.entries[1].message,
             "environment 0, \"reset\"\nand more");
    q.entries[2].state = QUEUE_RUNNING;
    ok(queue_save(&q));
    ok(run_write_shared_settings(folder, "queue.yaml", "", &s));
    ck_assert_int_eq(queue_exists(folder), 1);

    ok(queue_load(&other, folder, METHODS));
    ck_assert_uint_eq(other.n_variants, 1);
    ck_assert_int_eq(other.variants[0].s.policy.epochs, 17);
    ck_assert_str_eq(other.variants[0].label, "");
    ck_assert_int_eq(other.n_jobs, 3);
    ck_assert_uint_eq(other.n, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(other.entries[i].task, names[i % 2]);
        ck_assert_uint_eq(other.entries[i].seed, seeds[i / 2]);
        ck_assert_int_eq(other.entries[i].state, q.entries[i].state);
        ck_assert_str_eq(other.entries[i].folder, q.entries[i].folder);
    }
    ck_assert_str_eq(other.entries[1].message, "environment 0, \"reset\" and more");
    ck_assert_ptr_nonnull(strstr(q.entries[0].folder, "one__tce__5__"));
    queue_free(&q);
    queue_free(&other);
}
END_TEST

START_TEST(a_queue_of_several_settings_comes_back_with_them)
{
    settings s[3];
    queue q, other;
    char names[][TASK_NAME] = { "one", "two" }, name[QUEUE_TEXT];
    task_list tasks[] = { { 2, names }, { 1, names }, { 2, names } };
    const uint64_t seeds[] = { 5, 6 }, more[] = { 6, 7 };
    const size_t variants[] = { 0, 0, 1, 2, 2 };
    for (int i = 0; i < 3; i++)
        ok(settings_init(&s[i], METHODS, i == 2 ? "bbrl" : "tce"));
    s[1].policy.epochs = s[0].policy.epochs + 1;
    const queue_plan plan = { 3, s, tasks };
    ok(queue_create(&q, folder, &plan, 2, seeds, 1));
    ck_assert_uint_eq(q.n, 10);
    ok(queue_save(&q));
    for (size_t v = 0; v < 3; v++) {
        queue_settings_name(v, name, sizeof name);
        ck_assert_int_eq(queue_is_settings(name), 1);
        ok(run_write_shared_settings(folder, name, "", &q.variants[v].s));
    }
    ck_assert_int_eq(queue_is_settings("queue-1.yaml"), 0);
    ck_assert_int_eq(queue_is_settings("queue-02.yaml"), 0);

    ok(queue_load(&other, folder, METHODS));
    ck_assert_uint_eq(other.n_variants, 3);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(other.entries[i].variant, variants[i % 5]);
        ck_assert_str_eq(other.entries[i].task, names[i % 5 == 1 || i % 5 == 4]);
        ck_assert_uint_eq(other.entries[i].seed, seeds[i / 5]);
    }
    ck_assert_str_eq(queue_name(&other, 1, name, sizeof name), "TCE policy.epochs=31");
    ck_assert_str_eq(queue_name(&other, 2, name, sizeof name), "BBRL Cov");
    other.entries[3].state = QUEUE_DONE;
    other.entries[4].state = QUEUE_FAILED;

    /* what was done waits again, and the seed that is new gets a run of each kind */
    ok(queue_extend(&other, 2, more));
    ck_assert_uint_eq(other.n, 15);
    ck_assert_int_eq(other.entries[3].state, QUEUE_WAITING);
    ck_assert_int_eq(other.entries[4].state, QUEUE_FAILED);
    for (size_t i = 10; i < 15; i++) {
        ck_assert_uint_eq(other.entries[i].seed, 7);
        ck_assert_uint_eq(other.entries[i].variant, other.entries[i - 10].variant);
        ck_assert_str_eq(other.entries[i].task, other.entries[i - 10].task);
    }
    queue_free(&q);
    queue_free(&other);

    s[1].policy.epochs = s[0].policy.epochs;
    fails(queue_create(&q, folder, &plan, 2, seeds, 1), TCE_E_VALUE, "settings 1 and 2");
}
END_TEST

START_TEST(a_queue_of_a_newer_program_is_refused)
{
    settings s;
    queue q;
    ok(settings_init(&s, METHODS, NULL));
    ok(run_write_shared_settings(folder, "queue.yaml", "", &s));
    FILE *file = fopen(in_folder("queue.csv"), "w");
    ck_assert_ptr_nonnull(file);
    fputs("# tce queue 9, jobs 0\nanything\n", file);
    fclose(file);
    ck_assert_int_eq(queue_load(&q, folder, METHODS), TCE_E_VERSION);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "format 9"));
    ck_assert_ptr_null(q.entries);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run");
    TCase *files = test_case(suite, "property", 0);
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_checked_fixture(files, make_agent, free_agent);
    tcase_add_test(files, an_event_file_is_cut_where_it_is_told);
    tcase_add_test(files, a_log_that_goes_on_from_a_mark_has_the_same_bytes);
    tcase_add_test(files, many_metrics_with_long_names_are_all_written);
    tcase_add_test(files, a_folder_name_is_never_taken_twice);
    tcase_add_test(files, only_an_empty_folder_is_discarded);
    tcase_add_test(files, a_checkpoint_comes_back_as_it_was_and_old_ones_go);
    tcase_add_test(files, thousands_of_checkpoints_are_all_seen);
    tcase_add_test(files, every_cut_of_a_checkpoint_is_found_and_the_one_before_is_used);
    tcase_add_test(files, threads_and_places_do_not_change_a_checkpoint);
    tcase_add_test(files, a_queue_comes_back_as_it_was);
    tcase_add_test(files, a_queue_of_several_settings_comes_back_with_them);
    tcase_add_test(files, a_field_comes_back_as_it_was);

    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_checked_fixture(errors, make_folder, remove_folder);
    tcase_add_checked_fixture(errors, make_agent, free_agent);
    tcase_add_test(errors, a_log_that_lost_rows_says_so_and_goes_on);
    tcase_add_test(errors, a_log_on_a_full_disk_names_the_file_and_the_remedy);
    tcase_add_test(errors, a_locked_folder_is_refused_with_the_process_that_has_it);
    tcase_add_test(errors, a_failure_to_write_comes_with_a_remedy);
    tcase_add_test(errors, a_checkpoint_that_lacks_an_array_changes_nothing);
    tcase_add_test(errors, a_mark_that_no_run_could_have_left_is_refused);
    tcase_add_test(errors, only_settings_that_may_change_may_differ);
    tcase_add_test(errors, a_queue_of_a_newer_program_is_refused);

    TCase *texts = test_case(suite, "golden", 0);
    tcase_add_test(texts, crc32c_gives_the_published_check_values);
    tcase_add_test(texts, the_line_fits_its_width);
    tcase_add_test(texts, durations_read_like_a_clock);
    tcase_add_test(texts, a_path_in_a_proposed_command_is_one_word);
    tcase_add_test(texts, seeds_are_numbers_and_ranges);

    return test_run(suite);
}
