/*
 * Settings of a run. A key is a row of a table: section, key, type, default, limits, choices,
 * flags, help. Rows feed the YAML reader, the command line, the dump, --help, the documentation and
 * the completion.
 *
 * Rows that several methods use stand in groups, here; a method lists the groups that it uses, rows
 * of its own and defaults that differ, as a settings_table. The reader gets the tables of all
 * methods as an argument: run.method chooses one, before any other key is read.
 */
#ifndef TRAINER_SETTINGS_H
#define TRAINER_SETTINGS_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tce/tce.h>

#define TEXT_SIZE 1024
#define MAX_LIST 64

/* Most rows of a table. */
#define MAX_ROWS 1024

/* Bytes for the values of rows that a method has of its own. */
#define OWN_SIZE 4096

/* Hidden layer widths, or a scale for each basis function. */
typedef struct setting_ints {
    int32_t n;
    int32_t v[MAX_LIST];
} setting_ints;

typedef struct setting_doubles {
    int32_t n;
    double v[MAX_LIST];
} setting_doubles;

enum { CRITIC_GAE = 0, CRITIC_MONTE_CARLO = 1 };

/* Schedule of the entropy bound. */
enum { ENTROPY_NONE = 0, ENTROPY_LINEAR = 1, ENTROPY_EXPONENTIAL = 2 };

/*
 * Where the value of a key comes from: its row, the task (settings/suggest.h), a file or the user.
 */
enum { ORIGIN_DEFAULT = 0, ORIGIN_TASK = 1, ORIGIN_GIVEN = 2 };

typedef struct settings_table settings_table;

/*
 * Where the values land. Those of groups that the method does not use are zero, or the library's
 * defaults. The sizes and arrays of the library's options are set where a handle is created.
 */
typedef struct settings {
    const settings_table *table;          /* of run.method */
    const settings_table *const *methods; /* those that run.method can choose; NULL at the end */
    struct {
        uint64_t seed;
        int64_t iterations; /* the whole run */
        int64_t steps; /* environment steps after which the run ends; 0: iterations alone decide */
        int32_t threads;          /* 0: all cores */
        double stop_success;      /* ends the run when an evaluation reaches it; 0: never */
        int32_t checkpoint_every; /* iterations */
        int32_t checkpoint_keep;
        char init_from[TEXT_SIZE]; /* run folder or policy file to start from; empty: none */
    } run;
    struct {
        char name[TEXT_SIZE];
        char library[TEXT_SIZE]; /* empty: the one beside the program */
        /*
         * 1: the user named it, here or in a file of their own; else it is a record and not loaded.
         * No key of the table.
         */
        int32_t library_named;
        char python[TEXT_SIZE];  /* a record: "module:name" of an environment in Python */
        char options[TEXT_SIZE]; /* "key=value key=value" for the task */
    } task;
    struct {
        int32_t episodes;        /* per iteration */
        int32_t environments;    /* run at once; episodes are whole rounds of these */
        int32_t on_fault;        /* TCE_ROLLOUT_… */
        int32_t reward_to_event; /* move rewards to the deciding event */
        int32_t time_input;      /* append the time to the observation */
        int32_t mask_context;    /* only the task's context entries, no time (black-box methods) */
    } collect;
    struct {
        int32_t every; /* iterations; 0: only at the end */
        int32_t episodes;
        char options[TEXT_SIZE]; /* for the task, after task.options */
    } evaluate;
    tce_mp_options mp;                /* dt 0: the task's; n_dof is the task's */
    setting_doubles mp_weights_scale; /* one number, or one per basis function */
    struct {
        tce_policy_options options; /* precision and start: of both networks */
        setting_ints hidden;
        tce_adam_options adam;
        double clip_norm;
        int32_t epochs;
        double entropy_coefficient;
        int32_t set_variance;
    } policy;
    struct {
        setting_ints hidden;
        int32_t activation;
        tce_adam_options adam;
        double clip_norm;
        int32_t epochs, minibatches;
        int32_t normalise;
        double value_clip; /* 0: none */
        int32_t target;    /* CRITIC_… */
    } critic;
    struct {
        tce_trpl_options options; /* kind identity goes with ratio_clip */
        tce_trpl_bounds bounds;   /* entropy: by the schedule */
        double coefficient;
        double ratio_clip;        /* > 0: PPO-style clipping instead of the projection */
        int32_t entropy_schedule; /* ENTROPY_… */
        double entropy_target, entropy_temperature;
    } projection;
    struct {
        double gamma, lambda;
        int32_t time_points; /* K */
        int32_t selection;   /* TCE_SEGMENT_POINTS_… */
        int32_t advantage;   /* TCE_SEGMENT_… */
        double regulariser;
    } objective;
    struct {
        int64_t learning_rate_iterations; /* rates fall over these; 0: constant */
        double learning_rate_last;        /* times this */
        int64_t entropy_iterations; /* length of projection.entropy_schedule; 0: run.iterations */
        /* no setting: entropy_iterations is the run.iterations that the run began with */
        int32_t entropy_from_run;
    } schedule;
    unsigned char origin[MAX_ROWS]; /* ORIGIN_… of row i of the table */
    /* the method's own */
    union {
        unsigned char bytes[OWN_SIZE];
        double number;
        int64_t whole;
    } own;
} settings;

