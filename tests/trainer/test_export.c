/*
 * Exported C against the library: every kind of primitive, network, normaliser and range of actions
 * is exported, compiled with all warnings as errors, loaded, and must give the library's numbers
 * for contexts, paths, new starts and single times, or for observations; and refuse what the
 * library refuses.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "collect/agent.h"
#include "export/c_file.h"
#include "export/export_c.h"
#include "support.h"

#define WARNINGS "-Wall -Wextra -Wpedantic -Werror"
#define STRICT "-std=c99 " WARNINGS
/* make sets the variable */
#define TEMPLATES "\"${TCE_GOLDEN:?}/../../examples/trainer/export/templates\""
/* a network's sums in another order; the primitive is double in both cases */
#define FLOAT_TOLERANCE 1e-6
#define DOUBLE_TOLERANCE 1e-12

enum { D = 3, O = 6, T = 23, A = 4, MAX_P = 64 };

static char folder[TEST_FOLDER];

/* ---- policies to export ---------------------------------------------------------------------- */

typedef struct export_case {
    const char *label;
    tce_mp_options mp;
    tce_policy_options policy;
    int32_t context[O]; /* entries of the observation, n_context of them */
    size_t n_context;
    int time_input;
    int acts;       /* A actions; no primitive */
    int normalised; /* 1; 2: and clipped */
    int32_t output; /* AGENT_… */
    double weights_scales[TCE_MP_MAX_BASIS];
} export_case;

static const int32_t HIDDEN[] = { 24, 16 };

/*
 * Case i of N_CASES; each differs from the first in what its label says. Those from FIRST_STEPS on
 * act at every step.
 */
enum { FIRST_STEPS = 27, N_CASES = 34 };

/* As SAC has it. */
static void set_spread_on_body(export_case *c, int shared_body)
{
    c->policy.form = TCE_POLICY_DIAGONAL_CONTEXTUAL;
    c->policy.spread = TCE_POLICY_EXP_CLIPPED;
    c->policy.shared_body = shared_body;
    c->policy.activation = TCE_NET_RELU;
    c->output = AGENT_TANH;
}

static void set_steps_case(int i, export_case *c)
{
    if (i < 0)
        return;
    c->acts = 1;
    c->policy.form = TCE_POLICY_DIAGONAL_SHARED;
    c->normalised = i == 1 ? 2 : i == 2 || i == 6;
    c->output = i == 1 || i == 2 ? AGENT_CLIP : AGENT_PLAIN;
    if (i == 1)
        c->policy.activation = TCE_NET_TANH;
    if (i >= 3 && i <= 5)
        set_spread_on_body(c, i < 5);
    c->time_input = i == 5;
    if (i == 6) {
        c->policy.n_hidden = 0;
        c->n_context = 2;
        c->context[0] = 4;
        c->context[1] = 1;
    }
}

