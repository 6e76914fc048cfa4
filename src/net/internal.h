/*
 * What the files of net share, and what policy uses of it: the handle, the kernels of one
 * precision, the place of a network inside another handle's block.
 *
 * A batch of n rows is cut into parts, which run on the pool, and a part into chunks of nearly
 * equal size. Both depend on n only. Within a chunk the activations lie layer after layer: [rows,
 * width 0], [rows, width 1], ...
 */
#ifndef TCE_NET_INTERNAL_H
#define TCE_NET_INTERNAL_H

#include <tce/net.h>

#include "base/internal.h"
#include "store/field.h"

/*
 * Most rows of a chunk: the smallest parts are one chunk, and the activations of larger ones stay
 * in the cache. gemm is at its full rate from 256 rows on (measured: 64 rows 85 %, 128 rows 93 %,
 * 256 and more 98 % and above).
 */
#define TCE__NET_CHUNK_ROWS 512

/* Most hidden layers. */
#define TCE__NET_MAX_HIDDEN 64

/* Rows x[rows[i]], or x[i] when rows is NULL. */
typedef struct tce__net_input {
    const double *x;
    const uint32_t *rows;
} tce__net_input;

/* What one worker needs for one chunk. */
typedef struct tce__net_scratch {
    void *a;        /* [rows, row_size] activations */
    void *delta[2]; /* [rows, max_width] gradients of this layer and of the one before */
    void *sums;     /* [max_width] column sums */
    double *out;    /* [rows, n_out] */
    double *d_out;  /* [rows, n_out] */
} tce__net_scratch;

/* The numbers of one Adam step. */
typedef struct tce__adam_scalars {
    double l2;
    double beta1;
    double beta2;
    double step; /* learning rate / (1 - beta1^t) */
    double root; /* 1/sqrt(1 - beta2^t) */
    double epsilon;
} tce__adam_scalars;

/* The arithmetic of one precision; void * are arrays of its reals. */
typedef struct tce__net_kernels {
    size_t size;        /* bytes of a real */
    int32_t store_type; /* TCE_STORE_F32 or TCE_STORE_F64 */
    double largest;     /* largest finite real */
    void (*load)(size_t n_in, const tce__net_input *input, size_t begin, size_t end, void *a);
    void (*forward)(const tce_net *net, size_t n, void *a);
    /* the same with two arrays [rows, max_width], the inputs in the first; returns the outputs */
    const void *(*evaluate)(const tce_net *net, size_t n, void *a, void *b);
    void (*backward)(const tce_net *net, size_t n, const void *a, const tce__net_scratch *scratch,
                     const double *d_out, void *gradient, double *d_x);
    void (*average)(size_t n, double share, const void *other, void *x);
    tce_status (*sum_parts)(const tce__parts *parts, size_t n, void *x, void *out);
    double (*sum_of_squares)(size_t n, const void *x);
    void (*scale)(size_t n, double factor, void *x);
    void (*adam)(size_t n, const tce__adam_scalars *s, const void *gradient, void *weights,
                 void *moment, void *square);
    void (*to_double)(size_t n, const void *x, double *out);
    void (*from_double)(size_t n, const double *x, void *out);
} tce__net_kernels;

extern const tce__net_kernels tce__net_float;
extern const tce__net_kernels tce__net_double;

struct tce_net {
    tce_hooks hooks;
    tce_pool *pool;
    const tce__net_kernels *kernels;
    size_t n_layers; /* hidden layers + 1 */
    size_t *width;   /* [n_layers + 1], inputs first */
    size_t *offset;  /* [n_layers + 1] where a layer's weights begin */
    size_t *column;  /* [n_layers + 1] reals a row of a chunk has before the layer */
    size_t row_size; /* sum of the widths */
    size_t max_width;
    size_t n_in;
    size_t n_out;
    size_t n_weights;
    size_t max_batch; /* most rows of forward */
    size_t max_rows;  /* rows of the largest chunk */
    size_t max_parts;
    size_t max_pass;   /* most rows of a pass */
    size_t parts_size; /* bytes */
    size_t remembered; /* rows of the last forward, 0 when backward has nothing to stand on */
    int32_t remembered_split; /* whether ranks split it: each has the activations of its rows */
    int32_t activation;
    int32_t start;
    double gain_hidden;
    double gain_out;
    uint64_t n_steps;  /* Adam steps done */
    void *weights;     /* [n_weights] */
    void *gradient;    /* [n_weights] */
    void *spare;       /* [n_weights] where a batch of one part adds up its gradient */
    void *moment;      /* [n_weights] Adam's running mean of the gradient */
    void *square;      /* [n_weights] and of its square */
    void *parts;       /* [max_parts, n_weights] gradients; start uses it for its matrices */
    double *part_sums; /* [max_parts, TCE_NET_MAX_SUMS] */
    void *memory;      /* [max_batch, row_size] activations of the last forward */
    tce__net_scratch *scratch; /* [threads] */
};

/*
 * A network inside another handle's block: plan checks the options and computes the sizes, layout
 * measures or carves, place makes the carved network usable.
 */
tce_status tce__net_plan(const tce_net_options *options, tce_net *out);
tce_net *tce__net_layout(tce_net *plan, tce__arena *arena);
void tce__net_place(const tce_net_options *options, const tce_net *plan, tce_net *out);

/* TCE_OK, or TCE_E_VALUE naming name[i]: not finite, or too large for the network's precision. */
tce_status tce__net_check_weights(const tce_net *net, const char *name, const double *x);
/* Weights without a check, for callers that made it. */
void tce__net_set_weights(tce_net *net, const double *x);

/*
 * Adam in two halves, for handles that must check several gradients before any of them is used:
 * check the options, check a gradient's norm, then step, which cannot fail.
 */
tce_status tce__adam_read(const tce_adam_options *given, tce_adam_options *out);
tce_status tce__adam_check_norm(const tce__net_kernels *kernels, double norm);
tce__adam_scalars tce__adam_prepare(const tce_adam_options *adam, uint64_t step);
void tce__net_adam(tce_net *net, const tce_adam_options *adam);

/* load in two halves, so that a bad store changes nothing: read cannot fail after check. */
tce_status tce__net_load_check(const tce_net *net, const tce_store *store, const char *prefix);
tce_status tce__net_load_read(tce_net *net, const tce_store *store, const char *prefix);

/* What a saved network's arrays say about its options. */
typedef struct tce__net_shape {
    int32_t n_in;
    int32_t n_out;
    int32_t n_hidden;
    int32_t activation;
    int32_t precision;
    int32_t hidden[TCE__NET_MAX_HIDDEN];
} tce__net_shape;

tce_status tce__net_saved_shape(const tce_store *store, const char *prefix, tce__net_shape *out);

#endif
