/*
 * A policy as an ONNX model, with the numbers of libtce: normaliser, outputs and primitive in
 * double, the network in the precision that it was trained in.
 *
 * A path is linear in the parameters of a DoF and its start, theta = (w, g, y_b, y'_b): for the
 * steps of an episode, position and velocity are theta A and theta B. The columns are read off
 * tce_mp_trajectory, one unit vector after the other.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export_onnx.h"
#include "export/exported.h"
#include "export/onnx_model.h"
#include "tools/memory.h"

/* slope of a leaky unit below 0 */
#define LEAK 0.01

/* numbers of a path's matrices; a model may have 2 GB at most */
#define MOST_NUMBERS ((size_t)1 << 26)

enum { NAME = 32, TEXT = 128 };

typedef struct writer {
    onnx_model model;
    agent agent;
    export_network network;
    char last[NAME]; /* the tensor that the next step takes */
} writer;

/* ---- steps of the graph ---------------------------------------------------------------------- */

/* last = op(last, b) */
static void then(writer *w, const char *op, const char *b, const onnx_attribute *attribute,
                 const char *out)
{
    onnx_model_node(&w->model, op, w->last, b, NULL, attribute, out);
    snprintf(w->last, sizeof w->last, "%s", out);
}

static void then_cast(writer *w, int type, const char *out)
{
    const onnx_attribute to = { .name = "to", .n = 1, .whole = { type } };
    then(w, "Cast", NULL, &to, out);
}

/* A list of doubles [n]. */
static void put_list(writer *w, const char *name, size_t n, const double *values)
{
    onnx_model_constant(&w->model, name, ONNX_DOUBLE, 1, &n, values);
}

