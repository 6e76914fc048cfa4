/*
 * The wire format: a field is its number and the kind of its value in one varint, then the value.
 * A varint holds seven bits per byte, lowest first; all but its last byte have the highest bit set.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/protobuf.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

void protobuf_clear(protobuf *m)
{
    m->n = 0;
    m->failed = 0;
}

void protobuf_free(protobuf *m)
{
    free(m->bytes);
    *m = (protobuf){ 0 };
}

tce_status protobuf_check(const protobuf *m, const char *what)
{
    return m->failed ? tce_fail(TCE_E_NOMEM, "no memory for %s of more than %zu bytes", what, m->n)
                     : TCE_OK;
}

void protobuf_append(protobuf *m, const void *bytes, size_t n)
{
    if (m->failed || n == 0)
        return;
    if (n > m->capacity - m->n) {
        const size_t capacity = 2 * m->capacity + n + 64;
        uint8_t *larger = capacity > n ? realloc(m->bytes, capacity) : NULL;
        if (!larger) {
            m->failed = 1;
            return;
        }
        m->bytes = larger;
        m->capacity = capacity;
    }
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

static void put_varint(protobuf *m, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value > 0x7f; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    protobuf_append(m, bytes, n);
}

/* The n lowest bytes of a value, lowest first. */
static void put_little(protobuf *m, uint64_t value, size_t n)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    protobuf_append(m, bytes, n);
}

static void put_key(protobuf *m, uint32_t field, unsigned kind)
{
    put_varint(m, (uint64_t)field << 3 | kind);
}

void protobuf_int(protobuf *m, uint32_t field, int64_t value)
{
    put_key(m, field, VARINT);
    put_varint(m, (uint64_t)value);
}

void protobuf_float(protobuf *m, uint32_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(m, field, FIXED32);
    put_little(m, bits, sizeof bits);
}

void protobuf_double(protobuf *m, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(m, field, FIXED64);
    put_little(m, bits, sizeof bits);
}

void protobuf_bytes(protobuf *m, uint32_t field, const void *bytes, size_t n)
{
    put_key(m, field, LENGTH);
    put_varint(m, n);
    protobuf_append(m, bytes, n);
}

void protobuf_text(protobuf *m, uint32_t field, const char *text)
{
    protobuf_bytes(m, field, text, strlen(text));
}

void protobuf_message(protobuf *m, uint32_t field, const protobuf *inner)
{
    protobuf_bytes(m, field, inner->bytes, inner->n);
    m->failed |= inner->failed;
}
