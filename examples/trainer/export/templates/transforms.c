/* ---- inputs and outputs ---------------------------------------------------------------------- */

#include "numbers/transforms.h"

/* Input i of the network: normalised where the policy was trained so. */
static double policy_input(int i, double x)
{
#if POLICY_NORMALISER
    const double z = (x - policy_input_mean[i]) / policy_input_std[i];
#if POLICY_INPUT_CLIP
    return z > POLICY_LARGEST ? POLICY_LARGEST : z < -POLICY_LARGEST ? -POLICY_LARGEST : z;
#else
    return z;
#endif
#else
    (void)i;
    return x;
#endif
}

/* What becomes of output i of the network: clipped or squashed into its range where it has one. */
static double policy_output(int i, double x)
{
#if POLICY_CLIP
    return x < policy_low[i] ? policy_low[i] : x > policy_high[i] ? policy_high[i] : x;
#elif POLICY_SQUASH
    return policy_low[i] + 0.5 * (tanh(x) + 1.0) * (policy_high[i] - policy_low[i]);
#else
    (void)i;
    return x;
#endif
}
