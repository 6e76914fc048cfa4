/*
 * The larger of worst and (largest |got - want| over max(1, largest |want|)); not finite counts as
 * infinite.
 */
static double policy_worse(double worst, int n, const double *got, const double *want)
{
    double size = 1.0, largest = 0.0;
    for (int i = 0; i < n; i++) {
        const double off = fabs(got[i] - want[i]);
        size = fabs(want[i]) > size ? fabs(want[i]) : size;
        if (!(off <= largest))
            largest = isfinite(off) ? off : HUGE_VAL;
    }
    return largest / size > worst ? largest / size : worst;
}
