/*
 * Writes a trained policy as one C99 file: the template movement_policy.c, or step_policy.c for one
 * that acts at every step, with the sizes, weights and tables of this policy, and what libtce
 * computes as a test.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/export_c.h"
#include "export/exported.h"
#include "tools/memory.h"

/* ---- parts of the file ----------------------------------------------------------------------- */

/* Which numbers of the task's observations the function takes. */
static void write_inputs(const exported *x)
{
    const agent *f = &x->agent;
    FILE *out = x->c.out;
    const char *const what = f->acts ? "Observation" : "Context";
    const char *const when = f->acts ? "the observation" : "the first observation of an episode";
    if (f->context) {
        fprintf(out, " * %s: %zu of the %zu numbers of %s:", what, f->n_context, f->O, when);
        for (size_t i = 0; i < f->n_context; i++)
            fprintf(out, "%s%d", i % 20 == 19 ? "\n * " : " ", (int)f->context[i]);
        fputs(" (from 0).\n", out);
    } else {
        fprintf(out, " * %s: %s, %zu numbers.\n", what, when, f->n_context);
    }
    if (f->acts && f->time_input)
        fputs(" * One more follows: the time since the episode began, in seconds.\n", out);
}

/* A comment. The task's name goes into it: only what cannot end it. */
static tce_status write_origin(const exported *x)
{
    FILE *out = x->c.out;
    fprintf(out, "/*\n * Made by tce export, libtce %s; task ", tce_version_string());
    for (const char *c = x->agent.task; *c; c++)
        fputc(isalnum((unsigned char)*c) || *c == '_' || *c == '-' ? *c : '.', out);
    fputs(".\n", out);
    write_inputs(x);
    fputs(" */\n", out);
    return TCE_OK;
}

static tce_status write_sizes(const exported *x)
{
    if (x->agent.acts) {
        c_file_int(&x->c, "OBSERVATION", x->agent.O_net);
        c_file_int(&x->c, "ACTION", x->agent.P);
        return TCE_OK;
    }
    c_file_int(&x->c, "CONTEXT", x->agent.n_context);
    c_file_int(&x->c, "DOF", x->basis.D);
    c_file_int(&x->c, "PARAMS", x->basis.P);
    return TCE_OK;
}

static tce_status write_network(const exported *x)
{
    const export_network *n = &x->network;
    size_t widest = 0;
    double widths[MAX_LAYERS + 1];
    for (size_t l = 0; l <= n->n_layers; l++) {
        widest = n->width[l] > widest ? n->width[l] : widest;
        widths[l] = (double)n->width[l];
    }
    c_file_int(&x->c, "LAYERS", n->n_layers);
    c_file_int(&x->c, "INPUTS", n->width[0]);
    c_file_int(&x->c, "WIDEST", widest);
    c_file_array(&x->c, "int", "widths", n->n_layers + 1, widths);
    fputs("/* layer by layer: weights [out, in], then biases [out] */\n", x->c.out);
    c_file_array(&x->c, n->precision == TCE_NET_FLOAT ? "float" : "double", "weights", n->n_weights,
                 n->weights);
    return TCE_OK;
}

/* input_std: sqrt(variance + epsilon), what the normaliser divides by */
static tce_status write_normaliser(const exported *x)
{
    const agent *a = &x->agent;
    int failed = 0;
    double *mean = array_of_doubles(a->O_net, &failed);
    double *std = array_of_doubles(a->O_net, &failed);
    if (!failed) {
        tce_normaliser_statistics(a->normaliser, mean, std, NULL);
        for (size_t i = 0; i < a->O_net; i++)
            std[i] = sqrt(std[i] + a->epsilon);
        c_file_array(&x->c, "double", "input_mean", a->O_net, mean);
        c_file_array(&x->c, "double", "input_std", a->O_net, std);
        if (a->clip > 0.0)
            c_file_real(&x->c, "LARGEST", a->clip);
    }
    free(mean);
    free(std);
    return failed ? tce_fail(TCE_E_NOMEM, "no memory for a normaliser of %zu inputs", a->O_net)
                  : TCE_OK;
}

static tce_status write_transforms(const exported *x)
{
    const agent *a = &x->agent;
    if (a->output != AGENT_PLAIN) {
        c_file_array(&x->c, "double", "low", a->P, a->low);
        c_file_array(&x->c, "double", "high", a->P, a->high);
    }
    return a->normaliser ? write_normaliser(x) : TCE_OK;
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
    if (x->agent.acts)
        return TCE_OK;
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

const char *const EXPORT_PARTS[] = { "choices",    "origin",    "sizes", "network",
                                     "transforms", "primitive", "test",  NULL };

static tce_status write_part(const void *user, const char *part)
{
    static tce_status (*const WRITE[])(
        const exported *x) = { write_choices,    write_origin,    write_sizes, write_network,
                               write_transforms, write_primitive, export_test };
    for (size_t i = 0; EXPORT_PARTS[i]; i++)
        if (strcmp(part, EXPORT_PARTS[i]) == 0)
            return WRITE[i](user);
    return tce_fail(TCE_E_NOT_FOUND, "a template wants numbers/%s.h", part);
}

/* ---- the policy ------------------------------------------------------------------------------ */

static void choose(exported *x)
{
    const agent *a = &x->agent;
    const export_network *n = &x->network;
    const tce_mp_options *o = &x->basis.options;
    const int rhythmic = o->phase == TCE_MP_PHASE_RHYTHMIC;
    const c_choice choices[] = {
        { "FLOAT", n->precision == TCE_NET_FLOAT },
        { "RELU", n->activation == TCE_NET_RELU },
        { "LEAKY_RELU", n->activation == TCE_NET_LEAKY_RELU },
        { "TANH", n->activation == TCE_NET_TANH },
        { "NORMALISER", a->normaliser != NULL },
        { "INPUT_CLIP", a->clip > 0.0 },
        { "CLIP", a->output == AGENT_CLIP },
        { "SQUASH", a->output == AGENT_TANH },
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
        status = export_network_read(&x->network, store, x->agent.P);
    if (status == TCE_OK && !x->agent.acts)
        status = export_basis_make(&x->basis, x->agent.mp);
    if (status == TCE_OK)
        choose(x);
    return status;
}

static void close_policy(exported *x)
{
    export_basis_free(&x->basis);
    export_network_free(&x->network);
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
        status = c_file_template(&x.c, x.agent.acts ? "step_policy.c" : "movement_policy.c");
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
