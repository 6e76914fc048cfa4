/*
 * From run folders to tables and pictures. C reads progress.csv, computes and writes CSV files; Python (bindings/python/tce/plot.py, matplotlib)
 * draws what the CSV files say and computes nothing.
 */
#ifndef TRAINER_PLOT_H
#define TRAINER_PLOT_H

#include "stats.h"
#include "trainer.h"

#define LABEL_SIZE 128

/* One seed for all bootstrap streams: the same runs always give the same band. */
#define PLOT_SEED 1

/* curve.csv and curve.png of one run, in its folder. TCE_E_UNSUPPORTED: the CSV is there, the picture could not be drawn; the message has the remedy. */
tce_status plot_run(const char *folder);

/* ---- tables of numbers -------------------------------------------------------------------------- */

/* A CSV file with a header and numbers; NaN where a field is empty. */
typedef struct table {
    size_t n_rows, n_columns;
    char (*names)[METRIC_NAME]; /* [n_columns] */
    double *values;             /* [n_rows, n_columns] */
} table;

/* A last line without its end (a run that is writing) is left out. TCE_E_NOT_FOUND, TCE_E_IO, TCE_E_CORRUPT with the line, TCE_E_NOMEM. */
tce_status table_read(const char *path, table *out);
void table_free(table *t);
/* n_columns when there is none. */
size_t table_column(const table *t, const char *name);

/* ---- runs and groups of runs --------------------------------------------------------------------- */

/* A run as a plot sees it: the points at which the metric was measured, x ascending. */
typedef struct plotted_run {
    char folder[TEXT_SIZE];
    char label[LABEL_SIZE]; /* method, or what the user calls it */
    settings s;
    size_t n;
    double *x, *y;          /* [n] */
} plotted_run;

/* Runs that are one line in a plot: R runs of each of K tasks. */
typedef struct plot_group {
    char task[TEXT_SIZE];   /* "" when it holds several */
    const char *label;
    size_t R, K;
    size_t *runs;           /* [R, K] into plot_data.runs */
    size_t n;               /* points at which all of them have a value */
    double *x;              /* [n] */
    double *y;              /* [n, R, K] */
    double *last;           /* [R, K] each run's last measurement */
} plot_group;

typedef struct plot_data {
    const char *metric, *x_name;
    size_t n_runs, n_groups;
    plotted_run *runs;
    plot_group *groups;
} plot_data;

/* Adds the run in a folder, or every run one level below it. label: NULL names it by its method. */
tce_status plot_add(plot_data *data, const char *folder, const char *label);

/*
 * Forms the groups and brings each to common points: evaluation points of its longest record, values linear between a run's own. pool: all tasks
 * of a label are one group. hold: a run that ended before the others keeps its last value; else a group ends with its shortest run.
 */
tce_status plot_form_groups(plot_data *data, int pool, int hold);
void plot_free(plot_data *data);

/* What differs between the settings of a group's runs beside seed and cadence: the first such key, or NULL. */
const setting_row *plot_difference(const plot_data *data, const plot_group *group);

/* ---- files and reports ---------------------------------------------------------------------------- */

/* curves.csv, profile.csv and summary.csv into a folder; the summary also goes to stdout. */
tce_status plot_write_statistics(const plot_data *data, const char *folder);

/* smoothness.csv, also to stdout, and correlation_*.csv: runs the mean policies for n_episodes each. What cannot be had is warned about on stderr. */
tce_status plot_write_policies(const plot_data *data, const char *folder, int32_t n_episodes, tce_pool *pool);

/* Draws every CSV file in a folder that there is a picture for and lists the pictures on stdout, unless quiet. Failures as plot_run. */
tce_status plot_draw(const char *folder, int quiet);

/* For writing: opens folder/name; closing reports what the disk refused. */
tce_status plot_open(const char *folder, const char *name, FILE **out);
tce_status plot_close(const char *folder, const char *name, FILE *file);
/* A text as one CSV field. */
void plot_put_text(FILE *file, const char *text);
/* What a plot calls the group's task: its name, or how many there are. */
const char *plot_task_text(const plot_group *group, char *out, size_t size);

#endif
