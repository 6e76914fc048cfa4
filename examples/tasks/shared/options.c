/*
 * "key=value key=value": pairs apart by white space or commas, values are numbers.
 */
#include "options.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_SIZE 128

static const task_option *find_option(size_t n, const task_option *options, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(options[i].key, key) == 0)
            return &options[i];
    return NULL;
}

static void list_options(size_t n, const task_option *options, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", options[i].key);
}

/*
 * A number with a decimal point, whatever the program that loads the tasks has set its locale to.
 * *out_end: behind it. The locale changes for this thread alone.
 */
static tce_status read_number(const char *text, const char **out_end, double *out)
{
    char *end;
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return tce_fail(TCE_E_NOMEM, "no memory for the C locale");
    const locale_t before = uselocale(plain);
    *out = strtod(text, &end);
    uselocale(before);
    freelocale(plain);
    *out_end = end;
    return TCE_OK;
}

static void set_option(const task_option *option, void *instance, double value)
{
    char *at = (char *)instance + option->offset;
    if (option->is_flag)
        *(int *)(void *)at = (int)value;
    else
        *(double *)(void *)at = value;
}

static tce_status read_pair(const char *task, char *word, size_t n, const task_option *options,
                            void *instance)
{
    char *equals = strchr(word, '=');
    if (!equals)
        return tce_fail(TCE_E_VALUE, "%s: option \"%s\" is not key=value", task, word);
    *equals = '\0';

    const task_option *option = find_option(n, options, word);
    if (!option) {
        char known[512];
        list_options(n, options, known, sizeof known);
        return tce_fail(TCE_E_VALUE, "%s has no option \"%s\"; there are: %s", task, word, known);
    }
    const char *end = NULL;
    double value = 0.0;
    const tce_status status = read_number(equals + 1, &end, &value);
    if (status != TCE_OK)
        return status;
    if (option->is_flag && (end == equals + 1 || *end != '\0' || (value != 0.0 && value != 1.0)))
        return tce_fail(TCE_E_VALUE, "%s: %s = \"%s\", must be 0 or 1", task, word, equals + 1);
    if (end == equals + 1 || *end != '\0' || !(value >= option->least && value <= option->most))
        return tce_fail(TCE_E_VALUE, "%s: %s = \"%s\", must be a number in %g ... %g", task, word,
                        equals + 1, option->least, option->most);
    set_option(option, instance, value);
    return TCE_OK;
}

tce_status task_options_read(const char *task, const char *text, size_t n,
                             const task_option *options, void *instance)
{
    static const char GAP[] = " \t\r\n,";
    for (size_t i = 0; i < n; i++)
        set_option(&options[i], instance, options[i].usual);
    while (text && *(text += strspn(text, GAP)) != '\0') {
        char word[WORD_SIZE];
        const size_t length = strcspn(text, GAP);
        if (length >= sizeof word)
            return tce_fail(TCE_E_VALUE, "%s: an option is longer than %d characters", task,
                            WORD_SIZE - 1);
        memcpy(word, text, length);
        word[length] = '\0';
        const tce_status status = read_pair(task, word, n, options, instance);
        if (status != TCE_OK)
            return status;
        text += length;
    }
    return TCE_OK;
}

tce_status task_check_running(const char *task, int over)
{
    return over ? tce_fail(
                      TCE_E_STATE,
                      "%s: the episode is over or was never begun: reset it before the next step",
                      task)
                : TCE_OK;
}
