/*
 * Reading and comparing the fields of one case; see replay.h.
 */
#include "replay.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A gradient that is zero except for rounding (one dimension on its bound, say) has no scale of its
 * own: it counts as if its largest entry were this.
 */
#define LEAST_GRADIENT 1e-7
/* What counts as 0 beside numbers of any size in the cases of step-based methods. */
#define SMALLEST_RIVAL 1e-14

struct replay_kept {
    replay_kept *next;
    void *block;
    void (*destroy)(void *block);
};

/* ---- running --------------------------------------------------------------------------------- */

void replay_fail(replay_case *c, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(c->reason, sizeof c->reason, format, arguments);
    va_end(arguments);
    longjmp(c->end, 1);
}

void replay_ok(replay_case *c, tce_status status)
{
    if (status == TCE_OK)
        return;
    c->status = status;
    replay_fail(c, "%s: %s", tce_status_name(status), tce_error_message());
}

void replay_keep(replay_case *c, void *block, void (*destroy)(void *block))
{
    if (block == NULL)
        return;
    replay_kept *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        destroy(block);
        replay_fail(c, "out of memory");
    }
    kept->next = c->kept;
    kept->block = block;
    kept->destroy = destroy;
    c->kept = kept;
}

void replay_release(replay_case *c)
{
    /* last kept, first released: handles before what they point to */
    while (c->kept != NULL) {
        replay_kept *kept = c->kept;
        c->kept = kept->next;
        kept->destroy(kept->block);
        free(kept);
    }
}

void *replay_block(replay_case *c, size_t n, size_t size)
{
    if (n > REPLAY_MAX_NUMBERS)
        replay_fail(c, "an array of %zu numbers is more than a case may have", n);
    void *block = calloc(n > 0 ? n : 1, size);
    if (block == NULL)
        replay_fail(c, "out of memory");
    replay_keep(c, block, free);
    return block;
}

double *replay_zeros(replay_case *c, size_t n)
{
    return replay_block(c, n, sizeof(double));
}

int32_t *replay_zeros_int(replay_case *c, size_t n)
{
    return replay_block(c, n, sizeof(int32_t));
}

/* ---- reading --------------------------------------------------------------------------------- */

int replay_was_read(const replay_case *c, const char *key)
{
    for (size_t i = 0; i < c->n_seen; i++)
        if (strcmp(key, c->seen[i]) == 0)
            return 1;
    return 0;
}

const json_t *replay_get(replay_case *c, const json_t *object, const char *key)
{
    /* remember which fields of the case were used */
    if (object == c->root && !replay_was_read(c, key) && c->n_seen < REPLAY_MAX_SEEN)
        c->seen[c->n_seen++] = key;

    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

const json_t *replay_object(replay_case *c, const json_t *object, const char *key)
{
    const json_t *value = replay_get(c, object, key);

    if (!json_is_object(value))
        replay_fail(c, "\"%s\" is missing or not an object", key);
    return value;
}

double replay_number_or(replay_case *c, const json_t *object, const char *key, double otherwise)
{
    const json_t *value = replay_get(c, object, key);

    if (value == NULL)
        return otherwise;
    if (json_is_boolean(value))
        return json_is_true(value) ? 1.0 : 0.0;
    /* a list of one number is a number */
    while (json_is_array(value) && json_array_size(value) == 1)
        value = json_array_get(value, 0);
    if (!json_is_number(value))
        replay_fail(c, "\"%s\" is not a number", key);
    return json_number_value(value);
}

double replay_number(replay_case *c, const json_t *object, const char *key)
{
    if (replay_get(c, object, key) == NULL)
        replay_fail(c, "\"%s\" is missing", key);
    return replay_number_or(c, object, key, 0.0);
}

static int32_t to_int(replay_case *c, const char *key, double value, int32_t least, int32_t most)
{
    if (!(value >= least && value <= most) || value != floor(value))
        replay_fail(c, "\"%s\" is %g, must be a whole number from %d to %d", key, value, (int)least,
                    (int)most);
    return (int32_t)value;
}

int32_t replay_int(replay_case *c, const json_t *object, const char *key, int32_t least,
                   int32_t most)
{
    return to_int(c, key, replay_number(c, object, key), least, most);
}

int32_t replay_int_or(replay_case *c, const json_t *object, const char *key, int32_t otherwise)
{
    return to_int(c, key, replay_number_or(c, object, key, otherwise), INT32_MIN, INT32_MAX);
}

const char *replay_text(replay_case *c, const json_t *object, const char *key)
{
    return json_string_value(replay_get(c, object, key));
}

int replay_bootstraps(replay_case *c)
{
    const char *time_limit = replay_text(c, c->root, "time_limit");
    const int ends = time_limit != NULL && strcmp(time_limit, "terminal") == 0;

    if (time_limit != NULL && !ends && strcmp(time_limit, "bootstrap") != 0)
        replay_fail(c, "time_limit is \"%s\", must be \"bootstrap\" or \"terminal\"", time_limit);
    return !ends;
}

size_t replay_shape(replay_case *c, const json_t *object, const char *key, size_t *shape)
{
    const json_t *value = replay_get(c, object, key);
    size_t rank = 0;

    if (value == NULL)
        replay_fail(c, "\"%s\" is missing", key);
    for (size_t i = 0; i < REPLAY_MAX_RANK; i++)
        shape[i] = 1;
    while (json_is_array(value)) {
        if (rank == REPLAY_MAX_RANK || json_array_size(value) == 0)
            replay_fail(c, "\"%s\" is nested too deeply or empty", key);
        shape[rank++] = json_array_size(value);
        value = json_array_get(value, 0);
    }
    return rank;
}

static size_t count_numbers(const json_t *value)
{
    size_t n = 0;

    if (!json_is_array(value))
        return 1;
    for (size_t i = 0; i < json_array_size(value); i++)
        n += count_numbers(json_array_get(value, i));
    return n;
}

/* Writes the numbers of value at out and returns the place after them. */
static double *flatten(replay_case *c, const char *key, const json_t *value, int nulls, double *out)
{
    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++)
            out = flatten(c, key, json_array_get(value, i), nulls, out);
        return out;
    }
    if (nulls && json_is_null(value))
        return out + 1; /* stays 0 */
    if (!json_is_number(value) && !json_is_boolean(value))
        replay_fail(c, "\"%s\" holds something that is not a number", key);
    *out = json_is_boolean(value) ? (double)json_is_true(value) : json_number_value(value);
    return out + 1;
}

