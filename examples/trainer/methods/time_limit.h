/*
 * What it means when an episode ends because its time is up: a bootstrap from its last observation,
 * or an end like any other [rivals 1.3].
 */
#ifndef TRAINER_TIME_LIMIT_H
#define TRAINER_TIME_LIMIT_H

#include "settings/settings.h"

/* AUTO: an end where gamma is 1, with which bootstrapping has no fixed point; else a bootstrap. */
enum { TIME_LIMIT_BOOTSTRAP = 0, TIME_LIMIT_TERMINAL = 1, TIME_LIMIT_AUTO = 2 };

/* The words of collect.time_limit, and what help says of them. */
extern const setting_choice TIME_LIMITS[];
#define TIME_LIMIT_HELP                                                                           \
    "when an episode's time is up, the value of its last observation counts (bootstrap), or the " \
    "episode is over (terminal); auto: terminal where objective.gamma is 1, else bootstrap"

/* Whether it is an end. */
int time_limit_ends(int32_t time_limit, double gamma);

#endif
