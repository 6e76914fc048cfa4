size_t policy_context_size(void)
{
    return POLICY_CONTEXT;
}

size_t policy_n_dof(void)
{
    return POLICY_DOF;
}

size_t policy_n_params(void)
{
    return POLICY_PARAMS;
}

int policy_parameters(const double *context, double *params)
{
    policy_real a[POLICY_WIDEST];
    if (!policy_all_finite(POLICY_CONTEXT, context))
        return -1;
    for (int i = 0; i < POLICY_INPUTS; i++)
        a[i] = (policy_real)policy_input(i, i < POLICY_CONTEXT ? context[i] : 0.0);
    if (policy_network(a) != 0)
        return -1;
    for (int i = 0; i < POLICY_PARAMS; i++)
        params[i] = policy_output(i, a[i]);
    return 0;
}
