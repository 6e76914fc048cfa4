/*
 * State-dependent exploration [rivals 3]: noise that is linear in the last hidden layer of the
 * policy, z [F],
 *
 *     noise = Theta' z,   Theta_fd = s_fd normal_fd,   s = g(log s)
 *     variance q_d = sum_f z_f^2 s_fd^2 + 1e-6
 *
 * with a trainable log s [F, A], or [F] for all actions, and g the exponential or a function that
 * grows more slowly above 0. The vector has its own Adam.
 */
#ifndef TRAINER_GSDE_H
#define TRAINER_GSDE_H

#include <tce/tce.h>

#include "tools/memory.h"

enum { GSDE_EXP = 0, GSDE_EXPLN = 1 };

/* rows that are added up side by side */
enum { GSDE_BLOCK = 16 };

typedef struct gsde_options {
    size_t F, A;      /* width of the hidden layer, actions */
    int32_t spread;   /* GSDE_… */
    int32_t full_std; /* 1: log s is [F, A]; 0: [F] */
    double initial_std;
} gsde_options;

typedef struct gsde {
    gsde_options o;
    size_t n;                                     /* numbers in log s */
    double *log_std, *gradient, *moment, *square; /* [n] */
    double *variance;                             /* [F, A], squares of std */
    double *std;                                  /* [F, A] of log_std, by gsde_refresh */
    double *sums;                                 /* [A, F] of backward */
    double *squares;                              /* [F] of a row's features */
    double *block;                                /* [A, GSDE_BLOCK] of deviations */
    uint64_t n_steps;                             /* of Adam */
} gsde;

/* Arrays from m; log s at its start. gsde_take again with a memory that measures counts alone. */
void gsde_take(gsde *g, const gsde_options *o, memory *m);
void gsde_start(gsde *g);

/* s of the present log s; after every change of it */
void gsde_refresh(gsde *g);

/* hidden [n, F] -> out [n, A], sqrt(q) */
void gsde_deviations(const gsde *g, size_t n, const double *hidden, double *out);

/* normals [F, A] -> out [F, A], a matrix Theta */
void gsde_matrix(const gsde *g, const double *normals, double *out);

/* out [A] = Theta' z */
void gsde_noise(const gsde *g, const double *matrix, const double *hidden, double *out);

/*
 * From d_deviations [n, A] to the gradient of log s, overwritten. out_d_hidden [n, F] or NULL: PPO
 * learns features through the mean only.
 */
void gsde_backward(gsde *g, size_t n, const double *hidden, const double *deviations,
                   const double *d_deviations, double *out_d_hidden);

double gsde_gradient_norm(const gsde *g);
void gsde_scale_gradient(gsde *g, double factor);
tce_status gsde_adam_step(gsde *g, const tce_adam_options *adam);

tce_status gsde_save(const gsde *g, tce_store *store, const char *prefix);
tce_status gsde_load(gsde *g, const tce_store *store, const char *prefix);

#endif
