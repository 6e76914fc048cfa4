/*
 * What the settings of a queue are called: the keys in which they differ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/methods.h"
#include "queue/queue.h"

/* Longer labels say no more in a table or a legend: the settings go by their number. */
enum { LONGEST = 90 };

/* Tasks and seeds are the runs' own, and where a library lies changes nothing. */
static int is_label(const setting_row *row)
{
    return !(row->flags & SETTING_PLACE) && row->type != SETTING_METHOD &&
           !(strcmp(row->section, "task") == 0 && strcmp(row->key, "name") == 0) &&
           !(strcmp(row->section, "run") == 0 && strcmp(row->key, "seed") == 0);
}

/* Whether the settings of v's method have different values of the row. */
static int differs(const queue *q, const settings *s, const setting_row *row)
{
    char mine[4 * TEXT_SIZE], other[4 * TEXT_SIZE];
    settings_text(s, row, mine, sizeof mine);
    for (size_t v = 0; v < q->n_variants; v++) {
        if (q->variants[v].s.table != s->table)
            continue;
        settings_text(&q->variants[v].s, row, other, sizeof other);
        if (strcmp(mine, other) != 0)
            return 1;
    }
    return 0;
}

static void label(const queue *q, size_t number, queue_variant *v)
{
    const setting_row *row;
    size_t used = 0;
    v->label[0] = '\0';
    for (size_t i = 0; (row = settings_row(v->s.table, i)) != NULL; i++) {
        char text[4 * TEXT_SIZE];
        if (!is_label(row) || !differs(q, &v->s, row))
            continue;
        settings_text(&v->s, row, text, sizeof text);
        const int n = snprintf(v->label + used, sizeof v->label - used, "%s%s.%s=%s",
                               used ? " " : "", row->section, row->key, text);
        used += n > 0 ? (size_t)n : 0;
        if (used > LONGEST) {
            snprintf(v->label, sizeof v->label, "settings %zu", number + 1);
            return;
        }
    }
}

tce_status queue_label(queue *q)
{
    for (size_t v = 0; v < q->n_variants; v++)
        label(q, v, &q->variants[v]);
    return TCE_OK;
}

const char *queue_name(const queue *q, size_t variant, char *out, size_t size)
{
    const queue_variant *own = &q->variants[variant];
    char method_label[128] = "";
    int same = 1;
    for (size_t v = 0; v < q->n_variants; v++)
        same = same && q->variants[v].s.table == own->s.table;
    if (!same)
        method_of(&own->s)->label(&own->s, method_label, sizeof method_label);
    snprintf(out, size, "%s%s%s", method_label, method_label[0] && own->label[0] ? " " : "",
             own->label);
    return out;
}

tce_status queue_run_labels(const char *folder, size_t *n, plot_run_label **out)
{
    queue q;
    *n = 0;
    *out = NULL;
    if (!queue_exists(folder))
        return TCE_OK;
    /* the runs are there even if the files of their queue are damaged */
    if (queue_load(&q, folder, METHODS) != TCE_OK || q.n_variants == 1) {
        queue_free(&q);
        return TCE_OK;
    }
    *out = calloc(q.n, sizeof **out);
    for (; *out && *n < q.n; ++*n) {
        const queue_entry *entry = &q.entries[*n];
        snprintf((*out)[*n].folder, sizeof(*out)[*n].folder, "%s", entry->folder);
        snprintf((*out)[*n].label, sizeof(*out)[*n].label, "%.*s", LABEL_SIZE - 1,
                 q.variants[entry->variant].label);
    }
    queue_free(&q);
    return *out ? TCE_OK : tce_fail(TCE_E_NOMEM, "no memory for labels of the runs");
}
