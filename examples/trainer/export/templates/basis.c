/* The argument of the basis functions at scaled time s. */
static double policy_phase(double s)
{
#if POLICY_RHYTHMIC
    const double x = s - floor(s);
    return x < 1.0 ? x : 0.0;
#elif POLICY_SMOOTH
    const double z = s > 0.0 ? (s < 1.0 ? s : 1.0) : 0.0;
    return z * z * z * (10.0 + z * (6.0 * z - 15.0));
#elif POLICY_PROMP
    return s > 0.0 ? (s < 1.0 ? s : 1.0) : 0.0;
#else
    return exp(-POLICY_ALPHA_PHASE * (s > 0.0 ? s : 0.0));
#endif
}

static double policy_log_basis(int i, double x)
{
#if POLICY_RHYTHMIC
    return policy_width[i] * (cos(2.0 * 3.14159265358979323846 * (x - policy_centre[i])) - 1.0);
#else
    const double offset = x - policy_centre[i];
    return -0.5 * policy_width[i] * offset * offset;
#endif
}

#if POLICY_NORMALISED
/*
 * phi_1 ... phi_B at x, normalised; exponents relative to the largest, so that far from every
 * centre they stay finite
 */
static void policy_basis(double x, double *phi)
{
    double largest = -HUGE_VAL, sum = 0.0;
    for (int i = 0; i < POLICY_BASIS; i++) {
        phi[i] = policy_log_basis(i, x);
        largest = phi[i] > largest ? phi[i] : largest;
    }
    for (int i = 0; i < POLICY_BASIS; i++) {
        phi[i] = exp(phi[i] - largest);
        sum += phi[i];
    }
    for (int i = 0; i < POLICY_BASIS; i++)
        phi[i] /= sum;
}
#else
/* phi_1 ... phi_B at x */
static void policy_basis(double x, double *phi)
{
    for (int i = 0; i < POLICY_BASIS; i++)
        phi[i] = exp(policy_log_basis(i, x));
}
#endif
