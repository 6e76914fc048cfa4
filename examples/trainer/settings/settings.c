/*
 * Settings by name: tables of methods, keys in them, files and words over their defaults.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/settings_entries.h"
#include "settings/settings_values.h"
#include "settings/suggest.h"
#include "tools/words.h"

#define COMMAND_LINE "command line"

/* ---- tables ---------------------------------------------------------------------------------- */

const setting_row *settings_row(const settings_table *table, size_t i)
{
    for (const settings_group *const *group = table->groups; *group; group++) {
        if (i < (*group)->n)
            return &(*group)->rows[i];
        i -= (*group)->n;
    }
    return NULL;
}

int settings_has_row(const settings_table *table, const setting_row *row)
{
    for (const settings_group *const *group = table->groups; *group; group++)
        for (size_t i = 0; i < (*group)->n; i++)
            if (&(*group)->rows[i] == row)
                return 1;
    return 0;
}

const setting_row *settings_find_row(const settings_table *table, const char *section,
                                     const char *key)
{
    const setting_row *row;
    for (size_t i = 0; (row = settings_row(table, i)) != NULL; i++)
        if (strcmp(row->section, section) == 0 && strcmp(row->key, key) == 0)
            return row;
    return NULL;
}

size_t settings_row_index(const settings_table *table, const setting_row *row)
{
    size_t i = 0;
    while (settings_row(table, i) != row)
        i++;
    return i;
}

/* Whether a table before number m has the row. */
static int is_repeated(const settings_table *const *methods, size_t m, const setting_row *row)
{
    size_t before = 0;
    while (before < m && !settings_has_row(methods[before], row))
        before++;
    return before < m;
}

/* Row *i of a section, over all tables, each row once; or NULL, *i less by the rows there are. */
static const setting_row *row_of_section(const settings_table *const *methods, const char *section,
                                         size_t *i)
{
    const setting_row *row;
    for (size_t m = 0; methods[m]; m++)
        for (size_t k = 0; (row = settings_row(methods[m], k)) != NULL; k++)
            if (strcmp(row->section, section) == 0 && !is_repeated(methods, m, row) && (*i)-- == 0)
                return row;
    return NULL;
}

/* The first row, over all tables, that has the section. */
static const setting_row *first_of_section(const settings_table *const *methods,
                                           const char *section)
{
    size_t i = 0;
    return row_of_section(methods, section, &i);
}

const setting_row *settings_any_row(const settings_table *const *methods, size_t i)
{
    const setting_row *first, *found;
    for (size_t m = 0; methods[m]; m++)
        for (size_t k = 0; (first = settings_row(methods[m], k)) != NULL; k++)
            if (first_of_section(methods, first->section) == first &&
                !is_repeated(methods, m, first) &&
                (found = row_of_section(methods, first->section, &i)) != NULL)
                return found;
    return NULL;
}

int settings_is_again(const settings_table *const *methods, size_t i)
{
    const setting_row *row = settings_any_row(methods, i);
    size_t k = 0;
    for (const setting_row *other; (other = settings_any_row(methods, k)) != row; k++)
        if (strcmp(other->section, row->section) == 0 && strcmp(other->key, row->key) == 0)
            return 1;
    return 0;
}

const char *settings_method_names(const settings_table *const *methods, const char *between,
                                  char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t m = 0; methods[m] && used < size; m++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", m ? between : "",
                                 methods[m]->name);
    return out;
}

/* "a", "a and b", "a, b and c": adds the name number i of n. */
static size_t add_name(char *out, size_t size, size_t used, size_t i, size_t n, const char *name)
{
    const char *gap = i == 0 ? "" : i + 1 == n ? " and " : ", ";
    return used < size ? used + (size_t)snprintf(out + used, size - used, "%s%s", gap, name) : used;
}

const char *settings_methods_of(const settings_table *const *methods, const setting_row *row,
                                char *out, size_t size)
{
    size_t n = 0, n_methods = 0, used = 0, i = 0;
    for (; methods[n_methods]; n_methods++)
        n += (size_t)settings_has_row(methods[n_methods], row);
    out[0] = '\0';
    for (size_t m = 0; n < n_methods && methods[m]; m++)
        if (settings_has_row(methods[m], row))
            used = add_name(out, size, used, i++, n, methods[m]->name);
    return out;
}

