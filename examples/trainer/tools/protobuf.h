/*
 * Protobuf messages, written field by field. A message inside another one is written first, by
 * itself, and then given to the outer one.
 */
#ifndef TRAINER_PROTOBUF_H
#define TRAINER_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include <tce/tce.h>

/*
 * Starts as { 0 } and grows with what is put into it. Once there was no memory for a field, further
 * fields are left out and protobuf_check says so. protobuf_free when done.
 */
typedef struct protobuf {
    size_t n, capacity;
    int failed;
    uint8_t *bytes; /* [n] */
} protobuf;

/* Empties the message and keeps its memory. */
void protobuf_clear(protobuf *m);
void protobuf_free(protobuf *m);
/* TCE_E_NOMEM when a field found no place; `what` the message is, as in "an event". */
tce_status protobuf_check(const protobuf *m, const char *what);

/* Bytes as they are: fields that were written elsewhere, or the numbers of a list. */
void protobuf_append(protobuf *m, const void *bytes, size_t n);

/* int32, int64, uint64, bool and enum of the .proto file. */
void protobuf_int(protobuf *m, uint32_t field, int64_t value);
void protobuf_float(protobuf *m, uint32_t field, float value);
void protobuf_double(protobuf *m, uint32_t field, double value);
void protobuf_bytes(protobuf *m, uint32_t field, const void *bytes, size_t n);
void protobuf_text(protobuf *m, uint32_t field, const char *text);
/* An inner message that failed makes the outer one fail. */
void protobuf_message(protobuf *m, uint32_t field, const protobuf *inner);

#endif
