/*
 * From run folders to tables and pictures. C reads progress.csv, computes and writes CSV files;
 * Python (bindings/python/tce/plot.py, matplotlib) draws what the CSV files say and computes
 * nothing.
 */
#ifndef TRAINER_PLOT_H
#define TRAINER_PLOT_H

#include "collect/collect.h"
#include "report/stats.h"
#include "run/policy_runner.h"
#include "tools/csv.h"
#include "tools/messages.h"

#define LABEL_SIZE 128

/* One seed for all bootstrap streams: the same runs always give the same band. */
#define PLOT_SEED 1

/* curve.csv of one run, in its folder. */
tce_status plot_curve(const char *folder);

/*
 * curve.csv and curve.png of one run, in its folder. TCE_E_UNSUPPORTED: the CSV is there, the
 * picture could not be drawn; the message has the remedy.
 */
tce_status plot_run(const char *folder);

/* ---- tables of numbers ----------------------------------------------------------------------- */

/* A CSV file with a header and numbers; NaN where a field is empty. */
typedef struct table {
    size_t n_rows, n_columns;
    char (*names)[METRIC_NAME]; /* [n_columns] */
    double *values;             /* [n_rows, n_columns] */
} table;

/*
 * A last line without its end (a run that is writing) is left out. TCE_E_NOT_FOUND, TCE_E_IO,
 * TCE_E_CORRUPT with the line, TCE_E_NOMEM.
 */
tce_status table_read(const char *path, table *out);
void table_free(table *t);
/* n_columns when there is none. */
size_t table_column(const table *t, const char *name);

/* ---- runs and groups of runs ----------------------------------------------------------------- */

/* What the folder of a run in a queue is called, and what tells it from the queue's other runs. */
typedef struct plot_run_label {
    char folder[512];
    char label[LABEL_SIZE];
} plot_run_label;

/* A run as a plot sees it: the points at which the metric was measured, x ascending. */
typedef struct plotted_run {
    char folder[TEXT_SIZE];
    char label[LABEL_SIZE]; /* method, or what the user calls it */
    settings s;
    size_t n;
    double *x, *y; /* [n]; y as plot_data.smooth leaves it */
    double last;   /* the last measurement itself */
} plotted_run;

/* Runs that are one line in a plot: R runs of each of K tasks. */
typedef struct plot_group {
    char task[TEXT_SIZE]; /* "" when it holds several */
    const char *label;
    size_t R, K;
    size_t n_left_out; /* runs of tasks that have more than R */
    size_t *runs;      /* [R, K] into plot_data.runs */
    size_t n;          /* points at which all of them have a value */
    double *x;         /* [n] */
    double *y;         /* [n, R, K] */
    double *last;      /* [R, K] each run's last measurement */
} plot_group;

/* Groups of one picture. */
typedef struct plot_groups {
    size_t n;
    plot_group *list; /* [n] */
} plot_groups;

typedef struct plot_data {
    /* empty: eval_success, or eval_return where the first run has none */
    char metric[METRIC_NAME];
    const char *x_name;
    const settings_table *const *methods; /* that the runs may be of */
    /* whether a folder inside one that was named is a folder of runs, as of a queue */
    int (*holds_runs)(const char *folder);
    /* what runs in a folder are called beside their method, free afterwards; NULL: nothing */
    tce_status (*run_labels)(const char *folder, size_t *n, plot_run_label **out);
    /* curves are s <- smooth s + (1 - smooth) y over a run's measurements; 0: as measured */
    double smooth;
    /* exploring episodes whose actions are correlated; 0: the noise of policies of steps is */
    size_t n_samples;
    size_t n_runs;
    plotted_run *runs;
    FILE *out; /* where tables go that a person reads */
    messages say;
    policy_runner_played played; /* NULL, or told of episodes that are played */
    void *played_context;
    plot_groups tasks; /* a group for each task and label */
    /* a group for each label that has several tasks: all of them together */
    plot_groups aggregates;
} plot_data;

