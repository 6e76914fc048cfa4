/*
 * Templates to C: names, conditions, includes and numbers.
 */
#include "export/c_file.h"

#include <ctype.h>
#include <string.h>

#include "tools/numbers.h"

/* conditions inside each other, in one template */
#define MAX_DEPTH 8
/* columns of an array's lines */
#define WIDTH 100

/* ---- names and numbers ----------------------------------------------------------------------- */

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

void c_file_text(const c_file *f, const char *text)
{
    enum { LENGTH = sizeof "policy" - 1 };
    while (*text) {
        const int lower = begins(text, "policy_") || begins(text, "policy.c");
        if (!lower && !begins(text, "POLICY_")) {
            fputc(*text++, f->out);
            continue;
        }
        for (const char *c = f->name; *c; c++)
            fputc(lower ? *c : toupper((unsigned char)*c), f->out);
        text += LENGTH;
    }
}

/* A constant of a type: "int", "float" or "double". */
static void constant_text(double value, const char *type, char out[NUMBER_TEXT + 4])
{
    const int is_float = strcmp(type, "float") == 0;
    number_text(value, is_float, out);
    if (strcmp(type, "int") != 0 && !strpbrk(out, ".e"))
        strcat(out, ".0");
    if (is_float)
        strcat(out, "F");
}

void c_file_int(const c_file *f, const char *name, size_t value)
{
    c_file_text(f, "#define POLICY_");
    fprintf(f->out, "%s %zu\n", name, value);
}

void c_file_real(const c_file *f, const char *name, double value)
{
    char text[NUMBER_TEXT + 4];
    constant_text(value, "double", text);
    c_file_text(f, "#define POLICY_");
    fprintf(f->out, value < 0.0 ? "%s (%s)\n" : "%s %s\n", name, text);
}

void c_file_array(const c_file *f, const char *type, const char *name, size_t n, const double *v)
{
    size_t column = WIDTH;
    fprintf(f->out, "static const %s ", type);
    c_file_text(f, "policy_");
    fprintf(f->out, "%s[%zu] = {", name, n);
    for (size_t i = 0; i < n; i++) {
        char text[NUMBER_TEXT + 4];
        constant_text(v[i], type, text);
        if (column + strlen(text) + 2 > WIDTH) {
            fputs("\n   ", f->out);
            column = 3;
        }
        column += (size_t)fprintf(f->out, " %s,", text);
    }
    fputs("\n};\n", f->out);
}

/* ---- templates ------------------------------------------------------------------------------- */

/* What becomes of the lines after a condition: COPIED stands for one that is not decided here. */
typedef enum { COPIED, ON, NOT_YET, OVER } condition;

typedef struct conditions {
    int depth;
    condition at[MAX_DEPTH];
} conditions;

static int all_on(const conditions *c)
{
    for (int i = 0; i < c->depth; i++)
        if (c->at[i] == NOT_YET || c->at[i] == OVER)
            return 0;
    return 1;
}

/* The condition of a line "#if POLICY_<choice>" or "#elif POLICY_<choice>". */
static tce_status decide(const c_file *f, const char *line, condition *out)
{
    const char *choice = strstr(line, "POLICY_");
    for (const c_choice *c = f->choices; choice && c->name; c++)
        if (strcmp(choice + strlen("POLICY_"), c->name) == 0) {
            *out = c->value ? ON : NOT_YET;
            return TCE_OK;
        }
    return tce_fail(TCE_E_NOT_FOUND, "a template has a condition that is never decided: %s", line);
}

/* A line that begins with '#': *out_done when it is one of a condition decided here. */
static tce_status follow_condition(const c_file *f, const char *line, conditions *c, int *out_done)
{
    condition *const top = c->depth > 0 ? &c->at[c->depth - 1] : NULL;
    *out_done = 1;
    if (begins(line, "#if")) {
        if (c->depth == MAX_DEPTH)
            return tce_fail(TCE_E_UNSUPPORTED, "a template has more than %d conditions at: %s",
                            MAX_DEPTH, line);
        c->depth++;
        if (begins(line, "#if "))
            return decide(f, line, &c->at[c->depth - 1]);
        c->at[c->depth - 1] = COPIED;
        *out_done = 0;
    } else if (begins(line, "#elif ") && top && *top != COPIED) {
        if (*top == NOT_YET)
            return decide(f, line, top);
        *top = OVER;
    } else if (begins(line, "#else") && top && *top != COPIED) {
        *top = *top == NOT_YET ? ON : OVER;
    } else if (begins(line, "#endif") && top) {
        *out_done = *top != COPIED;
        c->depth--;
    } else {
        *out_done = 0;
    }
    return TCE_OK;
}

/* A line of a template that is not dropped; empty ones do not follow each other. */
static void copy_line(c_file *f, const char *line)
{
    const int blank = line[0] == '\0';
    if (blank && f->blank)
        return;
    c_file_text(f, line);
    fputc('\n', f->out);
    f->blank = blank;
}

/* file: what follows #include, from its first quote on. */
static tce_status include(c_file *f, const char *file)
{
    static const char NUMBERS[] = "numbers/";
    char name[64];
    if (sscanf(file, "\"%63[^\"]\"", name) != 1)
        return tce_fail(TCE_E_VALUE, "a template includes %s", file);
    if (!begins(name, NUMBERS))
        return c_file_template(f, name);
    if (strcmp(name, "numbers/choices.h") == 0)
        return TCE_OK;
    name[strcspn(name, ".")] = '\0';
    f->blank = 0;
    return f->write_part(f->user, name + strlen(NUMBERS));
}

tce_status c_file_template(c_file *f, const char *name)
{
    const c_template *template = C_TEMPLATES;
    while (template->name && strcmp(template->name, name) != 0)
        template ++;
    if (!template->name)
        return tce_fail(TCE_E_NOT_FOUND, "there is no template %s", name);

    conditions c = { 0 };
    for (const char *const *line = template->lines; *line; line++) {
        int done = 0;
        tce_status status = TCE_OK;
        if ((*line)[0] == '#')
            status = follow_condition(f, *line, &c, &done);
        if (status == TCE_OK && !done && all_on(&c)) {
            if (begins(*line, "#include \""))
                status = include(f, *line + strlen("#include "));
            else
                copy_line(f, *line);
        }
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}
