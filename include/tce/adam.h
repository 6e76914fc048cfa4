/*
 * adam: the optimiser of networks and policies, and for plain vectors of numbers.
 *
 *     g <- g + l2 x,   m <- beta1 m + (1 - beta1) g,   v <- beta2 v + (1 - beta2) g^2
 *     x <- x - learning_rate m^/(sqrt(v^) + epsilon),   m^ = m/(1 - beta1^t), v^ = v/(1 - beta2^t)
 *
 * Networks and policies keep m, v and t themselves (tce_net_adam_step, tce_policy_adam_step). A
 * schedule of the learning rate is up to the caller, who multiplies learning_rate before the step.
 */
#ifndef TCE_ADAM_H
#define TCE_ADAM_H

#include <tce/status.h>

TCE_BEGIN_C

typedef struct tce_adam_options {
    size_t struct_size;
    double learning_rate; /* 3e-4 */
    double l2;            /* 0: weight decay, added to the gradient */
    double beta1;         /* 0.9 */
    double beta2;         /* 0.999 */
    double epsilon;       /* 1e-8 */
} tce_adam_options;

TCE_API void tce_adam_options_init(tce_adam_options *options, size_t struct_size);

/*
 * Step number `step` (1 for the first) of a vector: gradient [n] -> x, moment and square [n], all
 * three changed in place. The caller starts moment and square at 0 and keeps them.
 * TCE_E_NOT_FINITE: the gradient or its square is NaN or infinite; nothing changed.
 * TCE_E_VALUE: an option out of range, or step 0.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_adam_update(const tce_adam_options *adam, uint64_t step,
                                                 size_t n, const double *gradient, double *x,
                                                 double *moment, double *square);

TCE_END_C

#endif
