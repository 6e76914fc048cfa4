/*
 * Writes a trained policy as one C99 file: sizes, weights, the primitive's numbers, the code that
 * goes with them, and what libtce computes for one context and two paths as a test.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/export_c.h"
#include "collect/collect.h"
#include "collect/policy_file.h"
#include "tools/memory.h"

#define MAX_LAYERS 65
/* times of each test path */
#define TEST_TIMES 9
#define TEST_SEED 20

/* What an exported policy consists of. */
typedef struct exported {
    const char *name;
    FILE *out;
    const tce_store *store;
    export_basis basis;
    policy_file file;
    int32_t activation, precision;
    size_t n_layers, width[MAX_LAYERS + 1];
} exported;

/* ---- pieces of text and numbers -------------------------------------------------------------- */

static void put_text(const exported *x, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '@')
            fputs(x->name, x->out);
        else if (*c == '$')
            for (const char *n = x->name; *n; n++)
                fputc(toupper((unsigned char)*n), x->out);
        else
            fputc(*c, x->out);
    }
}

/* The shortest decimal that reads back as the same number; a constant of type double, or float. */
static void format_number(double value, int is_float, char out[40])
{
    const int most = is_float ? 9 : 17;
    for (int digits = 6; digits <= most; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        if (is_float ? strtof(out, NULL) == (float)value : strtod(out, NULL) == value)
            break;
    }
    if (!strpbrk(out, ".e"))
        strcat(out, ".0");
    if (is_float)
        strcat(out, "F");
}

static void define_int(const exported *x, const char *name, size_t value)
{
    put_text(x, "#define $_");
    fprintf(x->out, "%s %zu\n", name, value);
}

static void define_real(const exported *x, const char *name, double value)
{
    char text[40];
    format_number(value, 0, text);
    put_text(x, "#define $_");
    fprintf(x->out, value < 0.0 ? "%s (%s)\n" : "%s %s\n", name, text);
}

/* Numbers of an array that begins at *column. */
static void put_numbers(const exported *x, size_t n, const double *v, int is_float, size_t *column)
{
    for (size_t i = 0; i < n; i++) {
        char text[40];
        format_number(v[i], is_float, text);
        const size_t length = strlen(text) + 2;
        if (*column + length > 118) {
            fputs("\n   ", x->out);
            *column = 3;
        }
        *column += (size_t)fprintf(x->out, " %s,", text);
    }
}

static void put_array(const exported *x, const char *name, size_t n, const double *v)
{
    size_t column = 3;
    put_text(x, "static const double @_");
    fprintf(x->out, "%s[%zu] = {\n   ", name, n);
    put_numbers(x, n, v, 0, &column);
    fputs("\n};\n", x->out);
}

/* ---- the network ----------------------------------------------------------------------------- */

static tce_status read_network(exported *x)
{
    tce_store_array array;
    tce_store_array_init(&array, sizeof array);
    char name[64];
    for (x->n_layers = 0;; x->n_layers++) {
        snprintf(name, sizeof name, "policy.mean.layers.%zu.weight", x->n_layers);
        if (tce_store_get(x->store, name, &array) != TCE_OK)
            break;
        if (x->n_layers == MAX_LAYERS)
            return tce_fail(TCE_E_UNSUPPORTED, "the policy has more than %d layers", MAX_LAYERS);
        x->width[x->n_layers] = array.shape[1];
        x->width[x->n_layers + 1] = array.shape[0];
        x->precision = array.type == TCE_F64 ? TCE_NET_DOUBLE : TCE_NET_FLOAT;
    }
    return tce_store_read(x->store, "policy.mean.activation", TCE_I32, 1, &x->activation);
}

