/*
 * The nearest word by Levenshtein's distance.
 */
#include <stdint.h>
#include <string.h>

#include "tools/words.h"

/* Levenshtein distance of short words; longer ones count as far apart. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { MOST = 64 };
    size_t row[MOST + 1];
    const size_t n_a = strlen(a), n_b = strlen(b);
    if (n_a > MOST || n_b > MOST)
        return SIZE_MAX;
    for (size_t j = 0; j <= n_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t best = replaced < row[j] + 1 ? replaced : row[j] + 1;
            best = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n_b];
}

void nearest_start(nearest *n, const char *word)
{
    *n = (nearest){ .word = word, .least = SIZE_MAX };
}

void nearest_try(nearest *n, const char *candidate)
{
    const size_t distance = edit_distance(n->word, candidate);
    if (distance < n->least) {
        n->least = distance;
        n->best = candidate;
    }
}

const char *nearest_found(const nearest *n)
{
    /* farther than half of the word is no slip of the pen */
    return n->best && n->least <= (strlen(n->word) + 1) / 2 ? n->best : NULL;
}
