/*
 * Reads the header of a file: JSON of a fixed form, so the reader follows that form instead of
 * recursing and its depth is bounded.
 *
 *     header = { "__metadata__" : { name : text, … }, name : array, … }
 *              each at most once, in any order
 *     array  = { "dtype" : string, "shape" : [ integers ], "data_offsets" : [ integer, integer ] }
 *              in any order
 *
 * Strict: whole numbers without sign, point or leading zero; strings of valid UTF-8 without U+0000;
 * nothing after the header but blanks.
 */
#include "store/internal.h"

#include <string.h>

/* Longest name of an element type that is worth repeating in a message. */
#define MAX_TYPE_NAME 15

typedef struct reader {
    const unsigned char *json; /* [size] */
    size_t size;
    size_t at;        /* next byte */
    char *characters; /* next free byte for a decoded string */
} reader;

static tce_status refuse(const reader *r, const char *why)
{
    return tce_fail(TCE_E_CORRUPT, "not a valid file: header, byte %zu: %s", r->at, why);
}

static void skip_blanks(reader *r)
{
    while (r->at < r->size && r->json[r->at] != '\0' && strchr(" \t\n\r", r->json[r->at]))
        r->at++;
}

/* Skips blanks and takes the character if it is the next one. */
static bool take(reader *r, char character)
{
    skip_blanks(r);
    if (r->at >= r->size || r->json[r->at] != (unsigned char)character)
        return false;
    r->at++;
    return true;
}

static tce_status expect(reader *r, char character)
{
    char why[] = "expected '?'";

    why[sizeof why - 3] = character;
    return take(r, character) ? TCE_OK : refuse(r, why);
}

/* ---- strings and numbers --------------------------------------------------------------------- */

/* Four hexadecimal digits. */
static tce_status read_hex(reader *r, uint32_t *out)
{
    static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";

    *out = 0;
    for (int k = 0; k < 4; k++, r->at++) {
        const char *digit = NULL;
        if (r->at < r->size && r->json[r->at] != '\0')
            digit = strchr(DIGITS, r->json[r->at]);
        if (!digit)
            return refuse(r, "\\u needs four hexadecimal digits");
        *out = *out * 16 + (uint32_t)(digit - DIGITS) % 16;
    }
    return TCE_OK;
}