static double *read_array(replay_case *c, const json_t *object, const char *key, size_t n,
                          int nulls)
{
    const json_t *value = replay_get(c, object, key);

    if (value == NULL)
        replay_fail(c, "\"%s\" is missing", key);
    const size_t count = count_numbers(value);
    if (count != n)
        replay_fail(c, "\"%s\" has %zu numbers, expected %zu", key, count, n);
    double *out = replay_zeros(c, count);
    flatten(c, key, value, nulls, out);
    return out;
}

double *replay_array(replay_case *c, const json_t *object, const char *key, size_t n)
{
    return read_array(c, object, key, n, 0);
}

double *replay_array_or_zeros(replay_case *c, const json_t *object, const char *key, size_t n)
{
    return read_array(c, object, key, n, 1);
}

int32_t *replay_ints(replay_case *c, const json_t *object, const char *key, size_t n)
{
    const double *numbers = replay_array(c, object, key, n);
    int32_t *out = replay_block(c, n, sizeof *out);

    for (size_t i = 0; i < n; i++)
        out[i] = to_int(c, key, numbers[i], INT32_MIN, INT32_MAX);
    return out;
}

uint8_t *replay_flags(replay_case *c, const json_t *object, const char *key, size_t n)
{
    const double *numbers = replay_array(c, object, key, n);
    uint8_t *out = replay_block(c, n, sizeof *out);

    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)to_int(c, key, numbers[i], 0, 1);
    return out;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Notes max |got - want| / scale against tol; a NaN on either side is an infinite difference. */
static void note(replay_case *c, const char *key, size_t n, const double *got, const double *want,
                 double scale, double tol)
{
    double difference = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double d = fabs(got[i] - want[i]);
        if (isnan(d))
            difference = INFINITY;
        else if (d > difference)
            difference = d;
    }
    if (difference > 0.0)
        difference /= scale;

    /* keep the one that is nearest to its limit */
    const double used = difference > 0.0 ? difference / tol : 0.0;
    if (c->n_compared == 0 || used > c->used) {
        c->used = used;
        c->difference = difference;
        c->tolerance = tol;
        c->field = key;
    }
    c->n_compared++;
}

static double largest(size_t n, const double *x)
{
    double result = 0.0;

    for (size_t i = 0; i < n; i++)
        result = fabs(x[i]) > result ? fabs(x[i]) : result;
    return result;
}

void replay_compare_with(replay_case *c, const char *key, size_t n, const double *got,
                         const double *want, double tol)
{
    note(c, key, n, got, want, fmax(1.0, largest(n, want)), tol);
}

void replay_compare_absolute(replay_case *c, const char *key, size_t n, const double *got,
                             const double *want, double tol)
{
    note(c, key, n, got, want, 1.0, tol);
}

void replay_compare_number(replay_case *c, const json_t *object, const char *key, double got,
                           double tol)
{
    if (replay_get(c, object, key) == NULL)
        return;
    const double want = replay_number(c, object, key);
    replay_compare_absolute(c, key, 1, &got, &want, tol);
}

void replay_same(replay_case *c, const char *what, size_t n, const double *got, const double *want)
{
    if (memcmp(got, want, n * sizeof *got) != 0)
        replay_fail(c, "%s should be the same, bit for bit", what);
}

void replay_compare(replay_case *c, const json_t *object, const char *key, size_t n,
                    const double *got, double tol)
{
    if (replay_get(c, object, key) == NULL)
        return;
    replay_compare_with(c, key, n, got, replay_array(c, object, key, n), tol);
}

