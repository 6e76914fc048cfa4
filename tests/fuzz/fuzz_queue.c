/*
 * Fuzz target: hostile bytes for queue.csv. A queue that is read has runs in known states whose
 * folders lie in its own, and is the same after it was written and read again.
 */
#include "fuzz_file.h"
#include "queue/queue.h"

static const char SETTINGS[] = "run:\n  iterations: 2\n";

static void check(const queue *q)
{
    must(q->n > 0 && q->n <= MAX_QUEUE && q->n_jobs >= 0);
    for (size_t i = 0; i < q->n; i++) {
        const queue_entry *entry = &q->entries[i];
        char path[RUN_PATH];
        must(entry->state >= 0 && entry->state < N_QUEUE_STATES &&
             queue_state_name(entry->state) != NULL);
        must(entry->task[0] != '\0' && entry->folder[0] != '\0' &&
             strchr(entry->folder, '/') == NULL);
        must(strcmp(entry->folder, ".") != 0 && strcmp(entry->folder, "..") != 0);
        must(queue_run_path(q, entry, path) == TCE_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    queue q, again;
    fuzz_write("queue.yaml", SETTINGS, sizeof SETTINGS - 1);
    fuzz_write("queue-2.yaml", SETTINGS, sizeof SETTINGS - 1);
    fuzz_write("queue.csv", data, size);
    if (queue_load(&q, fuzz_folder(), METHODS) != TCE_OK) {
        must(tce_error_message()[0] != '\0' && q.entries == NULL);
        return 0;
    }
    check(&q);
    must(queue_save(&q) == TCE_OK);
    must(queue_load(&again, fuzz_folder(), METHODS) == TCE_OK);
    check(&again);
    must(again.n == q.n && again.n_jobs == q.n_jobs);
    for (size_t i = 0; i < q.n; i++) {
        const queue_entry *a = &q.entries[i], *b = &again.entries[i];
        must(strcmp(a->task, b->task) == 0 && a->seed == b->seed && a->state == b->state);
        must(a->variant == b->variant);
        must(strcmp(a->folder, b->folder) == 0 && strcmp(a->message, b->message) == 0);
    }
    queue_free(&q);
    queue_free(&again);
    return 0;
}
