/*
 * tce config: the effective settings of a file and overrides, as YAML; or the whole table as a page
 * of documentation. tce completion: the names for the shell.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "methods/methods.h"
#include "queue/queue.h"

static const char OPTIONS[] =
    "  --diff      CONFIG [CONFIG]: print the keys in which the second differs from the first; one "
    "alone is\n"
    "              compared with the defaults of its method and task. A run folder or a queue "
    "stands for its CONFIG\n"
    "  --markdown  print the table of all settings as a Markdown page\n"
    "  --help      print this, and every setting\n";

/* The page docs/settings.md. */
static int print_markdown(void)
{
    const char *section = "";
    printf("# Settings\n\n"
           "This page lists every key of a settings file; `tce config --markdown` prints it.\n"
           "On the command line, write a key as `section.key=value`.\n"
           "A method refuses keys that it does not have.\n"
           "Keys marked \\* may change when a run is resumed.\n");
    const setting_row *row;
    for (size_t i = 0; (row = settings_any_row(METHODS, i)) != NULL; i++) {
        char words[TEXT_SIZE];
        if (strcmp(section, row->section) != 0)
            printf("\n## %s\n| key | default | meaning |\n|---|---|---|\n", row->section);
        section = row->section;
        settings_default(METHODS, row, words, sizeof words);
        printf("| %s%s | `%s` | %s", row->key, row->flags & SETTING_FREE ? " \\*" : "",
               words[0] ? words : "\"\"", row->help);
        if (settings_choices(METHODS, row, ", ", words, sizeof words)[0])
            printf(" (%s)", words);
        if (settings_methods_of(METHODS, row, words, sizeof words)[0])
            printf("; only with %s", words);
        printf(" |\n");
    }
    return EXIT_FINE;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* The CONFIG in a run folder or a queue; another is what it is. */
static const char *config_of(const char *word, char path[RUN_PATH])
{
    const char *name = run_exists(word) ? "config.yaml" : queue_exists(word) ? "queue.yaml" : NULL;
    return name && run_path(word, name, path) == TCE_OK ? path : word;
}

/* Settings of a CONFIG with words over it. */
static tce_status read_side(settings *s, const char *config, int n, char *const *words)
{
    char path[RUN_PATH];
    char **all = calloc((size_t)n + 1, sizeof *all);
    if (!all)
        return tce_fail(TCE_E_NOMEM, "no memory for %d words", n);
    all[0] = (char *)config_of(config, path);
    for (int i = 0; i < n; i++)
        all[i + 1] = words[i];
    const tce_status status = settings_from_arguments(s, n + 1, all);
    free(all);
    return status;
}

/* What the method and the task of s have when no file says otherwise. */
static tce_status read_defaults(settings *defaults, const settings *s)
{
    const tce_status status = settings_init(defaults, METHODS, s->table->name);
    if (status == TCE_OK)
        defaults->task = s->task;
    return status;
}

static void complete(settings *s)
{
    if (settings_for_task(s) != TCE_OK)
        fprintf(stderr, "tce: warning: defaults that depend on the task are left open: %s\n",
                tce_error_message());
}

/* The value of a key; "-" where the method has no such key. */
static void side_text(const settings *s, const setting_row *any, char *out, size_t size)
{
    const setting_row *row = settings_find_row(s->table, any->section, any->key);
    snprintf(out, size, "-");
    if (row)
        settings_text(s, row, out, size);
    if (!out[0])
        snprintf(out, size, "\"\"");
}

/* One line per key that differs; names: of the two sides. */
static void print_differences(const settings *a, const settings *b, const char *const names[2])
{
    const setting_row *row;
    size_t n = 0;
    for (size_t i = 0; (row = settings_any_row(METHODS, i)) != NULL; i++) {
        char name[128], then[4 * TEXT_SIZE], now[4 * TEXT_SIZE];
        side_text(a, row, then, sizeof then);
        side_text(b, row, now, sizeof now);
        if (settings_is_again(METHODS, i) || strcmp(then, now) == 0)
            continue;
        if (n++ == 0)
            printf("%-36s %-20s %s\n", "", names[0], names[1]);
        snprintf(name, sizeof name, "%s.%s", row->section, row->key);
        printf("%-36s %-20s %s\n", name, then, now);
    }
    if (n == 0)
        printf("%s and %s have the same settings\n", names[0], names[1]);
}

/* n words: CONFIG [CONFIG] [section.key=value ...], which go over the last CONFIG. */
static int print_diff(int n, char *const *words)
{
    settings first, second;
    const int n_configs = n == 0 || !is_config(words[0])   ? 0
                          : n == 1 || !is_config(words[1]) ? 1
                                                           : 2;
    if (n_configs == 0)
        return fail_usage("config", "--diff compares a CONFIG with the defaults, or two CONFIGs");
    const char *const names[2] = { n_configs == 2 ? words[0] : "default", words[n_configs - 1] };
    tce_status status = read_side(&second, names[1], n - n_configs, words + n_configs);
    if (status == TCE_OK)
        status = n_configs == 2 ? read_side(&first, names[0], 0, NULL)
                                : read_defaults(&first, &second);
    if (status != TCE_OK)
        return fail();
    complete(&first);
    complete(&second);
    print_differences(&first, &second, names);
    return EXIT_FINE;
}

int cmd_config(int argc, char **argv)
{
    static const struct option LONG[] = { { "help", no_argument, NULL, 'h' },
                                          { "markdown", no_argument, NULL, 'm' },
                                          { "diff", no_argument, NULL, 'd' },
                                          { 0 } };
    int c, diff = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", LONG, NULL)) != -1) {
        if (c == 'h')
            return print_help("config", OPTIONS, 1);
        if (c == 'm')
            return print_markdown();
        if (c != 'd')
            return fail_option("config", argv, LONG, 1);
        diff = 1;
    }
    if (diff)
        return print_diff(argc - optind, argv + optind);

    settings s;
    if (settings_from_arguments(&s, argc - optind, argv + optind) != TCE_OK)
        return fail();
    complete(&s);
    printf("# libtce %s\n", tce_version_string());
    settings_dump_shared(&s, stdout);
    return EXIT_FINE;
}