static void set_case(int i, export_case *c)
{
    static const char *const LABELS[N_CASES] = {
        "table, float",
        "table, double",
        "relu, double",
        "tanh, float",
        "tanh, double",
        "linear, double",
        "no hidden layer",
        "time input",
        "context mask, contextual covariance",
        "tau/dt rounded up",
        "tau/dt rounded down, short table",
        "relative goal, delay, scales",
        "no goal, relative",
        "no weights, relative",
        "learnt tau and delay",
        "exact",
        "exact, relative, outside, no scaling",
        "exact, no weights",
        "exact, one basis function, learnt delay",
        "promp",
        "promp, rhythmic, learnt tau",
        "dmp, smooth, learnt delay",
        "dmp",
        "dmp, rhythmic",
        "promp, smooth, one basis function",
        "squashed, mean and spread on one body",
        "normalised, clipped inputs, time input",
        "steps, double",
        "steps, normalised and clipped, clipped actions, tanh, float",
        "steps, normalised, clipped actions, double",
        "steps, squashed, mean and spread on one body, float",
        "steps, squashed, mean and spread on one body, double",
        "steps, squashed, two networks, time input, double",
        "steps, context mask, normalised, no hidden layer",
    };
    memset(c, 0, sizeof *c);
    c->label = LABELS[i];
    tce_mp_options_init(&c->mp, sizeof c->mp);
    tce_policy_options_init(&c->policy, sizeof c->policy);
    c->mp.n_dof = D;
    c->mp.tau = 1.5;
    c->mp.dt = 0.02;
    c->mp.weights_scale = 0.7;
    c->mp.goal_scale = 0.4;
    c->policy.n_hidden = 2;
    c->policy.hidden = HIDDEN;
    const int is_float = i == 0 || i == 3 || i == FIRST_STEPS + 1 || i == FIRST_STEPS + 3;
    c->policy.precision = is_float ? TCE_NET_FLOAT : TCE_NET_DOUBLE;

    switch (i) {
    case 2:
        c->policy.activation = TCE_NET_RELU;
        break;
    case 3:
    case 4:
        c->policy.activation = TCE_NET_TANH;
        break;
    case 5:
        c->policy.activation = TCE_NET_LINEAR;
        break;
    case 6:
        c->policy.n_hidden = 0;
        break;
    case 7:
        c->time_input = 1;
        break;
    case 8:
        c->policy.form = TCE_POLICY_FULL_CONTEXTUAL;
        c->n_context = 2;
        c->context[0] = 4;
        c->context[1] = 1;
        break;
    case 9:
        c->mp.dt = 0.016;
        break; /* 93.75 */
    case 10:
        c->mp.dt = 1.5 / 93.25;
        c->mp.table_length = 2;
        break;
    case 11:
        c->mp.relative_goal = 1;
        c->mp.delay = 0.3;
        c->mp.weights_scales = c->weights_scales;
        for (int k = 0; k < c->mp.n_basis; k++)
            c->weights_scales[k] = 0.5 - 0.2 * k;
        break;
    case 12:
        c->mp.relative_goal = c->mp.disable_goal = 1;
        break;
    case 13:
        c->mp.relative_goal = c->mp.disable_weights = 1;
        break;
    case 14:
        c->mp.learn_tau = c->mp.learn_delay = 1;
        break;
    case 15:
        c->mp.basis = TCE_MP_BASIS_EXACT;
        break;
    case 16:
        c->mp.basis = TCE_MP_BASIS_EXACT;
        c->mp.relative_goal = 1;
        c->mp.n_basis = 12;
        c->mp.n_basis_outside = 2;
        c->mp.auto_scale_basis = 0;
        c->mp.basis_bandwidth_factor = 5.0;
        c->mp.alpha = 60.0;
        break;
    case 17:
        c->mp.basis = TCE_MP_BASIS_EXACT;
        c->mp.disable_weights = 1;
        break;
    case 18:
        c->mp.basis = TCE_MP_BASIS_EXACT;
        c->mp.n_basis = 1;
        c->mp.learn_delay = 1;
        break;
    case 19:
        c->mp.kind = TCE_MP_PROMP;
        break;
    case 20:
        c->mp.kind = TCE_MP_PROMP;
        c->mp.phase = TCE_MP_PHASE_RHYTHMIC;
        c->mp.learn_tau = 1;
        break;
    case 21:
        c->mp.kind = TCE_MP_DMP;
        c->mp.phase = TCE_MP_PHASE_SMOOTH;
        c->mp.learn_delay = 1;
        break;
    case 22:
        c->mp.kind = TCE_MP_DMP;
        break;
    case 23:
        c->mp.kind = TCE_MP_DMP;
        c->mp.phase = TCE_MP_PHASE_RHYTHMIC;
        c->mp.learn_tau = 1;
        break;
    case 24:
        c->mp.kind = TCE_MP_PROMP;
        c->mp.phase = TCE_MP_PHASE_SMOOTH;
        c->mp.n_basis = 1;
        break;
    case 25:
        set_spread_on_body(c, 1);
        break;
    case 26:
        c->time_input = 1;
        c->normalised = 2;
        break;
    default:
        set_steps_case(i - FIRST_STEPS, c);
        break;
    }
}

/* of action i mod A */
static const double LOW[A] = { -1.0, -0.3, 0.1, -2.0 }, HIGH[A] = { 1.0, 0.2, 0.4, 3.0 };

