/* SPDX-License-Identifier: MIT */
/*
 * Prints --help and --version: see command_help.h. scripts/completions and the tests of the manual pages parse --help.
 * So an option's line must have two blanks, the names, one blank and the value. The option's text must begin after two
 * more blanks, or on the next line.
 */
#include "command_help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

enum { TEXT_COLUMN = 29, LAST_COLUMN = 80, MAX_TEXT = 1024 };

static int command_end_output(const struct command *c)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return COMMAND_OK;
    fprintf(stderr, "%s: standard output: %s: not all of the output was written\n", c->name, strerror(errno));
    return COMMAND_LOST;
}

int command_print_version(const struct command *c)
{
    printf("%s (OpenNDK) %s\n", c->name, TOOL_VERSION);
    return command_end_output(c);
}

/* Prints `text` from `column` on, with lines broken at blanks. Further lines begin at column `indent`. */
static void help_print_wrapped(const char *text, size_t column, size_t indent)
{
    bool is_first = true;

    while (*text) {
        size_t len = strcspn(text, " \n");
        if (!is_first && column + 1 + len > LAST_COLUMN) {
            printf("\n%*s", (int)indent, "");
            column = indent;
            is_first = true;
        }
        column += (size_t)printf("%s%.*s", is_first ? "" : " ", (int)len, text);
        is_first = false;
        text += len;
        text += strspn(text, " \n");
    }
    putchar('\n');
}

/* Writes an option's default and range to `text`: " (default 64; 24 to 16M)". */
static void help_write_limits(const struct command_option *o, char *text, size_t room)
{
    char low[32], high[32], range[96] = "";

    if (o->high > 0 && (o->kind == COMMAND_SIZE || o->kind == COMMAND_SIZE64))
        snprintf(range, sizeof range, "%s to %s", number_write_size((uint64_t)o->low, low, sizeof low),
                 number_write_size((uint64_t)o->high, high, sizeof high));
    else if (o->high > 0)
        snprintf(range, sizeof range, "%.10g to %.10g", o->low, o->high);
    if (o->standard || range[0])
        snprintf(text, room, " (%s%s%s%s)", o->standard ? "default " : "", o->standard ? o->standard : "",
                 o->standard && range[0] ? "; " : "", range);
}

static void help_print_option(const struct command_option *o)
{
    char names[256], limits[160] = "", text[MAX_TEXT];
    size_t len;

    if (!o->value)
        snprintf(names, sizeof names, "%s", o->names);
    else if (o->value[0] == '[')
        snprintf(names, sizeof names, "%s[=%s", o->names, o->value + 1);
    else
        snprintf(names, sizeof names, "%s %s", o->names, o->value);
    help_write_limits(o, limits, sizeof limits);
    snprintf(text, sizeof text, "%s%s", o->text, limits);
    len = strlen(names) + 2;
    printf("  %s", names);
    if (len + 2 > TEXT_COLUMN)
        printf("\n%*s", TEXT_COLUMN, "");
    else
        printf("%*s", (int)(TEXT_COLUMN - len), "");
    help_print_wrapped(text, TEXT_COLUMN, TEXT_COLUMN);
}

int command_print_help(const struct command *c)
{
    bool has_heading = false;

    help_print_wrapped(c->summary, 0, 0);
    for (size_t i = 0; c->usage[i]; i++)
        printf("%s%s %s\n", i ? "       " : "\nUsage: ", c->name, c->usage[i]);
    for (size_t i = 0; command_option_at(c, i); i++) {
        const struct command_option *o = command_option_at(c, i);
        if (o->names && !has_heading && i == 0)
            printf("\nOptions:\n");
        if (o->names)
            help_print_option(o);
        else
            printf("\n%s:\n", o->text);
        has_heading = true;
    }
    printf("\nExit status:\n");
    for (const struct command_status *s = c->statuses; s->text; s++) {
        printf("  %-5d", s->code);
        help_print_wrapped(s->text, 7, 7);
    }
    if (c->notes)
        printf("\n%s", c->notes);
    return command_end_output(c);
}
