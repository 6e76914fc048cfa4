/*
 * Formatted sentences.
 */
#include "tools/messages.h"

#include <stdarg.h>
#include <stdio.h>

#define SENTENCE 8192

void messages_note(const messages *m, const char *format, ...)
{
    char sentence[SENTENCE];
    va_list list;
    if (!m->note)
        return;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    m->note(m->context, sentence);
}

void messages_warn(const messages *m, const char *format, ...)
{
    char sentence[SENTENCE];
    va_list list;
    if (!m->warn)
        return;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    m->warn(m->context, sentence);
}
