/*
 * store: a container of named arrays and texts in one file: checkpoints, exported policies.
 *
 * The file is a safetensors file (any safetensors reader opens it) with a checksum among its
 * metadata. Saving replaces the file atomically: temporary file, fsync, rename. Loading trusts
 * nothing: every length, offset and name and the checksum are verified first.
 */
#ifndef TCE_STORE_H
#define TCE_STORE_H

#include <tce/status.h>

TCE_BEGIN_C

typedef struct tce_store tce_store;

/* Element types, with their safetensors names F64, F32, I64, U64, I32, U8. */
enum {
    TCE_STORE_F64 = 0,
    TCE_STORE_F32 = 1,
    TCE_STORE_I64 = 2,
    TCE_STORE_U64 = 3,
    TCE_STORE_I32 = 4,
    TCE_STORE_U8 = 5
};

#define TCE_STORE_MAX_RANK 4

/*
 * One array of a store; name and data belong to the store and live until it is freed or the array
 * is replaced. data is 64-byte aligned.
 */
typedef struct tce_store_array {
    size_t struct_size;
    const char *name;
    const void *data;
    size_t shape[TCE_STORE_MAX_RANK]; /* 0 beyond the rank */
    int32_t rank;
    int32_t type;
} tce_store_array;

/* An empty store. TCE_E_NOMEM.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_store_create(const tce_hooks *hooks, tce_store **out);
TCE_API void tce_store_free(tce_store *store);

/*
 * Copies an array in, replacing one of the same name. Names are 1 to 255 bytes of UTF-8 without
 * control characters, and not "__metadata__"; shape [rank], rank <= TCE_STORE_MAX_RANK (0: a
 * scalar); data may be NULL when there are no elements.
 * TCE_E_ARGUMENT, TCE_E_VALUE: a bad name, type or rank.  TCE_E_SHAPE: larger than memory.
 * Allocates; TCE_E_NOMEM leaves the store as it was.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_store_put(tce_store *store, const char *name, int32_t type,
                                               int32_t rank, const size_t *shape, const void *data);

/*
 * Copies a text in, for instance settings or a version, replacing one of the same name. Texts are
 * UTF-8 and are kept in the file's metadata; names as above. The names "tce.format" and
 * "tce.checksum" are reserved for the file itself (TCE_E_VALUE).  Allocates; TCE_E_NOMEM leaves the
 * store as it was.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_store_put_text(tce_store *store, const char *name,
                                                    const char *text);

/* Looks at an array, without copying it.  TCE_E_NOT_FOUND.   No allocation.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_store_get(const tce_store *store, const char *name,
                                               tce_store_array *out);
/*
 * A text, or NULL when there is none; it lives until the store is freed or the text is replaced.
 * "tce.format" is there only when the store was loaded from a file of libtce whose checksum was
 * right.
 */
TCE_API const char *tce_store_get_text(const tce_store *store, const char *name);

/*
 * Copies an array out, converting between float and double.  TCE_E_NOT_FOUND.  TCE_E_SHAPE: it does
 * not have exactly n elements.  TCE_E_VALUE: its type cannot be converted to this one.   No
 * allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_store_read(const tce_store *store, const char *name,
                                                int32_t type, size_t n, void *out);

/* Number of arrays, and the i-th in the order of the names (as bytes). TCE_E_NOT_FOUND. */
TCE_API size_t tce_store_n_arrays(const tce_store *store);
TCE_API TCE_NODISCARD tce_status tce_store_at(const tce_store *store, size_t i,
                                              tce_store_array *out);

/*
 * Writes the file atomically: the old file stays in place until the new one is complete on disk,
 * and a failure leaves no other file behind. The same content gives the same bytes. The new file
 * takes over the permissions of the old one. A symbolic link is replaced, not followed; anything
 * but a regular file is refused.  TCE_E_IO: the message has the system's reason.  TCE_E_SHAPE:
 * names and texts are larger than the 100 MB that safetensors allows.   Allocates.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_store_save(const tce_store *store, const char *path);
/*
 * Reads a file written by tce_store_save or by any other safetensors writer (which has no checksum
 * to verify). TCE_E_NOT_FOUND, TCE_E_IO;
 * TCE_E_CORRUPT with the reason; TCE_E_VERSION: written by a newer libtce; TCE_E_UNSUPPORTED: an
 * element type or rank that the store does not have; TCE_E_NOMEM. *out is NULL after a failure.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_store_load(const char *path, const tce_hooks *hooks,
                                                tce_store **out);

/*
 * Reads the same from memory, for tests and for policies that are compiled into a program. bytes
 * [size] are copied. Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_store_parse(const void *bytes, size_t size,
                                                 const tce_hooks *hooks, tce_store **out);

TCE_END_C

#endif
