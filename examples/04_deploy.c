/*
 * A trained policy on a robot: from a context to a whole trajectory, and to single points in time.
 * Run: build/examples/04_deploy runs/.../policy.safetensors; without a file it uses an untrained
 * policy, to show the calls.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tce/tce.h>

enum { T = 10 };

static void check(tce_status status)
{
    if (status != TCE_OK) {
        fprintf(stderr, "%s: %s\n", tce_status_name(status), tce_error_message());
        exit(EXIT_FAILURE);
    }
}

/* What a training run leaves, without the training: two joints, three numbers of context. */
static tce_store *untrained(void)
{
    tce_store *store = NULL;
    tce_mp *mp = NULL;
    tce_policy *policy = NULL;
    tce_random random;
    tce_mp_options primitive;
    tce_policy_options options;
    tce_mp_options_init(&primitive, sizeof primitive);
    primitive.n_dof = 2;
    check(tce_mp_create(&primitive, NULL, &mp));
    tce_policy_options_init(&options, sizeof options);
    options.n_obs = 3;
    options.n_dims = (int32_t)tce_mp_n_params(mp);
    check(tce_policy_create(&options, NULL, &policy));
    tce_random_start(&random, 1, 0, 0, 0);
    check(tce_policy_start(policy, &random));
    check(tce_store_create(NULL, &store));
    check(tce_policy_save(policy, store, "policy"));
    check(tce_mp_save(mp, store, "mp"));
    tce_policy_free(policy);
    tce_mp_free(mp);
    return store;
}

int main(int argc, char **argv)
{
    tce_store *store = NULL;
    tce_policy *policy = NULL;
    tce_mp *mp = NULL;
    if (argc > 1)
        check(tce_store_load(argv[1], NULL, &store));
    else
        store = untrained();
    check(tce_policy_create_from(store, "policy", NULL, NULL, &policy));
    check(tce_mp_create_from(store, "mp", NULL, &mp));
    tce_store_free(store);

    /* once, at the start: context -> parameters; if the last input is the time, it is 0 here */
    const size_t P = tce_mp_n_params(mp), D = tce_mp_n_dof(mp), O = tce_policy_n_obs(policy);
    if (tce_policy_n_dims(policy) != P)
        return fprintf(stderr, "the policy and its primitive do not belong together\n"), 1;
    const size_t W = tce_policy_work_size(policy, 1);
    double *context = calloc(O + P + W + T * D + 2 * D, sizeof *context), times[T];
    double *params = context + O, *work = params + P, *pos = work + W, *now = pos + T * D;
    if (!context)
        return EXIT_FAILURE;
    context[0] = 0.5;
    check(tce_policy_mean(policy, 1, context, work, params));

    /* the whole path from rest at zero */
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    for (int i = 0; i < T; i++)
        times[i] = 0.1 * (i + 1);
    grid.E = 1;
    grid.T = T;
    grid.times = times;
    check(tce_mp_trajectory(mp, &grid, params, pos, NULL, NULL));

    /* or each control step by itself: no allocation, no locks */
    double worst = 0.0;
    for (int i = 0; i < T; i++) {
        check(tce_mp_query(mp, times[i], params, 0.0, NULL, NULL, now, now + D, NULL));
        printf("%4.1f s  joint 0 at %8.5f, moving at %8.5f\n", times[i], now[0], now[D]);
        for (size_t d = 0; d < D; d++)
            worst = fmax(worst, fabs(now[d] - pos[(size_t)i * D + d]));
    }
    printf("path and single steps differ by %.1e\n", worst);
    free(context);
    tce_policy_free(policy);
    tce_mp_free(mp);
    return worst < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