/* Statistics of rows around 1 with deviations around 2. */
static tce_normaliser *make_normaliser(const export_case *c, size_t n)
{
    enum { ROWS = 50 };
    tce_normaliser *normaliser = NULL;
    tce_normaliser_options o;
    tce_normaliser_options_init(&o, sizeof o);
    o.n_columns = (int32_t)n;
    o.clip = c->normalised == 2 ? 1.2 : 0.0;
    ok(tce_normaliser_create(&o, NULL, &normaliser));
    double rows[ROWS * (O + 1)];
    tce_random random;
    tce_random_start(&random, 6, 0, 0, 0);
    tce_random_normals(&random, ROWS * n, rows);
    for (size_t i = 0; i < ROWS * n; i++)
        rows[i] = 1.0 + 2.0 * rows[i];
    ok(tce_normaliser_update(normaliser, ROWS, rows, NULL));
    return normaliser;
}

/* Its parts are free_agent's to free. */
static void make_agent(const export_case *c, agent *a)
{
    tce_policy_options o = c->policy;
    memset(a, 0, sizeof *a);
    if (!c->acts)
        ck_assert_msg(tce_mp_create(&c->mp, NULL, &a->mp) == TCE_OK, "%s: %s", c->label,
                      tce_error_message());
    a->acts = c->acts;
    a->O = O;
    a->T = T;
    a->D = D;
    a->dt = 0.05;
    a->n_context = c->n_context ? c->n_context : O;
    a->context = c->n_context ? c->context : NULL;
    a->time_input = c->time_input;
    a->O_net = a->n_context + (size_t)c->time_input;
    a->P = c->acts ? A : tce_mp_n_params(a->mp);
    a->task = "any */ task";
    a->output = c->output;
    o.n_obs = (int32_t)a->O_net;
    o.n_dims = (int32_t)a->P;
    ok(tce_policy_create(&o, NULL, &a->policy));
    if (c->normalised) {
        a->normaliser = make_normaliser(c, a->O_net);
        a->epsilon = 1e-8;
        a->clip = c->normalised == 2 ? 1.2 : 0.0;
    }
}

static void free_agent(agent *a)
{
    tce_policy_free(a->policy);
    tce_mp_free(a->mp);
    tce_normaliser_free(a->normaliser);
}

/* A policy with weights as large as trained ones, in the layout of an exported run. */
static tce_store *make_store(const export_case *c, agent *a)
{
    static double low[MAX_P], high[MAX_P];
    tce_store *store = NULL;
    make_agent(c, a);
    ck_assert_uint_le(a->P, MAX_P);
    for (size_t p = 0; p < a->P; p++) {
        low[p] = LOW[p % A];
        high[p] = HIGH[p % A];
    }
    a->low = low;
    a->high = high;

    const size_t n = tce_policy_n_weights(a->policy);
    double *parameters = malloc(n * sizeof *parameters);
    tce_random random;
    tce_random_start(&random, 5, 0, 0, 0);
    tce_random_normals(&random, n, parameters);
    for (size_t i = 0; i < n; i++)
        parameters[i] *= 0.3;
    ok(tce_policy_set_weights(a->policy, parameters));
    free(parameters);
    ok(tce_store_create(NULL, &store));
    ok(agent_save(a, store));
    return store;
}

/* ---- compiled policies ----------------------------------------------------------------------- */

typedef struct compiled {
    void *library;
    size_t (*context_size)(void);
    int (*parameters)(const double *, double *);
    int (*trajectory)(const double *, double, const double *, const double *, size_t,
                      const double *, double *, double *);
    int (*query)(double, const double *, double, const double *, const double *, double *,
                 double *);
    int (*action)(const double *, double *); /* of steps; the three above are of movements */
    int (*self_test)(double *);
} compiled;

/* Runs a command in the test's folder. */
static int run(const char *format, const char *argument)
{
    char command[512], tail[384];
    snprintf(tail, sizeof tail, format, argument);
    snprintf(command, sizeof command, "cd %s && %s", folder, tail);
    return system(command);
}

static void write_source(const tce_store *store, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ok(export_c(store, name, out));
    ck_assert_int_eq(fclose(out), 0);
}

static void *symbol(const compiled *c, const char *name)
{
    void *s = dlsym(c->library, name);
    ck_assert_msg(s != NULL, "no %s", name);
    return s;
}

