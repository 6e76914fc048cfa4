/*
 * ONNX in protobuf wire format. Of onnx.proto (IR version 7):
 *     Model { int64 ir_version = 1; string producer_name = 2; string producer_version = 3;
 *             Graph graph = 7; OperatorSet opset_import = 8; Entry metadata_props = 14 }
 *     OperatorSet { int64 version = 2 }    Entry { string key = 1; string value = 2 }
 *     Graph { Node node = 1; string name = 2; Tensor initializer = 5; Value input = 11;
 *             Value output = 12 }
 *     Node { string input = 1; string output = 2; string name = 3; string op_type = 4;
 *            Attribute attribute = 5 }
 *     Attribute { string name = 1; float f = 2; int64 i = 3; int64 ints = 8; Type type = 20 }
 *     Tensor { int64 dims = 1; int32 data_type = 2; string name = 8; bytes raw_data = 9 }
 *     Value { string name = 1; Type type = 2; string doc_string = 3 }
 *     Type { TensorType tensor_type = 1 }    TensorType { int32 elem_type = 1; Shape shape = 2 }
 *     Shape { Dim dim = 1 }    Dim { int64 dim_value = 1; string dim_param = 2 }
 * raw_data is little-endian, as is every machine that libtce compiles for.
 */
#include "export/onnx_model.h"

#include <string.h>

enum { IR_VERSION = 7, OPSET = 13 };

enum {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_NOTE = 14
};
enum { OPSET_VERSION = 2 };
enum { NOTE_KEY = 1, NOTE_TEXT = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_CONSTANT = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_REAL = 2, ATTRIBUTE_WHOLE = 3, ATTRIBUTE_LIST = 8 };
enum { ATTRIBUTE_TYPE = 20, TYPE_REAL = 1, TYPE_WHOLE = 2, TYPE_LIST = 7 };
enum { TENSOR_SIZE = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_BYTES = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, VALUE_COMMENT = 3 };
enum { TYPE_TENSOR = 1, TENSOR_TYPE_NUMBER = 1, TENSOR_TYPE_SHAPE = 2 };
enum { SHAPE_SIZE = 1, SIZE_NUMBER = 1, SIZE_NAME = 2 };

/* ---- tensors --------------------------------------------------------------------------------- */

static void put_value(onnx_model *m, uint32_t field, const char *name, size_t rank,
                      const size_t *shape, const char *comment)
{
    protobuf *const value = &m->part[0], *const type = &m->part[1], *const sizes = &m->part[2],
                    *const size = &m->part[3];
    protobuf_clear(sizes);
    for (size_t i = 0; i < rank; i++) {
        protobuf_clear(size);
        if (shape[i] == 0)
            protobuf_text(size, SIZE_NAME, "batch");
        else
            protobuf_int(size, SIZE_NUMBER, (int64_t)shape[i]);
        protobuf_message(sizes, SHAPE_SIZE, size);
    }
    protobuf_clear(type);
    protobuf_int(type, TENSOR_TYPE_NUMBER, ONNX_DOUBLE);
    protobuf_message(type, TENSOR_TYPE_SHAPE, sizes);
    protobuf_clear(size);
    protobuf_message(size, TYPE_TENSOR, type);
    protobuf_clear(value);
    protobuf_text(value, VALUE_NAME, name);
    protobuf_message(value, VALUE_TYPE, size);
    protobuf_text(value, VALUE_COMMENT, comment);
    protobuf_message(&m->graph, field, value);
}

void onnx_model_input(onnx_model *m, const char *name, size_t rank, const size_t *shape,
                      const char *comment)
{
    put_value(m, GRAPH_INPUT, name, rank, shape, comment);
}

void onnx_model_output(onnx_model *m, const char *name, size_t rank, const size_t *shape,
                       const char *comment)
{
    put_value(m, GRAPH_OUTPUT, name, rank, shape, comment);
}

/* One number in the bytes of a type; returns how many these are. */
static size_t to_bytes(int type, double value, uint8_t bytes[8])
{
    const float real = (float)value;
    const int64_t whole = type == ONNX_INT64 ? (int64_t)value : 0;
    if (type == ONNX_FLOAT)
        memcpy(bytes, &real, sizeof real);
    else if (type == ONNX_INT64)
        memcpy(bytes, &whole, sizeof whole);
    else
        memcpy(bytes, &value, sizeof value);
    return type == ONNX_FLOAT ? sizeof real : 8;
}

