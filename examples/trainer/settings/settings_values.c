/*
 * Values of settings from text, within the limits of their rows, and as text again.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/settings_values.h"
#include "tools/numbers.h"

/* ---- text to value --------------------------------------------------------------------------- */

static tce_status fail_value(const setting_row *row, const char *text, const char *where,
                             const char *need)
{
    return tce_fail(TCE_E_VALUE, "%s: %s.%s = \"%s\", must be %s", where, row->section, row->key,
                    text, need);
}

static tce_status fail_range(const setting_row *row, double value, const char *text,
                             const char *where)
{
    char range[64];
    if (row->least != -SETTING_ANY && row->most != SETTING_ANY)
        snprintf(range, sizeof range, "in %g ... %g", row->least, row->most);
    else if (value > row->most)
        snprintf(range, sizeof range, "at most %g", row->most);
    else if (row->least == SETTING_POSITIVE)
        snprintf(range, sizeof range, "> 0");
    else
        snprintf(range, sizeof range, "at least %g", row->least);
    return tce_fail(TCE_E_VALUE, "%s: %s.%s = %s, must be %s", where, row->section, row->key, text,
                    range);
}

static tce_status parse_real(const setting_row *row, const char *text, const char *where,
                             double *out)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        return fail_value(row, text, where, "a number");
    if (value < row->least || value > row->most)
        return fail_range(row, value, text, where);
    *out = value;
    return TCE_OK;
}

/* Whole numbers may be written 1e6 as well. */
static tce_status parse_whole(const setting_row *row, const char *text, const char *where,
                              int64_t *out)
{
    double value;
    const tce_status status = parse_real(row, text, where, &value);
    if (status != TCE_OK)
        return status;
    if (value != floor(value))
        return fail_value(row, text, where, "a whole number");
    errno = 0;
    char *end;
    const long long exact = strtoll(text, &end, 10);
    *out = *end == '\0' && errno == 0 ? (int64_t)exact : (int64_t)value;
    return TCE_OK;
}

static tce_status parse_seed(const setting_row *row, const char *text, const char *where,
                             uint64_t *out)
{
    errno = 0;
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || strchr(text, '-'))
        return fail_value(row, text, where, "a whole number from 0 to 18446744073709551615");
    *out = (uint64_t)value;
    return TCE_OK;
}

