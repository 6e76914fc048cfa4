/*
 * Networks: prediction and gradient of an MLP, then Adam steps on the mean of squares with the
 * linear schedule.
 */
#include "replay.h"

#include <stdio.h>
#include <string.h>

#include "methods/schedules.h"

/* what the published schedule leaves of a learning rate */
#define SCHEDULE_LAST 0.01

static void free_net(void *net)
{
    tce_net_free(net);
}

/*
 * N of "linear 1 -> 0.01 over N steps"; 0 (a factor of 1) without a schedule, "none" or "constant".
 */
static uint64_t schedule_length(replay_case *c)
{
    const char *text = replay_text(c, c->root, "schedule");
    unsigned long length;

    if (text == NULL || strcmp(text, "none") == 0 || strcmp(text, "constant") == 0)
        return 0;
    if (sscanf(text, "linear 1 -> 0.01 over %lu", &length) != 1)
        replay_fail(c, "\"schedule\" %s is unknown", text);
    return length;
}

static tce_net *create_net(replay_case *c, const replay_layers *layers, size_t n)
{
    tce_net_options opt;
    tce_net *net;

    tce_net_options_init(&opt, sizeof opt);
    opt.n_in = (int32_t)layers->n_in;
    opt.n_out = (int32_t)layers->n_out;
    opt.n_hidden = (int32_t)layers->n - 1;
    opt.hidden = layers->hidden;
    opt.activation = replay_activation(c);
    opt.precision = TCE_NET_DOUBLE;
    opt.max_batch = (int32_t)n;
    replay_ok(c, tce_net_create(&opt, NULL, &net));
    replay_keep(c, net, free_net);
    replay_ok(c, tce_net_set_weights(net, layers->parameters));
    return net;
}

/* Prediction and gradient by forward and backward, at the first weights. */
static void replay_first(replay_case *c, tce_net *net, size_t n, size_t n_out, const double *x,
                         const double *target)
{
    const json_t *first = replay_get(c, c->root, "first");
    const size_t n_parameters = tce_net_n_weights(net);
    double *prediction = replay_zeros(c, n * n_out);
    double *gradient = replay_zeros(c, n_parameters);

    if (first == NULL)
        return;
    replay_ok(c, tce_net_forward(net, n, x, prediction));
    replay_compare(c, first, "prediction", n * n_out, prediction, TOL_NUMBERS);

    /* d of the mean of squares */
    for (size_t i = 0; i < n * n_out; i++)
        prediction[i] = 2.0 * (prediction[i] - target[i]) / (double)(n * n_out);
    replay_ok(c, tce_net_backward(net, n, prediction, NULL));
    tce_net_get_gradient(net, gradient);
    replay_compare_layers_gradient(c, first, "gradients", n_parameters, gradient);
}

void replay_mlp_adam(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_layers layers;
    tce_adam_options adam;

    /* the network and its data */
    replay_read_layers(c, c->root, "weights", &layers);
    replay_shape(c, c->root, "inputs", shape);
    const size_t n = shape[0];
    const double *x = replay_array(c, c->root, "inputs", n * layers.n_in);
    const double *target = replay_array(c, c->root, "targets", n * layers.n_out);
    if (replay_get(c, c->root, "sizes") != NULL) {
        const int32_t *sizes = replay_ints(c, c->root, "sizes", layers.n + 1);
        for (size_t i = 0; i <= layers.n; i++)
            if ((size_t)sizes[i] != (i == 0 ? layers.n_in : (size_t)layers.hidden[i - 1]))
                replay_fail(c, "\"sizes\" does not fit \"weights\"");
    }
    tce_net *net = create_net(c, &layers, n);
    replay_first(c, net, n, layers.n_out, x, target);

    /* Adam, one step a loss */
    tce_adam_options_init(&adam, sizeof adam);
    const double learning_rate = replay_number(c, c->root, "lr");
    adam.l2 = replay_number_or(c, c->root, "l2", 0.0);
    const uint64_t length = schedule_length(c);
    const double clip_norm = replay_number_or(c, c->root, "clip_norm", 0.0);
    replay_shape(c, c->root, "losses", shape);
    double *losses = replay_zeros(c, shape[0]);
    for (size_t i = 0; i < shape[0]; i++) {
        replay_ok(c, tce_net_pass_mse(net, n, x, target, NULL, &losses[i]));
        tce_net_scale_gradient(net, clip_factor(tce_net_gradient_norm(net), clip_norm));
        adam.learning_rate = learning_rate * linear_schedule(i, length, SCHEDULE_LAST);
        replay_ok(c, tce_net_adam_step(net, &adam));
    }
    replay_compare(c, c->root, "losses", shape[0], losses, TOL_NUMBERS);

    double *parameters = replay_zeros(c, layers.n_parameters);
    tce_net_get_weights(net, parameters);
    replay_compare_layers(c, c->root, "final_weights", layers.n_parameters, parameters);
}
