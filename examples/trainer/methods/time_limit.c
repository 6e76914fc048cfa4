#include "methods/time_limit.h"

const setting_choice TIME_LIMITS[] = { { "auto", TIME_LIMIT_AUTO },
                                       { "bootstrap", TIME_LIMIT_BOOTSTRAP },
                                       { "terminal", TIME_LIMIT_TERMINAL },
                                       { NULL, 0 } };

int time_limit_ends(int32_t time_limit, double gamma)
{
    return time_limit == TIME_LIMIT_TERMINAL || (time_limit == TIME_LIMIT_AUTO && gamma == 1.0);
}
