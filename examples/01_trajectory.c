/*
 * A ProDMP path from parameters, and replanning halfway without a jump.   Run: make check-examples,
 * or build/examples/01_trajectory
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tce/mp.h>

enum { D = 2, B = 5, P = D * (B + 1), T = 11 };

static void check(tce_status status)
{
    if (status != TCE_OK) {
        fprintf(stderr, "%s: %s\n", tce_status_name(status), tce_error_message());
        exit(EXIT_FAILURE);
    }
}

int main(void)
{
    /* two joints, one second */
    tce_mp_options options;
    tce_mp *mp = NULL;
    tce_mp_options_init(&options, sizeof options);
    options.n_dof = D;
    options.n_basis = B;
    options.tau = 1.0;
    options.dt = 0.01;
    check(tce_mp_create(&options, NULL, &mp));

    /* parameters: weights of the forcing, then the goal, joint by joint */
    double params[P] = { 0 };
    params[1] = 3.0; /* joint 0 swings out early … */
    params[B] = 1.0; /* … and goes to its goal */
    params[2 * B + 1] = -0.5;

    /* the whole path at eleven times, from rest at zero */
    double times[T], pos[T * D], vel[T * D];
    const double start = 0.0;
    for (int i = 0; i < T; i++)
        times[i] = 0.1 * i;
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = T;
    grid.n_time_rows = grid.n_init_times = 1;
    grid.times = times;
    grid.init_time = &start;
    check(tce_mp_trajectory(mp, &grid, params, pos, vel, NULL));
    printf("   t   joint 0   joint 1\n");
    for (int i = 0; i < T; i++)
        printf("%4.1f  %8.4f  %8.4f\n", times[i], pos[i * D], pos[i * D + 1]);

    /* at t = 0.5 the goal moves: start a new plan from where the arm is */
    const double *now_pos = pos + 5 * D, *now_vel = vel + 5 * D;
    double new_pos[D], new_vel[D];
    params[B] = 2.0;
    check(tce_mp_query(mp, 0.5, params, 0.5, now_pos, now_vel, new_pos, new_vel, NULL));
    const double jump = fabs(new_pos[0] - now_pos[0]) + fabs(new_vel[0] - now_vel[0]);
    check(tce_mp_query(mp, 1.0, params, 0.5, now_pos, now_vel, new_pos, new_vel, NULL));
    printf("replanned at 0.5: jump %.1e, joint 0 at t = 1 is now %.4f\n", jump, new_pos[0]);

    tce_mp_free(mp);
    return jump < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