/* last = max(min(last, high), low), as the library does it */
static void then_clip(writer *w, const char *low, const char *high, const char *between,
                      const char *out)
{
    then(w, "Min", high, NULL, between);
    then(w, "Max", low, NULL, out);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The time of an episode's first step is 0. */
static void put_time(writer *w)
{
    static const double ONE_COLUMN[] = { 0, 0, 0, 1 };
    static const onnx_attribute LAST = { .name = "axis", .n = 1, .whole = { 1 } };
    const size_t four = 4, column[] = { 0, 1 };
    if (w->agent.acts) {
        onnx_model_input(&w->model, "time", 2, column, "seconds since the episode began");
        then(w, "Concat", "time", &LAST, "inputs");
        return;
    }
    onnx_model_constant(&w->model, "one_column", ONNX_INT64, 1, &four, ONE_COLUMN);
    then(w, "Pad", "one_column", NULL, "inputs");
}

static tce_status put_normaliser(writer *w)
{
    const agent *a = &w->agent;
    const double low = -a->clip;
    int failed = 0;
    double *mean = array_of_doubles(a->O_net, &failed);
    double *std = array_of_doubles(a->O_net, &failed);
    if (!failed) {
        tce_normaliser_statistics(a->normaliser, mean, std, NULL);
        for (size_t i = 0; i < a->O_net; i++)
            std[i] = sqrt(std[i] + a->epsilon);
        put_list(w, "input_mean", a->O_net, mean);
        put_list(w, "input_std", a->O_net, std);
        then(w, "Sub", "input_mean", NULL, "centred");
        then(w, "Div", "input_std", NULL, "scaled");
    }
    if (!failed && a->clip > 0.0) {
        put_list(w, "input_high", 1, &a->clip);
        put_list(w, "input_low", 1, &low);
        then_clip(w, "input_low", "input_high", "below", "normalised");
    }
    free(mean);
    free(std);
    return failed ? tce_fail(TCE_E_NOMEM, "no memory for a normaliser of %zu inputs", a->O_net)
                  : TCE_OK;
}

static tce_status put_inputs(writer *w)
{
    const agent *a = &w->agent;
    const size_t shape[] = { 0, a->n_context };
    const char *const name = a->acts ? "observation" : "context";
    onnx_model_input(&w->model, name, 2, shape,
                     a->acts ? "the observation of this step"
                             : "what the policy sees of the first observation of an episode");
    snprintf(w->last, sizeof w->last, "%s", name);
    if (a->time_input)
        put_time(w);
    return a->normaliser ? put_normaliser(w) : TCE_OK;
}

/* ---- network --------------------------------------------------------------------------------- */

/* A leaky unit in double is not an operator of onnxruntime: max(z, LEAK z) is the same. */
static void put_activation(writer *w, size_t l)
{
    static const onnx_attribute SLOPE = { .name = "alpha", .real = (float)LEAK };
    const export_network *n = &w->network;
    const double leak = LEAK;
    char out[NAME], below[NAME];
    snprintf(out, sizeof out, "hidden_%zu", l);
    snprintf(below, sizeof below, "below_%zu", l);
    if (n->activation == TCE_NET_TANH) {
        then(w, "Tanh", NULL, NULL, out);
    } else if (n->activation == TCE_NET_RELU) {
        then(w, "Relu", NULL, NULL, out);
    } else if (n->activation == TCE_NET_LEAKY_RELU && n->precision == TCE_NET_FLOAT) {
        then(w, "LeakyRelu", NULL, &SLOPE, out);
    } else if (n->activation == TCE_NET_LEAKY_RELU) {
        if (l == 0)
            onnx_model_constant(&w->model, "leak", ONNX_DOUBLE, 0, NULL, &leak);
        onnx_model_node(&w->model, "Mul", w->last, "leak", NULL, NULL, below);
        then(w, "Max", below, NULL, out);
    }
}

static void put_network(writer *w)
{
    static const onnx_attribute TRANSPOSED = { .name = "transB", .n = 1, .whole = { 1 } };
    const export_network *n = &w->network;
    const int type = n->precision == TCE_NET_FLOAT ? ONNX_FLOAT : ONNX_DOUBLE;
    const double *weights = n->weights;
    if (type == ONNX_FLOAT)
        then_cast(w, ONNX_FLOAT, "network_input");
    for (size_t l = 0; l < n->n_layers; l++) {
        const size_t shape[] = { n->width[l + 1], n->width[l] };
        char weight[NAME], bias[NAME], sum[NAME];
        snprintf(weight, sizeof weight, "weight_%zu", l);
        snprintf(bias, sizeof bias, "bias_%zu", l);
        snprintf(sum, sizeof sum, "sum_%zu", l);
        onnx_model_constant(&w->model, weight, type, 2, shape, weights);
        weights += shape[0] * shape[1];
        onnx_model_constant(&w->model, bias, type, 1, shape, weights);
        weights += shape[0];
        onnx_model_node(&w->model, "Gemm", w->last, weight, bias, &TRANSPOSED, sum);
        snprintf(w->last, sizeof w->last, "%s", sum);
        if (l + 1 < n->n_layers)
            put_activation(w, l);
    }
    if (type == ONNX_FLOAT)
        then_cast(w, ONNX_DOUBLE, "network_output");
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* low + (tanh x + 1)/2 (high - low) */
static tce_status put_squash(writer *w)
{
    const agent *a = &w->agent;
    const double one = 1.0;
    int failed = 0;
    double *half = array_of_doubles(a->P, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for the ranges of %zu outputs", a->P);
    for (size_t i = 0; i < a->P; i++)
        half[i] = 0.5 * (a->high[i] - a->low[i]);
    onnx_model_constant(&w->model, "one", ONNX_DOUBLE, 0, NULL, &one);
    put_list(w, "half_range", a->P, half);
    put_list(w, "low", a->P, a->low);
    then(w, "Tanh", NULL, NULL, "squashed");
    then(w, "Add", "one", NULL, "from_zero");
    then(w, "Mul", "half_range", NULL, "in_range");
    then(w, "Add", "low", NULL, "output");
    free(half);
    return TCE_OK;
}

static tce_status put_outputs(writer *w)
{
    const agent *a = &w->agent;
    const size_t shape[] = { 0, a->P };
    const char *const name = a->acts ? "action" : "parameters";
    tce_status status = TCE_OK;
    if (a->output == AGENT_TANH)
        status = put_squash(w);
    if (a->output == AGENT_CLIP) {
        put_list(w, "low", a->P, a->low);
        put_list(w, "high", a->P, a->high);
        then_clip(w, "low", "high", "below_high", "output");
    }
    then(w, "Identity", NULL, NULL, name);
    onnx_model_output(&w->model, name, 2, shape,
                      a->acts ? "of this step" : "of the movement primitive");
    return status;
}

/* ---- path ------------------------------------------------------------------------------------ */

/* C parameters of a DoF, then S numbers of its start; position and velocity [C + S, T] of each. */
typedef struct path_matrices {
    size_t C, S, T;
    double *position, *velocity;
} path_matrices;

/* One DoF along its unit vector `row` of theta. work [D (C + 2) + T (1 + 2 D)] */
static tce_status read_row(const agent *a, size_t row, double *work, path_matrices *m)
{
    const size_t D = a->D, P = D * m->C, T = m->T;
    double *const theta = work, *const pos = theta + P + 2 * D, *const vel = pos + T * D;
    double *const times = vel + T * D;
    memset(theta, 0, (P + 2 * D) * sizeof *theta);
    theta[row < m->C ? row : P + (row - m->C) * D] = 1.0;
    for (size_t t = 0; t < T; t++)
        times[t] = a->dt * (double)(t + 1);
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = T;
    grid.times = times;
    grid.init_pos = theta + P;
    grid.init_vel = theta + P + D;
    const tce_status status = tce_mp_trajectory(a->mp, &grid, theta, pos, vel, NULL);
    for (size_t t = 0; status == TCE_OK && t < T; t++) {
        m->position[row * T + t] = pos[t * D];
        m->velocity[row * T + t] = vel[t * D];
    }
    return status;
}

static tce_status read_matrices(const agent *a, path_matrices *m)
{
    tce_mp_options o;
    int failed = 0;
    tce_mp_options_init(&o, sizeof o);
    tce_mp_get_options(a->mp, &o);
    if (o.learn_tau || o.learn_delay)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "the policy chooses the %s of its movements, so its paths cannot be written as matrix "
            "products: leave out --onnx; the C file computes such paths",
            o.learn_tau ? "duration" : "delay");
    m->T = a->T;
    m->C = tce_mp_n_columns(a->mp);
    /* a ProMP has no start, and a ProDMP rests until its delay is over */
    m->S = o.kind == TCE_MP_PROMP ? 0 : o.kind == TCE_MP_PRODMP && o.delay > 0.0 ? 1 : 2;
    if (m->C + m->S > MOST_NUMBERS / m->T)
        return tce_fail(TCE_E_UNSUPPORTED, "paths of %zu steps are too long for an ONNX model",
                        m->T);
    double *work = array_of_doubles(a->D * (m->C + 2) + m->T * (1 + 2 * a->D), &failed);
    m->position = array_of_doubles((m->C + m->S) * m->T, &failed);
    m->velocity = array_of_doubles((m->C + m->S) * m->T, &failed);
    tce_status status = failed ? tce_fail(TCE_E_NOMEM, "no memory for paths of %zu steps", m->T)
                               : TCE_OK;
    for (size_t row = 0; status == TCE_OK && row < m->C + m->S; row++)
        status = read_row(a, row, work, m);
    free(work);
    return status;
}

/* Columns of theta from an input [batch, D]. */
static void put_start(writer *w, const char *name, const char *comment)
{
    static const onnx_attribute LAST = { .name = "axis", .n = 1, .whole = { 2 } };
    const size_t shape[] = { 0, w->agent.D };
    char column[NAME], theta[NAME];
    snprintf(column, sizeof column, "%s_column", name);
    snprintf(theta, sizeof theta, "with_%s", name);
    onnx_model_input(&w->model, name, 2, shape, comment);
    onnx_model_node(&w->model, "Unsqueeze", name, "last_axis", NULL, NULL, column);
    then(w, "Concat", column, &LAST, theta);
}

/* theta [batch, D, C + S] times a matrix -> [batch, T, D] */
static void put_product(writer *w, const path_matrices *m, const char *name, const double *matrix,
                        const char *comment)
{
    static const onnx_attribute SWAPPED = { .name = "perm", .n = 3, .whole = { 0, 2, 1 } };
    const size_t rows[] = { m->C + m->S, m->T }, shape[] = { 0, m->T, w->agent.D };
    char constant[NAME], product[NAME];
    snprintf(constant, sizeof constant, "%s_matrix", name);
    snprintf(product, sizeof product, "%s_by_joint", name);
    onnx_model_constant(&w->model, constant, ONNX_DOUBLE, 2, rows, matrix);
    onnx_model_node(&w->model, "MatMul", w->last, constant, NULL, NULL, product);
    onnx_model_node(&w->model, "Transpose", product, NULL, NULL, &SWAPPED, name);
    onnx_model_output(&w->model, name, 3, shape, comment);
}

static tce_status put_path(writer *w)
{
    path_matrices m = { 0 };
    const tce_status status = read_matrices(&w->agent, &m);
    if (status == TCE_OK) {
        /* 0: that of the batch */
        const double by_joint[] = { 0, (double)w->agent.D, (double)m.C }, two = 2.0;
        const size_t three = 3, one = 1;
        onnx_model_constant(&w->model, "by_joint", ONNX_INT64, 1, &three, by_joint);
        onnx_model_constant(&w->model, "last_axis", ONNX_INT64, 1, &one, &two);
        then(w, "Reshape", "by_joint", NULL, "theta");
        if (m.S > 0)
            put_start(w, "start_position", "where the joints are when the episode begins");
        if (m.S > 1)
            put_start(w, "start_velocity", "how fast the joints move when the episode begins");
        put_product(w, &m, "position", m.position, "desired positions at the ends of the steps");
        put_product(w, &m, "velocity", m.velocity, "desired velocities at the ends of the steps");
    }
    free(m.position);
    free(m.velocity);
    return status;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void put_number(writer *w, const char *key, double value)
{
    char text[TEXT];
    snprintf(text, sizeof text, "%.17g", value);
    onnx_model_note(&w->model, key, text);
}

/* Names of n joints, or their numbers where nobody has named them. */
static tce_status put_joints(writer *w, size_t n, const char *names)
{
    protobuf list = { 0 };
    size_t n_names = 1;
    for (const char *c = names; c && *c; c++)
        n_names += *c == ',';
    if (names && n_names != n)
        return tce_fail(TCE_E_SHAPE, "%zu joints are named, the policy moves %zu", n_names, n);
    for (size_t i = 0; !names && i < n; i++) {
        char text[TEXT];
        protobuf_append(&list, text,
                        (size_t)snprintf(text, sizeof text, i ? ",joint %zu" : "joint %zu", i));
    }
    protobuf_append(&list, "", 1);
    const tce_status status = protobuf_check(&list, "the names of joints");
    if (status == TCE_OK)
        onnx_model_note(&w->model, "joints", names ? names : (const char *)list.bytes);
    protobuf_free(&list);
    return status;
}

/* Which entries of the task's observations the policy takes. */
static tce_status put_entries(writer *w)
{
    const agent *a = &w->agent;
    protobuf list = { 0 };
    for (size_t i = 0; i < a->n_context; i++) {
        char text[TEXT];
        const int entry = a->context ? (int)a->context[i] : (int)i;
        protobuf_append(&list, text, (size_t)snprintf(text, sizeof text, i ? ",%d" : "%d", entry));
    }
    protobuf_append(&list, "", 1);
    const tce_status status = protobuf_check(&list, "the entries of observations");
    if (status == TCE_OK)
        onnx_model_note(&w->model, "observation_entries", (const char *)list.bytes);
    protobuf_free(&list);
    return status;
}

static tce_status put_texts(writer *w, const onnx_texts *texts)
{
    const agent *a = &w->agent;
    const char *const unit = texts->unit ? texts->unit : "as in the task";
    char text[2 * TEXT];
    onnx_model_note(&w->model, "task", a->task);
    onnx_model_note(&w->model, "libtce", tce_version_string());
    put_number(w, "step_seconds", a->dt);
    put_number(w, "steps", (double)a->T);
    put_number(w, "observation_size", (double)a->O);
    if (a->acts) {
        onnx_model_note(&w->model, "unit_action", unit);
    } else {
        snprintf(text, sizeof text, "%.100s per second", unit);
        onnx_model_note(&w->model, "unit_position", unit);
        onnx_model_note(&w->model, "unit_velocity", text);
        onnx_model_note(&w->model, "times",
                        "row k of a path is for the time (k + 1) step_seconds of the episode");
    }
    const tce_status status = put_entries(w);
    return status == TCE_OK ? put_joints(w, a->acts ? a->P : a->D, texts->joints) : status;
}

/* ---- the model ------------------------------------------------------------------------------- */

tce_status export_onnx(const tce_store *store, const char *name, const onnx_texts *texts,
                       protobuf *out)
{
    writer w;
    memset(&w, 0, sizeof w);
    tce_status status = agent_open(&w.agent, store, 1, NULL);
    if (status == TCE_OK)
        status = export_network_read(&w.network, store, w.agent.P);
    if (status == TCE_OK)
        status = put_inputs(&w);
    if (status == TCE_OK) {
        put_network(&w);
        status = put_outputs(&w);
    }
    if (status == TCE_OK && !w.agent.acts)
        status = put_path(&w);
    if (status == TCE_OK)
        status = put_texts(&w, texts);
    if (status == TCE_OK)
        status = onnx_model_write(&w.model, name, out);
    onnx_model_free(&w.model);
    export_network_free(&w.network);
    agent_close(&w.agent);
    return status;
}
