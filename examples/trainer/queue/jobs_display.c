/*
 * What a person sees of a queue: a few lines that are redrawn on a terminal, a line when a run
 * ends, a table at the end.
 *
 *     12 of 150 done, 2 running, 136 waiting  ETA 3:20:11
 *       metaworld_door_open  seed 1       120/2000  success 0.350  return 812.4  1932000 steps
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "queue/display.h"
#include "queue/jobs.h"
#include "tools/clock.h"
#include "tools/csv.h"
#include "tools/terminal.h"

/* Seconds between updates on a terminal. */
#define PERIOD 1.0

/* Runs that are shown while they go: what has left a screen at its top cannot be taken back. */
#define MAX_SHOWN 16

/* ---- how far a run has come ------------------------------------------------------------------ */

/* A row's number in a column; NaN where it has none. */
static double number_in(const csv_row *row, size_t column)
{
    double value;
    return column < row->n && csv_number(row->fields[column], &value) ? value : NAN;
}

static void take_row(job_progress *p, const csv_row *row)
{
    const double iteration = number_in(row, 0), env_steps = number_in(row, 1);
    const double evaluated = number_in(row, p->return_column);
    if (isnan(iteration) || isnan(env_steps))
        return;
    p->iteration = (long long)iteration;
    p->env_steps = (long long)env_steps;
    if (!isnan(evaluated)) {
        p->value = evaluated;
        p->success = number_in(row, p->success_column);
    }
}

/*
 * A run that continues cuts its file and writes the same rows again: an offset stays the beginning
 * of a row.
 */
void job_progress_update(job_progress *p, const char *folder)
{
    char path[RUN_PATH], *line = NULL;
    size_t size = 0;
    struct stat there;
    csv_row row = { 0 };
    FILE *file = NULL;
    if (run_path(folder, "progress.csv", path) == TCE_OK)
        (void)file_open(path, O_RDONLY, "r", &file);
    if (p->offset == 0 || !file ||
        (fstat(fileno(file), &there) == 0 && there.st_size < p->offset)) {
        memset(p, 0, sizeof *p);
        p->success = p->value = NAN;
    }
    if (!file)
        return;
    if (fseek(file, p->offset, SEEK_SET) == 0)
        for (ssize_t n; (n = getline(&line, &size, file)) > 0 && line[n - 1] == '\n';) {
            if (csv_row_cut(&row, line) != TCE_OK)
                break;
            if (p->offset == 0) {
                p->success_column = csv_row_find(&row, "eval_success");
                p->return_column = csv_row_find(&row, "eval_return");
            } else {
                take_row(p, &row);
            }
            p->offset = ftell(file);
        }
    free(line);
    csv_row_free(&row);
    fclose(file);
}

/* ---- numbers of all -------------------------------------------------------------------------- */

/* The part of a run that is done. */
static double share_of(const jobs_display *d, const queue_job *j)
{
    if (j->entry->state == QUEUE_DONE || j->entry->state == QUEUE_FAILED)
        return 1.0;
    const settings *s = &d->q->variants[j->entry->variant].s;
    double share = (double)j->progress.iteration / (double)s->run.iterations;
    if (s->run.steps > 0)
        share = fmax(share, (double)j->progress.env_steps / (double)s->run.steps);
    return fmin(share, 1.0);
}

static double share_of_all(const jobs_display *d)
{
    double sum = 0.0;
    for (size_t i = 0; i < d->n; i++)
        sum += share_of(d, &d->jobs[i]);
    return sum;
}

/* "12 of 150 done, 2 running, 136 waiting, 1 failed  ETA 3:20:11" */
static void count_text(const jobs_display *d, char *out, size_t size)
{
    size_t n[N_QUEUE_STATES] = { 0 };
    char left[32];
    for (size_t i = 0; i < d->n; i++)
        n[d->jobs[i].entry->state]++;
    int used = snprintf(out, size, "%zu of %zu done", n[QUEUE_DONE], d->n);
    const int order[] = { QUEUE_RUNNING, QUEUE_WAITING, QUEUE_STOPPED, QUEUE_FAILED };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (n[order[i]] > 0 && used < (int)size)
            used += snprintf(out + used, size - (size_t)used, ", %zu %s", n[order[i]],
                             queue_state_name(order[i]));

    const double share = share_of_all(d), elapsed = now_seconds() - d->started;
    if (n[QUEUE_RUNNING] == 0 || share <= d->first_share || used >= (int)size)
        return;
    display_duration(((double)d->n - share) * elapsed / (share - d->first_share), left,
                     sizeof left);
    snprintf(out + used, size - (size_t)used, "  ETA %s", left);
}

void job_name(const jobs_display *d, const queue_job *j, char *out, size_t size)
{
    char name[QUEUE_TEXT + 128] = "";
    if (d->q->n_variants > 1)
        queue_name(d->q, j->entry->variant, name, sizeof name);
    snprintf(out, size, "%s%s%s%sseed %" PRIu64, d->one_task ? "" : j->entry->task,
             d->one_task ? "" : " ", name, name[0] ? " " : "", j->entry->seed);
}

/* ---- on the screen --------------------------------------------------------------------------- */

void jobs_display_init(jobs_display *d, const queue *q, queue_job *jobs, int quiet)
{
    display screen;
    display_init(&screen, quiet);
    memset(d, 0, sizeof *d);
    d->q = q;
    d->n = q->n;
    d->jobs = jobs;
    d->quiet = quiet;
    d->terminal = screen.terminal;
    d->started = now_seconds();
    d->one_task = 1;
    for (size_t v = 0; q->n_variants > 1 && v < q->n_variants; v++) {
        char name[QUEUE_TEXT + 128];
        const size_t length = strlen(queue_name(q, v, name, sizeof name));
        d->name_width = length > d->name_width ? length : d->name_width;
    }
    for (size_t i = 0; i < d->n; i++) {
        const size_t length = strlen(jobs[i].entry->task);
        d->one_task = d->one_task && strcmp(jobs[i].entry->task, jobs[0].entry->task) == 0;
        d->width = length > d->width ? length : d->width;
    }
    d->first_share = share_of_all(d);
}

