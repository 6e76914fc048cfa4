/*
 * Commands whose task is an environment in Python: Python itself carries them out.
 */
#ifndef TRAINER_HAND_OVER_H
#define TRAINER_HAND_OVER_H

/* Whether the words of a command have --python before "--". */
int asks_for_python(int argc, char *const *argv);

/*
 * Becomes `python -m tce` with the same words. Returns an exit code only when that fails, after
 * saying why. argv[0] is the program.
 */
int hand_over(int argc, char *const *argv);

#endif
