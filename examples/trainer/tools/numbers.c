/*
 * Numbers as text: digits are added until the text reads back to the same number.
 */
#include "tools/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void number_text(double value, int is_float, char out[NUMBER_TEXT])
{
    if (value == floor(value) && fabs(value) < 1e6) {
        snprintf(out, NUMBER_TEXT, "%.0f", value);
        return;
    }
    const int most = is_float ? 9 : 17;
    for (int digits = 1; digits <= most; digits++) {
        snprintf(out, NUMBER_TEXT, "%.*g", digits, value);
        if (is_float ? strtof(out, NULL) == (float)value : strtod(out, NULL) == value)
            return;
    }
}
