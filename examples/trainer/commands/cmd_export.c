/*
 * tce export: the trained policy for a robot, as a file that libtce loads, as C source that needs
 * nothing, and as an ONNX model.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/commands.h"
#include "collect/agent.h"
#include "export/export_c.h"
#include "export/export_onnx.h"
#include "methods/methods.h"
#include "run/run.h"
#include "tools/files.h"

static const char OPTIONS[] =
    "  RUN         a run folder, a policy.safetensors, or a trained policy such as reacher5/tce-1\n"
    "  --out DIR   where to write; default: export/ in the run folder, or beside the file; for a\n"
    "              policy that comes with tce, export/ in the working directory\n"
    "  --c NAME    name of the C file and prefix of its functions' names; default: policy\n"
    "  --onnx      also write NAME.onnx: context in, parameters and the desired path of an "
    "episode\n"
    "              out; for a policy that acts at every step, observation in, action out\n"
    "  --joints A,B,...  names of the joints, in the order of positions or actions, for NAME.onnx\n"
    "  --unit UNIT  unit of positions or actions, for NAME.onnx, such as rad\n"
    "  --help      print this\n";

/* What is written. */
typedef struct products {
    const char *name; /* of the C file, without its ending */
    int with_onnx;
    onnx_texts texts;
} products;

/* RUN -> the policy's file, and the folder it belongs to. */
static int find_policy(const char *run, char *file, char *folder)
{
    struct stat info;
    if (strlen(run) + 32 > FILE_PATH)
        return fail_usage("export", "the path of RUN is too long");
    if (stat(run, &info) != 0) {
        fprintf(stderr, "tce: %s: %s; give a run folder, or its policy.safetensors\n", run,
                strerror(errno));
        return EXIT_FAILED;
    }
    snprintf(folder, FILE_PATH, "%s", run);
    if (S_ISDIR(info.st_mode)) {
        snprintf(file, FILE_PATH, "%s/policy.safetensors", run);
        if (access(file, F_OK) != 0) {
            fprintf(stderr,
                    "tce: %s: no policy there yet; a run writes it with its first checkpoint "
                    "(run.checkpoint_every)\n",
                    file);
            return EXIT_FAILED;
        }
        return EXIT_FINE;
    }
    snprintf(file, FILE_PATH, "%s", run);
    char *slash = strrchr(folder, '/');
    if (!slash)
        snprintf(folder, FILE_PATH, ".");
    else
        *slash = '\0';
    return EXIT_FINE;
}

/*
 * The text of the C file, the caller's to free; NULL after saying why the policy, which is from
 * `file`, cannot be exported.
 */
