/*
 * The replay of off-policy methods (examples/trainer/methods/replay.h): rows of several
 * environments, written beyond the end of the ring.
 */
#include "../../examples/trainer/methods/replay.h"

#include <string.h>

#include "replay.h"

static void free_arrays(void *arrays)
{
    memory_free(arrays);
}

/* A record: observation [O], action [A], reward, next observation [O], whether the task ended. */
typedef struct layout {
    size_t N, O, A, width;
} layout;

/* Field `key` [N, n] of a step into the records [N, width], from number `at` on. */
static void put_field(replay_case *c, const layout *l, const json_t *step, const char *key,
                      size_t n, size_t at, double *records)
{
    const double *x = replay_array(c, step, key, l->N * n);
    for (size_t i = 0; i < l->N; i++)
        memcpy(records + i * l->width + at, x + i * n, n * sizeof *x);
}

/* What the ring has, environment by environment, from number `at` of the records on. */
static void compare_field(replay_case *c, const layout *l, const replay *r, const char *key,
                          size_t n, size_t at)
{
    const size_t rows = (size_t)r->rows.capacity, total = l->N * rows;
    double *got = replay_zeros(c, total * n);
    for (size_t i = 0; i < total; i++) {
        const replay_place place = { (uint32_t)(i % rows), (uint32_t)(i / rows) };
        replay_gather(r, 1, &place, at, n, got + i * n, n);
    }
    replay_compare_rivals(c, c->root, key, total * n, got);
}

void replay_replay_buffer(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay r;
    memory *m = replay_block(c, 1, sizeof *m);
    replay_keep(c, m, free_arrays);
    const json_t *steps = replay_get(c, c->root, "steps"), *after = replay_get(c, c->root, "after");
    const json_t *first = json_array_get(steps, 0);
    if (!first || json_array_size(after) != json_array_size(steps))
        replay_fail(c, "there are no steps, or not as many in \"after\"");
    layout l;
    replay_shape(c, first, "observation", shape);
    l.N = shape[0];
    l.O = shape[1];
    replay_shape(c, first, "action", shape);
    l.A = shape[1];
    l.width = 2 * l.O + l.A + 2;
    const replay_options options = { .n_envs = (size_t)replay_int(c, c->root, "n_env", 1, 1000),
                                     .size = (size_t)replay_int(c, c->root, "buffer_size", 1,
                                                                1 << 20),
                                     .width = l.width,
                                     .precision = TCE_NET_DOUBLE };
    if (options.n_envs != l.N)
        replay_fail(c, "n_env is %zu, the steps have %zu environments", options.n_envs, l.N);
    replay_ok(c, replay_create(&r, &options, m));
    const double rows = (double)r.rows.capacity;
    replay_compare_rivals(c, c->root, "buffer_rows", 1, &rows);

    double *records = replay_zeros(c, l.N * l.width);
    for (size_t t = 0; t < json_array_size(steps); t++) {
        const json_t *step = json_array_get(steps, t), *then = json_array_get(after, t);
        put_field(c, &l, step, "observation", l.O, 0, records);
        put_field(c, &l, step, "action", l.A, l.O, records);
        put_field(c, &l, step, "reward", 1, l.O + l.A, records);
        put_field(c, &l, step, "next_observation", l.O, l.O + l.A + 1, records);
        put_field(c, &l, step, "terminated", 1, l.width - 1, records);
        replay_write(&r, records, NULL);
        const double position = (double)replay_position(&r), filled = (double)replay_filled(&r);
        replay_compare_rivals(c, then, "position", 1, &position);
        replay_compare_rivals(c, then, "filled", 1, &filled);
    }
    compare_field(c, &l, &r, "observations", l.O, 0);
    compare_field(c, &l, &r, "actions", l.A, l.O);
    compare_field(c, &l, &r, "rewards", 1, l.O + l.A);
    compare_field(c, &l, &r, "next_observations", l.O, l.O + l.A + 1);
    compare_field(c, &l, &r, "stored_end", 1, l.width - 1);
}
