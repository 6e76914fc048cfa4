/*
 * libtce: which version this is, and the markers that every public header uses.
 *
 * The macros say which version a program was compiled against, tce_version() says which one it runs
 * with. This header compiles as C99 and as C++11. Nothing here allocates.
 */
#ifndef TCE_VERSION_H
#define TCE_VERSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TCE_BEGIN_C extern "C" {
#define TCE_END_C }
#else
#define TCE_BEGIN_C
#define TCE_END_C
#endif

#if defined(__GNUC__)
#define TCE_API __attribute__((visibility("default")))
#define TCE_NODISCARD __attribute__((warn_unused_result))
#define TCE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TCE_API
#define TCE_NODISCARD
#define TCE_PRINTF(fmt, args)
#endif

/*
 * Marks a public function that may change or disappear in any release. It has the symbol version
 * TCE_EXPERIMENTAL, and the promises of docs/abi.md do not cover it.
 */
#define TCE_API_EXPERIMENTAL TCE_API

#define TCE_VERSION_MAJOR 0
#define TCE_VERSION_MINOR 2
#define TCE_VERSION_PATCH 0

/* major * 1000000 + minor * 1000 + patch, comparable with < */
#define TCE_VERSION_NUMBER \
    (TCE_VERSION_MAJOR * 1000000 + TCE_VERSION_MINOR * 1000 + TCE_VERSION_PATCH)

TCE_BEGIN_C

/* TCE_VERSION_NUMBER of the library that is running.   Since 0.2. */
TCE_API int32_t tce_version(void);

/* "0.2.0" of the library that is running; a constant string.   Since 0.2. */
TCE_API const char *tce_version_string(void);

TCE_END_C

#endif