static void load(compiled *c, int acts)
{
    char path[160];
    ck_assert_int_eq(run("%s -O2 " STRICT " -fPIC -shared -o arm.so arm.c -lm", "${CC:-cc}"), 0);
    snprintf(path, sizeof path, "%s/arm.so", folder);
    c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(c->library != NULL, "%s", dlerror());
    *(void **)&c->self_test = symbol(c, "arm_self_test");
    *(void **)&c->context_size = symbol(c, acts ? "arm_observation_size" : "arm_context_size");
    if (acts) {
        *(void **)&c->action = symbol(c, "arm_action");
        return;
    }
    *(void **)&c->parameters = symbol(c, "arm_parameters");
    *(void **)&c->trajectory = symbol(c, "arm_trajectory");
    *(void **)&c->query = symbol(c, "arm_query");
}

static double difference(size_t n, const double *got, const double *want)
{
    double size = 1.0, worst = 0.0;
    for (size_t i = 0; i < n; i++) {
        size = fmax(size, fabs(want[i]));
        worst = got[i] == want[i] ? worst : fmax(worst, fabs(got[i] - want[i]));
        if (isnan(got[i]))
            return INFINITY;
    }
    return worst / size;
}

#define ASSERT_CLOSE(c, what, n, got, want, tolerance)                                        \
    ck_assert_msg(difference(n, got, want) <= (tolerance), "%s: %s differ by %g", (c)->label, \
                  what, difference(n, got, want))

/* ---- golden ---------------------------------------------------------------------------------- */

/*
 * What the policy sees at a time of a drawn observation, and what the library makes of it, out [P].
 */
static void draw_inputs(const agent *a, tce_random *random, double time, double *inputs,
                        double *out)
{
    double obs[O];
    double *work = malloc(agent_work(a, 1) * sizeof *work);
    tce_random_normals(random, O, obs);
    for (int i = 0; a->normaliser && i < O; i++)
        obs[i] = 1.0 + 2.0 * obs[i];
    agent_input(a, obs, time, inputs);
    ok(agent_act(a, 1, obs, time, work, out));
    free(work);
}

static double tolerance_of(const export_case *c)
{
    return c->policy.precision == TCE_NET_FLOAT ? FLOAT_TOLERANCE : DOUBLE_TOLERANCE;
}

static void compare_actions(const export_case *c, const compiled *x, const agent *a, uint64_t seed)
{
    double inputs[O + 1], want[A], got[A];
    tce_random random;
    tce_random_start(&random, seed, 1, 0, 0);
    for (int t = 0; t < 5; t++) {
        draw_inputs(a, &random, 0.05 * t, inputs, want);
        ck_assert_int_eq(x->action(inputs, got), 0);
        ASSERT_CLOSE(c, "action", A, got, want, tolerance_of(c));
    }
}

/* Contexts, then the paths of the mean from three starts, as trajectory and one by one. */
static void compare_movements(const export_case *c, const compiled *x, const agent *a,
                              uint64_t seed)
{
    const double tolerance = tolerance_of(c);
    const tce_mp *mp = a->mp;
    const size_t P = a->P;
    double context[O + 1] = { 0 }, want[MAX_P], got[MAX_P];
    double start_pos[D], start_vel[D], times[T];
    double pos[T * D], vel[T * D], want_pos[T * D], want_vel[T * D];
    tce_random random;
    tce_random_start(&random, seed, 1, 0, 0);
    draw_inputs(a, &random, 0.0, context, want);
    ck_assert_int_eq(x->parameters(context, got), 0);
    ASSERT_CLOSE(c, "parameters", P, got, want, tolerance);

    /* what the network gives is used; a duration that it cannot mean is replaced in both */
    const int lead = c->mp.learn_tau != 0;
    const double tau = c->mp.learn_tau
                           ? (want[0] = got[0] = 1.1 + 0.1 * tce_random_uniform(&random))
                           : c->mp.tau;
    const double delay = c->mp.learn_delay
                             ? (want[lead] = got[lead] = 0.2 * tce_random_uniform(&random))
                             : c->mp.delay;
    for (int k = 0; k < 3; k++) {
        const double start = k == 0 ? 0.0 : delay + (k == 1 ? 0.37 : 0.9) * tau;
        for (int i = 0; i < T; i++)
            times[i] = start + (delay + 1.3 * tau - start) * (i + 0.3) / T;
        tce_random_normals(&random, D, start_pos);
        tce_random_normals(&random, D, start_vel);
        if (start < delay)
            memset(start_vel, 0, sizeof start_vel);
        tce_mp_grid grid = TCE_INIT(tce_mp_grid);
        grid.E = 1;
        grid.T = T;
        grid.times = times;
        grid.init_time = &start;
        grid.init_pos = start_pos;
        grid.init_vel = start_vel;
        ck_assert_msg(tce_mp_trajectory(mp, &grid, want, want_pos, want_vel, NULL) == TCE_OK,
                      "%s: %s", c->label, tce_error_message());
        ck_assert_msg(x->trajectory(got, start, start_pos, start_vel, T, times, pos, vel) == 0,
                      "%s", c->label);
        ASSERT_CLOSE(c, "positions", T * D, pos, want_pos, tolerance);
        ASSERT_CLOSE(c, "velocities", T * D, vel, want_vel, tolerance);

        for (int i = 0; i < T; i++) {
            ok(tce_mp_query(mp, times[i], want, start, start_pos, start_vel, want_pos, want_vel,
                            NULL));
            ck_assert_int_eq(x->query(times[i], got, start, start_pos, start_vel, pos, vel), 0);
            ASSERT_CLOSE(c, "queried position", D, pos, want_pos, tolerance);
            ASSERT_CLOSE(c, "queried velocity", D, vel, want_vel, tolerance);
        }
    }
}