static tce_status put_weights(const exported *x)
{
    size_t n = 0, column = 3;
    for (size_t l = 0; l < x->n_layers; l++)
        n += (x->width[l] + 1) * x->width[l + 1];
    double *parameters = malloc(n * sizeof *parameters);
    if (!parameters)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu weights", n);

    tce_status status = TCE_OK;
    size_t at = 0;
    for (size_t l = 0; status == TCE_OK && l < x->n_layers; l++) {
        const size_t in = x->width[l], out = x->width[l + 1];
        char name[64];
        snprintf(name, sizeof name, "policy.mean.layers.%zu.weight", l);
        status = tce_store_read(x->store, name, TCE_F64, in * out, parameters + at);
        snprintf(name, sizeof name, "policy.mean.layers.%zu.bias", l);
        if (status == TCE_OK)
            status = tce_store_read(x->store, name, TCE_F64, out, parameters + at + in * out);
        at += (in + 1) * out;
    }
    if (status == TCE_OK) {
        put_text(x, "/* layer by layer: weights [out, in], then biases [out] */\nstatic const "
                    "@_real @_weights[");
        fprintf(x->out, "%zu] = {\n   ", n);
        put_numbers(x, n, parameters, x->precision == TCE_NET_FLOAT, &column);
        fputs("\n};\n", x->out);
    }
    free(parameters);
    return status;
}

static tce_status put_network(const exported *x)
{
    static const char *const FLOAT[] = { "z > 0 ? z : 0", "z > 0 ? z : 0.01F * z", "tanhf(z)",
                                         "z" };
    static const char *const DOUBLE[] = { "z > 0 ? z : 0", "z > 0 ? z : 0.01 * z", "tanh(z)", "z" };
    const int is_float = x->precision == TCE_NET_FLOAT;
    size_t widest = 0;
    fprintf(x->out, "/* ---- network: %s, sums in double */\n\ntypedef %s ",
            is_float ? "float" : "double", is_float ? "float" : "double");
    put_text(x, "@_real;\n\nstatic const int @_widths[");
    fprintf(x->out, "%zu] = {", x->n_layers + 1);
    for (size_t l = 0; l <= x->n_layers; l++) {
        fprintf(x->out, " %zu,", x->width[l]);
        widest = x->width[l] > widest ? x->width[l] : widest;
    }
    fputs(" };\n", x->out);
    define_int(x, "LAYERS", x->n_layers);
    define_int(x, "INPUTS", x->width[0]);
    define_int(x, "WIDEST", widest);
    const tce_status status = put_weights(x);
    put_text(x, "\nstatic @_real @_activation(@_real z)\n{\n    return ");
    fprintf(x->out, "%s;\n}\n\n", (is_float ? FLOAT : DOUBLE)[x->activation]);
    put_text(x, TEXT_NETWORK);
    return status;
}

/* ---- the primitive --------------------------------------------------------------------------- */

static const char *phase_text(const tce_mp_options *o)
{
    if (o->phase == TCE_MP_PHASE_SMOOTH)
        return TEXT_PHASE_SMOOTH;
    if (o->phase == TCE_MP_PHASE_RHYTHMIC)
        return TEXT_PHASE_CIRCLE;
    return o->kind == TCE_MP_PROMP ? TEXT_PHASE_LINEAR : TEXT_PHASE_EXPONENTIAL;
}

/* Centres, widths, phase, basis functions. */
static void put_basis(const exported *x)
{
    const export_basis *b = &x->basis;
    const int rhythmic = b->options.phase == TCE_MP_PHASE_RHYTHMIC;
    const size_t B = (size_t)b->options.num_basis;
    define_int(x, "BASIS", B);
    define_int(x, "NORMALISED", B > 1 || rhythmic);
    define_int(x, "RHYTHMIC", (size_t)rhythmic);
    put_array(x, "centre", B, b->centre);
    put_array(x, "width", B, b->width);
    put_text(x, "\n");
    put_text(x, phase_text(&b->options));
    put_text(x, rhythmic ? TEXT_LOG_CIRCLE : TEXT_LOG_GAUSS);
    put_text(x, TEXT_BASIS);
}