static void print_commands(void)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("%s%s", i ? " " : "", COMMANDS[i].name);
}

static void print_keys(void)
{
    const setting_row *row;
    for (size_t i = 0; (row = settings_any_row(METHODS, i)) != NULL; i++)
        if (!settings_is_again(METHODS, i))
            printf("%s%s.%s=", i ? " " : "", row->section, row->key);
}

/* Commands first; then keys of settings where a dot was typed, else files. */
static void print_bash(void)
{
    printf("_tce() {\n    local word=${COMP_WORDS[COMP_CWORD]}\n    if [ \"$COMP_CWORD\" -eq 1 ]; "
           "then\n        COMPREPLY=($(compgen -W '");
    print_commands();
    printf("' -- \"$word\"))\n        return\n    fi\n    case $word in\n    *=*) COMPREPLY=() "
           ";;\n    *.*) COMPREPLY=($(compgen -f -W '");
    print_keys();
    printf("' -- \"$word\"))\n        compopt -o nospace ;;\n    *) COMPREPLY=($(compgen -f -- "
           "\"$word\")) ;;\n    esac\n}\ncomplete -F _tce tce\n");
}

/* The same; a file _tce in a folder of $fpath, or read by eval. */
static void print_zsh(void)
{
    printf("#compdef tce\n_tce() {\n    if (( CURRENT == 2 )); then\n        compadd -- ");
    print_commands();
    printf("\n        return\n    fi\n    case $words[CURRENT] in\n    *=*) ;;\n"
           "    *.*) compadd -S '' -- ");
    print_keys();
    printf("; _files ;;\n    *) _files ;;\n    esac\n}\n"
           "if [[ $funcstack[1] == _tce ]]; then _tce \"$@\"; else compdef _tce tce; fi\n");
}

int cmd_completion(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return print_help("completion",
                          "  eval \"$(tce completion bash)\"  activates it; likewise for zsh\n", 0);
    if (argc == 2 && strcmp(argv[1], "bash") == 0)
        print_bash();
    else if (argc == 2 && strcmp(argv[1], "zsh") == 0)
        print_zsh();
    else
        return fail_usage("completion", "name a shell: bash or zsh");
    return EXIT_FINE;
}