START_TEST(exported_c_gives_the_numbers_of_the_library)
{
    export_case c;
    compiled x;
    agent a;
    double error = -1.0;
    set_case(_i, &c);
    test_make_folder("export", folder);
    tce_store *store = make_store(&c, &a);
    write_source(store, "arm");
    load(&x, c.acts);

    ck_assert_msg(x.self_test(&error) == 0, "%s: self-test off by %g", c.label, error);
    ck_assert_uint_eq(x.context_size(), c.acts ? a.O_net : a.n_context);
    for (uint64_t seed = 0; seed < 20; seed++)
        (c.acts ? compare_actions : compare_movements)(&c, &x, &a, seed);

    dlclose(x.library);
    free_agent(&a);
    tce_store_free(store);
    test_remove_folder(folder);
}
END_TEST

/* ---- property -------------------------------------------------------------------------------- */

static tce_store *export_case_to(int i, const char *name)
{
    export_case c;
    agent a;
    set_case(i, &c);
    tce_store *store = make_store(&c, &a);
    write_source(store, name);
    free_agent(&a);
    return store;
}

/* The template that a case is made of. */
static const char *template_of(int i)
{
    return i < FIRST_STEPS ? "movement_policy.c" : "step_policy.c";
}

static int there_is(const char *program)
{
    return run("command -v %s >/dev/null 2>&1", program) == 0;
}

START_TEST(every_compiler_takes_it_without_a_warning)
{
    test_make_folder("export", folder);
    tce_store_free(export_case_to(_i, "arm"));
    ck_assert_int_eq(run("%s -O2 " STRICT " -c -o arm.o arm.c", "gcc"), 0);
    if (there_is("clang"))
        ck_assert_int_eq(run("%s " STRICT " -fsyntax-only arm.c", "clang"), 0);
    if (there_is("g++"))
        ck_assert_int_eq(run("%s -x c++ -std=c++11 " WARNINGS " -fsyntax-only arm.c", "g++"), 0);

    /* nothing of the system but mathematics */
    ck_assert_msg(run("! nm -u arm.o | awk '{ print $2 }' | grep -vxE '%s'",
                      "exp|expm1|floor|tanhf?|cos|fmin|memcpy|memset|_GLOBAL_OFFSET_TABLE_|__stack_"
                      "chk_fail") == 0,
                  "foreign symbols");
    test_remove_folder(folder);
}
END_TEST

/* numbers/<part>.h for every part, in the test's folder. */
static void write_parts(const tce_store *store)
{
    ck_assert_int_eq(run("mkdir %s", "numbers"), 0);
    for (size_t i = 0; EXPORT_PARTS[i]; i++) {
        char path[192];
        snprintf(path, sizeof path, "%s/numbers/%s.h", folder, EXPORT_PARTS[i]);
        FILE *out = fopen(path, "w");
        ck_assert_ptr_nonnull(out);
        ok(export_part(store, EXPORT_PARTS[i], out));
        ck_assert_int_eq(fclose(out), 0);
    }
}

