/*
 * Brings a Gaussian that moved too far back into the trust region around the old one.
 * Run: make check-examples
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tce/gauss.h>
#include <tce/trpl.h>

enum { DIM = 3 };

static void check(tce_status status)
{
    if (status != TCE_OK) {
        fprintf(stderr, "%s: %s\n", tce_status_name(status), tce_error_message());
        exit(EXIT_FAILURE);
    }
}

int main(void)
{
    const double old_mean[DIM] = { 0, 0, 0 };
    const double old_L[DIM * DIM] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    const double mean[DIM] = { 1, -1, 0.5 };
    const double L[DIM * DIM] = { 0.5, 0, 0, 0.3, 1.2, 0, -0.2, 0.4, 0.8 };

    tce_trpl_options options;
    tce_trpl *trpl = NULL;
    tce_trpl_options_init(&options, sizeof options);
    options.dim = DIM;
    check(tce_trpl_create(&options, NULL, &trpl));

    /* how far it moved, and how far it may move */
    double new_mean[DIM], new_L[DIM * DIM], work[64], before[2], after[2];
    if (tce_gauss_work_size(1, DIM) > sizeof work / sizeof work[0])
        return EXIT_FAILURE;
    tce_gauss old_one = TCE_INIT(tce_gauss);
    old_one.n = old_one.n_scales = 1, old_one.dim = DIM;
    tce_gauss new_one = old_one;
    old_one.mean = old_mean, old_one.scale = old_L;
    new_one.mean = mean, new_one.scale = L;
    check(tce_gauss_kl(&new_one, &old_one, work, &before[0], &before[1]));
    tce_trpl_bounds bounds = TCE_INIT(tce_trpl_bounds);
    bounds.mean = 0.05, bounds.cov = 0.01;
    check(tce_trpl_project(trpl, 1, mean, L, old_mean, old_L, &bounds, new_mean, new_L));
    new_one.mean = new_mean, new_one.scale = new_L;
    check(tce_gauss_kl(&new_one, &old_one, work, &after[0], &after[1]));
    printf("KL of the mean:       %.6f -> %.6f (bound %g)\n", before[0], after[0], bounds.mean);
    printf("KL of the covariance: %.6f -> %.6f (bound %g)\n", before[1], after[1], bounds.cov);

    /*
     * a loss on the projected factor, here its trace, differentiated back to the network's own
     * factor
     */
    const double d_mean[DIM] = { 0 };
    const double d_L[DIM * DIM] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    double back_mean[DIM], back_L[DIM * DIM];
    check(tce_trpl_backward(trpl, 1, d_mean, d_L, back_mean, back_L));
    printf("d trace / d L[1,0] = %.6f\n", back_L[DIM]);

    tce_trpl_free(trpl);
    const int met = fabs(after[0] / bounds.mean - 1.0) < 1e-8 &&
                    fabs(after[1] / bounds.cov - 1.0) < 1e-8;
    return met ? EXIT_SUCCESS : EXIT_FAILURE;
}
