/*
 * Text as a word of a shell: as it is when every character is plain, else in single quotes, with
 * '\'' for each quote in it.
 */
#include <stdio.h>
#include <string.h>

#include "tools/shell.h"

static const char PLAIN[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%^";

const char *shell_word(const char *text, char *out, size_t size)
{
    /* a name that begins like an option is a path all the same */
    const char *before = text[0] == '-' ? "./" : "";
    if (text[0] && strspn(text, PLAIN) == strlen(text)) {
        snprintf(out, size, "%s%s", before, text);
        return out;
    }
    size_t n = (size_t)snprintf(out, size, "'%s", before);
    for (; *text && n + sizeof "'\\'''" <= size; text++)
        n += (size_t)snprintf(out + n, size - n, *text == '\'' ? "'\\''" : "%c", *text);
    snprintf(out + n, size - n, "'");
    return out;
}
