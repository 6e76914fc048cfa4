/*
 * The commands of the program `tce`. A command parses its own options with getopt_long and returns
 * an exit code, EXIT_….
 */
#ifndef TRAINER_COMMANDS_H
#define TRAINER_COMMANDS_H

#include "settings/settings.h"
#include "tools/program.h"

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
    const char *usage;                 /* arguments, one line */
    const char *help;                  /* what it does, one line */
} command;

extern const command COMMANDS[];
extern const size_t N_COMMANDS;

/* NULL when there is none of that name. */
const command *find_command(const char *name);

/* What `tce --help` shows. Returns EXIT_FINE. */
int print_overview(FILE *out);

int cmd_init(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_fit(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_tasks(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_completion(int argc, char **argv);

/* Prints "tce: " and tce_error_message() on stderr; returns EXIT_FAILED. */
int fail(void);

/* Prints "tce COMMAND: " and the message, and where help is; returns EXIT_USAGE. */
int fail_usage(const char *command, const char *format, ...) TCE_PRINTF(2, 3);

/*
 * After getopt_long has returned '?' for a word of argv (opterr is 0): says what is wrong with it.
 * A word that is a setting gets its section.key=value where the command takes settings, any other
 * the nearest option. Returns EXIT_USAGE.
 */
struct option;
int fail_option(const char *command, char *const *argv, const struct option *known,
                int with_settings);

/*
 * Usage, help and options of a command on stdout; with_settings adds every setting from the table.
 * Returns EXIT_FINE.
 */
int print_help(const char *command, const char *options_text, int with_settings);

/*
 * Settings from what is left on a command line: CONFIG (a path, or "task/method" or "task" in
 * examples/configs, $TCE_CONFIGS or beside the program), then section.key=value overrides. n
 * arguments. n = 0 gives the defaults. A task library in CONFIG counts as named by the user, unless
 * CONFIG is a file of a run folder or a queue.
 */
tce_status settings_from_arguments(settings *s, int n, char *const *arguments);

/*
 * The same settings with defaults that suit their task, which is opened where a key waits for it.
 */
tce_status settings_for_task(settings *s);

/* Whether a word of a command line is a CONFIG, not section.key=value. */
int is_config(const char *word);

#endif
