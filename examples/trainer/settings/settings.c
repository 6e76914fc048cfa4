/*
 * Settings by name and text: parse, limits, nearest key, text again. The table says all there is to
 * know about a key.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/settings.h"
#include "tools/numbers.h"
#include "tools/words.h"

/* ---- looking up ------------------------------------------------------------------------------ */

static const setting_row *find_row(const char *section, const char *key)
{
    for (size_t i = 0; i < N_SETTING_ROWS; i++)
        if (strcmp(SETTING_ROWS[i].section, section) == 0 && strcmp(SETTING_ROWS[i].key, key) == 0)
            return &SETTING_ROWS[i];
    return NULL;
}

/*
 * Says that there is no such key, and which one may be meant: the nearest in its section, or the
 * same name elsewhere.
 */
static tce_status fail_unknown(const char *section, const char *key, const char *where)
{
    const char *words[256];
    size_t n = 0, n_sections = 0;
    const char *sections[32];
    for (size_t i = 0; i < N_SETTING_ROWS; i++) {
        const setting_row *row = &SETTING_ROWS[i];
        if (strcmp(row->section, section) == 0 && n < 256)
            words[n++] = row->key;
        if ((i == 0 || strcmp(SETTING_ROWS[i - 1].section, row->section) != 0) && n_sections < 32)
            sections[n_sections++] = row->section;
    }
    if (n == 0) {
        const char *near = nearest_word(section, n_sections, sections);
        return tce_fail(TCE_E_NOT_FOUND,
                        "%s: %s: no such section%s%s%s `tce config --help` lists them", where,
                        section, near ? ", did you mean " : "", near ? near : "", near ? "?" : ";");
    }
    const char *near = nearest_word(key, n, words);
    if (near)
        return tce_fail(TCE_E_NOT_FOUND, "%s: %s.%s: no such key, did you mean %s.%s?", where,
                        section, key, section, near);
    for (size_t i = 0; i < N_SETTING_ROWS; i++)
        if (strcmp(SETTING_ROWS[i].key, key) == 0)
            return tce_fail(TCE_E_NOT_FOUND, "%s: %s.%s: no such key, did you mean %s.%s?", where,
                            section, key, SETTING_ROWS[i].section, key);
    return tce_fail(TCE_E_NOT_FOUND, "%s: %s.%s: no such key; `tce config --help` lists them",
                    where, section, key);
}

/* ---- text to value --------------------------------------------------------------------------- */

static tce_status fail_value(const setting_row *row, const char *text, const char *where,
                             const char *need)
{
    return tce_fail(TCE_E_VALUE, "%s: %s.%s = \"%s\", must be %s", where, row->section, row->key,
                    text, need);
}

static tce_status fail_range(const setting_row *row, const char *text, const char *where)
{
    return tce_fail(TCE_E_VALUE, "%s: %s.%s = %s, must be in %g ... %g", where, row->section,
                    row->key, text, row->least, row->most);
}

static tce_status parse_real(const setting_row *row, const char *text, const char *where,
                             double *out)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        return fail_value(row, text, where, "a number");
    if (value < row->least || value > row->most)
        return fail_range(row, text, where);
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
    const char *start = row->choices;
    for (int32_t i = 0; start; i++) {
        const char *bar = strchr(start, '|');
        const size_t length = bar ? (size_t)(bar - start) : strlen(start);
        if (strlen(text) == length && strncmp(text, start, length) == 0) {
            *out = i;
            return TCE_OK;
        }
        start = bar ? bar + 1 : NULL;
    }
    char need[256];
    snprintf(need, sizeof need, "one of %s", row->choices);
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

static tce_status set_row(settings *s, const setting_row *row, const char *text, const char *where)
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
    case SETTING_TEXT:
        break;
    }
    if (strlen(text) >= TEXT_SIZE)
        return fail_value(row, "(long)", where, "shorter than 1024 characters");
    if (!is_one_line(text))
        return tce_fail(TCE_E_VALUE,
                        "%s: %s.%s has a line break, a control character or a byte that is not "
                        "UTF-8, which config.yaml cannot keep: "
                        "write it without, and rename a file whose name has them",
                        where, row->section, row->key);
    snprintf(place, TEXT_SIZE, "%s", text);
    return TCE_OK;
}

/* ---- public ---------------------------------------------------------------------------------- */

void settings_init(settings *s)
{
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < N_SETTING_ROWS; i++)
        if (set_row(s, &SETTING_ROWS[i], SETTING_ROWS[i].start, "default") != TCE_OK)
            abort(); /* the table contradicts itself */
}

tce_status settings_set(settings *s, const char *section, const char *key, const char *text,
                        const char *where)
{
    const setting_row *row = find_row(section, key);
    return row ? set_row(s, row, text, where) : fail_unknown(section, key, where);
}

tce_status settings_name_library(settings *s, const char *path)
{
    char absolute[2 * TEXT_SIZE];
    size_t used = 0;
    /* without a slash it is the system's loader that looks for it */
    if (path[0] != '/' && strchr(path, '/')) {
        if (!getcwd(absolute, TEXT_SIZE))
            return tce_fail(TCE_E_IO,
                            "task.library = \"%s\": the working directory has no path: %s", path,
                            strerror(errno));
        used = strlen(absolute);
        if (absolute[used - 1] != '/')
            absolute[used++] = '/';
        while (strncmp(path, "./", 2) == 0)
            path += 2 + strspn(path + 2, "/");
    }
    const int length = snprintf(absolute + used, sizeof absolute - used, "%s", path);
    if (length < 0 || (size_t)length >= sizeof absolute - used)
        return tce_fail(TCE_E_VALUE, "the path of task.library is longer than %d characters",
                        TEXT_SIZE - 1);
    const tce_status status = settings_set(s, "task", "library", absolute, "task library");
    if (status == TCE_OK)
        s->task.library_named = 1;
    return status;
}

