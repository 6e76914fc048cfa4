/* Additions of one precision; included by base_parts.c for each. */
/* sum [n] += part */
static TCE__VECTOR void ADD_ROW(size_t n, const void *part, void *sum)
{
    const REAL *restrict x = part;
    REAL *restrict y = sum;

    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

/*
 * Columns first ... last - 1 of a tree, in blocks, as work of a pool.
 */
static TCE__VECTOR tce_status ADD_COLUMNS(void *context, size_t chunk, size_t first, size_t last,
                                          int32_t worker)
{
    const tree *t = context;
    REAL *const parts = t->parts;
    REAL *const out = t->out;
    (void)chunk;
    (void)worker;

    for (size_t begin = first; begin < last; begin += BLOCK) {
        const size_t size = last - begin < BLOCK ? last - begin : BLOCK;
        for (size_t span = 1; span < t->n_parts; span *= 2)
            for (size_t p = 0; p + span < t->n_parts; p += 2 * span) {
                REAL *restrict sum = parts + p * t->n + begin;
                const REAL *restrict part = parts + (p + span) * t->n + begin;
                for (size_t i = 0; i < size; i++)
                    sum[i] += part[i];
            }
        if (t->n_parts == 0)
            memset(out + begin, 0, size * sizeof *out);
        else if (out != parts)
            memcpy(out + begin, parts + begin, size * sizeof *out);
    }
    return TCE_OK;
}