static tce_status parse_bool(const setting_row *row, const char *text, const char *where,
                             int32_t *out)
{
    static const char *const WORDS[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (strcmp(text, WORDS[i]) == 0) {
            *out = (int32_t)(i % 2);
            return TCE_OK;
        }
    return fail_value(row, text, where, "true or false");
}

static tce_status parse_choice(const setting_row *row, const char *text, const char *where,
                               int32_t *out)
{
    for (const setting_choice *choice = row->choices; choice->word; choice++)
        if (strcmp(text, choice->word) == 0) {
            *out = choice->value;
            return TCE_OK;
        }
    char words[TEXT_SIZE], need[TEXT_SIZE + 8];
    snprintf(need, sizeof need, "one of %s", settings_choices(NULL, row, "|", words, sizeof words));
    return fail_value(row, text, where, need);
}

/* "[1, 2, 3]" or "1": numbers between optional brackets, each checked against the row's limits. */
static tce_status parse_list(const setting_row *row, const char *text, const char *where,
                             double *out, int32_t *out_n)
{
    static const char GAP[] = " \t,[]";
    int32_t n = 0;
    for (const char *at = text + strspn(text, GAP); *at; at += strspn(at, GAP)) {
        char word[64];
        const size_t length = strcspn(at, GAP);
        if (length >= sizeof word || n == MAX_LIST)
            return fail_value(row, text, where, "a list of at most 64 numbers");
        memcpy(word, at, length);
        word[length] = '\0';
        const tce_status status = parse_real(row, word, where, &out[n]);
        if (status != TCE_OK)
            return status;
        if (row->type == SETTING_INTS && out[n] != floor(out[n]))
            return fail_value(row, text, where, "a list of whole numbers");
        n++;
        at += length;
    }
    if (n == 0 && row->type == SETTING_REALS)
        return fail_value(row, text, where, "one number or a list of numbers");
    *out_n = n;
    return TCE_OK;
}

static tce_status set_list(const setting_row *row, void *place, const char *text, const char *where)
{
    double values[MAX_LIST];
    int32_t n = 0;
    const tce_status status = parse_list(row, text, where, values, &n);
    if (status != TCE_OK)
        return status;
    if (row->type == SETTING_INTS) {
        setting_ints *list = place;
        list->n = n;
        for (int32_t i = 0; i < n; i++)
            list->v[i] = (int32_t)values[i];
    } else {
        setting_doubles *list = place;
        list->n = n;
        memcpy(list->v, values, (size_t)n * sizeof *values);
    }
    return TCE_OK;
}

/*
 * The character at `text`: its bytes in UTF-8, or 0 when it is none. *out: its number.
 */
static size_t take_character(const unsigned char *text, uint32_t *out)
{
    static const uint32_t LEAST[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t n = text[0] < 0x80             ? 1
                     : (text[0] & 0xe0) == 0xc0 ? 2
                     : (text[0] & 0xf0) == 0xe0 ? 3
                     : (text[0] & 0xf8) == 0xf0 ? 4
                                                : 0;
    if (n == 0)
        return 0;
    uint32_t code = n == 1 ? text[0] : text[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    *out = code;
    return code >= LEAST[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? n : 0;
}

/*
 * Whether a text comes back from a settings file as it was: characters that YAML prints, on one
 * line.
 */
static int is_one_line(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        uint32_t code = 0;
        const size_t n = take_character(c, &code);
        const int control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        const int line_end = code == 0x2028 || code == 0x2029;
        if (n == 0 || control || line_end || code == 0xfeff || code == 0xfffe || code == 0xffff)
            return 0;
        c += n;
    }
    return 1;
}

/* The method is chosen when the settings are made: what they hold fits no other table. */
static tce_status check_method(const settings *s, const char *text, const char *where)
{
    if (strcmp(text, s->table->name) == 0)
        return TCE_OK;
    return tce_fail(
        TCE_E_VALUE,
        "%s: run.method = %s, but these are settings of %s, whose method can no longer change",
        where, text, s->table->name);
}

tce_status setting_parse(settings *s, const setting_row *row, const char *text, const char *where)
{
    void *place = (char *)s + row->offset;
    int64_t whole;
    tce_status status;
    switch (row->type) {
    case SETTING_BOOL:
        return parse_bool(row, text, where, place);
    case SETTING_CHOICE:
        return parse_choice(row, text, where, place);
    case SETTING_REAL:
        return parse_real(row, text, where, place);
    case SETTING_INT64:
        return parse_whole(row, text, where, place);
    case SETTING_UINT64:
        return parse_seed(row, text, where, place);
    case SETTING_INT:
        status = parse_whole(row, text, where, &whole);
        if (status == TCE_OK)
            *(int32_t *)place = (int32_t)whole;
        return status;
    case SETTING_INTS:
    case SETTING_REALS:
        return set_list(row, place, text, where);
    case SETTING_METHOD:
        return check_method(s, text, where);
    case SETTING_TEXT:
        break;
    }
    if (strlen(text) >= TEXT_SIZE)
        return fail_value(row, "(long)", where, "shorter than 1024 characters");
    if (!is_one_line(text))
        return tce_fail(
            TCE_E_VALUE,
            "%s: %s.%s has a line break, a control character or a byte that is not "
            "UTF-8, which config.yaml cannot hold: remove it, and where it is part of a "
            "file's name, rename the file",
            where, row->section, row->key);
    snprintf(place, TEXT_SIZE, "%s", text);
    return TCE_OK;
}

size_t setting_size(const setting_row *row)
{
    switch (row->type) {
    case SETTING_BOOL:
    case SETTING_INT:
    case SETTING_CHOICE:
        return sizeof(int32_t);
    case SETTING_INT64:
    case SETTING_UINT64:
        return sizeof(int64_t);
    case SETTING_REAL:
        return sizeof(double);
    case SETTING_TEXT:
        return TEXT_SIZE;
    case SETTING_INTS:
        return sizeof(setting_ints);
    case SETTING_REALS:
        return sizeof(setting_doubles);
    case SETTING_METHOD:
        break;
    }
    return 0;
}

/* ---- value to text --------------------------------------------------------------------------- */

const char *settings_choices(const settings_table *const *methods, const setting_row *row,
                             const char *between, char *out, size_t size)
{
    size_t used = 0;
    if (row->type == SETTING_METHOD)
        return settings_method_names(methods, between, out, size);
    out[0] = '\0';
    for (const setting_choice *choice = row->choices; choice && choice->word && used < size;
         choice++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? between : "",
                                 choice->word);
    return out;
}

static void choice_text(const setting_row *row, int32_t value, char *out, size_t size)
{
    const setting_choice *choice = row->choices;
    while (choice->word && choice->value != value)
        choice++;
    snprintf(out, size, "%s", choice->word ? choice->word : "");
}

static void list_text(const setting_row *row, const void *place, char *out, size_t size)
{
    const int ints = row->type == SETTING_INTS;
    const int32_t n = ints ? ((const setting_ints *)place)->n : ((const setting_doubles *)place)->n;
    const int bare = !ints && n == 1;
    size_t used = (size_t)snprintf(out, size, "%s", bare ? "" : "[");
    for (int32_t i = 0; i < n && used < size; i++) {
        char number[NUMBER_TEXT];
        number_text(ints ? (double)((const setting_ints *)place)->v[i]
                         : ((const setting_doubles *)place)->v[i],
                    0, number);
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", number);
    }
    if (!bare && used < size)
        snprintf(out + used, size - used, "]");
}

void settings_text(const settings *s, const setting_row *row, char *out, size_t size)
{
    const void *place = (const char *)s + row->offset;
    char number[NUMBER_TEXT];
    switch (row->type) {
    case SETTING_BOOL:
        snprintf(out, size, "%s", *(const int32_t *)place ? "true" : "false");
        break;
    case SETTING_INT:
        snprintf(out, size, "%" PRId32, *(const int32_t *)place);
        break;
    case SETTING_INT64:
        snprintf(out, size, "%" PRId64, *(const int64_t *)place);
        break;
    case SETTING_UINT64:
        snprintf(out, size, "%" PRIu64, *(const uint64_t *)place);
        break;
    case SETTING_REAL:
        number_text(*(const double *)place, 0, number);
        snprintf(out, size, "%s", number);
        break;
    case SETTING_CHOICE:
        choice_text(row, *(const int32_t *)place, out, size);
        break;
    case SETTING_INTS:
    case SETTING_REALS:
        list_text(row, place, out, size);
        break;
    case SETTING_TEXT:
        snprintf(out, size, "%s", (const char *)place);
        break;
    case SETTING_METHOD:
        snprintf(out, size, "%s", s->table->name);
        break;
    }
}
