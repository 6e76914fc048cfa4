/*
 * Numbers as text that reads back to the same number.
 */
#ifndef TRAINER_NUMBERS_H
#define TRAINER_NUMBERS_H

enum { NUMBER_TEXT = 32 };

/*
 * The shortest text that reads back to the same number: to the same float with is_float. Whole
 * numbers below a million are written without an exponent: 10, not 1e+01.
 */
void number_text(double value, int is_float, char out[NUMBER_TEXT]);

#endif
