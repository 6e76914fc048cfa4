/*
 * Training methods. A method is one row of the registry, and a file where it differs from others;
 * adding one touches nothing else.
 */
#ifndef TRAINER_METHODS_H
#define TRAINER_METHODS_H

#include "collect/collect.h"
#include "tools/journal.h"

/* What every method is given; all of it outlives the learner. */
typedef struct method_context {
    const settings *s;
    const task *t;
    tce_pool *pool;
} method_context;

/* The outcome of an iteration. */
typedef struct progress {
    int64_t env_steps; /* environment steps taken */
    int64_t episodes;  /* that were collected, dropped ones among them */
    int64_t dropped;   /* lost to a fault */
    double *values;    /* [columns] numbers to log; they start as NaN, which means not measured */
    double *seconds;   /* [phases] spent; they start as 0 */
} progress;

typedef struct method {
    /*
     * Its name and keys. First, so that the table that settings were read with leads to its method.
     */
    settings_table settings;
    /*
     * Parts of an iteration that are timed, by the names that timing.csv gives them; ends in NULL.
     */
    const char *const *phases;
    /* Whether its policies plan the path of a whole episode; 0: they choose an action per step. */
    int32_t plans;
    /* What papers call the method with these settings: "TCE", "TCE Std", "BBRL Cov clip". */
    void (*label)(const settings *s, char *out, size_t size);
    /*
     * Takes all memory; the other calls take none that stays. TCE_E_VALUE, TCE_E_UNSUPPORTED: what
     * the settings cannot mean for this task.
     */
    tce_status (*create)(const method_context *c, void **out);
    void (*destroy)(void *learner); /* NULL is fine */
    /*
     * Names of the numbers to log that are its own, whatever the task: no metric of a task may have
     * one of these. Ends in NULL; NULL: none.
     */
    const char *const *own_columns;
    /* Names of all numbers to log, fixed from here on. Returns how many there are. */
    size_t (*columns)(const void *learner, const char *const **names);
    /* Evaluation, plots and exports use it; it changes as the learner does. */
    const agent *(*agent)(const void *learner);
    /* Iteration i = 1, 2, …: collect, learn, report. */
    tce_status (*iterate)(void *learner, int64_t i, progress *out);
    /*
     * NULL, or rows that checkpoints need beside what save puts into them (replay.h): the run keeps
     * them in its journal, and loads them after the rest.
     */
    journal_rows *(*rows)(void *learner);
    tce_status (*save)(const void *learner, tce_store *store);
    /* A run puts back what the learner was when this fails half-way. */
    tce_status (*load)(void *learner, const tce_store *store);
} method;

extern const method METHOD_TABLE_TCE;
extern const method METHOD_TABLE_BBRL;
extern const method METHOD_TABLE_PPO;
extern const method METHOD_TABLE_GSDE;
extern const method METHOD_TABLE_TRPL;
extern const method METHOD_TABLE_SAC;
extern const method METHOD_TABLE_PINK;
extern const method METHOD_TABLE_SAC_MP;

/*
 * The tables of all methods, the first being the default; NULL at the end. The one thing in
 * registry.c, so that another program can have other methods.
 */
extern const settings_table *const METHODS[];

size_t method_n_phases(const method *way);

/*
 * Names that no metric of a task may have, as tce_env_inspect takes them: numbers that these
 * methods or a run log themselves. out [room]; returns how many there are. With room 0 a name that
 * several methods have counts for each, which is room enough.
 */
size_t methods_reserved(const settings_table *const *methods, size_t room, const char **out);
/* TCE_E_VALUE: a metric of the task has one of these names. */
tce_status methods_check_metrics(const settings_table *const *methods, const tce_env_spec *spec);

/* The method whose table the settings were read with. */
const method *method_of(const settings *s);

#endif