void onnx_model_constant(onnx_model *m, const char *name, int type, size_t rank,
                         const size_t *shape, const double *values)
{
    protobuf *const tensor = &m->part[0], *const bytes = &m->part[1];
    size_t n = 1;
    protobuf_clear(tensor);
    for (size_t i = 0; i < rank; i++) {
        protobuf_int(tensor, TENSOR_SIZE, (int64_t)shape[i]);
        n *= shape[i];
    }
    protobuf_int(tensor, TENSOR_TYPE, type);
    protobuf_text(tensor, TENSOR_NAME, name);
    protobuf_clear(bytes);
    for (size_t i = 0; i < n; i++) {
        uint8_t number[8];
        protobuf_append(bytes, number, to_bytes(type, values[i], number));
    }
    protobuf_message(tensor, TENSOR_BYTES, bytes);
    protobuf_message(&m->graph, GRAPH_CONSTANT, tensor);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_attribute(protobuf *out, const onnx_attribute *a, int is_list)
{
    protobuf_clear(out);
    protobuf_text(out, ATTRIBUTE_NAME, a->name);
    if (a->n == 0)
        protobuf_float(out, ATTRIBUTE_REAL, a->real);
    for (size_t i = 0; i < a->n; i++)
        protobuf_int(out, is_list ? ATTRIBUTE_LIST : ATTRIBUTE_WHOLE, a->whole[i]);
    protobuf_int(out, ATTRIBUTE_TYPE, a->n == 0 ? TYPE_REAL : is_list ? TYPE_LIST : TYPE_WHOLE);
}

void onnx_model_node(onnx_model *m, const char *op, const char *a, const char *b, const char *c,
                     const onnx_attribute *attribute, const char *out)
{
    protobuf *const node = &m->part[0];
    const char *const inputs[] = { a, b, c };
    protobuf_clear(node);
    for (size_t i = 0; i < 3; i++)
        if (inputs[i])
            protobuf_text(node, NODE_INPUT, inputs[i]);
    protobuf_text(node, NODE_OUTPUT, out);
    protobuf_text(node, NODE_NAME, out);
    protobuf_text(node, NODE_OP, op);
    if (attribute) {
        put_attribute(&m->part[1], attribute, attribute->n > 1);
        protobuf_message(node, NODE_ATTRIBUTE, &m->part[1]);
    }
    protobuf_message(&m->graph, GRAPH_NODE, node);
}

/* ---- the file -------------------------------------------------------------------------------- */

void onnx_model_note(onnx_model *m, const char *key, const char *text)
{
    protobuf *const note = &m->part[0];
    protobuf_clear(note);
    protobuf_text(note, NOTE_KEY, key);
    protobuf_text(note, NOTE_TEXT, text);
    protobuf_message(&m->notes, MODEL_NOTE, note);
}

tce_status onnx_model_write(const onnx_model *m, const char *name, protobuf *out)
{
    protobuf graph = { 0 }, opset = { 0 };
    protobuf_text(&graph, GRAPH_NAME, name);
    protobuf_append(&graph, m->graph.bytes, m->graph.n);
    protobuf_int(&opset, OPSET_VERSION, OPSET);

    protobuf_int(out, MODEL_IR_VERSION, IR_VERSION);
    protobuf_text(out, MODEL_PRODUCER, "libtce");
    protobuf_text(out, MODEL_PRODUCER_VERSION, tce_version_string());
    protobuf_message(out, MODEL_GRAPH, &graph);
    protobuf_message(out, MODEL_OPSET, &opset);
    protobuf_append(out, m->notes.bytes, m->notes.n);
    out->failed |= m->graph.failed | m->notes.failed;
    protobuf_free(&graph);
    protobuf_free(&opset);
    return protobuf_check(out, "an ONNX model");
}

void onnx_model_free(onnx_model *m)
{
    protobuf_free(&m->graph);
    protobuf_free(&m->notes);
    for (size_t i = 0; i < sizeof m->part / sizeof m->part[0]; i++)
        protobuf_free(&m->part[i]);
}
