/*
 * Writes a trained policy as one C99 file: the template movement_policy.c with the sizes, weights
 * and tables of this policy, and what libtce computes as a test.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "export/export_c.h"
#include "export/exported.h"
#include "tools/memory.h"

/* ---- parts of the file ----------------------------------------------------------------------- */

/* A comment. The task's name goes into it: only what cannot end it. */
static tce_status write_origin(const exported *x)
{
    const agent *f = &x->agent;
    FILE *out = x->c.out;
    fprintf(out, "/*\n * Made by tce export, libtce %s; task ", tce_version_string());
    for (const char *c = f->task; *c; c++)
        fputc(isalnum((unsigned char)*c) || *c == '_' || *c == '-' ? *c : '.', out);
    fputs(".\n", out);
    if (f->context) {
        fprintf(out, " * Context: %zu of the %zu numbers of the first observation of an episode:",
                f->n_context, f->O);
        for (size_t i = 0; i < f->n_context; i++)
            fprintf(out, "%s%d", i % 20 == 19 ? "\n * " : " ", (int)f->context[i]);
        fputs(" (from 0).\n */\n", out);
    } else {
        fprintf(out, " * Context: the first observation of an episode, %zu numbers.\n */\n",
                f->n_context);
    }
    return TCE_OK;
}

static tce_status write_sizes(const exported *x)
{
    c_file_int(&x->c, "CONTEXT", x->agent.n_context);
    c_file_int(&x->c, "DOF", x->basis.D);
    c_file_int(&x->c, "PARAMS", x->basis.P);
    return TCE_OK;
}

/* Layer l: weights [out, in], then biases [out]. */
static tce_status read_layer(const exported *x, size_t l, double *weights)
{
    const size_t in = x->width[l], out = x->width[l + 1];
    char name[64];
    snprintf(name, sizeof name, "policy.mean.layers.%zu.weight", l);
    const tce_status status = tce_store_read(x->store, name, TCE_STORE_F64, in * out, weights);
    snprintf(name, sizeof name, "policy.mean.layers.%zu.bias", l);
    return status == TCE_OK ? tce_store_read(x->store, name, TCE_STORE_F64, out, weights + in * out)
                            : status;
}

