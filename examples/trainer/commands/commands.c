/*
 * What the commands share: their table, messages, help, and settings from a command line.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "methods/methods.h"
#include "settings/suggest.h"
#include "tools/words.h"

const command COMMANDS[] = {
    { "init", cmd_init, "[LIBRARY] TASK [section.key=value ...] [--method NAME]",
      "print settings to start with for a task of your own" },
    { "train", cmd_train, "CONFIG [section.key=value ...] [options]",
      "train a policy; leaves a run folder" },
    { "fit", cmd_fit, "DEMOS CONFIG [section.key=value ...] [options]",
      "fit a policy to demonstrated paths, from which a run can start" },
    { "eval", cmd_eval, "RUN [options]",
      "run the mean policy of a run or a queue; files, videos and pictures" },
    { "plot", cmd_plot, "RUN ... [options]", "curves, statistics and smoothness of runs" },
    { "export", cmd_export, "RUN [options]",
      "write the policy for a robot: one file, or C source" },
    { "bench", cmd_bench, "[CONFIG] [options]", "time an iteration and its parts" },
    { "tasks", cmd_tasks,
      "[--task-library FILE] [--check [--limit SECONDS] [LIBRARY][:TASK] [task.options=...]]",
      "list the tasks, or check them" },
    { "config", cmd_config, "[CONFIG] [section.key=value ...] [--diff]",
      "print the effective settings, or how two of them differ" },
    { "completion", cmd_completion, "bash|zsh", "print a completion script for the shell" },
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
    fprintf(out,
            "usage: tce COMMAND ...\n\ntemporally-correlated episodic reinforcement learning, "
            "libtce %s\n\n",
            tce_version_string());
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-11s %s\n", COMMANDS[i].name, COMMANDS[i].help);
    fprintf(out, "\n`tce COMMAND --help` says more. First steps: tce train reacher5/tce\n");
    return EXIT_FINE;
}

int fail(void)
{
    /* the message comes last, also where both go into one file */
    fflush(stdout);
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

/*
 * Says that "--name" is not an option, but a setting, or like another option. value: its argument,
 * or NULL.
 */
static int fail_unknown_option(const char *command_name, const char *name, const char *value,
                               const struct option *known, int with_settings)
{
    char spelt[TEXT_SIZE];
    nearest options;
    if (with_settings && settings_spell(METHODS, name, value, spelt, sizeof spelt) > 0)
        return fail_usage(command_name, "--%s is a setting, not an option: write %s", name, spelt);
    nearest_start(&options, name);
    for (; known->name; known++)
        nearest_try(&options, known->name);
    const char *near = nearest_found(&options);
    return fail_usage(command_name, "--%s: no such option%s%s%s", name,
                      near ? ", did you mean --" : "", near ? near : "", near ? "?" : "");
}

int fail_option(const char *command_name, char *const *argv, const struct option *known,
                int with_settings)
{
    const char *word = argv[optind - 1], *next = argv[optind];
    char name[TEXT_SIZE];
    const int is_long = strncmp(word, "--", 2) == 0;
    snprintf(name, sizeof name, "%.*s", is_long ? (int)strcspn(word + 2, "=") : 0,
             is_long ? word + 2 : "");
    if (optopt == 0) {
        const char *equals = strchr(word, '=');
        return fail_unknown_option(command_name, name, equals ? equals + 1 : next, known,
                                   with_settings);
    }
    for (const struct option *option = known; is_long && option->name; option++)
        if (strncmp(option->name, name, strlen(name)) == 0 && option->val == optopt)
            return fail_usage(command_name,
                              option->has_arg ? "--%s needs a value" : "--%s takes no value",
                              option->name);
    return fail_usage(command_name, "-%c: no such option, or its value is missing", optopt);
}

static void print_settings_help(void)
{
    const char *section = "";
    const setting_row *row;
    printf("\nsettings (section.key=value, or in the file):\n");
    for (size_t i = 0; (row = settings_any_row(METHODS, i)) != NULL; i++) {
        char name[128], words[TEXT_SIZE];
        if (strcmp(section, row->section) != 0)
            printf("\n");
        section = row->section;
        snprintf(name, sizeof name, "%s.%s", row->section, row->key);
        printf("  %-36s %s [%s]", name, row->help,
               settings_default(METHODS, row, words, sizeof words));
        if (settings_choices(METHODS, row, "|", words, sizeof words)[0])
            printf(" (%s)", words);
        if (settings_methods_of(METHODS, row, words, sizeof words)[0])
            printf(" only with %s", words);
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

int is_config(const char *word)
{
    return !strchr(word, '=') || access(word, F_OK) == 0;
}

tce_status settings_from_arguments(settings *s, int n, char *const *arguments)
{
    char path[4 * TEXT_SIZE] = "";
    const int has_config = n > 0 && is_config(arguments[0]);
    tce_status status = has_config ? find_config(METHODS, arguments[0], path, sizeof path) : TCE_OK;
    if (status == TCE_OK)
        status = settings_read(s, METHODS, has_config ? path : NULL, (size_t)(n - has_config),
                               arguments + has_config);
    /* the library of a file of the user's own */
    if (status == TCE_OK && s->task.library[0] && !s->task.library_named &&
        !config_is_record(path)) {
        char library[TEXT_SIZE];
        memcpy(library, s->task.library, sizeof library);
        status = settings_name_library(s, library);
    }
    return status == TCE_OK ? settings_check(s) : status;
}

tce_status settings_for_task(settings *s)
{
    task t;
    if (!settings_need_task(s))
        return TCE_OK;
    tce_status status = task_open(s, &t);
    if (status != TCE_OK)
        return status;
    status = task_suggest(&t, s);
    task_close(&t);
    return status;
}
