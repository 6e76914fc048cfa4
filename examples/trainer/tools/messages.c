/*
 * Formatted sentences.
 */
#include "tools/messages.h"

#include <stdarg.h>
#include <stdio.h>

#define SENTENCE 8192

/* One sentence to one of the two, where it is wanted. */
static void tell(void (*listener)(void *context, const char *sentence), void *context,
                 const char *format, va_list list)
{
    char sentence[SENTENCE];
    if (!listener)
        return;
    vsnprintf(sentence, sizeof sentence, format, list);
    listener(context, sentence);
}

void messages_note(const messages *m, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    tell(m->note, m->context, format, list);
    va_end(list);
}

void messages_warn(const messages *m, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    tell(m->warn, m->context, format, list);
    va_end(list);
}
