/*
 * A distribution over movements, conditioned on via-points, and two movements blended into one.
 * Run: make check-examples
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tce/mp.h>

enum { D = 1, B = 6, P = B + 1 };

static void check(tce_status status)
{
    if (status != TCE_OK) {
        fprintf(stderr, "%s: %s\n", tce_status_name(status), tce_error_message());
        exit(EXIT_FAILURE);
    }
}

int main(void)
{
    tce_mp_options options;
    tce_mp *mp = NULL;
    tce_mp_options_init(&options, sizeof options);
    options.n_dof = D;
    options.n_basis = B;
    check(tce_mp_create(&options, NULL, &mp));

    /* before: any movement; every parameter is a standard normal */
    double mean[P] = { 0 }, L[P * P] = { 0 };
    for (int i = 0; i < P; i++)
        L[i * P + i] = 1.0;

    /* after: near 0.2 at 0.4 s, moving there at 0.5 per second, and near 1 at 1 s */
    const tce_mp_via via[] = {
        { .time = 0.4, .value = 0.2, .tolerance = 1e-3 },
        { .time = 0.4, .value = 0.5, .tolerance = 1e-2, .order = 1 },
        { .time = 1.0, .value = 1.0, .tolerance = 1e-3 },
    };
    const double zero[D] = { 0 };
    double *work = malloc(tce_mp_work_size(mp) * sizeof *work);
    if (!work)
        return EXIT_FAILURE;
    check(tce_mp_condition(mp, 3, via, 0.0, zero, zero, mean, L, work, mean, L));
    free(work);
    double pos, vel, end, std;
    const double at = 0.4;
    check(tce_mp_query(mp, at, mean, 0.0, zero, zero, &pos, &vel, NULL));
    check(tce_mp_query(mp, 1.0, mean, 0.0, zero, zero, &end, NULL, NULL));
    check(tce_mp_covariance(mp, 1, &at, 0.0, L, 0.0, 0, NULL, &std));
    printf("conditioned: y(0.4) = %.4f +- %.4f, dy(0.4) = %.3f, y(1) = %.4f\n", pos, std, vel, end);

    /* blend this movement into one that returns to zero, between 0.5 and 0.8 s */
    const double home[P] = { 0 };
    tce_mp_plan from = TCE_INIT(tce_mp_plan);
    from.mp = mp;
    from.params = mean;
    from.init_pos = from.init_vel = zero;
    tce_mp_plan to = from;
    to.params = home;
    double times[6], path[6];
    for (int i = 0; i < 6; i++)
        times[i] = 0.4 + 0.1 * i;
    check(tce_mp_blend(&from, &to, 0.5, 0.8, 6, times, path, NULL, NULL));
    for (int i = 0; i < 6; i++)
        printf("blend y(%.1f) = %.4f\n", times[i], path[i]);

    tce_mp_free(mp);
    return fabs(pos - 0.2) < 0.01 && fabs(end - 1.0) < 0.01 && fabs(path[5]) < 1e-12 ? EXIT_SUCCESS
                                                                                     : EXIT_FAILURE;
}
