/*
 * Settings of a run. One table row a key (section, key, type, default, limits, help) feeds the YAML
 * reader, the command line, the dump, --help, the documentation and the completion; the struct
 * below is only where the values land.
 */
#ifndef TRAINER_SETTINGS_H
#define TRAINER_SETTINGS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tce/tce.h>

#define TEXT_SIZE 1024
#define MAX_LIST 64

/* Hidden layer widths, or a scale for each basis function. */
typedef struct setting_ints {
    int32_t n;
    int32_t v[MAX_LIST];
} setting_ints;

typedef struct setting_doubles {
    int32_t n;
    double v[MAX_LIST];
} setting_doubles;

enum { METHOD_TCE = 0, METHOD_BBRL = 1 };
enum { CRITIC_GAE = 0, CRITIC_MONTE_CARLO = 1 };

typedef struct settings {
    struct {
        int32_t method; /* METHOD_… */
        uint64_t seed;
        int64_t iterations; /* the whole run */
        int64_t steps; /* environment steps after which the run ends; 0: iterations alone decide */
        int32_t threads;          /* 0: all cores */
        double stop_success;      /* ends the run when an evaluation reaches it; 0: never */
        int32_t checkpoint_every; /* iterations */
        int32_t checkpoint_keep;
    } run;
    struct {
        char name[TEXT_SIZE];
        char library[TEXT_SIZE]; /* empty: the one beside the program */
        /*
         * 1: the user named it, here or in a file of their own; else it is a record and not loaded.
         * No key of the table.
         */
        int32_t library_named;
        char options[TEXT_SIZE]; /* "key=value key=value" for the task */
    } task;
    struct {
        int32_t episodes;        /* an iteration */
        int32_t environments;    /* run at once; episodes are whole rounds of these */
        int32_t on_fault;        /* TCE_ROLLOUT_… */
        int32_t reward_to_event; /* move rewards to the deciding event */
        int32_t time_input;      /* append the time to the observation */
        int32_t mask_context;    /* only the task's context entries, no time (black-box methods) */
    } collect;
    struct {
        int32_t every; /* iterations; 0: only at the end */
        int32_t episodes;
    } evaluate;
    struct {
        int32_t kind, phase, basis;
        int32_t num_basis, num_basis_outside, table_length;
        int32_t relative_goal, auto_scale_basis, disable_goal, disable_weights, learn_tau,
            learn_delay;
        double tau, delay, dt; /* dt 0: the task's */
        double alpha, alpha_phase, basis_bandwidth_factor, goal_scale;
        setting_doubles weights_scale; /* one number, or one a basis function */
    } mp;
    struct {
        int32_t covariance; /* TCE_POLICY_… */
        setting_ints hidden;
        int32_t activation; /* TCE_NET_… */
        int32_t precision;  /* of both networks */
        int32_t start;
        double min_std, initial_std;
        double learning_rate, l2, clip_norm;
        int32_t epochs;
        double entropy_coefficient;
        int32_t set_variance;
    } policy;
    struct {
        setting_ints hidden;
        int32_t activation;
        double learning_rate, l2, clip_norm;
        int32_t epochs, minibatches;
        int32_t normalise;
        int32_t target; /* CRITIC_… */
    } critic;
    struct {
        int32_t kind; /* TCE_TRPL_…; identity goes with ratio_clip */
        double mean_bound, cov_bound, coefficient;
        double ratio_clip; /* > 0: PPO-style clipping instead of the projection */
        int32_t entropy;   /* TCE_TRPL_ENTROPY_… */
        int32_t entropy_first;
        int32_t entropy_schedule; /* TCE_TRPL_SCHEDULE_… */
        double entropy_target, entropy_temperature;
    } projection;
    struct {
        double gamma, lambda;
        int32_t time_points; /* K */
        int32_t selection;   /* TCE_TIME_POINTS_… */
        int32_t advantage;   /* TCE_SEGMENT_… */
        double regulariser;
    } objective;
    struct {
        int64_t learning_rate_iterations; /* rates fall to 1 % over these; 0: constant */
        int64_t entropy_iterations; /* length of projection.entropy_schedule; 0: run.iterations */
        /* no setting: entropy_iterations is the run.iterations that the run began with */
        int32_t entropy_from_run;
    } schedule;
} settings;

typedef enum setting_type {
    SETTING_BOOL,
    SETTING_INT, /* int32_t */
    SETTING_INT64,
    SETTING_UINT64,
    SETTING_REAL,
    SETTING_TEXT,   /* char[TEXT_SIZE] */
    SETTING_CHOICE, /* int32_t, position in `choices` */
    SETTING_INTS,
    SETTING_REALS
} setting_type;

typedef struct setting_row {
    const char *section;
    const char *key;
    setting_type type;
    size_t offset;       /* into settings */
    const char *start;   /* default, as it would be written in a file */
    double least, most;  /* numbers and list entries */
    const char *choices; /* "kl|w2|frobenius|none" */
    const char *help;
} setting_row;

/* The table, in the order of the file. */
extern const setting_row SETTING_ROWS[];
extern const size_t N_SETTING_ROWS;

/* Every key at its default. */
void settings_init(settings *s);

/*
 * Sets section.key from text; `where` (a file's line, "command line") begins the message of a
 * failure. Names the nearest key when there is no such key.
 */
tce_status settings_set(settings *s, const char *section, const char *key, const char *text,
                        const char *where);

/*
 * "run.iterations=3" for a key without its section ("iterations") or with it ("run.iterations"),
 * '-' for '_' in it; "a=3 or b=3" when several sections have it. "..." instead of a value that is
 * NULL or wrong. Returns how many there are.
 */
size_t settings_spell(const char *name, const char *value, char *out, size_t size);

/*
 * Reads a YAML file of sections over *s. Unknown and repeated keys, and values out of range, are
 * errors with the line number.
 */
tce_status settings_load(settings *s, const char *path);

/* "section.key=value" of the command line. */
tce_status settings_override(settings *s, const char *assignment);

/*
 * task.library, by the user: it may be loaded, and is kept as an absolute path, which holds in any
 * working directory.
 */
tce_status settings_name_library(settings *s, const char *path);

/* What no single key can tell: combinations that have no meaning. */
tce_status settings_check(const settings *s);

/* Writes all keys as YAML that settings_load reads back to the same values. */
void settings_dump(const settings *s, FILE *out);

/* One key's value as text, as it would stand in a file. */
void settings_text(const settings *s, const setting_row *row, char *out, size_t size);

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * Where a configuration lies: writes the path of CONFIG, a folder's being its tce.yaml, or fails
 * saying which there are.
 */
tce_status find_config(const char *config, char *out, size_t size);

/*
 * Whether a settings file is the record of a run or a queue: by its name, which only they give, or
 * by what lies beside it. Such a file may be anybody's, so the library in it stays a record.
 */
int config_is_record(const char *path);

/* How the names of CONFIG's tasks begin: the name of the folder that it lies in, and "_". */
tce_status config_prefix(const char *config, char *out, size_t size);

#endif
