/*
 * What the ranks of a pool tell each other besides sums: whether one of them has failed.
 */
#include <string.h>

#include "base/internal.h"

/* at <- bytes of each rank's piece, when all have `size` of them */
static void even_pieces(const tce__ranks *ranks, size_t size, size_t *at)
{
    for (int32_t r = 0; r <= ranks->n; r++)
        at[r] = (size_t)r * size;
}

/* A rank that failed still takes part, so that nobody waits for ever. */
tce_status tce__ranks_agree(const tce__ranks *ranks, tce_status status)
{
    int32_t lowest = 0;
    tce_status gathered;

    ranks->statuses[ranks->rank] = status;
    even_pieces(ranks, sizeof *ranks->statuses, ranks->send_at);
    gathered = ranks->gather(ranks->user, ranks->statuses, ranks->send_at);
    if (gathered != TCE_OK)
        return gathered;
    while (lowest < ranks->n && ranks->statuses[lowest] == TCE_OK)
        lowest++;
    if (lowest == ranks->n)
        return TCE_OK;

    /* its message is the only piece */
    if (lowest == ranks->rank) {
        const char *message = tce_error_message();
        memset(ranks->message, 0, TCE__RANKS_MESSAGE);
        strncpy(ranks->message, message, TCE__RANKS_MESSAGE - 1);
    }
    for (int32_t r = 0; r <= ranks->n; r++)
        ranks->send_at[r] = r > lowest ? TCE__RANKS_MESSAGE : 0;
    gathered = ranks->gather(ranks->user, ranks->message, ranks->send_at);
    return gathered == TCE_OK ? tce_fail(ranks->statuses[lowest], "%s", ranks->message) : gathered;
}
