/* NULL counts as zeros. */
static int policy_all_finite(size_t n, const double *x)
{
    for (size_t i = 0; x && i < n; i++)
        if (!isfinite(x[i]))
            return 0;
    return 1;
}
