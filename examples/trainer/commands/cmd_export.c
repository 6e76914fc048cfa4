/*
 * tce export: the trained policy for a robot, as a file that libtce loads and as C source that
 * needs nothing.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/commands.h"
#include "export/export_c.h"
#include "run/run.h"

#define PATH_SIZE 4096

static const char OPTIONS[] =
    "  RUN         a run folder, or a policy.safetensors\n"
    "  --out DIR   where to write; default: export/ in the run folder, or beside the file\n"
    "  --c NAME    name of the C file and first part of its functions' names; default: policy\n"
    "  --help      this\n";

/* RUN -> the policy's file, and the folder it belongs to. */
static int find_policy(const char *run, char *file, char *folder)
{
    struct stat info;
    if (strlen(run) + 32 > PATH_SIZE)
        return fail_usage("export", "the path of RUN is too long");
    if (stat(run, &info) != 0) {
        fprintf(stderr, "tce: %s: %s; give a run folder, or its policy.safetensors\n", run,
                strerror(errno));
        return EXIT_FAILED;
    }
    snprintf(folder, PATH_SIZE, "%s", run);
    if (S_ISDIR(info.st_mode)) {
        snprintf(file, PATH_SIZE, "%s/policy.safetensors", run);
        if (access(file, F_OK) != 0) {
            fprintf(stderr,
                    "tce: %s: no policy there yet; a run writes it with its first checkpoint "
                    "(run.checkpoint_every)\n",
                    file);
            return EXIT_FAILED;
        }
        return EXIT_FINE;
    }
    snprintf(file, PATH_SIZE, "%s", run);
    char *slash = strrchr(folder, '/');
    if (!slash)
        snprintf(folder, PATH_SIZE, ".");
    else
        *slash = '\0';
    return EXIT_FINE;
}

static int fail_write(const char *path, int error)
{
    fprintf(stderr, "tce: %s: %s; choose another place with --out\n", path, strerror(error));
    return EXIT_FAILED;
}

/*
 * The C file in memory, *size bytes, the caller's to free; NULL after saying why the policy, which
 * is from `file`, cannot be exported.
 */
static char *make_c(const tce_store *store, const char *file, const char *name, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    tce_status status = out ? export_c(store, name, out) : TCE_E_NOMEM;
    if (!out || fclose(out) != 0)
        status = tce_fail(TCE_E_NOMEM, "no memory for the C file");
    if (status == TCE_OK)
        return text;
    free(text);
    (void)tce_fail(status, "%s: %s", file, tce_error_message());
    fail();
    return NULL;
}

/* The C file in memory. */
typedef struct c_text {
    const char *text;
    size_t size;
} c_text;

static void write_c(FILE *file, const void *content)
{
    const c_text *c = content;
    fwrite(c->text, 1, c->size, file);
}

/* A folder that may be there already; a link inside a run folder is not followed. */
static int make_folder(const char *folder, int inside)
{
    struct stat info;
    if (mkdir(folder, 0777) == 0)
        return EXIT_FINE;
    if (errno != EEXIST)
        return fail_write(folder, errno);
    if (inside && lstat(folder, &info) == 0 && S_ISLNK(info.st_mode)) {
        fprintf(stderr,
                "tce: %s is a symbolic link, and what is in a run folder is not written through "
                "one: remove it, or choose another place with --out\n",
                folder);
        return EXIT_FAILED;
    }
    return stat(folder, &info) == 0 && S_ISDIR(info.st_mode) ? EXIT_FINE
                                                             : fail_write(folder, ENOTDIR);
}

/*
 * inside: the folder lies in a run folder. Nothing is written before it is clear that the policy
 * can be exported.
 */
static int export_to(const tce_store *store, const char *file, const char *folder, int inside,
                     const char *name)
{
    char path[2 * PATH_SIZE], c_name[128];
    size_t size = 0;
    char *text = make_c(store, file, name, &size);
    if (!text)
        return EXIT_FAILED;

    const c_text content = { text, size };
    int code = make_folder(folder, inside);
    snprintf(path, sizeof path, "%s/policy.safetensors", folder);
    snprintf(c_name, sizeof c_name, "%s.c", name);
    if (code == EXIT_FINE && (tce_store_save(store, path) != TCE_OK ||
                              run_replace(folder, c_name, write_c, &content) != TCE_OK))
        code = fail();
    if (code == EXIT_FINE) {
        printf("%s  for libtce: tce_policy_create_from, tce_mp_create_from\n", path);
        printf("%s/%s  C99 without dependencies\n", folder, c_name);
    }
    free(text);
    return code;
}

int cmd_export(int argc, char **argv)
{
    static const struct option LONG[] = { { "help", no_argument, NULL, 'h' },
                                          { "out", required_argument, NULL, 'o' },
                                          { "c", required_argument, NULL, 'c' },
                                          { 0 } };
    const char *out = NULL, *name = "policy";
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "ho:", LONG, NULL)) != -1) {
        if (c == 'h')
            return print_help("export", OPTIONS, 0);
        if (c == 'o')
            out = optarg;
        else if (c == 'c')
            name = optarg;
        else
            return fail_option("export", argv, LONG, 0);
    }
    if (argc - optind != 1)
        return fail_usage("export", "name one run folder");
    if (!export_name_is_fine(name))
        return fail_usage("export",
                          "--c %s: must be a letter, then letters, digits and _, at most 63 in all",
                          name);
    if (out && strlen(out) + 128 > PATH_SIZE)
        return fail_usage("export", "the path after --out is too long");

    char file[PATH_SIZE], folder[PATH_SIZE + 8], target[PATH_SIZE + 16];
    int code = find_policy(argv[optind], file, folder);
    if (code != EXIT_FINE)
        return code;
    snprintf(target, sizeof target, "%s/export", folder);
    tce_store *store = NULL;
    if (tce_store_load(file, NULL, &store) != TCE_OK)
        return fail();
    code = export_to(store, file, out ? out : target, !out, name);
    tce_store_free(store);
    return code;
}