/* Beside its numbers, a template is C without a warning: the same C as the file made of it. */
START_TEST(templates_compile_as_they_are)
{
    test_make_folder("export", folder);
    tce_store *store = export_case_to(_i, "policy");
    write_parts(store);
    tce_store_free(store);
    ck_assert_int_eq(
        run("${CC:-cc} " STRICT " -I. -fsyntax-only " TEMPLATES "/%s", template_of(_i)), 0);
    ck_assert_int_eq(run("for file in " TEMPLATES "/%s policy.c; do ${CC:-cc} -std=c99 -I. -E -P "
                         "-DPOLICY_MAIN \"$file\" | tr -s '[:space:]' '\\n' >tokens; "
                         "[ -f first ] || mv tokens first; done; cmp first tokens",
                         template_of(_i)),
                     0);
    test_remove_folder(folder);
}
END_TEST

START_TEST(program_is_clean_under_the_sanitizers)
{
    test_make_folder("export", folder);
    tce_store_free(export_case_to(_i, "arm"));
    ck_assert_int_eq(run("gcc -O1 -g " STRICT " %s -DARM_MAIN -o arm arm.c -lm",
                         "-fsanitize=address,undefined -fno-sanitize-recover=all"),
                     0);
    ck_assert_int_eq(run("LD_PRELOAD= ./arm >%s", "out.txt"), 0);
    ck_assert_int_eq(run("grep -q 'self-test passed' %s", "out.txt"), 0);
    test_remove_folder(folder);
}
END_TEST

/* of a movement, and of a step in float, whose tolerance is wider */
START_TEST(self_test_notices_one_changed_weight)
{
    test_make_folder("export", folder);
    tce_store_free(export_case_to(_i == 0 ? 1 : FIRST_STEPS + 3, "arm"));
    ck_assert_int_eq(
        run("awk '{ print; if (%s) { getline; sub(/[0-9]+/, \"7\"); print } }' arm.c >bad.c",
            "/arm_weights\\[[0-9]/"),
        0);
    ck_assert_int_ne(run("cmp -s arm.c %s", "bad.c"), 0);
    ck_assert_int_eq(run("${CC:-cc} -std=c99 -DARM_MAIN -o bad %s -lm", "bad.c"), 0);
    ck_assert_int_ne(run("./bad >%s", "out.txt"), 0);
    test_remove_folder(folder);
}
END_TEST