static void put_prodmp(const exported *x)
{
    const export_basis *b = &x->basis;
    const size_t S = 2 + b->C + b->R;
    define_int(x, "STATE", S);
    define_int(x, "WEIGHTS", b->W);
    define_int(x, "GOAL", b->G);
    define_int(x, "RELATIVE", b->R);
    if (b->options.basis == TCE_MP_BASIS_TABLE) {
        define_real(x, "TABLE_RATE", b->options.tau / b->options.dt);
        define_real(x, "TABLE_LENGTH", (double)b->options.table_length);
        define_int(x, "TABLE_LAST", b->n_rows - 1);
        put_array(x, "table", b->n_rows * 2 * S, b->rows);
        put_text(x, "\n");
        put_text(x, TEXT_STATE_TABLE);
    } else {
        put_array(x, "scale", b->C, b->scale);
        if (b->W > 0) {
            put_basis(x);
            define_int(x, "EDGES", b->n_rows);
            put_array(x, "edge", b->n_rows, b->edge);
            put_array(x, "integral", b->n_rows * 2 * b->W, b->rows);
            put_text(x, "\n");
            put_text(x, TEXT_STATE_INTEGRALS);
        }
        put_text(x, TEXT_STATE_EXACT);
    }
    put_text(x, TEXT_PRODMP_ROW);
    put_text(x, TEXT_PRODMP_PATH);
}

static void put_primitive(const exported *x)
{
    static const char *const KINDS[] = { "ProDMP", "ProMP", "DMP" };
    const export_basis *b = &x->basis;
    const tce_mp_options *o = &b->options;
    fprintf(x->out, "/* ---- primitive: %s */\n\n", KINDS[o->kind]);
    define_int(x, "LEAD", b->lead);
    define_int(x, "COLUMNS", b->C);
    define_int(x, "LEARN_TAU", o->learn_tau != 0);
    define_int(x, "LEARN_DELAY", o->learn_delay != 0);
    define_real(x, "TAU", o->tau);
    define_real(x, "DELAY", o->delay);
    define_real(x, "DT", o->dt);
    define_real(x, "ALPHA", o->alpha);
    define_real(x, "ALPHA_PHASE", o->alpha_phase);
    put_text(x, "\n");
    put_text(x, TEXT_CLOCK);
    if (o->kind == TCE_MP_PRODMP) {
        put_prodmp(x);
        return;
    }
    put_array(x, "scale", b->C, b->scale);
    put_basis(x);
    if (o->kind == TCE_MP_PROMP) {
        put_text(x, TEXT_PROMP);
        return;
    }
    define_int(x, "MAX_STEPS", TCE_MP_MAX_STEPS);
    put_text(x, TEXT_FACTOR);
    put_text(x, TEXT_DMP);
    put_text(x, TEXT_DMP_PATH);
}

/* ---- the test -------------------------------------------------------------------------------- */

/* Two paths of the same parameters: from rest at time 0, and on the way from a drawn state. */
typedef struct test_paths {
    double start[2];
    double times[2 * TEST_TIMES];
    double *start_pos, *start_vel; /* [2, D] */
    double *pos, *vel;             /* [2, TEST_TIMES, D] */
    double *query_pos, *query_vel; /* [2, D] at the last time */
} test_paths;