/* Place of a field of the struct that a method keeps in `own`. */
#define SETTINGS_OWN(type, field) (offsetof(settings, own) + offsetof(type, field))

/* ---- tables ---------------------------------------------------------------------------------- */

typedef enum setting_type {
    SETTING_BOOL, /* int32_t */
    SETTING_INT,  /* int32_t */
    SETTING_INT64,
    SETTING_UINT64,
    SETTING_REAL,   /* double */
    SETTING_TEXT,   /* char[TEXT_SIZE] */
    SETTING_CHOICE, /* int32_t, the value of a word */
    SETTING_INTS,   /* setting_ints */
    SETTING_REALS,  /* setting_doubles */
    SETTING_METHOD  /* run.method: settings.table, by its name */
} setting_type;

enum {
    SETTING_FREE = 1, /* may change when a run is resumed, and is not in its checkpoints */
    SETTING_CADENCE =
        2,            /* says how long, how often or on what; plots that compare runs ignore it */
    SETTING_PLACE = 4 /* a path: absolute when the user names it, and not followed elsewhere */
};

/* A word and what it stands for; a list ends with the word NULL. */
typedef struct setting_choice {
    const char *word;
    int32_t value;
} setting_choice;

/* Limits of numbers that have none, and of those that must be above 0. */
#define SETTING_ANY 1e300
#define SETTING_POSITIVE DBL_MIN

typedef struct setting_row {
    const char *section;
    const char *key;
    setting_type type;
    size_t offset;                 /* into settings */
    const char *start;             /* default, as it would be written in a file */
    double least, most;            /* numbers and list entries */
    const setting_choice *choices; /* SETTING_CHOICE */
    unsigned flags;                /* SETTING_… */
    const char *help;
} setting_row;

/* Rows that belong together. Groups with rows of the same section follow each other in a table. */
typedef struct settings_group {
    size_t n;
    const setting_row *rows; /* [n] */
    /* Combinations of values that have no meaning; NULL: there are none. */
    tce_status (*check)(const settings *s);
} settings_group;

/* The settings of a method. */
struct settings_table {
    const char *name;                    /* run.method */
    const settings_group *const *groups; /* in the order of the file; NULL at the end */
    const char *const *defaults; /* "section.key=value" where the rows' own do not suit, NULL at the
                                    end; NULL: they all do */
    tce_status (*check)(const settings *s); /* as of a group */
};

/* Groups that methods share. Every table begins with SETTINGS_RUN, which has run.method. */
extern const settings_group SETTINGS_RUN, SETTINGS_TASK, SETTINGS_COLLECT, SETTINGS_EVALUATE;
extern const settings_group SETTINGS_REWARD_TO_EVENT; /* of the section collect */
/* Parts of groups above, for methods that act step by step: environments and on_fault; layers,
 * activation, precision and start; layers and activation. */
extern const settings_group SETTINGS_ENVIRONMENTS, SETTINGS_POLICY_NETWORK, SETTINGS_CRITIC_NETWORK;
extern const settings_group SETTINGS_MP, SETTINGS_POLICY, SETTINGS_CRITIC, SETTINGS_PROJECTION;
extern const settings_group SETTINGS_CRITIC_TARGET;              /* of the section critic */
extern const settings_group SETTINGS_RETURNS, SETTINGS_SEGMENTS; /* of the section objective */
extern const settings_group SETTINGS_SCHEDULE;

/* Row i of a table, or NULL behind the last one. */
const setting_row *settings_row(const settings_table *table, size_t i);
/* Whether it is one of the table's. */
int settings_has_row(const settings_table *table, const setting_row *row);

/* The row of a key, or NULL; and the number of a row that the table has. */
const setting_row *settings_find_row(const settings_table *table, const char *section,
                                     const char *key);
