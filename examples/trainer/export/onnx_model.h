/*
 * An ONNX model, written node by node: a graph of named tensors. It has the operators of opset 13,
 * which onnxruntime knows since 1.6.
 */
#ifndef TRAINER_ONNX_MODEL_H
#define TRAINER_ONNX_MODEL_H

#include "tools/protobuf.h"

/* Types of numbers, as the format counts them. */
enum { ONNX_FLOAT = 1, ONNX_INT64 = 7, ONNX_DOUBLE = 11 };

enum { ONNX_MAX_RANK = 4 };

/* Starts as { 0 }; what there was no memory for is said by onnx_model_write. */
typedef struct onnx_model {
    protobuf graph, notes;
    protobuf part[4]; /* messages on the way into the graph, each inside the one before it */
} onnx_model;

/*
 * A tensor of doubles that comes in or goes out. shape [rank]: a size of 0 is that of the batch.
 */
void onnx_model_input(onnx_model *m, const char *name, size_t rank, const size_t *shape,
                      const char *comment);
void onnx_model_output(onnx_model *m, const char *name, size_t rank, const size_t *shape,
                       const char *comment);

/* A tensor of numbers, row by row, rounded to the type. */
void onnx_model_constant(onnx_model *m, const char *name, int type, size_t rank,
                         const size_t *shape, const double *values);

/* What a node has beside its inputs: whole numbers [n], or one real number where n is 0. */
typedef struct onnx_attribute {
    const char *name;
    size_t n;
    int64_t whole[ONNX_MAX_RANK];
    float real;
} onnx_attribute;

/* out = op(a, b, c); b and c may be NULL, attribute too. */
void onnx_model_node(onnx_model *m, const char *op, const char *a, const char *b, const char *c,
                     const onnx_attribute *attribute, const char *out);

/* A text about the model, for its users. */
void onnx_model_note(onnx_model *m, const char *key, const char *text);

/* The file of the model: out is empty before, and the caller's to free. TCE_E_NOMEM. */
tce_status onnx_model_write(const onnx_model *m, const char *name, protobuf *out);
void onnx_model_free(onnx_model *m);

#endif