/* The default of a row with one method. */
static const char *default_with(const settings_table *table, const setting_row *row)
{
    char name[160];
    const size_t length = (size_t)snprintf(name, sizeof name, "%s.%s=", row->section, row->key);
    if (settings_by_task(table, row))
        return "by the task";
    for (const char *const *word = table->defaults; word && *word; word++)
        if (strncmp(*word, name, length) == 0)
            return *word + length;
    return row->start;
}

const char *settings_default(const settings_table *const *methods, const setting_row *row,
                             char *out, size_t size)
{
    const char *usual = NULL;
    size_t used = 0;
    if (row->type == SETTING_METHOD)
        usual = methods[0]->name;
    for (size_t m = 0; methods[m] && used < size; m++) {
        const char *own = default_with(methods[m], row);
        if (!settings_has_row(methods[m], row) || row->type == SETTING_METHOD)
            continue;
        if (usual && strcmp(own, usual) != 0)
            used += (size_t)snprintf(out + used, size - used, "; %s: %s", methods[m]->name, own);
        else if (!usual)
            used = (size_t)snprintf(out, size, "%s", usual = own);
    }
    if (row->type == SETTING_METHOD)
        snprintf(out, size, "%s", usual);
    return out;
}

/* ---- looking up ------------------------------------------------------------------------------ */

static int has_section(const settings_table *table, const char *section)
{
    const setting_row *row;
    for (size_t i = 0; (row = settings_row(table, i)) != NULL; i++)
        if (strcmp(row->section, section) == 0)
            return 1;
    return 0;
}

static int any_has_section(const settings_table *const *methods, const char *section)
{
    size_t m = 0;
    while (methods[m] && !has_section(methods[m], section))
        m++;
    return methods[m] != NULL;
}

/* The key is one of other methods: says which. Else TCE_OK. */
static tce_status fail_foreign(const settings *s, const char *section, const char *key,
                               const char *where)
{
    char names[TEXT_SIZE];
    for (size_t m = 0; s->methods[m]; m++) {
        const setting_row *row = settings_find_row(s->methods[m], section, key);
        if (row)
            return tce_fail(TCE_E_NOT_FOUND, "%s: %s has no %s.%s: it belongs to %s", where,
                            s->table->name, section, key,
                            settings_methods_of(s->methods, row, names, sizeof names));
    }
    return TCE_OK;
}

static tce_status fail_section(const settings *s, const char *section, const char *where)
{
    const setting_row *row;
    nearest sections;
    nearest_start(&sections, section);
    for (size_t i = 0; (row = settings_any_row(s->methods, i)) != NULL; i++)
        nearest_try(&sections, row->section);
    const char *near = nearest_found(&sections);
    return tce_fail(TCE_E_NOT_FOUND, "%s: %s: no such section%s%s%s `tce config --help` lists them",
                    where, section, near ? ", did you mean " : "", near ? near : "",
                    near ? "?" : ";");
}

/*
 * Says that there is no such key, and which one may be meant: one of another method, the nearest in
 * its section, or the same name elsewhere.
 */
static tce_status fail_unknown(const settings *s, const char *section, const char *key,
                               const char *where)
{
    const setting_row *row;
    nearest keys;
    const char *asked = section;
    const tce_status status = fail_foreign(s, section, key, where);
    if (status != TCE_OK)
        return status;
    if (!has_section(s->table, section))
        return fail_section(s, section, where);
    nearest_start(&keys, key);
    for (size_t i = 0; (row = settings_row(s->table, i)) != NULL; i++)
        if (strcmp(row->section, section) == 0)
            nearest_try(&keys, row->key);
    const char *near = nearest_found(&keys);
    for (size_t i = 0; !near && (row = settings_row(s->table, i)) != NULL; i++)
        if (strcmp(row->key, key) == 0) {
            section = row->section;
            near = key;
        }
    if (near)
        return tce_fail(TCE_E_NOT_FOUND, "%s: %s.%s: no such key, did you mean %s.%s?", where,
                        asked, key, section, near);
    return tce_fail(TCE_E_NOT_FOUND, "%s: %s.%s: no such key; `tce config --help` lists them",
                    where, asked, key);
}

