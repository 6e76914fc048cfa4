/*
 * tce config: the effective settings of a file and overrides, as YAML; or the whole table as a page
 * of documentation. tce completion: the names for the shell.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "methods/methods.h"

static const char OPTIONS[] = "  --markdown  the table of all settings as a Markdown page\n"
                              "  --help      this, and every setting\n";

/* The page docs/settings.md. */
static int print_markdown(void)
{
    const char *section = "";
    printf("# Settings\n\n"
           "Every key of a settings file, made by `tce config --markdown`.\n"
           "On the command line a key is `section.key=value`.\n"
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

int cmd_config(int argc, char **argv)
{
    static const struct option LONG[] = { { "help", no_argument, NULL, 'h' },
                                          { "markdown", no_argument, NULL, 'm' },
                                          { 0 } };
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", LONG, NULL)) != -1) {
        if (c == 'h')
            return print_help("config", OPTIONS, 1);
        if (c == 'm')
            return print_markdown();
        return fail_option("config", argv, LONG, 1);
    }

    settings s;
    if (settings_from_arguments(&s, argc - optind, argv + optind) != TCE_OK)
        return fail();
    if (settings_for_task(&s) != TCE_OK)
        fprintf(stderr, "tce: warning: defaults that depend on the task are left open: %s\n",
                tce_error_message());
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
                          "  eval \"$(tce completion bash)\"  puts it to use; zsh likewise\n", 0);
    if (argc == 2 && strcmp(argv[1], "bash") == 0)
        print_bash();
    else if (argc == 2 && strcmp(argv[1], "zsh") == 0)
        print_zsh();
    else
        return fail_usage("completion", "name a shell: bash or zsh");
    return EXIT_FINE;
}
