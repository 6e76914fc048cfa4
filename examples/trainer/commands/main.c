/*
 * tce: train, evaluate, plot and export policies. Each command is a file cmd_*.c; this one finds
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/hand_over.h"
#include "commands/together.h"
#include "tools/blas.h"
#include "tools/program.h"
#include "tools/words.h"

/*
 * OpenBLAS has chosen its kernels by now. Where it took old ones the program starts once more and
 * asks for better; where that fails it continues.
 */
static void restart_for_better_kernels(char **argv)
{
    char path[PROGRAM_PATH];
    const char *better = better_kernels();
    const char *program = better ? program_file(path) : NULL;
    if (program && setenv("OPENBLAS_CORETYPE", better, 1) == 0)
        execv(program, argv);
}

/* A file that is opened where stdin, stdout or stderr should be would get what is printed. */
static void open_missing_descriptors(void)
{
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
        while (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            if (open("/dev/null", O_RDWR) < 0)
                _exit(EXIT_FAILED);
}

/* What was printed has to arrive, or the exit status says that it did not. */
static int finish(int code)
{
    const int failed = ferror(stdout);
    errno = 0;
    if (fflush(stdout) == 0 && !failed)
        return code;
    fprintf(stderr, "tce: not everything could be written to standard output%s%s\n",
            errno ? ": " : "", errno ? strerror(errno) : "");
    return code == EXIT_FINE ? EXIT_FAILED : code;
}

/* By all ranks of a job; by this process, where it is alone. */
static int run_together(const command *c, int argc, char **argv)
{
    const int code = together_begin(argc, argv);
    return code >= 0 ? code : together_end(c->run(argc - 1, argv + 1));
}

static int run_command(int argc, char **argv)
{
    /* the commands say themselves what is wrong with an option, and how to write it */
    opterr = 0;
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tce %s%s\n", tce_version_string(), ranks_are_possible() ? " with MPI" : "");
        return EXIT_FINE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2))
        return print_overview(stdout);

    /* `tce help train` is `tce train --help` */
    char *help_arguments[] = { argc > 2 ? argv[2] : NULL, "--help", NULL };
    const int asks_help = strcmp(argv[1], "help") == 0;
    const char *name = asks_help ? argv[2] : argv[1];
    const command *c = find_command(name);
    if (!c) {
        nearest names;
        nearest_start(&names, name);
        for (size_t i = 0; i < N_COMMANDS; i++)
            nearest_try(&names, COMMANDS[i].name);
        const char *near = nearest_found(&names);
        fprintf(stderr, "tce: no command \"%s\"%s%s%s `tce --help` lists them\n", name,
                near ? ", did you mean " : "", near ? near : "", near ? "?" : ";");
        return EXIT_USAGE;
    }
    if (asks_help)
        return c->run(2, help_arguments);
    if ((c->run == cmd_train || c->run == cmd_eval) && asks_for_python(argc, argv))
        return hand_over(argc, argv);

    /* a process does not start another program in its place once it has joined a job */
    restart_for_better_kernels(argv);
    return run_together(c, argc, argv);
}

int main(int argc, char **argv)
{
    open_missing_descriptors();
    return finish(run_command(argc, argv));
}