/*
 * Adds the run in a folder, or every run in it and in the folders of runs in it. There, what has no
 * measurement yet is left out with a warning. label: NULL names it by its method.
 */
tce_status plot_add(plot_data *data, const char *folder, const char *label);

/*
 * Forms the groups and brings each to common points: evaluation points of its longest record,
 * values linear between a run's own. hold: a run that ended before the others keeps its last value;
 * else a group ends with its shortest run. In an aggregate every task has as many runs: the first
 * ones.
 */
tce_status plot_form_groups(plot_data *data, int hold);
void plot_free(plot_data *data);

/* The first task that one aggregate has and another has not, or NULL. */
const char *plot_lonely_task(const plot_data *data);

/*
 * What differs between the settings of a group's runs beside seed and cadence: the first such key,
 * or NULL.
 */
const setting_row *plot_difference(const plot_data *data, const plot_group *group);

/* ---- files and reports ----------------------------------------------------------------------- */

/*
 * curves.csv, profile.csv and summary.csv into a folder, with several tasks aggregate_curves.csv
 * and aggregate_profile.csv too; the summary also goes to data->out.
 */
tce_status plot_write_statistics(const plot_data *data, const char *folder);

/*
 * over.csv: points of n files (source, method, environment_steps, …, value), to be drawn over the
 * curves. TCE_E_CORRUPT with the line.
 */
tce_status plot_write_points(const plot_data *data, const char *folder, size_t n,
                             const char *const *paths);

/*
 * The Python that draws, for others that need one: $TCE_PYTHON, that of the source tree around the
 * program, or python3. package: "", or the folder of the source tree that its package tce lies in.
 */
void plot_find_python(char *python, char *package, size_t size);

/* Takes away what an earlier plot left in the folder and this one will not replace. */
void plot_clear(const char *folder);

/*
 * smoothness.csv, also to data->out, and correlation_*.csv: runs the mean policies for n_episodes
 * each; library as for policy_runner_load. What cannot be had is warned about.
 */
tce_status plot_write_policies(const plot_data *data, const char *folder, const char *library,
                               int32_t n_episodes, tce_pool *pool);

/*
 * correlation_<task>_<method>.csv: of the positions that the policy of a run asks for, or, where it
 * acts at every step, of its exploration noise along the first episode that p has played, or of the
 * actions of data->n_samples exploring episodes that begin as that one did.
 * TCE_E_UNSUPPORTED: positions are not linear in the parameters, or there are too many of them.
 * TCE_E_NOT_FOUND: an older policy file, which does not say how the policy explored.
 */
tce_status plot_write_correlation(const plot_data *data, const char *folder, const plot_group *g,
                                  const plotted_run *run, const policy_runner *p, tce_pool *pool);

/*
 * The actions [n_episodes, *out_steps, P] that environments got in exploring episodes of a policy
 * that acts at every step, up to the end of the shortest; the caller frees *out.
 */
tce_status plot_sample_actions(const policy_runner *p, size_t n_episodes, tce_pool *pool,
                               size_t *out_steps, double **out);

/*
 * Draws every CSV file in a folder that there is a picture for and lists the pictures on stdout,
 * unless quiet. Failures as plot_run.
 */
tce_status plot_draw(const char *folder, int quiet);

/* For writing: opens folder/name; closing reports what the disk refused. */
tce_status plot_open(const char *folder, const char *name, FILE **out);
tce_status plot_close(const char *folder, const char *name, FILE *file);
/* What files and pictures call the smoothed metric begins with this. */
const char *plot_prefix(const plot_data *data);
/* Columns that the longest label takes in a table. */
int plot_label_width(const plot_data *data);
/* What a plot calls the group's task: its name, or how many there are. */
const char *plot_task_text(const plot_group *group, char *out, size_t size);

#endif