static char *make_c(const tce_store *store, const char *file, const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
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

/* In a run folder, the policy in `file` is that of config.yaml, as for tce eval. */
static tce_status check_settings(const tce_store *store, const char *file, const char *folder)
{
    char path[RUN_PATH];
    settings s;
    agent a = { 0 };
    tce_status status = run_path(folder, "config.yaml", path);
    if (status == TCE_OK)
        status = run_read_settings(path, METHODS, &s);
    if (status != TCE_OK)
        return status;
    status = agent_open(&a, store, 1, NULL);
    if (status != TCE_OK)
        status = tce_fail(status, "%s: %s", file, tce_error_message());
    if (status == TCE_OK)
        status = agent_check_settings(&a, &s, file);
    agent_close(&a);
    return status;
}

/* The same as an ONNX model. */
static int make_onnx(const tce_store *store, const char *file, const products *p, protobuf *out)
{
    const tce_status status = export_onnx(store, p->name, &p->texts, out);
    if (status == TCE_OK)
        return EXIT_FINE;
    (void)tce_fail(status, "%s: %s", file, tce_error_message());
    return fail();
}

static void write_text(FILE *file, const void *text)
{
    fputs(text, file);
}

static void write_message(FILE *file, const void *message)
{
    const protobuf *m = message;
    fwrite(m->bytes, 1, m->n, file);
}

/* inside: the folder lies in a run folder. onnx is empty where none is wanted. */
static int write_all(const tce_store *store, const char *folder, int inside, const char *name,
                     const char *c_text, const protobuf *onnx)
{
    char path[2 * FILE_PATH], c_path[2 * FILE_PATH], onnx_path[2 * FILE_PATH];
    snprintf(path, sizeof path, "%s/policy.safetensors", folder);
    snprintf(c_path, sizeof c_path, "%s/%s.c", folder, name);
    snprintf(onnx_path, sizeof onnx_path, "%s/%s.onnx", folder, name);
    tce_status status = inside ? folder_make_inside(folder) : folder_make(folder);
    if (status == TCE_OK)
        status = tce_store_save(store, path);
    if (status == TCE_OK)
        status = file_replace(c_path, write_text, c_text);
    if (status == TCE_OK && onnx->n > 0)
        status = file_replace(onnx_path, write_message, onnx);
    if (status != TCE_OK)
        return fail();
    printf("%s  for libtce and Python: tce_policy_create_from, tce.load\n", path);
    printf("%s  C99 without dependencies\n", c_path);
    if (onnx->n > 0)
        printf("%s  for programs that run ONNX models\n", onnx_path);
    return EXIT_FINE;
}

/* Nothing is written before it is clear that the policy can be exported. */
static int export_to(const tce_store *store, const char *file, const char *folder, int inside,
                     const products *p)
{
    protobuf onnx = { 0 };
    char *text = make_c(store, file, p->name);
    int code = text ? EXIT_FINE : EXIT_FAILED;
    if (code == EXIT_FINE && p->with_onnx)
        code = make_onnx(store, file, p, &onnx);
    if (code == EXIT_FINE)
        code = write_all(store, folder, inside, p->name, text, &onnx);
    free(text);
    protobuf_free(&onnx);
    return code;
}

int cmd_export(int argc, char **argv)
{
    static const struct option LONG[] = { { "help", no_argument, NULL, 'h' },
                                          { "out", required_argument, NULL, 'o' },
                                          { "c", required_argument, NULL, 'c' },
                                          { "onnx", no_argument, NULL, 'x' },
                                          { "joints", required_argument, NULL, 'j' },
                                          { "unit", required_argument, NULL, 'u' },
                                          { 0 } };
    const char *out = NULL;
    products p = { .name = "policy" };
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "ho:", LONG, NULL)) != -1) {
        if (c == 'h')
            return print_help("export", OPTIONS, 0);
        if (c == 'o')
            out = optarg;
        else if (c == 'c')
            p.name = optarg;
        else if (c == 'x')
            p.with_onnx = 1;
        else if (c == 'j')
            p.texts.joints = optarg;
        else if (c == 'u')
            p.texts.unit = optarg;
        else
            return fail_option("export", argv, LONG, 0);
    }
    if (argc - optind != 1)
        return fail_usage("export", "name one run folder");
    if (!export_name_is_fine(p.name))
        return fail_usage("export",
                          "--c %s: must be a letter, then letters, digits and _, at most 63 in all",
                          p.name);
    if (!p.with_onnx && (p.texts.joints || p.texts.unit))
        return fail_usage("export", "--joints and --unit are texts of the ONNX model: add --onnx");
    if (out && strlen(out) + 128 > FILE_PATH)
        return fail_usage("export", "the path after --out is too long");

    char file[FILE_PATH], folder[FILE_PATH + 8], target[FILE_PATH + 16];
    char found[RUN_PATH];
    const char *run = run_find(argv[optind], found);
    int code = find_policy(run, file, folder);
    if (code != EXIT_FINE)
        return code;
    /* where the program is installed, nothing is written */
    snprintf(target, sizeof target, "%s%sexport", run == found ? "" : folder,
             run == found ? "" : "/");
    tce_store *store = NULL;
    tce_status status = own_store_load(file, &store);
    if (status == TCE_OK && run_exists(run))
        status = check_settings(store, file, run);
    if (status != TCE_OK) {
        tce_store_free(store);
        return fail();
    }
    code = export_to(store, file, out ? out : target, !out && run != found, &p);
    tce_store_free(store);
    return code;
}
