/*
 * Texts and numbers of JSON.
 */
#include "tools/json.h"

#include <math.h>

#include "tools/numbers.h"

/*
 * Bytes of the UTF-8 character that begins here, 0 when none does: continuation bytes are missing,
 * it is written in more bytes than it needs, or it is a surrogate or beyond U+10FFFF.
 */
static size_t character_length(const unsigned char *at)
{
    static const unsigned long LEAST[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t length = at[0] < 0x80             ? 1
                          : (at[0] & 0xe0) == 0xc0 ? 2
                          : (at[0] & 0xf0) == 0xe0 ? 3
                          : (at[0] & 0xf8) == 0xf0 ? 4
                                                   : 0;
    unsigned long code = length > 1 ? at[0] & (0x7fu >> length) : at[0];
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    return code >= LEAST[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? length
                                                                                         : 0;
}

void json_put_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        const size_t length = character_length(at);
        if (length == 0)
            fputs("\\ufffd", file);
        else if (*at < 0x20)
            fprintf(file, "\\u%04x", *at);
        else
            fprintf(file, "%s%.*s", *at == '"' || *at == '\\' ? "\\" : "", (int)length,
                    (const char *)at);
        at += length ? length : 1;
    }
    fputc('"', file);
}

void json_put_number(FILE *file, double value)
{
    char text[NUMBER_TEXT];
    if (!isfinite(value)) {
        fputs("null", file);
        return;
    }
    number_text(value, 0, text);
    fputs(text, file);
}
