/*
 * The program of main.c in C++11 through tce.hpp; also that a status arrives as an exception with
 * its message.
 */
#include <cmath>
#include <cstdio>
#include <cstring>

#include <tce/tce.hpp>

int main()
{
    try {
        tce::mp_options options;
        options.n_dof = 2;
        options.n_basis = 3;
        tce::mp mp(options);
        const tce::doubles params(mp.n_params(), 0.5);
        const tce::doubles start = { 0.5, -0.5 };
        tce::doubles pos, vel;
        mp.query(0.0, params, 0.0, start, {}, pos, vel);
        std::printf("libtce %s: starts at %g, %g\n", tce_version_string(), pos[0], pos[1]);
        if (std::fabs(pos[0] - start[0]) > 1e-9 || std::fabs(pos[1] - start[1]) > 1e-9)
            return 1;

        options.tau = -1.0;
        tce::mp refused(options);
    } catch (const tce::error &e) {
        return e.status() == TCE_E_VALUE && std::strstr(e.what(), "tau") != nullptr ? 0 : 1;
    }
    return 1;
}