START_TEST(two_policies_live_in_one_program_and_the_file_is_its_own_header)
{
    test_make_folder("export", folder);
    tce_store_free(export_case_to(0, "left"));
    tce_store_free(export_case_to(15, "right"));
    ck_assert_int_eq(run("printf '#define LEFT_DECLARATIONS_ONLY\\n#include \"left.c\"\\n#include "
                         "\"right.c\"\\nint main(void) "
                         "{ return left_self_test(NULL) || right_self_test(NULL); }\\n' >%s",
                         "both.c"),
                     0);
    ck_assert_int_eq(run("${CC:-cc} " STRICT " -o both %s left.c -lm && ./both", "both.c"), 0);
    test_remove_folder(folder);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(what_the_library_refuses_is_refused_and_nothing_is_written)
{
    double params[MAX_P], pos[D], vel[D], context[O] = { 0 };
    const double start_vel[D] = { 1.0, 0.0, 0.0 };
    compiled x;
    test_make_folder("export", folder);
    tce_store_free(export_case_to(11, "arm")); /* a delay, a table */
    load(&x, 0);
    for (int i = 0; i < MAX_P; i++)
        params[i] = 0.1;
    pos[0] = vel[0] = 42.0;

    ck_assert_int_eq(x.query(0.3 + 1.5 * 5.001, params, 0.0, NULL, NULL, pos, vel), -1);
    ck_assert_int_eq(x.query(NAN, params, 0.0, NULL, NULL, pos, vel), -1);
    ck_assert_int_eq(x.query(0.5, params, 0.1, NULL, start_vel, pos, vel), -1);
    ck_assert_int_eq(x.query(0.5, params, 0.4, NULL, start_vel, NULL, NULL), 0);
    params[2] = INFINITY;
    ck_assert_int_eq(x.query(0.5, params, 0.0, NULL, NULL, pos, vel), -1);
    context[1] = NAN;
    ck_assert_int_eq(x.parameters(context, params), -1);
    dlclose(x.library);

    /* a DMP: before its start, and so far behind it that integrating would take minutes */
    tce_store_free(export_case_to(22, "arm"));
    load(&x, 0);
    params[2] = 0.1;
    ck_assert_int_eq(x.query(0.3, params, 0.4, NULL, NULL, pos, vel), -1);
    ck_assert_int_eq(x.query(1.8e9, params, 0.0, NULL, NULL, pos, vel), -1);
    ck_assert_int_eq(x.query(1.8e9, params, 1.8e9 - 1.0, NULL, NULL, NULL, NULL), 0);
    ck_assert_double_eq(pos[0], 42.0);
    ck_assert_double_eq(vel[0], 42.0);
    dlclose(x.library);
    test_remove_folder(folder);
}
END_TEST

START_TEST(an_observation_that_is_not_finite_gives_no_action)
{
    double observation[O] = { 0 }, action[A] = { 42.0, 42.0, 42.0, 42.0 };
    compiled x;
    test_make_folder("export", folder);
    tce_store_free(export_case_to(FIRST_STEPS + 1, "arm"));
    load(&x, 1);
    observation[2] = NAN;
    ck_assert_int_eq(x.action(observation, action), -1);
    observation[2] = -INFINITY;
    ck_assert_int_eq(x.action(observation, action), -1);
    observation[2] = 1e300; /* far away, but clipped */
    for (int i = 0; i < A; i++)
        ck_assert_double_eq(action[i], 42.0);
    ck_assert_int_eq(x.action(observation, action), 0);
    dlclose(x.library);

    /* a network that overflows in float */
    tce_store_free(export_case_to(FIRST_STEPS + 3, "arm"));
    load(&x, 1);
    action[0] = 42.0;
    ck_assert_int_eq(x.action(observation, action), -1);
    ck_assert_double_eq(action[0], 42.0);
    dlclose(x.library);
    test_remove_folder(folder);
}
END_TEST

START_TEST(a_store_without_a_policy_is_refused)
{
    tce_store *store = NULL;
    FILE *out = tmpfile();
    ok(tce_store_create(NULL, &store));
    ck_assert_int_eq(export_c(store, "arm", out), TCE_E_NOT_FOUND);
    fclose(out);
    tce_store_free(store);
}
END_TEST

static tce_status write_nothing(const void *user, const char *part)
{
    (void)user;
    (void)part;
    return TCE_OK;
}

START_TEST(templates_that_leave_a_question_open_are_refused)
{
    const c_choice nothing[] = { { NULL, 0 } };
    c_file file = { .out = tmpfile(), .name = "arm", .choices = nothing };
    file.write_part = write_nothing;
    ck_assert_int_eq(c_file_template(&file, "nowhere.c"), TCE_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "nowhere.c"));
    ck_assert_int_eq(c_file_template(&file, "basis.c"), TCE_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "POLICY_RHYTHMIC"));
    ok(c_file_template(&file, "movement_main.c"));
    fclose(file.out);
}
END_TEST

START_TEST(names_that_c_does_not_take_are_refused)
{
    ck_assert(export_name_is_fine("arm_2"));
    ck_assert(!export_name_is_fine("2arm"));
    ck_assert(!export_name_is_fine(""));
    ck_assert(!export_name_is_fine("../arm"));
    ck_assert(!export_name_is_fine("arm-left"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export");
    TCase *golden = test_case(suite, "golden", 60);
    TCase *property = test_case(suite, "property", 60);
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_loop_test(golden, exported_c_gives_the_numbers_of_the_library, 0, N_CASES);
    tcase_add_loop_test(property, every_compiler_takes_it_without_a_warning, 0, N_CASES);
    tcase_add_loop_test(property, templates_compile_as_they_are, 0, N_CASES);
    tcase_add_loop_test(property, program_is_clean_under_the_sanitizers, 11, N_CASES);
    tcase_add_loop_test(property, self_test_notices_one_changed_weight, 0, 2);
    tcase_add_test(property, two_policies_live_in_one_program_and_the_file_is_its_own_header);
    tcase_add_test(errors, what_the_library_refuses_is_refused_and_nothing_is_written);
    tcase_add_test(errors, an_observation_that_is_not_finite_gives_no_action);
    tcase_add_test(errors, a_store_without_a_policy_is_refused);
    tcase_add_test(errors, templates_that_leave_a_question_open_are_refused);
    tcase_add_test(errors, names_that_c_does_not_take_are_refused);

    return test_run(suite);
}