static void wipe(jobs_display *d)
{
    if (d->n_lines > 0)
        printf("\r\033[%dA\033[J", d->n_lines);
    d->n_lines = 0;
}

/* A line of the block: no longer than the terminal is wide, or it could not be taken back. */
static void put_line(jobs_display *d, const char *text)
{
    printf("%.*s\n", (int)terminal_width(), text);
    d->n_lines++;
}

/* Appends what fits into the line as a whole: half a number would be a wrong one. */
static void add_part(char *text, size_t size, const char *part)
{
    const size_t used = strlen(text), more = strlen(part);
    if (used + more < size && used + more <= terminal_width())
        memcpy(text + used, part, more + 1);
}

static void put_running(jobs_display *d, const queue_job *j)
{
    char text[512] = "", part[JOB_NAME], name[QUEUE_TEXT + 128];
    const job_progress *p = &j->progress;
    if (!d->one_task) {
        snprintf(part, sizeof part, "  %-*s", (int)d->width, j->entry->task);
        add_part(text, sizeof text, part);
    }
    if (d->name_width > 0) {
        snprintf(part, sizeof part, "  %-*s", (int)d->name_width,
                 queue_name(d->q, j->entry->variant, name, sizeof name));
        add_part(text, sizeof text, part);
    }
    snprintf(part, sizeof part, "  seed %-4" PRIu64, j->entry->seed);
    add_part(text, sizeof text, part);
    snprintf(part, sizeof part, "  %5lld/%" PRId64, p->iteration,
             d->q->variants[j->entry->variant].s.run.iterations);
    add_part(text, sizeof text, part);
    if (!isnan(p->success)) {
        snprintf(part, sizeof part, "  success %.3f", p->success);
        add_part(text, sizeof text, part);
    }
    if (!isnan(p->value)) {
        snprintf(part, sizeof part, "  return %.4g", p->value);
        add_part(text, sizeof text, part);
    }
    snprintf(part, sizeof part, "  %lld steps", p->env_steps);
    add_part(text, sizeof text, part);
    put_line(d, text);
}

void jobs_display_update(jobs_display *d)
{
    const double now = now_seconds();
    char text[256];
    if (d->quiet || !d->terminal || now - d->shown < PERIOD)
        return;
    d->shown = now;
    for (size_t i = 0; i < d->n; i++)
        if (d->jobs[i].running)
            job_progress_update(&d->jobs[i].progress, d->jobs[i].folder);
    wipe(d);
    count_text(d, text, sizeof text);
    put_line(d, text);
    int shown = 0;
    for (size_t i = 0; i < d->n && shown < MAX_SHOWN; i++)
        if (d->jobs[i].running) {
            put_running(d, &d->jobs[i]);
            shown++;
        }
    fflush(stdout);
}

void jobs_display_ended(jobs_display *d, const queue_job *j)
{
    char name[JOB_NAME], spent[32], all[256];
    if (d->quiet)
        return;
    wipe(d);
    job_name(d, j, name, sizeof name);
    display_duration(j->seconds, spent, sizeof spent);
    count_text(d, all, sizeof all);
    printf("%s %s after %lld iterations, %s", name, queue_state_name(j->entry->state),
           j->progress.iteration, spent);
    if (!isnan(j->progress.success))
        printf(", success %.3f", j->progress.success);
    if (!isnan(j->progress.value))
        printf(", return %.4g", j->progress.value);
    printf(d->terminal ? "\n" : "  (%s)\n", all);
    d->shown = 0.0;
    fflush(stdout);
}

void jobs_display_table(jobs_display *d)
{
    const int width = d->width > 4 ? (int)d->width : 4;
    if (d->quiet)
        return;
    wipe(d);
    const int name_width = d->name_width > 8 || d->name_width == 0 ? (int)d->name_width : 8;
    const int gap = name_width > 0 ? 2 : 0;
    printf("\n%-*s%*s%-*s  %6s  %-8s  %7s  %10s  %10s  %11s  %8s  %s\n", width, "task", gap, "",
           name_width, name_width > 0 ? "settings" : "", "seed", "state", "success", "return",
           "iterations", "env steps", "time", "folder");
    for (size_t i = 0; i < d->n; i++) {
        const queue_job *j = &d->jobs[i];
        char spent[32] = "-", success[32] = "-", value[32] = "-", name[QUEUE_TEXT + 128] = "";
        if (j->ended)
            display_duration(j->seconds, spent, sizeof spent);
        if (!isnan(j->progress.success))
            snprintf(success, sizeof success, "%.3f", j->progress.success);
        if (!isnan(j->progress.value))
            snprintf(value, sizeof value, "%.4g", j->progress.value);
        if (name_width > 0)
            queue_name(d->q, j->entry->variant, name, sizeof name);
        printf("%-*s%*s%-*s  %6" PRIu64 "  %-8s  %7s  %10s  %10lld  %11lld  %8s  %s\n", width,
               j->entry->task, gap, "", name_width, name, j->entry->seed,
               queue_state_name(j->entry->state), success, value, j->progress.iteration,
               j->progress.env_steps, spent, j->folder);
    }
    char all[256];
    count_text(d, all, sizeof all);
    printf("%s\n", all);
    fflush(stdout);
}
