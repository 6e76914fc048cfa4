/*
 * How a policy that acts at every step explored around its mean in training, as its file says. On a
 * robot it acts without noise; plots show how it explored.
 */
#ifndef TRAINER_EXPLORATION_H
#define TRAINER_EXPLORATION_H

#include <tce/tce.h>

enum {
    EXPLORATION_UNKNOWN = 0,  /* older files, and policies that plan movements */
    EXPLORATION_WHITE = 1,    /* fresh normal numbers for every action and step */
    EXPLORATION_HELD = 2,     /* a matrix times the last hidden layer, held for some steps */
    EXPLORATION_COLOURED = 3, /* normal numbers that are correlated over time */
};

typedef struct exploration {
    int32_t form;       /* EXPLORATION_… */
    int32_t every;      /* of HELD: steps until the matrix is drawn again */
    size_t n_features;  /* F: width of the last hidden layer */
    const double *std;  /* [F, A] of the matrix's entries */
    double beta;        /* of COLOURED: power falls as f^-beta */
    int64_t chunk;      /* numbers that are drawn together; those of two chunks are independent */
    int64_t max_period; /* in steps; frequencies below its own have no more power; 0: all do */
} exploration;

/* As arrays exploration.… of a policy of A actions; nothing when it is unknown. */
tce_status exploration_save(const exploration *e, size_t A, tce_store *store);
/*
 * TCE_E_SHAPE, TCE_E_VALUE: not what a policy of A actions can have. The store must outlive *out.
 */
tce_status exploration_load(exploration *out, size_t A, const tce_store *store);

#endif
