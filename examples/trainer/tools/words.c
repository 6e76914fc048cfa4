/*
 * The nearest words by Levenshtein's distance, and names of which the word is a part.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tools/words.h"

/* How many characters of a word count. */
#define MOST 63

/* Least length of a word that is looked for inside others, as "push" in "metaworld_push". */
#define LEAST_PART 3

static size_t length_of(const char *word)
{
    const size_t length = strlen(word);
    return length < MOST ? length : MOST;
}

/*
 * Levenshtein's distance: fewest characters inserted, deleted or changed, one row of the table at a
 * time: row[j] = distance of a's first i characters to b's first j.
 */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[MOST + 1];
    const size_t n_a = length_of(a), n_b = length_of(b);
    for (size_t j = 0; j <= n_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]);
            const size_t gap = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            diagonal = row[j];
            row[j] = change < gap ? change : gap;
        }
    }
    return row[n_b];
}

/*
 * How unlike two words are: their distance, and 1 where one is a part of the other. SIZE_MAX: more
 * than half of the characters would have to change, which is not a slip of the pen.
 */
static size_t unlikeness(const char *word, const char *other)
{
    const size_t length = length_of(word), least = edit_distance(word, other);
    if (length >= LEAST_PART && strlen(other) >= LEAST_PART &&
        (strstr(other, word) || strstr(word, other)))
        return least < 1 ? 0 : 1;
    return length > 0 && least <= (length + 1) / 2 ? least : SIZE_MAX;
}

void nearest_start(nearest *n, const char *word)
{
    *n = (nearest){ .word = word };
}

/* Whether a candidate comes before one that was found: less unlike, then less distant. */
static int is_nearer(const nearest *n, const char *candidate, const char *found)
{
    const size_t a = unlikeness(n->word, candidate), b = unlikeness(n->word, found);
    return a < b || (a == b && edit_distance(n->word, candidate) < edit_distance(n->word, found));
}

void nearest_try(nearest *n, const char *candidate)
{
    if (unlikeness(n->word, candidate) == SIZE_MAX)
        return;
    size_t at = n->n;
    while (at > 0 && is_nearer(n, candidate, n->found[at - 1]))
        at--;
    if (at == NEAREST_MOST)
        return;
    n->n += n->n < NEAREST_MOST;
    for (size_t k = n->n - 1; k > at; k--)
        n->found[k] = n->found[k - 1];
    n->found[at] = candidate;
}

const char *nearest_found(const nearest *n)
{
    return n->n > 0 ? n->found[0] : NULL;
}

const char *nearest_words(const nearest *n, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n->n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s\"%.*s\"",
                                 i > 0       ? ", "
                                 : n->n == 1 ? "; the nearest is "
                                             : "; the nearest are ",
                                 MOST, n->found[i]);
    return out;
}