size_t settings_spell(const char *name, const char *value, char *out, size_t size)
{
    settings scratch;
    char plain[128], full[128];
    size_t n = 0, used = 0;
    out[0] = '\0';
    snprintf(plain, sizeof plain, "%s", name);
    for (char *c = plain; *c; c++)
        *c = *c == '-' ? '_' : *c;
    settings_init(&scratch);
    for (size_t i = 0; i < N_SETTING_ROWS; i++) {
        const setting_row *row = &SETTING_ROWS[i];
        snprintf(full, sizeof full, "%s.%s", row->section, row->key);
        if (strcmp(row->key, plain) != 0 && strcmp(full, plain) != 0)
            continue;
        const int fits = value && set_row(&scratch, row, value, "") == TCE_OK;
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s=%s", n ? " or " : "", full,
                                     fits ? value : "...");
        n++;
    }
    return n;
}

tce_status settings_override(settings *s, const char *assignment)
{
    char section[64], key[64];
    const char *dot = strchr(assignment, '.');
    const char *equals = strchr(assignment, '=');
    if (equals && (!dot || dot > equals)) {
        char spelt[TEXT_SIZE];
        snprintf(key, sizeof key, "%.*s", (int)(equals - assignment), assignment);
        if (settings_spell(key, equals + 1, spelt, sizeof spelt) > 0)
            return tce_fail(TCE_E_VALUE, "command line: \"%s\" is not section.key=value: write %s",
                            assignment, spelt);
    }
    if (!dot || !equals || dot > equals || (size_t)(dot - assignment) >= sizeof section ||
        (size_t)(equals - dot - 1) >= sizeof key)
        return tce_fail(TCE_E_VALUE, "command line: \"%s\" is not section.key=value", assignment);
    snprintf(section, sizeof section, "%.*s", (int)(dot - assignment), assignment);
    snprintf(key, sizeof key, "%.*s", (int)(equals - dot - 1), dot + 1);
    if (strcmp(section, "task") == 0 && strcmp(key, "library") == 0)
        return settings_name_library(s, equals + 1);
    return settings_set(s, section, key, equals + 1, "command line");
}

static void choice_text(const setting_row *row, int32_t value, char *out, size_t size)
{
    const char *start = row->choices;
    for (int32_t i = 0; i < value && start; i++)
        start = strchr(start, '|') ? strchr(start, '|') + 1 : NULL;
    snprintf(out, size, "%.*s", start ? (int)strcspn(start, "|") : 0, start ? start : "");
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
    }
}

void settings_dump(const settings *s, FILE *out)
{
    const char *section = "";
    for (size_t i = 0; i < N_SETTING_ROWS; i++) {
        const setting_row *row = &SETTING_ROWS[i];
        char text[4 * TEXT_SIZE];
        if (strcmp(row->section, section) != 0) {
            section = row->section;
            fprintf(out, "%s%s:\n", i ? "\n" : "", section);
        }
        settings_text(s, row, text, sizeof text);
        if (row->type == SETTING_TEXT) {
            fprintf(out, "  %s: '", row->key);
            for (const char *c = text; *c; c++)
                fprintf(out, *c == '\'' ? "''" : "%c", *c);
            fprintf(out, "'  # %s\n", row->help);
        } else {
            fprintf(out, "  %s: %s  # %s\n", row->key, text, row->help);
        }
    }
}

/* ---- combinations ---------------------------------------------------------------------------- */

tce_status settings_check(const settings *s)
{
    const int projected = s->projection.kind != TCE_TRPL_IDENTITY;
    const int clipped = s->projection.ratio_clip > 0.0;
    if (s->run.method == METHOD_TCE && s->mp.kind == TCE_MP_DMP)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "mp.kind dmp has no trajectory likelihood: use prodmp or promp with run.method tce");
    if (s->mp.learn_tau || s->mp.learn_delay)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "mp.learn_tau and mp.learn_delay need limits for what is drawn, which "
                        "training does not have yet: "
                        "set mp.tau and mp.delay (the library's tce_mp does learn them)");
    if (s->mp.disable_goal && s->mp.disable_weights)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "mp.disable_goal and mp.disable_weights together leave no parameter");
    if (s->policy.set_variance && s->policy.covariance == TCE_POLICY_FULL_CONTEXTUAL)
        return tce_fail(TCE_E_UNSUPPORTED, "policy.set_variance needs one covariance for all "
                                           "contexts: policy.covariance full or diagonal");
    if (clipped && projected)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "projection.ratio_clip takes the place of the projection: set projection.kind none");
    if (!clipped && !projected)
        return tce_fail(TCE_E_UNSUPPORTED, "projection.kind none leaves the update unbounded: set "
                                           "projection.ratio_clip, for instance 0.2");
    if (projected && !(s->projection.mean_bound > 0.0 && s->projection.cov_bound > 0.0))
        return tce_fail(TCE_E_VALUE,
                        "projection.mean_bound = %g and cov_bound = %g, both must be > 0",
                        s->projection.mean_bound, s->projection.cov_bound);
    if (s->projection.entropy == TCE_TRPL_ENTROPY_EQUAL &&
        s->projection.entropy_schedule == TCE_TRPL_SCHEDULE_NONE)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "projection.entropy equal needs a projection.entropy_schedule");
    if (!(s->mp.tau > 0.0))
        return tce_fail(TCE_E_VALUE, "mp.tau = %g, must be > 0", s->mp.tau);
    if (s->policy.set_variance && clipped)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "policy.set_variance goes with a projection, not with projection.ratio_clip");
    return TCE_OK;
}
