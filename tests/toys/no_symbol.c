/*
 * A shared library for the tests that is no task library.
 */
#include <tce/version.h>

TCE_API int tce_test_number(void);

TCE_API int tce_test_number(void)
{
    return 3;
}
