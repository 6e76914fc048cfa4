/*
 * A small world in which every handle of libtce works together: the toy of toy.h on the rollout, a
 * policy, a critic, and an iteration of TCE from contexts to weights, whose policy update is the
 * trainer's. For tests of what only the whole can show: threads, memory, checkpoints.
 */
#ifndef TCE_TESTS_WORLD_H
#define TCE_TESTS_WORLD_H

#include "methods/critic.h"
#include "methods/policy_update.h"

enum {
    WORLD_E = 37, /* episodes; odd, so that chunks do not divide it */
    WORLD_T = 40, /* steps, those of the toy in world.c */
    WORLD_D = 2,  /* joints */
    WORLD_B = 3,  /* basis functions */
    WORLD_P = WORLD_D * (WORLD_B + 1),
    WORLD_O = 2 * WORLD_D,
    WORLD_K = 8, /* time points */
    WORLD_J_MAX = WORLD_T
};

typedef struct world_options {
    int32_t precision;     /* TCE_NET_… */
    int32_t form;          /* TCE_POLICY_… */
    int32_t projection;    /* TCE_TRPL_… */
    int32_t n_threads;     /* 0: no pool */
    int32_t n_minibatches; /* of the critic */
    int32_t n_epochs;      /* of critic and policy */
} world_options;

typedef struct world {
    world_options options;
    uint64_t iteration;

    /* handles */
    tce_pool *pool;
    tce_mp *mp;
    tce_policy *policy;
    critic critic; /* its arrays are in `arrays` */
    tce_trpl *trpl;
    tce_segment *segment;
    tce_rollout *rollout;

    /* arrays */
    memory arrays;
    double *obs;        /* [E, T+1, O] */
    double *contexts;   /* [E, O] */
    double *init_pos;   /* [E, D] */
    double *init_vel;   /* [E, D] */
    double *old_mean;   /* [E, P] */
    double *old_L;      /* [N, P, P] */
    double *params;     /* [E, P] */
    double *times;      /* [T] */
    double *pos;        /* [E, T, D] */
    double *vel;        /* [E, T, D] */
    double *rewards;    /* [E, T] */
    double *values;     /* [E, T+1] */
    double *step_obs;   /* [E*T, O]: what the critic learns from */
    double *step_adv;   /* [E, T] */
    double *returns;    /* [E, T] */
    double *advantages; /* [E, J] */
    double *log_prob;   /* [E, J] */
    policy_update update;
    policy_report report; /* of the last iteration */
    double init_time;
    double critic_loss;
    size_t J;
    uint8_t terminated[WORLD_E * WORLD_T], dones[WORLD_E * WORLD_T];
    uint8_t mask[WORLD_E * WORLD_J_MAX];
    int32_t lengths[WORLD_E];
    int32_t pairs[2 * WORLD_J_MAX];
} world;

/* Arrays only; the handles are NULL. Fails the test without memory. */
void world_start(world *w, const world_options *options);

/*
 * All handles, with their first weights; the first failure is returned and what exists stays until
 * world_free.
 */
tce_status world_create(world *w, const tce_hooks *hooks);

/*
 * One iteration of TCE: rollout, returns, segments, critic epochs, policy epochs. Allocates
 * nothing.
 */
tce_status world_iterate(world *w);

/* Everything that the networks and the normaliser hold: out [world_num_state]. */
size_t world_num_state(const world *w);
void world_state(const world *w, double *out);

void world_free(world *w); /* handles */
void world_end(world *w);  /* and arrays */

#endif
