/*
 * Fields of a handle in a store, "<prefix>.<name>", for the modules that save and load themselves.
 */
#ifndef TCE_STORE_FIELD_H
#define TCE_STORE_FIELD_H

#include <tce/store.h>

/*
 * check: the array is there, is float or double, has this shape (columns 0: a vector), and its
 * numbers are in least ... most. A load checks everything before it reads anything, so that a bad
 * store changes nothing: read cannot fail after check.
 */
#define TCE__FIELD_NAME_SIZE 256
tce_status tce__field_name(const char *prefix, const char *name, char *out);
tce_status tce__field_put(tce_store *store, const char *prefix, const char *name, int32_t type,
                          size_t rows, size_t columns, const void *data);
tce_status tce__field_check(const tce_store *store, const char *prefix, const char *name,
                            size_t rows, size_t columns, double least, double most);
tce_status tce__field_read(const tce_store *store, const char *prefix, const char *name,
                           int32_t type, size_t n, void *out);

#endif
