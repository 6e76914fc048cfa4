size_t policy_observation_size(void)
{
    return POLICY_OBSERVATION;
}

size_t policy_action_size(void)
{
    return POLICY_ACTION;
}

int policy_action(const double *observation, double *action)
{
    policy_real a[POLICY_WIDEST];
    if (!policy_all_finite(POLICY_OBSERVATION, observation))
        return -1;
    for (int i = 0; i < POLICY_OBSERVATION; i++)
        a[i] = (policy_real)policy_input(i, observation[i]);
    if (policy_network(a) != 0)
        return -1;
    for (int i = 0; i < POLICY_ACTION; i++)
        action[i] = policy_output(i, a[i]);
    return 0;
}