/* The character after \u, two of them when it is outside the first plane, as UTF-8. */
static tce_status read_unicode(reader *r)
{
    uint32_t low;
    uint32_t code;
    tce_status status = read_hex(r, &code);
    if (status != TCE_OK)
        return status;

    /* a high surrogate must be followed by a low one */
    if (code >= 0xd800 && code <= 0xdbff) {
        if (r->size - r->at < 2 || r->json[r->at] != '\\' || r->json[r->at + 1] != 'u')
            return refuse(r, "half of a surrogate pair");
        r->at += 2;
        status = read_hex(r, &low);
        if (status != TCE_OK)
            return status;
        if (low < 0xdc00 || low > 0xdfff)
            return refuse(r, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return refuse(r, "half of a surrogate pair");
    }
    if (code == 0)
        return refuse(r, "U+0000 in a string");

    /* six bits per byte, after a lead byte that says how many follow */
    if (code < 0x80) {
        *r->characters++ = (char)code;
        return TCE_OK;
    }
    const int n_more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    const uint32_t lead = n_more == 1 ? 0xc0 : n_more == 2 ? 0xe0 : 0xf0;
    *r->characters++ = (char)(lead | code >> (6 * n_more));
    for (int k = n_more - 1; k >= 0; k--)
        *r->characters++ = (char)(0x80 | (code >> (6 * k) & 0x3f));
    return TCE_OK;
}

/* What follows a backslash. */
static tce_status read_escape(reader *r)
{
    static const char ESCAPES[] = "\"\\/bfnrt";
    static const char MEANINGS[] = "\"\\/\b\f\n\r\t";

    if (r->at >= r->size)
        return refuse(r, "the string does not end");
    const unsigned char c = r->json[r->at];
    if (c == 'u') {
        r->at++;
        return read_unicode(r);
    }
    const char *escape = c ? strchr(ESCAPES, c) : NULL;
    if (!escape)
        return refuse(r, "unknown escape");
    *r->characters++ = MEANINGS[escape - ESCAPES];
    r->at++;
    return TCE_OK;
}

/*
 * A string, decoded into the scratch: it needs no more room there than between its quotes, plus a
 * final 0.
 */
static tce_status read_string(reader *r, const char **out)
{
    tce_status status = expect(r, '"');
    if (status != TCE_OK)
        return status;

    *out = r->characters;
    for (;;) {
        if (r->at >= r->size)
            return refuse(r, "the string does not end");
        const unsigned char c = r->json[r->at];
        if (c == '"') {
            r->at++;
            *r->characters++ = '\0';
            return TCE_OK;
        }
        if (c < 0x20)
            return refuse(r, "a control character in a string");
        if (c == '\\') {
            r->at++;
            status = read_escape(r);
            if (status != TCE_OK)
                return status;
            continue;
        }
        const size_t length = tce__utf8_length(r->json + r->at, r->size - r->at);
        if (length == 0)
            return refuse(r, "a string that is not UTF-8");
        memcpy(r->characters, r->json + r->at, length);
        r->characters += length;
        r->at += length;
    }
}

static tce_status read_number(reader *r, uint64_t *out)
{
    uint64_t number = 0;

    skip_blanks(r);
    const size_t start = r->at;
    for (; r->at < r->size && r->json[r->at] >= '0' && r->json[r->at] <= '9'; r->at++) {
        const uint64_t digit = r->json[r->at] - (uint64_t)'0';
        if (number > (UINT64_MAX - digit) / 10)
            return refuse(r, "a number of more than 64 bits");
        number = number * 10 + digit;
    }
    if (r->at == start)
        return refuse(r, "expected a whole number");
    if (r->json[start] == '0' && r->at > start + 1)
        return refuse(r, "a number with a leading zero");
    *out = number;
    return TCE_OK;
}

/* [ integers ]: keeps the first `most` and says how many there are. */
static tce_status read_numbers(reader *r, size_t most, uint64_t *out, size_t *n)
{
    tce_status status = expect(r, '[');
    uint64_t number = 0;

    *n = 0;
    if (status != TCE_OK || take(r, ']'))
        return status;
    do {
        status = read_number(r, &number);
        if (status != TCE_OK)
            return status;
        if (*n < most)
            out[*n] = number;
        ++*n;
    } while (take(r, ','));
    return expect(r, ']');
}

/* ---- the form of the header ------------------------------------------------------------------ */

static tce_status read_type(reader *r, tce__entry *entry)
{
    tce_status status = read_string(r, &entry->value);
    if (status != TCE_OK)
        return status;

    /* it may go into a message, so it has to be presentable */
    const size_t n = strlen(entry->value);
    for (size_t i = 0; i < n; i++)
        if (entry->value[i] < '!' || entry->value[i] > '~')
            return refuse(r, "dtype is not a printable word");
    return n >= 1 && n <= MAX_TYPE_NAME ? TCE_OK : refuse(r, "dtype must have 1 to 15 characters");
}

static tce_status read_shape(reader *r, tce__entry *entry)
{
    uint64_t shape[TCE_STORE_MAX_RANK] = { 0 };
    tce_status status = read_numbers(r, TCE_STORE_MAX_RANK, shape, &entry->rank);
    if (status != TCE_OK)
        return status;
    for (size_t k = 0; k < TCE_STORE_MAX_RANK; k++) {
        if (shape[k] > SIZE_MAX)
            return refuse(r, "a shape that does not fit into memory");
        entry->shape[k] = (size_t)shape[k];
    }
    return TCE_OK;
}

static tce_status read_offsets(reader *r, tce__entry *entry)
{
    uint64_t offsets[2];
    size_t n;
    tce_status status = read_numbers(r, 2, offsets, &n);
    if (status != TCE_OK)
        return status;
    if (n != 2)
        return refuse(r, "data_offsets needs two numbers");
    entry->begin = offsets[0];
    entry->end = offsets[1];
    return TCE_OK;
}

/* An array's value: its three members, each once. */
static tce_status read_array(reader *r, tce__entry *entry)
{
    static const struct {
        const char *name;
        tce_status (*read)(reader *r, tce__entry *entry);
    } MEMBERS[] = { { "dtype", read_type },
                    { "shape", read_shape },
                    { "data_offsets", read_offsets } };
    enum { N_MEMBERS = sizeof MEMBERS / sizeof MEMBERS[0] };
    bool seen[N_MEMBERS] = { false };
    const char *name;
    tce_status status = expect(r, '{');

    for (size_t n = 0; status == TCE_OK && n < N_MEMBERS; n++) {
        if (n > 0)
            status = expect(r, ',');
        if (status == TCE_OK)
            status = read_string(r, &name);
        if (status == TCE_OK)
            status = expect(r, ':');
        if (status != TCE_OK)
            break;
        size_t k = 0;
        while (k < N_MEMBERS && strcmp(MEMBERS[k].name, name) != 0)
            k++;
        if (k == N_MEMBERS || seen[k])
            return refuse(r, "an array has dtype, shape and data_offsets, each once");
        seen[k] = true;
        status = MEMBERS[k].read(r, entry);
    }
    return status != TCE_OK ? status : expect(r, '}');
}

static tce_status read_metadata(reader *r, tce__header *out)
{
    tce_status status = expect(r, '{');
    tce__entry entry = { 0 };

    if (status != TCE_OK || take(r, '}'))
        return status;
    do {
        status = read_string(r, &entry.name);
        if (status == TCE_OK)
            status = expect(r, ':');
        if (status == TCE_OK)
            status = read_string(r, &entry.value);
        if (status != TCE_OK)
            return status;
        if (out->texts)
            out->texts[out->n_texts] = entry;
        out->n_texts++;
    } while (take(r, ','));
    return expect(r, '}');
}

/* One member of the outermost object. */
static tce_status read_member(reader *r, tce__header *out, bool *has_metadata)
{
    tce__entry entry = { 0 };

    tce_status status = read_string(r, &entry.name);
    if (status == TCE_OK)
        status = expect(r, ':');
    if (status != TCE_OK)
        return status;
    if (strcmp(entry.name, TCE__STORE_METADATA) == 0) {
        if (*has_metadata)
            return refuse(r, "__metadata__ appears twice");
        *has_metadata = true;
        return read_metadata(r, out);
    }
    status = read_array(r, &entry);
    if (status != TCE_OK)
        return status;
    if (out->arrays)
        out->arrays[out->n_arrays] = entry;
    out->n_arrays++;
    return TCE_OK;
}

tce_status tce__header_read(const unsigned char *json, size_t size, tce__header *out)
{
    reader r = { json, size, 0, out->characters };
    bool has_metadata = false;
    tce_status status;

    out->n_arrays = 0;
    out->n_texts = 0;
    if (size == 0 || json[0] != '{')
        return refuse(&r, "must begin with '{'");
    r.at++;
    if (!take(&r, '}')) {
        do {
            status = read_member(&r, out, &has_metadata);
            if (status != TCE_OK)
                return status;
        } while (take(&r, ','));
        status = expect(&r, '}');
        if (status != TCE_OK)
            return status;
    }
    skip_blanks(&r);
    return r.at == size ? TCE_OK : refuse(&r, "something follows the header's last brace");
}