static tce_status write_network(const exported *x)
{
    size_t n = 0, widest = 0;
    double widths[MAX_LAYERS + 1];
    for (size_t l = 0; l <= x->n_layers; l++) {
        widest = x->width[l] > widest ? x->width[l] : widest;
        widths[l] = (double)x->width[l];
        n += l < x->n_layers ? (x->width[l] + 1) * x->width[l + 1] : 0;
    }
    int failed = 0;
    double *weights = array_of_doubles(n, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu weights", n);

    tce_status status = TCE_OK;
    size_t at = 0;
    for (size_t l = 0; status == TCE_OK && l < x->n_layers; l++) {
        status = read_layer(x, l, weights + at);
        at += (x->width[l] + 1) * x->width[l + 1];
    }
    if (status == TCE_OK) {
        c_file_int(&x->c, "LAYERS", x->n_layers);
        c_file_int(&x->c, "INPUTS", x->width[0]);
        c_file_int(&x->c, "WIDEST", widest);
        c_file_array(&x->c, "int", "widths", x->n_layers + 1, widths);
        fputs("/* layer by layer: weights [out, in], then biases [out] */\n", x->c.out);
        c_file_array(&x->c, x->precision == TCE_NET_FLOAT ? "float" : "double", "weights", n,
                     weights);
    }
    free(weights);
    return status;
}

/* Centres and widths. */
static void write_basis(const exported *x)
{
    const size_t B = (size_t)x->basis.options.n_basis;
    c_file_int(&x->c, "BASIS", B);
    c_file_array(&x->c, "double", "centre", B, x->basis.centre);
    c_file_array(&x->c, "double", "width", B, x->basis.width);
}

static void write_table(const exported *x)
{
    const export_basis *b = &x->basis;
    const size_t S = 2 + b->C + b->R;
    c_file_int(&x->c, "STATE", S);
    c_file_real(&x->c, "TABLE_RATE", b->options.tau / b->options.dt);
    c_file_real(&x->c, "TABLE_LENGTH", (double)b->options.table_length);
    c_file_int(&x->c, "TABLE_LAST", b->n_rows - 1);
    c_file_array(&x->c, "double", "table", b->n_rows * 2 * S, b->rows);
}

static void write_integrals(const exported *x)
{
    const export_basis *b = &x->basis;
    c_file_int(&x->c, "STATE", 2 + b->C + b->R);
    c_file_array(&x->c, "double", "scale", b->C, b->scale);
    if (b->W == 0)
        return;
    write_basis(x);
    c_file_int(&x->c, "EDGES", b->n_rows);
    c_file_array(&x->c, "double", "edge", b->n_rows, b->edge);
    c_file_array(&x->c, "double", "integral", b->n_rows * 2 * b->W, b->rows);
}

static tce_status write_primitive(const exported *x)
{
    const export_basis *b = &x->basis;
    const tce_mp_options *o = &b->options;
    c_file_int(&x->c, "LEAD", b->lead);
    c_file_int(&x->c, "COLUMNS", b->C);
    c_file_real(&x->c, "TAU", o->tau);
    c_file_real(&x->c, "DELAY", o->delay);
    c_file_real(&x->c, "DT", o->dt);
    c_file_real(&x->c, "ALPHA", o->alpha);
    c_file_real(&x->c, "ALPHA_PHASE", o->alpha_phase);
    if (o->kind == TCE_MP_PRODMP) {
        (o->basis == TCE_MP_BASIS_TABLE ? write_table : write_integrals)(x);
        return TCE_OK;
    }
    c_file_int(&x->c, "MAX_STEPS", TCE_MP_MAX_STEPS);
    c_file_array(&x->c, "double", "scale", b->C, b->scale);
    write_basis(x);
    return TCE_OK;
}

/* As numbers, for templates that are compiled as they are: in an export they are decided. */
static tce_status write_choices(const exported *x)
{
    for (const c_choice *c = x->choices; c->name; c++)
        c_file_int(&x->c, c->name, (size_t)c->value);
    return TCE_OK;
}

const char *const EXPORT_PARTS[] = { "choices",   "origin", "sizes", "network",
                                     "primitive", "test",   NULL };

static tce_status write_part(const void *user, const char *part)
{
    static tce_status (*const WRITE[])(const exported *x) = { write_choices,   write_origin,
                                                              write_sizes,     write_network,
                                                              write_primitive, export_test };
    for (size_t i = 0; EXPORT_PARTS[i]; i++)
        if (strcmp(part, EXPORT_PARTS[i]) == 0)
            return WRITE[i](user);
    return tce_fail(TCE_E_NOT_FOUND, "a template wants numbers/%s.h", part);
}

/* ---- the policy ------------------------------------------------------------------------------ */

/* Sizes of the mean's network. */
static tce_status read_network(exported *x)
{
    tce_store_array array = TCE_INIT(tce_store_array);
    char name[64];
    for (x->n_layers = 0;; x->n_layers++) {
        snprintf(name, sizeof name, "policy.mean.layers.%zu.weight", x->n_layers);
        if (tce_store_get(x->store, name, &array) != TCE_OK)
            break;
        if (x->n_layers == MAX_LAYERS)
            return tce_fail(TCE_E_UNSUPPORTED, "the policy has more than %d layers", MAX_LAYERS);
        x->width[x->n_layers] = array.shape[1];
        x->width[x->n_layers + 1] = array.shape[0];
        x->precision = array.type == TCE_STORE_F64 ? TCE_NET_DOUBLE : TCE_NET_FLOAT;
    }
    return tce_store_read(x->store, "policy.mean.activation", TCE_STORE_I32, 1, &x->activation);
}

static void choose(exported *x)
{
    const tce_mp_options *o = &x->basis.options;
    const int rhythmic = o->phase == TCE_MP_PHASE_RHYTHMIC;
    const c_choice choices[] = {
        { "FLOAT", x->precision == TCE_NET_FLOAT },
        { "RELU", x->activation == TCE_NET_RELU },
        { "LEAKY_RELU", x->activation == TCE_NET_LEAKY_RELU },
        { "TANH", x->activation == TCE_NET_TANH },
        { "PRODMP", o->kind == TCE_MP_PRODMP },
        { "PROMP", o->kind == TCE_MP_PROMP },
        { "TABLE", o->basis == TCE_MP_BASIS_TABLE },
        { "SMOOTH", o->phase == TCE_MP_PHASE_SMOOTH },
        { "RHYTHMIC", rhythmic },
        { "NORMALISED", o->n_basis > 1 || rhythmic },
        { "WEIGHTS", x->basis.W > 0 },
        { "GOAL", x->basis.G > 0 },
        { "RELATIVE", x->basis.R > 0 },
        { "LEARN_TAU", o->learn_tau != 0 },
        { "LEARN_DELAY", o->learn_delay != 0 },
        { NULL, 0 },
    };
    memcpy(x->choices, choices, sizeof choices);
}

/* What the C file knows to compute: a movement from the mean of a policy as it is. */
static tce_status check_exportable(const agent *a)
{
    if (a->acts)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "this policy acts at every step; a C file is written for policies that "
                        "plan movements");
    if (a->output != AGENT_PLAIN || a->normaliser)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "this policy transforms its inputs or outputs; a C file is written for "
                        "policies whose mean is the parameters of a movement");
    return TCE_OK;
}

/* Handles, sizes and numbers of the policy in a store. close_policy also after a failure. */
static tce_status open_policy(exported *x, const tce_store *store, const char *name, FILE *out)
{
    memset(x, 0, sizeof *x);
    x->store = store;
    x->c.out = out;
    x->c.name = name;
    x->c.choices = x->choices;
    x->c.write_part = write_part;
    x->c.user = x;
    tce_status status = agent_open(&x->agent, store, 1, NULL);
    if (status == TCE_OK)
        status = check_exportable(&x->agent);
    if (status == TCE_OK)
        status = read_network(x);
    if (status == TCE_OK)
        status = export_basis_make(&x->basis, x->agent.mp);
    if (status == TCE_OK)
        choose(x);
    return status;
}

static void close_policy(exported *x)
{
    export_basis_free(&x->basis);
    agent_close(&x->agent);
}

/* ---- the file -------------------------------------------------------------------------------- */

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
    exported x;
    tce_status status = open_policy(&x, store, name, out);
    if (status == TCE_OK)
        status = c_file_template(&x.c, "movement_policy.c");
    close_policy(&x);
    return status;
}

tce_status export_part(const tce_store *store, const char *part, FILE *out)
{
    exported x;
    tce_status status = open_policy(&x, store, "policy", out);
    if (status == TCE_OK)
        status = write_part(&x, part);
    close_policy(&x);
    return status;
}
