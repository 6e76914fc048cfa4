/*
 * A trained policy as an ONNX model: context in, parameters and the desired path of a whole episode
 * out; of a policy that acts at every step, observation in, action out.
 */
#ifndef TRAINER_EXPORT_ONNX_H
#define TRAINER_EXPORT_ONNX_H

#include <tce/tce.h>

#include "tools/protobuf.h"

/* What the model tells its users about the robot. */
typedef struct onnx_texts {
    const char *joints; /* names, one for each number of a position or action, with commas; NULL */
    const char *unit;   /* of positions or actions: "rad"; NULL: that of the task */
} onnx_texts;

/*
 * Writes the policy in a store (what agent_save put there) as the file of a model, into out, which
 * is empty before and the caller's to free. TCE_E_UNSUPPORTED: a primitive whose duration or delay
 * is learnt.  TCE_E_SHAPE: another number of joints.  Else as export_c.
 */
tce_status export_onnx(const tce_store *store, const char *name, const onnx_texts *texts,
                       protobuf *out);

#endif
