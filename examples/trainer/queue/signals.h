/*
 * Signals that end the program.
 */
#ifndef TRAINER_SIGNALS_H
#define TRAINER_SIGNALS_H

/*
 * Ctrl-C and its like end the process at once until it enters a folder. From then on the first asks
 * to stop after the iteration, and the second, half a second later or more, ends the process at
 * once.
 */
void signals_catch(void);
/* Undoes signals_catch, in a process that will become another program. */
void signals_release(void);

/* There will be something to save, or to take away again. */
void signals_enter_folder(void);
/* The signal that asked to stop, or 0. */
int signals_caught(void);

#endif
