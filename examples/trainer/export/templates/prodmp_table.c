/*
 * y1, y2 and the basis at scaled time u, position then velocity, [2, STATE]: linear between the
 * points of the table
 */
static void policy_state(double u, double origin, double *out)
{
    const double r = u * POLICY_TABLE_RATE;
    const double last = (double)(POLICY_TABLE_LAST - 1);
    const double k = r < last ? floor(r) : last;
    const double *a = policy_table + (size_t)k * (2 * POLICY_STATE);
    const double *b = a + 2 * POLICY_STATE;
    (void)origin;
    for (int j = 0; j < 2 * POLICY_STATE; j++)
        out[j] = a[j] + (r - k) * (b[j] - a[j]);
}

static int policy_time_is_fine(double u, double u_b)
{
    (void)u_b;
    return u <= POLICY_TABLE_LENGTH * (1.0 + 1e-12);
}
