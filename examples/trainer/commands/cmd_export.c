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

/* The whole file or none: written beside its name, then renamed. */
static int write_c(const char *text, size_t size, const char *path)
{
    char draft[2 * PATH_SIZE + 8];
    snprintf(draft, sizeof draft, "%s.tmp", path);
    FILE *out = fopen(draft, "w");
    if (!out)
        return fail_write(draft, errno);
    errno = 0;
    const int broken = fwrite(text, 1, size, out) != size || fflush(out) != 0 ||
                       fsync(fileno(out)) != 0;
    const int error = errno ? errno : EIO;
    const int unclosed = fclose(out) != 0;
    if (!broken && !unclosed && rename(draft, path) == 0)
        return EXIT_FINE;
    const int why = broken ? error : errno;
    remove(draft);
    return fail_write(path, why);
}

/* Nothing is written before it is clear that the policy can be exported. */
static int export_to(const tce_store *store, const char *file, const char *folder, const char *name)
{
    char path[2 * PATH_SIZE], c_path[2 * PATH_SIZE];
    struct stat info;
    size_t size = 0;
    char *text = make_c(store, file, name, &size);
    if (!text)
        return EXIT_FAILED;

    int code = EXIT_FINE;
    snprintf(path, sizeof path, "%s/policy.safetensors", folder);
    snprintf(c_path, sizeof c_path, "%s/%s.c", folder, name);
    if (mkdir(folder, 0777) != 0 &&
        !(errno == EEXIST && stat(folder, &info) == 0 && S_ISDIR(info.st_mode)))
        code = fail_write(folder, errno == EEXIST ? ENOTDIR : errno);
    if (code == EXIT_FINE && tce_store_save(store, path) != TCE_OK)
        code = fail();
    if (code == EXIT_FINE)
        code = write_c(text, size, c_path);
    if (code == EXIT_FINE) {
        printf("%s  for libtce: tce_policy_create_from, tce_mp_create_from\n", path);
        printf("%s  C99 without dependencies\n", c_path);
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
    code = export_to(store, file, out ? out : target, name);
    tce_store_free(store);
    return code;
}