static tce_status compute_paths(const exported *x, const double *params, double tau, double delay,
                                tce_random *random, test_paths *t)
{
    const size_t D = x->basis.D;
    const double end = delay + tau * fmin(1.2, (double)x->basis.options.table_length);
    tce_status status = TCE_OK;
    t->start[0] = 0.0;
    t->start[1] = delay + 0.3 * tau;
    tce_random_normals(random, 2 * D, t->start_pos);
    tce_random_normals(random, D, t->start_vel + D);
    for (size_t k = 0; status == TCE_OK && k < 2; k++) {
        double *times = t->times + k * TEST_TIMES;
        for (int i = 0; i < TEST_TIMES; i++)
            times[i] = t->start[k] + (end - t->start[k]) * (double)i / TEST_TIMES;
        tce_mp_grid grid;
        tce_mp_grid_init(&grid, sizeof grid);
        grid.T = TEST_TIMES;
        grid.times = times;
        grid.init_time = &t->start[k];
        grid.init_pos = t->start_pos + k * D;
        grid.init_vel = t->start_vel + k * D;
        status = tce_mp_trajectory(x->file.mp, &grid, params, t->pos + k * TEST_TIMES * D,
                                   t->vel + k * TEST_TIMES * D, NULL);
        if (status == TCE_OK)
            status = tce_mp_query(x->file.mp, times[TEST_TIMES - 1], params, t->start[k],
                                  grid.init_pos, grid.init_vel, t->query_pos + k * D,
                                  t->query_vel + k * D, NULL);
    }
    return status;
}

/* block: [8 D + 4 T D] numbers for the arrays of t */
static void carve_paths(double *block, size_t D, test_paths *t)
{
    double **const arrays[] = { &t->start_pos, &t->start_vel, &t->query_pos,
                                &t->query_vel, &t->pos,       &t->vel };
    for (int i = 0; i < 6; i++) {
        *arrays[i] = block;
        block += 2 * D * (i < 4 ? 1 : TEST_TIMES);
    }
}

static void put_test(const exported *x, const double *context, const double *mean,
                     const double *params, const test_paths *t)
{
    const size_t D = x->basis.D, P = x->basis.P;
    put_text(x, "/* ---- test: what libtce computes for one context and two paths */\n\n");
    define_int(x, "TEST_TIMES", TEST_TIMES);
    define_real(x, "TOLERANCE", x->precision == TCE_NET_FLOAT ? 1e-6 : 1e-12);
    define_int(x, "STEPS", x->file.T);
    define_real(x, "STEP", x->file.dt);
    put_array(x, "test_context", x->file.n_context, context);
    put_array(x, "test_mean", P, mean);
    put_array(x, "test_params", P, params);
    put_array(x, "test_start", 2, t->start);
    put_array(x, "test_times", 2 * TEST_TIMES, t->times);
    put_array(x, "test_start_pos", 2 * D, t->start_pos);
    put_array(x, "test_start_vel", 2 * D, t->start_vel);
    put_array(x, "test_pos", 2 * TEST_TIMES * D, t->pos);
    put_array(x, "test_vel", 2 * TEST_TIMES * D, t->vel);
    put_array(x, "test_query_pos", 2 * D, t->query_pos);
    put_array(x, "test_query_vel", 2 * D, t->query_vel);
    put_text(x, "\n");
    put_text(x, TEXT_SELF_TEST);
}

