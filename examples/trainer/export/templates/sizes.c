size_t policy_context_size(void)
{
    return POLICY_CONTEXT;
}

size_t policy_num_dof(void)
{
    return POLICY_DOF;
}

size_t policy_num_params(void)
{
    return POLICY_PARAMS;
}

/* NULL counts as zeros. */
static int policy_all_finite(size_t n, const double *x)
{
    for (size_t i = 0; x && i < n; i++)
        if (!isfinite(x[i]))
            return 0;
    return 1;
}
