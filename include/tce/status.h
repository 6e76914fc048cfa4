/*
 * status: how a call fails, and how libtce gets memory.
 *
 * A function that can fail returns tce_status; tce_error_message() then says, for the calling
 * thread, which argument was wrong, its value and its limit. libtce never prints, exits or aborts.
 *
 * A function that only reads a handle and cannot fail accepts NULL as that handle: it then returns
 * 0, NULL or "" (or what its comment says) and leaves its outputs untouched.
 */
#ifndef TCE_STATUS_H
#define TCE_STATUS_H

#include <tce/version.h>

/*
 * A struct that is not an options struct, with its struct_size set and all else zero:
 *
 *     tce_hooks hooks = TCE_INIT(tce_hooks);
 *
 * The defaults of options structs are not all zero, so each of these has a function
 * tce_…_options_init instead.
 */
#ifdef __cplusplus
template <class T> inline T tce_init_struct()
{
    T value = T();
    value.struct_size = sizeof value;
    return value;
}
#define TCE_INIT(type) tce_init_struct<type>()
#else
#define TCE_INIT(type) ((type){ .struct_size = sizeof(type) })
#endif

TCE_BEGIN_C

/* ---- statuses: 0 or a negative number that never changes meaning ----------------------------- */

typedef int32_t tce_status;

enum {
    TCE_OK = 0,

    /* arguments: outputs are untouched */
    TCE_E_ARGUMENT = -1,    /* a pointer that may not be NULL, or an unknown enumerator */
    TCE_E_SHAPE = -2,       /* sizes that do not fit each other or the handle */
    TCE_E_VALUE = -3,       /* a number out of range, NaN or infinite */
    TCE_E_VERSION = -4,     /* a struct or file from a newer libtce */
    TCE_E_STATE = -5,       /* a call out of order, e.g. backward before forward */
    TCE_E_UNSUPPORTED = -6, /* a combination of options that has no meaning */

    /* resources */
    TCE_E_NOMEM = -10,
    TCE_E_IO = -11,        /* the system refused to read or write; the message has its reason */
    TCE_E_CORRUPT = -12,   /* a file that is damaged or is not what it claims to be */
    TCE_E_NOT_FOUND = -13, /* no such file, array, task or symbol */
    TCE_E_THREAD = -14,    /* a thread could not be started */

    /* numerics: outputs are NaN */
    TCE_E_NOT_PD = -20,      /* a matrix is not positive definite */
    TCE_E_NO_CONVERGE = -21, /* an iterative method did not converge */
    TCE_E_NOT_FINITE = -22,  /* a result overflowed or is NaN */
    TCE_E_SINGULAR = -23,    /* a linear system has no unique solution */

    /* environments */
    TCE_E_ENV = -30,     /* an environment failed; the message has its index and reason */
    TCE_E_ENV_NAN = -31, /* an environment returned NaN or infinity */
    TCE_E_LIBRARY = -32  /* a library could not be loaded, or computes wrongly */
};

/*
 * A status by name, such as "TCE_E_NOT_PD", and as a sentence. Both are constant strings, for
 * unknown numbers too.   Since 0.2.
 */
TCE_API const char *tce_status_name(tce_status status);
TCE_API const char *tce_status_text(tce_status status);

/*
 * The message of the last call that failed in this thread; "" when none has failed yet. It is valid
 * until the next failure.   Since 0.2.
 */
TCE_API const char *tce_error_message(void);

/*
 * For callbacks that the caller writes (environments, losses): stores a message for this thread and
 * returns status, which libtce then returns to its own caller.   Since 0.2.
 */
TCE_API tce_status tce_fail(tce_status status, const char *format, ...) TCE_PRINTF(2, 3);

/* ---- hooks ----------------------------------------------------------------------------------- */

/*
 * How libtce gets memory. NULL instead of a tce_hooks, or NULL for both functions, means the
 * default: aligned memory from the C library. Hooks are copied at create.
 */
typedef struct tce_hooks {
    size_t struct_size;
    void *user;
    void *(*allocate)(void *user, size_t size, size_t alignment); /* NULL: no memory */
    void (*release)(void *user, void *block);
} tce_hooks;

TCE_END_C

#endif
