/*
 * The settings of a run as its checkpoints keep them, lines "section.key=value", and which of them
 * may change when it continues.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

char *run_settings_lines(const settings *s)
{
    char *lines = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);
    if (!out)
        return NULL;
    const setting_row *row;
    for (size_t i = 0; (row = settings_row(s->table, i)) != NULL; i++) {
        char text[4 * TEXT_SIZE];
        settings_text(s, row, text, sizeof text);
        if (!(row->flags & SETTING_FREE))
            fprintf(out, "%s.%s=%s\n", row->section, row->key, text);
    }
    return fclose(out) == 0 ? lines : NULL;
}

/* The value of a name in such lines; 0 when there is none. */
static int find_line(const char *lines, const char *name, char *out, size_t size)
{
    const size_t length = strlen(name);
    for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, name, length) == 0 && line[length] == '=') {
            const char *text = line + length + 1;
            snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
            return 1;
        }
    return 0;
}

tce_status run_compare_settings(const settings *s, const char *lines, const char *path)
{
    settings defaults;
    const setting_row *row;
    tce_status status = settings_init(&defaults, s->methods, s->table->name);
    for (size_t i = 0; status == TCE_OK && (row = settings_row(s->table, i)) != NULL; i++) {
        char name[128], now[4 * TEXT_SIZE], then[4 * TEXT_SIZE];
        snprintf(name, sizeof name, "%s.%s", row->section, row->key);
        if (row->flags & SETTING_FREE)
            continue;
        settings_text(s, row, now, sizeof now);
        if (!find_line(lines, name, then, sizeof then))
            settings_text(&defaults, row, then, sizeof then);
        if (strcmp(now, then) != 0)
            return tce_fail(TCE_E_VALUE,
                            "wrong checkpoint for the config: %s has %s = %s, but now it is %s; "
                            "set the key back, or start another run",
                            path, name, then, now);
    }
    return status;
}

void run_keep_schedule(settings *s, const settings *then)
{
    if (s->schedule.entropy_iterations > 0)
        return;
    const int given = then->schedule.entropy_iterations > 0;
    s->schedule.entropy_iterations = given ? then->schedule.entropy_iterations
                                           : then->run.iterations;
    s->schedule.entropy_from_run = given ? then->schedule.entropy_from_run : 1;
}

void run_forget_schedule(settings *s)
{
    if (s->schedule.entropy_from_run)
        s->schedule.entropy_iterations = 0;
    s->schedule.entropy_from_run = 0;
}

tce_status run_settings_agree(const settings *now, const settings *then, const char *path)
{
    char *lines = run_settings_lines(then);
    const tce_status status = lines ? run_compare_settings(now, lines, path)
                                    : tce_fail(TCE_E_NOMEM, "no memory for the settings");
    free(lines);
    return status;
}

tce_status run_settings_resume(const char *folder, const settings_table *const *methods,
                               int restart, const settings *asked, size_t n,
                               const char *const *words, settings *out)
{
    char path[RUN_PATH];
    settings own;
    tce_status status = run_path(folder, "config.yaml", path);
    if (status == TCE_OK)
        status = run_read_settings(path, methods, &own);
    if (status != TCE_OK)
        return status;
    if (asked) {
        *out = *asked;
    } else {
        *out = own;
        if (restart)
            run_forget_schedule(out);
        for (size_t i = 0; status == TCE_OK && i < n; i++)
            status = settings_override(out, words[i]);
        if (status == TCE_OK)
            status = settings_check(out);
    }
    if (status != TCE_OK || restart)
        return status;
    run_keep_schedule(&own, &own);
    run_keep_schedule(out, &own);
    return run_settings_agree(out, &own, path);
}