size_t settings_row_index(const settings_table *table, const setting_row *row);

/* Row i of all tables, each row once and section by section, or NULL behind the last one. */
const setting_row *settings_any_row(const settings_table *const *methods, size_t i);
/* Whether a row before row i has its key: methods may mean different things by one key. */
int settings_is_again(const settings_table *const *methods, size_t i);

/*
 * The methods that have a row, "tce and bbrl"; "" when all have it. Returns out.
 */
const char *settings_methods_of(const settings_table *const *methods, const setting_row *row,
                                char *out, size_t size);

/* "tce, bbrl" with the text between the names. Returns out. */
const char *settings_method_names(const settings_table *const *methods, const char *between,
                                  char *out, size_t size);

/* ---- reading --------------------------------------------------------------------------------- */

/*
 * Reads a YAML file of sections (NULL: none), then n words "section.key=value" of a command line,
 * over the defaults of their run.method. Unknown and repeated keys, keys of other methods, and
 * values out of range are errors with the line number. On failure *s stays what it was.
 */
tce_status settings_read(settings *s, const settings_table *const *methods, const char *path,
                         size_t n, char *const *words);

/* Where settings come from. Starts as { 0 }. */
typedef struct settings_source {
    const char *path; /* a YAML file; NULL: none */
    size_t n;         /* words over the file */
    const char *const *words;
    const char *where; /* begins the message about a word: "command line" */
} settings_source;

/* The same from these. */
tce_status settings_read_from(settings *s, const settings_table *const *methods,
                              const settings_source *from);

/*
 * Reads a file that the program wrote. TCE_E_CORRUPT: it has no task.name, so it is incomplete.
 */
tce_status settings_read_record(settings *s, const settings_table *const *methods,
                                const char *path);

/*
 * Every key at its default with the method of this name; NULL: the first. TCE_E_VALUE: there is no
 * such method, or its table contradicts itself.
 */
tce_status settings_init(settings *s, const settings_table *const *methods, const char *name);

/*
 * Sets section.key from text; `where` (a file's line, "command line") begins the message of a
 * failure. Names the nearest key when there is no such key. run.method cannot change any more.
 */
tce_status settings_set(settings *s, const char *section, const char *key, const char *text,
                        const char *where);

/* "section.key=value" of the command line, over settings that have been read. */
tce_status settings_override(settings *s, const char *assignment);

/*
 * task.library, by the user: it may be loaded, and is kept as an absolute path, which holds in any
 * working directory.
 */
tce_status settings_name_library(settings *s, const char *path);

/* Combinations of values that have no meaning. */
tce_status settings_check(const settings *s);

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes all keys of the method as YAML that settings_read reads back to the same values. */
void settings_dump(const settings *s, FILE *out);
/*
 * The same for several tasks: keys whose default depends on the task and is not chosen are remarks.
 */
void settings_dump_shared(const settings *s, FILE *out);

/* A line of such a file: a key of a section, its value as text, and a remark. */
void settings_put(const setting_row *row, const char *text, const char *comment, FILE *out);

/* One key's value as text, as it would stand in a file. */
void settings_text(const settings *s, const setting_row *row, char *out, size_t size);

/*
 * The words that a row can have, methods or choices, with the text between them; "" for other
 * types. Returns out.
 */
const char *settings_choices(const settings_table *const *methods, const setting_row *row,
                             const char *between, char *out, size_t size);

/* The default of a row, and which methods have another: "50; bbrl: 20". Returns out. */
const char *settings_default(const settings_table *const *methods, const setting_row *row,
                             char *out, size_t size);

/*
 * "run.iterations=3" for a key of any method without its section ("iterations") or with it
 * ("run.iterations"), '-' for '_' in it; "a=3 or b=3" when several sections have it. "..." instead
 * of a value that is NULL or wrong. Returns how many there are.
 */
size_t settings_spell(const settings_table *const *methods, const char *name, const char *value,
                      char *out, size_t size);

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * Where a configuration lies: writes the path of CONFIG, a folder's being its tce.yaml, or fails
 * saying which there are.
 */
tce_status find_config(const settings_table *const *methods, const char *config, char *out,
                       size_t size);

/*
 * Whether a settings file is the record of a run or a queue: by its name, which only they give, or
 * by what lies beside it. Such a file may be anybody's, so the library in it stays a record.
 */
int config_is_record(const char *path);

/* How the names of CONFIG's tasks begin: the name of the folder that it lies in, and "_". */
tce_status config_prefix(const settings_table *const *methods, const char *config, char *out,
                         size_t size);

#endif
