/*
 * A shared library for the tests that is not a task library.
 */
#include <tce/version.h>

TCE_API int tce_test_number(void);

TCE_API int tce_test_number(void)
{
    return 3;
}
