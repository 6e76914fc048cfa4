/*
 * A program outside libtce: one ProDMP path, which has to start where it was told to. Built through
 * pkg-config and CMake.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tce/tce.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, tce_error_message());
    return 1;
}

int main(void)
{
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", TCE_VERSION_MAJOR, TCE_VERSION_MINOR,
             TCE_VERSION_PATCH);
    if (tce_version() != TCE_VERSION_NUMBER || strcmp(tce_version_string(), expected) != 0)
        return fail("the library is not the version of its headers");

    tce_mp_options options;
    tce_mp_options_init(&options, sizeof options);
    options.n_dof = 2;
    options.n_basis = 3;
    tce_mp *mp = NULL;
    if (tce_mp_create(&options, NULL, &mp) != TCE_OK)
        return fail("tce_mp_create");

    const double params[8] = { 0.1, 0.2, 0.3, 1.0, -0.1, -0.2, -0.3, -1.0 };
    const double start[2] = { 0.5, -0.5 };
    const double rest[2] = { 0.0, 0.0 };
    double pos[2];
    if (tce_mp_query(mp, 0.0, params, 0.0, start, rest, pos, NULL, NULL) != TCE_OK)
        return fail("tce_mp_query");
    tce_mp_free(mp);

    printf("libtce %s: starts at %g, %g\n", tce_version_string(), pos[0], pos[1]);
    return fabs(pos[0] - start[0]) < 1e-9 && fabs(pos[1] - start[1]) < 1e-9 ? 0 : 1;
}
