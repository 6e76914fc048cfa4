/*
 * Items and sorted lists of them. An item is one block (the struct, its name, its data), so that
 * putting, replacing and freeing an array are one pointer each; a list is a block of pointers that
 * doubles when it is full.
 */
#include "store/internal.h"

#include <string.h>

/* Room of a list that gets its first item. */
#define FIRST_CAPACITY 16

size_t tce__list_search(const tce__list *list, const char *name, bool *found)
{
    size_t low = 0;
    size_t high = list->n;

    /* items before low are smaller than name, items from high on are larger */
    *found = false;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(list->items[middle]->name, name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

tce_status tce__list_reserve(const tce_hooks *hooks, tce__list *list, size_t capacity)
{
    tce__arena arena = { NULL, 0 };
    tce_hooks unused;

    if (capacity <= list->capacity)
        return TCE_OK;

    /* a new block of pointers, then the old ones into it */
    (void)tce__arena_take(&arena, capacity, sizeof *list->items);
    const tce_status status = tce__block_create(hooks, "tce_store's list", &arena, &unused);
    if (status != TCE_OK)
        return status;
    tce__item **items = tce__arena_take(&arena, capacity, sizeof *list->items);
    if (list->n > 0)
        memcpy(items, list->items, list->n * sizeof *items);
    if (list->items)
        tce__block_free(hooks, list->items);
    list->items = items;
    list->capacity = capacity;
    return TCE_OK;
}

tce_status tce__list_put(const tce_hooks *hooks, tce__list *list, tce__item *item)
{
    bool found;
    const size_t at = tce__list_search(list, item->name, &found);

    /* one of the same name gives up its place */
    if (found) {
        tce__block_free(hooks, list->items[at]);
        list->items[at] = item;
        return TCE_OK;
    }

    /* otherwise those behind it move up */
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : FIRST_CAPACITY;
        const tce_status status = tce__list_reserve(hooks, list, capacity);
        if (status != TCE_OK)
            return status;
    }
    memmove(list->items + at + 1, list->items + at, (list->n - at) * sizeof *list->items);
    list->items[at] = item;
    list->n++;
    return TCE_OK;
}

void tce__list_free(const tce_hooks *hooks, tce__list *list)
{
    for (size_t i = 0; i < list->n; i++)
        tce__block_free(hooks, list->items[i]);
    if (list->items)
        tce__block_free(hooks, list->items);
}

/* Carves an item's block; measures while the arena has no base. */
static tce__item *item_layout(tce__arena *arena, size_t name_size, size_t n_bytes, char **name,
                              unsigned char **data)
{
    tce__item *item = tce__arena_take(arena, 1, sizeof *item);
    *name = tce__arena_take(arena, name_size, 1);
    /* one byte more: the final 0 of a text */
    *data = tce__arena_take(arena, n_bytes < SIZE_MAX ? n_bytes + 1 : n_bytes, 1);
    return item;
}

tce_status tce__item_create(const tce_hooks *hooks, const tce__item *like, tce__item **out)
{
    const size_t name_size = strlen(like->name) + 1;
    tce__arena arena = { NULL, 0 };
    tce_hooks unused;
    char *name;
    unsigned char *data;

    (void)item_layout(&arena, name_size, like->n_bytes, &name, &data);
    const tce_status status = tce__block_create(hooks, "an array of tce_store", &arena, &unused);
    if (status != TCE_OK)
        return status;

    tce__item *item = item_layout(&arena, name_size, like->n_bytes, &name, &data);
    *item = *like;
    memcpy(name, like->name, name_size);
    if (like->n_bytes > 0)
        memcpy(data, like->data, like->n_bytes);
    item->name = name;
    item->data = data;
    *out = item;
    return TCE_OK;
}