/* ---- one key --------------------------------------------------------------------------------- */

/* "section.key=value" into its parts; the value begins at *value. 0: not of that form. */
static int split_assignment(const char *assignment, setting_entry *out, const char **value)
{
    const char *dot = strchr(assignment, '.');
    const char *equals = strchr(assignment, '=');
    if (!dot || !equals || dot > equals || (size_t)(dot - assignment) >= sizeof out->section ||
        (size_t)(equals - dot - 1) >= sizeof out->key || dot + 1 == equals)
        return 0;
    memset(out, 0, sizeof *out);
    snprintf(out->section, sizeof out->section, "%.*s", (int)(dot - assignment), assignment);
    snprintf(out->key, sizeof out->key, "%.*s", (int)(equals - dot - 1), dot + 1);
    snprintf(out->where, sizeof out->where, COMMAND_LINE);
    *value = equals + 1;
    return 1;
}

/* A word that is not an assignment: how to write the one that it is like. */
static tce_status fail_assignment(const settings_table *const *methods, const char *word,
                                  const char *where)
{
    char spelt[TEXT_SIZE], key[64];
    const char *equals = strchr(word, '=');
    snprintf(key, sizeof key, "%.*s", equals ? (int)(equals - word) : 0, word);
    if (equals && !strchr(key, '.') &&
        settings_spell(methods, key, equals + 1, spelt, sizeof spelt) > 0)
        return tce_fail(TCE_E_VALUE, "%s: \"%s\" is not section.key=value: write %s", where, word,
                        spelt);
    return tce_fail(TCE_E_VALUE, "%s: \"%s\" is not section.key=value", where, word);
}