void replay_compare_rivals(replay_case *c, const json_t *object, const char *key, size_t n,
                           const double *got)
{
    if (replay_get(c, object, key) == NULL)
        return;
    const double tol = replay_number_or(c, c->root, "tolerance", TOL_RIVALS);
    const double *want = replay_array(c, object, key, n);
    note(c, key, n, got, want, largest(n, want) + SMALLEST_RIVAL / tol, tol);
}

static void compare_gradient_with(replay_case *c, const char *key, size_t n, const double *got,
                                  const double *want)
{
    const double tol = replay_number_or(c, c->root, "grad_tolerance", TOL_GRADIENT);

    note(c, key, n, got, want, fmax(largest(n, want), LEAST_GRADIENT), tol);
}

void replay_compare_gradient(replay_case *c, const json_t *object, const char *key, size_t n,
                             const double *got)
{
    if (replay_get(c, object, key) == NULL)
        return;
    compare_gradient_with(c, key, n, got, replay_array(c, object, key, n));
}

/* ---- layers of networks ---------------------------------------------------------------------- */

int32_t replay_activation(replay_case *c)
{
    static const struct {
        const char *name;
        int32_t value;
    } activations[] = { { "relu", TCE_NET_RELU },
                        { "leaky_relu", TCE_NET_LEAKY_RELU },
                        { "tanh", TCE_NET_TANH },
                        { "linear", TCE_NET_LINEAR } };
    const char *name = replay_text(c, c->root, "activation");

    for (size_t i = 0; name != NULL && i < sizeof activations / sizeof activations[0]; i++)
        if (strcmp(name, activations[i].name) == 0)
            return activations[i].value;
    replay_fail(c, "\"activation\" %s is unknown", name != NULL ? name : "(none)");
}

void replay_read_layers(replay_case *c, const json_t *object, const char *key, replay_layers *out)
{
    const json_t *list = replay_get(c, object, key);
    const size_t n = json_array_size(list);

    if (n == 0)
        replay_fail(c, "\"%s\" is not a list of layers", key);
    out->n = n;
    out->n_parameters = 0;
    out->hidden = replay_zeros_int(c, n);

    /* sizes, which must fit from layer to layer */
    for (size_t i = 0; i < n; i++) {
        const json_t *layer = json_array_get(list, i);
        size_t shape[REPLAY_MAX_RANK];

        if (!json_is_object(layer) || replay_shape(c, layer, "weight", shape) != 2)
            replay_fail(c, "layer %zu of \"%s\" has no weight [out, in]", i, key);
        if (i > 0 && shape[1] != out->n_out)
            replay_fail(c, "layer %zu of \"%s\" has %zu inputs after %zu outputs", i, key, shape[1],
                        out->n_out);
        if (i == 0)
            out->n_in = shape[1];
        out->n_out = shape[0];
        out->hidden[i] = (int32_t)shape[0];
        out->n_parameters += shape[0] * shape[1] + shape[0];
    }

    /* numbers, weights before biases */
    out->parameters = replay_zeros(c, out->n_parameters);
    double *next = out->parameters;
    size_t n_in = out->n_in;
    for (size_t i = 0; i < n; i++) {
        const json_t *layer = json_array_get(list, i);
        const size_t n_out = (size_t)out->hidden[i];

        memcpy(next, replay_array(c, layer, "weight", n_out * n_in), n_out * n_in * sizeof *next);
        next += n_out * n_in;
        memcpy(next, replay_array(c, layer, "bias", n_out), n_out * sizeof *next);
        next += n_out;
        n_in = n_out;
    }
}

/* How two arrays are compared: by the rule for numbers, or by that for gradients. */
typedef void (*comparison)(replay_case *c, const char *key, size_t n, const double *got,
                           const double *want);

static void compare_numbers(replay_case *c, const char *key, size_t n, const double *got,
                            const double *want)
{
    replay_compare_with(c, key, n, got, want, TOL_NUMBERS);
}

static void compare_layers(replay_case *c, const json_t *object, const char *key, size_t n,
                           const double *got, comparison compare)
{
    replay_layers want;

    if (replay_get(c, object, key) == NULL)
        return;
    replay_read_layers(c, object, key, &want);
    if (want.n_parameters != n)
        replay_fail(c, "\"%s\" has %zu numbers, expected %zu", key, want.n_parameters, n);

    size_t n_in = want.n_in;
    size_t at = 0;
    for (size_t i = 0; i < want.n; i++) {
        const size_t n_out = (size_t)want.hidden[i];

        compare(c, key, n_out * n_in, got + at, want.parameters + at);
        at += n_out * n_in;
        compare(c, key, n_out, got + at, want.parameters + at);
        at += n_out;
        n_in = n_out;
    }
}

void replay_compare_layers(replay_case *c, const json_t *object, const char *key, size_t n,
                           const double *got)
{
    compare_layers(c, object, key, n, got, compare_numbers);
}

void replay_compare_layers_gradient(replay_case *c, const json_t *object, const char *key, size_t n,
                                    const double *got)
{
    compare_layers(c, object, key, n, got, compare_gradient_with);
}
