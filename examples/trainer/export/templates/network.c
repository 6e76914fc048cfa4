/* ---- network --------------------------------------------------------------------------------- */

#if POLICY_FLOAT
typedef float policy_real;
#else
typedef double policy_real;
#endif

#include "numbers/network.h"

static policy_real policy_activation(policy_real z)
{
#if POLICY_RELU
    return z > 0 ? z : 0;
#elif POLICY_LEAKY_RELU
    return z > 0 ? z : (policy_real)0.01 * z;
#elif POLICY_TANH
#if POLICY_FLOAT
    return tanhf(z);
#else
    return tanh(z);
#endif
#else
    return z;
#endif
}

/*
 * a [WIDEST]: inputs, then outputs. z = W a + b, layer by layer, sums in double; a = activation(z)
 * except the last. 0, or -1 when a sum is not finite.
 */
static int policy_network(policy_real *a)
{
    policy_real z[POLICY_WIDEST];
    const policy_real *W = policy_weights;
    for (int l = 0; l < POLICY_LAYERS; l++) {
        const int in = policy_widths[l], out = policy_widths[l + 1];
        for (int o = 0; o < out; o++) {
            double sum = W[out * in + o];
            for (int i = 0; i < in; i++)
                sum += (double)W[o * in + i] * a[i];
            z[o] = (policy_real)sum;
            if (!isfinite(z[o]))
                return -1;
        }
        for (int o = 0; o < out; o++)
            a[o] = l + 1 < POLICY_LAYERS ? policy_activation(z[o]) : z[o];
        W += out * in + out;
    }
    return 0;
}