tce_status settings_set(settings *s, const char *section, const char *key, const char *text,
                        const char *where)
{
    const setting_row *row = settings_find_row(s->table, section, key);
    const tce_status status = row ? setting_parse(s, row, text, where)
                                  : fail_unknown(s, section, key, where);
    if (status == TCE_OK)
        s->origin[settings_row_index(s->table, row)] = ORIGIN_GIVEN;
    return status;
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

/* A key that the user gave on the command line. */
static tce_status set_by_user(settings *s, const setting_entry *entry, const char *text)
{
    const setting_row *row = settings_find_row(s->table, entry->section, entry->key);
    if (row && row->flags & SETTING_PLACE)
        return settings_name_library(s, text);
    return settings_set(s, entry->section, entry->key, text, entry->where);
}

tce_status settings_override(settings *s, const char *assignment)
{
    setting_entry entry;
    const char *value;
    if (!split_assignment(assignment, &entry, &value))
        return fail_assignment(s->methods, assignment, COMMAND_LINE);
    return set_by_user(s, &entry, value);
}

size_t settings_spell(const settings_table *const *methods, const char *name, const char *value,
                      char *out, size_t size)
{
    settings scratch;
    char plain[128], full[160];
    size_t n = 0, used = 0;
    const setting_row *row;
    out[0] = '\0';
    snprintf(plain, sizeof plain, "%s", name);
    for (char *c = plain; *c; c++)
        *c = *c == '-' ? '_' : *c;
    memset(&scratch, 0, sizeof scratch);
    scratch.table = methods[0];
    scratch.methods = methods;
    for (size_t i = 0; (row = settings_any_row(methods, i)) != NULL; i++) {
        snprintf(full, sizeof full, "%s.%s", row->section, row->key);
        if ((strcmp(row->key, plain) != 0 && strcmp(full, plain) != 0) ||
            settings_is_again(methods, i))
            continue;
        const int fits = value && setting_parse(&scratch, row, value, "") == TCE_OK;
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s=%s", n ? " or " : "", full,
                                     fits ? value : "...");
        n++;
    }
    return n;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* `where`: who names the method. */
static tce_status find_table(const settings_table *const *methods, const char *name,
                             const char *where, const settings_table **out)
{
    char names[TEXT_SIZE];
    for (size_t m = 0; methods[m]; m++)
        if (strcmp(methods[m]->name, name) == 0) {
            *out = methods[m];
            return TCE_OK;
        }
    return tce_fail(TCE_E_VALUE, "%s: run.method = \"%s\", must be one of %s", where, name,
                    settings_method_names(methods, ", ", names, sizeof names));
}

/* Every row at its default, then what the method defaults to differently. */
static tce_status start(settings *s, const settings_table *const *methods,
                        const settings_table *table)
{
    const setting_row *row;
    char where[TEXT_SIZE];
    tce_status status = TCE_OK;
    memset(s, 0, sizeof *s);
    s->table = table;
    s->methods = methods;
    tce_mp_options_init(&s->mp, sizeof s->mp);
    tce_policy_options_init(&s->policy.options, sizeof s->policy.options);
    tce_adam_options_init(&s->policy.adam, sizeof s->policy.adam);
    tce_adam_options_init(&s->critic.adam, sizeof s->critic.adam);
    tce_trpl_options_init(&s->projection.options, sizeof s->projection.options);
    s->projection.bounds = TCE_INIT(tce_trpl_bounds);
    snprintf(where, sizeof where, "default of %s", table->name);
    for (size_t i = 0; status == TCE_OK && (row = settings_row(table, i)) != NULL; i++) {
        if (row->type == SETTING_METHOD)
            continue;
        if (row->offset > sizeof *s || setting_size(row) > sizeof *s - row->offset)
            return tce_fail(TCE_E_VALUE,
                            "%s: %s.%s lies beyond the %d bytes for a method's own settings", where,
                            row->section, row->key, OWN_SIZE);
        status = i < MAX_ROWS
                     ? setting_parse(s, row, row->start, where)
                     : tce_fail(TCE_E_VALUE, "%s has more than %d rows", table->name, MAX_ROWS);
    }
    for (const char *const *word = table->defaults; status == TCE_OK && word && *word; word++) {
        setting_entry entry;
        const char *value;
        status = split_assignment(*word, &entry, &value)
                     ? settings_set(s, entry.section, entry.key, value, where)
                     : tce_fail(TCE_E_VALUE, "%s: \"%s\" is not section.key=value", where, *word);
    }
    memset(s->origin, ORIGIN_DEFAULT, sizeof s->origin);
    return status;
}

tce_status settings_init(settings *s, const settings_table *const *methods, const char *name)
{
    const settings_table *table = methods[0];
    const tce_status status = name ? find_table(methods, name, "settings", &table) : TCE_OK;
    return status == TCE_OK ? start(s, methods, table) : status;
}

/* The last entry of a key, or NULL. */
static const setting_entry *find_entry(const setting_entries *e, const char *section,
                                       const char *key)
{
    for (size_t i = e->n; i > 0; i--)
        if (strcmp(e->list[i - 1].section, section) == 0 && strcmp(e->list[i - 1].key, key) == 0)
            return &e->list[i - 1];
    return NULL;
}

/* Sets one key. seen [n rows]: the keys that the file had before. */
static tce_status apply_entry(settings *s, const setting_entry *entry, unsigned char *seen)
{
    const setting_row *row = settings_find_row(s->table, entry->section, entry->key);
    if (!entry->key[0])
        return any_has_section(s->methods, entry->section)
                   ? TCE_OK
                   : fail_section(s, entry->section, entry->where);
    if (!entry->line)
        return set_by_user(s, entry, entry->text);
    if (row && seen[settings_row_index(s->table, row)]++)
        return tce_fail(TCE_E_VALUE, "%s: %s.%s is set twice, keep one", entry->where,
                        entry->section, entry->key);
    /* the command line may have chosen another method */
    const settings_table *table;
    if (row && row->type == SETTING_METHOD)
        return find_table(s->methods, entry->text, entry->where, &table);
    return settings_set(s, entry->section, entry->key, entry->text, entry->where);
}

static tce_status apply(settings *s, const settings_table *const *methods, const setting_entries *e)
{
    size_t n = 0;
    settings copy;
    const settings_table *table = methods[0];
    const setting_entry *method = find_entry(e, "run", "method");
    tce_status status = method ? find_table(methods, method->text, method->where, &table) : TCE_OK;
    if (status == TCE_OK)
        status = start(&copy, methods, table);
    while (status == TCE_OK && settings_row(table, n))
        n++;
    unsigned char *seen = calloc(n + 1, 1);
    if (status == TCE_OK && !seen)
        status = tce_fail(TCE_E_NOMEM, "no memory for %zu settings", n);
    for (size_t i = 0; status == TCE_OK && i < e->n; i++)
        status = apply_entry(&copy, &e->list[i], seen);
    free(seen);
    if (status == TCE_OK)
        *s = copy;
    return status;
}

static tce_status add_word(setting_entries *e, const settings_table *const *methods,
                           const char *word, const char *where)
{
    setting_entry entry;
    const char *value;
    if (!split_assignment(word, &entry, &value))
        return fail_assignment(methods, word, where);
    snprintf(entry.where, sizeof entry.where, "%s", where);
    entry.text = (char *)value;
    return entries_add(e, &entry);
}

tce_status settings_read_from(settings *s, const settings_table *const *methods,
                              const settings_source *from)
{
    setting_entries e = { 0 };
    tce_status status = TCE_OK;
    if (from->path)
        status = entries_read(&e, from->path);
    for (size_t i = 0; status == TCE_OK && i < from->n; i++)
        status = add_word(&e, methods, from->words[i], from->where);
    if (status == TCE_OK)
        status = apply(s, methods, &e);
    entries_free(&e);
    return status;
}

tce_status settings_read(settings *s, const settings_table *const *methods, const char *path,
                         size_t n, char *const *words)
{
    const settings_source from = { path, n, (const char *const *)words, COMMAND_LINE };
    return settings_read_from(s, methods, &from);
}

tce_status settings_read_record(settings *s, const settings_table *const *methods, const char *path)
{
    setting_entries e = { 0 };
    tce_status status = entries_read(&e, path);
    if (status == TCE_OK && !find_entry(&e, "task", "name"))
        status = tce_fail(TCE_E_CORRUPT,
                          "%s has no task.name: it is empty or incomplete; restore it, or name a "
                          "CONFIG beside --restart to begin again",
                          path);
    if (status == TCE_OK)
        status = apply(s, methods, &e);
    entries_free(&e);
    return status;
}

tce_status settings_check(const settings *s)
{
    tce_status status = TCE_OK;
    for (const settings_group *const *group = s->table->groups; status == TCE_OK && *group; group++)
        if ((*group)->check)
            status = (*group)->check(s);
    return status == TCE_OK && s->table->check ? s->table->check(s) : status;
}

void settings_put(const setting_row *row, const char *text, const char *comment, FILE *out)
{
    const char *quote = row->type == SETTING_TEXT ? "'" : "";
    fprintf(out, "  %s: %s", row->key, quote);
    for (const char *c = text; *c; c++)
        fprintf(out, *c == '\'' ? "''" : "%c", *c);
    fprintf(out, "%s  # %s\n", quote, comment);
}

static void dump(const settings *s, int shared, FILE *out)
{
    const char *section = "";
    const setting_row *row;
    for (size_t i = 0; (row = settings_row(s->table, i)) != NULL; i++) {
        char text[4 * TEXT_SIZE];
        if (strcmp(row->section, section) != 0) {
            section = row->section;
            fprintf(out, "%s%s:\n", i ? "\n" : "", section);
        }
        settings_text(s, row, text, sizeof text);
        if (shared && s->origin[i] == ORIGIN_DEFAULT && settings_by_task(s->table, row))
            fprintf(out, "  # %s: by the task; %s\n", row->key, row->help);
        else
            settings_put(row, text, row->help, out);
    }
}

void settings_dump(const settings *s, FILE *out)
{
    dump(s, 0, out);
}

void settings_dump_shared(const settings *s, FILE *out)
{
    dump(s, 1, out);
}
