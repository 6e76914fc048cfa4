/*
 * Sentences for the user who started the work: the program prints them, another host has functions
 * of its own.
 */
#ifndef TRAINER_MESSAGES_H
#define TRAINER_MESSAGES_H

#include <tce/tce.h>

/* A function that is NULL drops its sentences. Starts as { 0 }. */
typedef struct messages {
    void *context;
    void (*note)(void *context, const char *sentence); /* what happens */
    void (*warn)(void *context, const char *sentence); /* what a person should know */
} messages;

void messages_note(const messages *m, const char *format, ...) TCE_PRINTF(2, 3);
void messages_warn(const messages *m, const char *format, ...) TCE_PRINTF(2, 3);

#endif
