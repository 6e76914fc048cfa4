/*
 * A program compiled long ago: its options struct is shorter than the library's, and memory behind
 * it belongs to somebody else. Also one from the future, whose longer struct is welcome as long as
 * the part this library does not know is zero.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tce/mp.h>

#define GUARD 0x5a

/* tce_mp_options as far as it went in this program's time */
typedef struct old_options {
    size_t struct_size;
    int32_t kind;
    int32_t phase;
    int32_t basis;
    int32_t n_dof;
    int32_t n_basis;
    int32_t n_basis_outside;
} old_options;

typedef struct new_options {
    tce_mp_options known;
    double added;
} new_options;

static int expect(int true_statement, const char *what)
{
    if (!true_statement)
        fprintf(stderr, "old caller: %s; last message: %s\n", what, tce_error_message());
    return !true_statement;
}

/*
 * the library writes no byte behind the caller's struct, and takes defaults for what the caller
 * does not know
 */
static int short_struct(void)
{
    union {
        old_options options;
        unsigned char bytes[sizeof(tce_mp_options)];
    } box;
    memset(&box, GUARD, sizeof box);
    tce_mp_options_init((tce_mp_options *)(void *)&box, sizeof box.options);
    int bad = expect(box.options.struct_size == sizeof box.options, "struct_size is the caller's");
    for (size_t i = sizeof box.options; i < sizeof box; i++)
        bad |= expect(box.bytes[i] == GUARD, "nothing is written behind the struct");

    box.options.n_basis = 4;
    tce_mp *mp = NULL;
    bad |= expect(tce_mp_create((const tce_mp_options *)(const void *)&box, NULL, &mp) == TCE_OK,
                  "a short struct is accepted");
    if (mp == NULL)
        return 1;
    bad |= expect(tce_mp_n_params(mp) == 5, "its fields are read");

    /* the same path as that of a caller with the whole struct */
    tce_mp_options options;
    tce_mp_options_init(&options, sizeof options);
    options.n_basis = 4;
    tce_mp *whole = NULL;
    bad |= expect(tce_mp_create(&options, NULL, &whole) == TCE_OK, "a whole struct is accepted");
    const double params[5] = { 0.1, -0.2, 0.3, -0.4, 1.0 };
    const double zero = 0.0;
    double a = -1.0;
    double b = -2.0;
    bad |= expect(tce_mp_query(mp, 0.5, params, 0.0, &zero, &zero, &a, NULL, NULL) == TCE_OK,
                  "it works");
    bad |= expect(tce_mp_query(whole, 0.5, params, 0.0, &zero, &zero, &b, NULL, NULL) == TCE_OK,
                  "the other works");
    bad |= expect(a == b && isfinite(a), "both give the same path");
    tce_mp_free(mp);
    tce_mp_free(whole);
    return bad;
}

static int long_struct(void)
{
    new_options options;
    tce_mp_options_init(&options.known, sizeof options);
    int bad = expect(options.known.struct_size == sizeof options && options.added == 0.0,
                     "a longer struct is zeroed to its end");

    tce_mp *mp = NULL;
    bad |= expect(tce_mp_create(&options.known, NULL, &mp) == TCE_OK,
                  "a longer struct with a zero tail is accepted");
    tce_mp_free(mp);

    options.added = 1.0;
    mp = NULL;
    bad |= expect(tce_mp_create(&options.known, NULL, &mp) == TCE_E_VERSION && mp == NULL,
                  "what this library cannot know is refused");
    return bad;
}

int main(void)
{
    const int bad = short_struct() | long_struct();
    if (!bad)
        printf("old and new callers are served\n");
    return bad;
}
