/*
 * What the commands share: their table, messages, help, and settings from a command line.
 */
#define _XOPEN_SOURCE 700 /* realpath */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"

const command COMMANDS[] = {
    { "train", cmd_train, "CONFIG [section.key=value ...] [options]", "train a policy; leaves a run folder" },
    { "eval", cmd_eval, "RUN [options]", "run the mean policy of a run; videos and pictures" },
    { "plot", cmd_plot, "RUN ... [options]", "curves, statistics and smoothness of runs" },
    { "export", cmd_export, "RUN [options]", "write the policy for a robot: one file, or C source" },
    { "bench", cmd_bench, "[CONFIG] [options]", "time an iteration and its parts" },
    { "tasks", cmd_tasks, "[--task-library FILE]", "list the tasks there are" },
    { "config", cmd_config, "[CONFIG] [section.key=value ...]", "print the effective settings" },
    { "completion", cmd_completion, "bash", "print a completion script for the shell" },
};

const size_t N_COMMANDS = sizeof COMMANDS / sizeof COMMANDS[0];

const command *find_command(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(COMMANDS[i].name, name) == 0)
            return &COMMANDS[i];
    return NULL;
}

int print_overview(FILE *out)
{
    fprintf(out, "usage: tce COMMAND ...\n\ntemporally-correlated episodic reinforcement learning, libtce %s\n\n", tce_version_string());
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-11s %s\n", COMMANDS[i].name, COMMANDS[i].help);
    fprintf(out, "\n`tce COMMAND --help` says more. First steps: tce train reacher5/tce\n");
    return EXIT_FINE;
}

int fail(void)
{
    fprintf(stderr, "tce: %s\n", tce_error_message());
    return EXIT_FAILED;
}

int fail_usage(const char *command_name, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "tce %s: ", command_name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n`tce %s --help` shows how to use it\n", command_name);
    return EXIT_USAGE;
}

static void print_settings_help(void)
{
    const char *section = "";
    printf("\nsettings (section.key=value, or in the file):\n");
    for (size_t i = 0; i < N_SETTING_ROWS; i++) {
        const setting_row *row = &SETTING_ROWS[i];
        char name[128];
        if (strcmp(section, row->section) != 0)
            printf("\n");
        section = row->section;
        snprintf(name, sizeof name, "%s.%s", row->section, row->key);
        printf("  %-36s %s [%s]", name, row->help, row->start);
        if (row->choices)
            printf(" (%s)", row->choices);
        printf("\n");
    }
}

int print_help(const char *command_name, const char *options_text, int with_settings)
{
    const command *c = find_command(command_name);
    printf("usage: tce %s %s\n\n%s\n", command_name, c ? c->usage : "", c ? c->help : "");
    if (options_text && options_text[0])
        printf("\n%s", options_text);
    if (with_settings)
        print_settings_help();
    return EXIT_FINE;
}

/* A settings file, or the one that a folder stands for. *folder: it is a folder without. */
static int take_config(char *path, size_t size, int *folder)
{
    struct stat found;
    const size_t length = strlen(path);
    if (stat(path, &found) != 0)
        return 0;
    if (!S_ISDIR(found.st_mode))
        return 1;
    snprintf(path + length, size - length, "%stce.yaml", length && path[length - 1] == '/' ? "" : "/");
    if (access(path, F_OK) == 0)
        return 1;
    *folder = 1;
    return 0;
}

tce_status find_config(const char *config, char *out, size_t size)
{
    char program[TEXT_SIZE], near_program[2 * TEXT_SIZE], installed[2 * TEXT_SIZE];
    program_folder(program, sizeof program);
    snprintf(near_program, sizeof near_program, "%s/../../examples/configs/", program);
    snprintf(installed, sizeof installed, "%s/../share/tce/configs/", program);
    const char *own = getenv("TCE_CONFIGS");
    const char *const places[] = { "", own, "examples/configs/", near_program, installed };
    int folder = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        for (int with_ending = i > 0; places[i] && with_ending >= 0; with_ending--) {
            snprintf(out, size, "%s%s%s%s", places[i], i == 1 ? "/" : "", config, with_ending ? ".yaml" : "");
            if (take_config(out, size, &folder))
                return TCE_OK;
        }
    if (folder)
        return tce_fail(TCE_E_NOT_FOUND, "%s: is a folder without tce.yaml: name one of its settings files, for instance %s/bbrl", config, config);
    return tce_fail(TCE_E_NOT_FOUND, "%s: no such settings file, neither as a path nor in examples/configs or $TCE_CONFIGS", config);
}

tce_status config_prefix(const char *config, char *out, size_t size)
{
    char path[4 * TEXT_SIZE];
    const tce_status status = find_config(config, path, sizeof path);
    if (status != TCE_OK)
        return status;
    char *full = realpath(path, NULL);
    if (!full)
        return tce_fail(TCE_E_IO, "%s: %s", path, strerror(errno));
    char *end = strrchr(full, '/');
    *end = '\0';
    const char *folder = strrchr(full, '/');
    snprintf(out, size, "%s_", folder ? folder + 1 : "");
    free(full);
    return TCE_OK;
}

/*
 * Whether a settings file is the record of a run or a queue: by its name, which only they give, or by what lies beside it. Such a file may be
 * anybody's, so the library in it stays a record.
 */
static int is_record(const char *path)
{
    static const char *const NAMES[] = { "config.yaml", "queue.yaml" };
    static const char *const BESIDE[] = { "progress.csv", "checkpoints", "queue.csv" };
    char *full = realpath(path, NULL), beside[4 * TEXT_SIZE];
    char *slash = full ? strrchr(full, '/') : NULL;
    int record = !slash;
    for (size_t i = 0; slash && i < sizeof NAMES / sizeof NAMES[0]; i++)
        record |= strcmp(slash + 1, NAMES[i]) == 0;
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < sizeof BESIDE / sizeof BESIDE[0]; i++) {
        snprintf(beside, sizeof beside, "%s/%s", full, BESIDE[i]);
        record |= access(beside, F_OK) == 0;
    }
    free(full);
    return record;
}

int is_config(const char *word)
{
    return !strchr(word, '=') || access(word, F_OK) == 0;
}

tce_status settings_from_arguments(settings *s, int n, char *const *arguments)
{
    settings_init(s);
    int first = 0;
    tce_status status = TCE_OK;
    if (n > 0 && is_config(arguments[0])) {
        char path[4 * TEXT_SIZE];
        status = find_config(arguments[0], path, sizeof path);
        if (status == TCE_OK)
            status = settings_load(s, path);
        if (status == TCE_OK && s->task.library[0] && !is_record(path)) {
            char library[TEXT_SIZE];
            memcpy(library, s->task.library, sizeof library);
            status = settings_name_library(s, library);
        }
        first = 1;
    }
    for (int i = first; status == TCE_OK && i < n; i++)
        status = settings_override(s, arguments[i]);
    return status == TCE_OK ? settings_check(s) : status;
}
