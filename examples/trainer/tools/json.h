/*
 * Texts and numbers of JSON (RFC 8259).
 */
#ifndef TRAINER_JSON_H
#define TRAINER_JSON_H

#include <stdio.h>

/* A text in quotes. Bytes that are not UTF-8 become the replacement character. */
void json_put_text(FILE *file, const char *text);

/* A number that reads back to itself; null where it is not finite, which JSON cannot say. */
void json_put_number(FILE *file, double value);

#endif
