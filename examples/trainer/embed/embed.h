/*
 * What the files of this room share.
 */
#ifndef TRAINER_EMBED_H
#define TRAINER_EMBED_H

#include "collect/collect.h"
#include "embed/train.h"

/* The caller's task as the trainer has it. */
task embed_task(const tce_train_task *given);

#endif