/* Draws a context and parameters, lets the library compute, writes both. */
static tce_status make_test(const exported *x)
{
    const export_basis *b = &x->basis;
    const tce_mp_options *o = &b->options;
    int failed = 0;
    double *context = array_of_doubles(x->width[0], &failed);
    double *mean = array_of_doubles(b->P, &failed);
    double *params = array_of_doubles(b->P, &failed);
    double *factor = array_of_doubles(b->P * b->P, &failed);
    double *block = array_of_doubles((8 + 4 * TEST_TIMES) * b->D, &failed);
    tce_status status = failed
                            ? tce_fail(TCE_E_NOMEM, "no memory for a test of %zu parameters", b->P)
                            : TCE_OK;
    if (status == TCE_OK) {
        test_paths t;
        tce_random random;
        tce_random_start(&random, TEST_SEED, 0, 0, 0);
        tce_random_normals(&random, x->file.n_context, context);
        tce_random_normals(&random, b->P, params);

        /* learnt ones near the configured ones: not every drawn duration makes sense */
        const double tau = o->learn_tau ? 1.05 * o->tau : o->tau;
        const double delay = o->learn_delay ? o->delay + 0.1 * o->tau : o->delay;
        if (o->learn_tau)
            params[0] = tau;
        if (o->learn_delay)
            params[b->lead - 1] = delay;
        carve_paths(block, b->D, &t);
        status = tce_policy_predict(x->file.policy, 1, context, mean, factor);
        if (status == TCE_OK)
            status = compute_paths(x, params, tau, delay, &random, &t);
        if (status == TCE_OK)
            put_test(x, context, mean, params, &t);
    }
    free(context);
    free(mean);
    free(params);
    free(factor);
    free(block);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_context_note(const exported *x)
{
    const policy_file *f = &x->file;
    if (!f->context) {
        fprintf(x->out, " * Context: the first observation of an episode, %zu numbers.\n",
                f->n_context);
        return;
    }
    fprintf(x->out, " * Context: %zu of the %zu numbers of the first observation of an episode:",
            f->n_context, f->O);
    for (size_t i = 0; i < f->n_context; i++)
        fprintf(x->out, "%s%d", i % 24 == 23 ? "\n * " : " ", (int)f->context[i]);
    fprintf(x->out, " (from 0).\n");
}

/* The task's name goes into a comment: only what cannot end it. */
static void put_head(const exported *x)
{
    put_text(x, "/*\n * @: a trained policy as C99. Context in, trajectory out; needs the C "
                "library's mathematics only, allocates nothing, keeps no state.\n");
    fprintf(x->out, " * Made by tce export, libtce %s; task ", tce_version_string());
    for (const char *c = x->file.task; *c; c++)
        fputc(isalnum((unsigned char)*c) || *c == '_' || *c == '-' ? *c : '.', x->out);
    fputs(".\n *\n", x->out);
    put_context_note(x);
    put_text(x, " *\n * Compile it, or #include it. With $_DECLARATIONS_ONLY defined it is a "
                "header. With $_MAIN defined it is a program\n"
                " * that runs the self-test and prints a path: cc -std=c99 -D$_MAIN @.c -lm\n "
                "*/\n#ifndef $_DECLARED\n#define $_DECLARED\n\n"
                "#include <stddef.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    define_int(x, "CONTEXT", x->file.n_context);
    define_int(x, "DOF", x->basis.D);
    define_int(x, "PARAMS", x->basis.P);
    put_text(x, "\n");
    put_text(x, TEXT_DECLARATIONS);
    put_text(x, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n\n#ifndef "
                "$_DECLARATIONS_ONLY\n\n#include <math.h>\n\n");
}

/* Handles and sizes from the store. */
static tce_status open_policy(exported *x)
{
    tce_status status = policy_file_open(&x->file, x->store, 1, NULL);
    if (status == TCE_OK)
        status = read_network(x);
    if (status == TCE_OK)
        status = export_basis_make(&x->basis, x->file.mp);
    return status;
}

int export_name_is_fine(const char *name)
{
    if (!isalpha((unsigned char)name[0]))
        return 0;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return 0;
    return strlen(name) < 64;
}

tce_status export_c(const tce_store *store, const char *name, FILE *out)
{
    exported *x = calloc(1, sizeof *x);
    if (!x)
        return tce_fail(TCE_E_NOMEM, "no memory for an export");
    x->name = name;
    x->out = out;
    x->store = store;
    tce_status status = open_policy(x);
    if (status == TCE_OK) {
        put_head(x);
        status = put_network(x);
    }
    if (status == TCE_OK) {
        put_primitive(x);
        status = make_test(x);
    }
    if (status == TCE_OK) {
        put_text(x, TEXT_MAIN);
        fputs("#endif\n", out);
    }
    export_basis_free(&x->basis);
    policy_file_close(&x->file);
    free(x);
    return status;
}
