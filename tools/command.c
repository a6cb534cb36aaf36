/* SPDX-License-Identifier: MIT */
/* Parses a tool's command line: see command.h. command_help.c prints --help. */
#include "command.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command_help.h"
#include "number.h"

enum { FIRST_LONG = 256, MAX_MESSAGE = COMMAND_MAX_MESSAGE };

/* The options that every tool has. They follow the tool's own options. */
static const struct command_option common_options[] = {
    { "-h, --help", NULL, "print this help", .kind = COMMAND_CALL },
    { "--version", NULL, "print the version", .kind = COMMAND_CALL },
};
enum { HELP, VERSION, N_COMMON };

/* The tables for getopt, made from the option table. */
struct parser {
    const struct command *command;
    void *options;
    struct option *longs; /* ends with a zero entry; an entry's `val` is FIRST_LONG + the option's index */
    size_t n_longs;
    char shorts[2 + 2 * 128 + 1];
    size_t short_index[128];
};

int command_usage_error(const struct command *c, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", c->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry '%s --help'.\n", c->name);
    return COMMAND_USAGE;
}

const struct command_option *command_option_at(const struct command *c, size_t i)
{
    if (i < c->n_options)
        return &c->options[i];
    return i - c->n_options < N_COMMON ? &common_options[i - c->n_options] : NULL;
}

const char *command_next_name(const char *names, char *name)
{
    size_t len = strcspn(names, ",");

    snprintf(name, COMMAND_MAX_NAME, "%.*s", (int)len, names);
    names += len;
    return names + strspn(names, ", ");
}

static bool option_has_optional_value(const struct command_option *o)
{
    return o->value && o->value[0] == '[';
}

static int option_has_arg(const struct command_option *o)
{
    if (!o->value)
        return no_argument;
    return option_has_optional_value(o) ? optional_argument : required_argument;
}

/* ---- the tables of getopt ---- */

static void parser_add_short(struct parser *p, char letter, const struct command_option *o, size_t index)
{
    static const char *const colons[] = { [no_argument] = "", [required_argument] = ":", [optional_argument] = "::" };
    size_t len = strlen(p->shorts);

    snprintf(p->shorts + len, sizeof p->shorts - len, "%c%s", letter, colons[option_has_arg(o)]);
    p->short_index[letter & 0x7f] = index;
}

static bool parser_add_long(struct parser *p, const char *name, const struct command_option *o, size_t index)
{
    char *copy = strdup(name + strspn(name, "-"));

    if (!copy)
        return false;
    p->longs[p->n_longs++] = (struct option){ copy, option_has_arg(o), NULL, FIRST_LONG + (int)index };
    return true;
}

static bool parser_add_names(struct parser *p, const struct command_option *o, size_t index)
{
    char name[COMMAND_MAX_NAME];

    for (const char *rest = o->names; rest && *rest;) {
        rest = command_next_name(rest, name);
        if (name[1] != '-' && !name[2])
            parser_add_short(p, name[1], o, index);
        else if (!parser_add_long(p, name, o, index))
            return false;
    }
    return true;
}

static void parser_fini(struct parser *p)
{
    for (size_t i = 0; i < p->n_longs; i++)
        free((char *)p->longs[i].name);
    free(p->longs);
}

/* Fills in getopt's tables. '-' makes getopt return all arguments in order. ':' makes getopt report missing values. */
static bool parser_init(struct parser *p, const struct command *c, void *options)
{
    size_t n_names = 1;

    *p = (struct parser){ .command = c, .options = options, .shorts = "-:" };
    for (size_t i = 0; command_option_at(c, i); i++)
        for (const char *at = command_option_at(c, i)->names; at; at = strchr(at + 1, ','))
            n_names++;
    p->longs = calloc(n_names, sizeof *p->longs);
    if (!p->longs)
        return false;
    for (size_t i = 0; command_option_at(c, i); i++)
        if (!parser_add_names(p, command_option_at(c, i), i))
            return false;
    return true;
}

/* ---- names ---- */

/* Returns the number of characters that must be inserted, removed or replaced to change one name into the other. */
static size_t name_distance(const char *a, const char *b)
{
    size_t row[COMMAND_MAX_NAME + 1], len = strlen(b);

    for (size_t k = 0; k <= len; k++)
        row[k] = k;
    for (size_t i = 0; a[i]; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < len; k++) {
            size_t replaced = corner + (a[i] != b[k]), other = 1 + (row[k] < row[k + 1] ? row[k] : row[k + 1]);
            corner = row[k + 1];
            row[k + 1] = replaced < other ? replaced : other;
        }
    }
    return row[len];
}

/* Copies the name in a word "--name=value", without dashes and value. */
static void parser_copy_name(const char *word, char *name)
{
    word += strspn(word, "-");
    snprintf(name, COMMAND_MAX_NAME, "%.*s", (int)strcspn(word, "="), word);
}

/* Returns the long option that is most similar to the word, or NULL if none is similar. */
static const struct option *parser_nearest(const struct parser *p, const char *word)
{
    char name[COMMAND_MAX_NAME];
    const struct option *nearest = NULL;
    size_t least;

    parser_copy_name(word, name);
    least = strlen(name) / 2 + 1;
    for (size_t i = 0; i < p->n_longs; i++) {
        size_t distance = name_distance(name, p->longs[i].name);
        if (distance < least) {
            least = distance;
            nearest = &p->longs[i];
        }
    }
    return nearest;
}

/*
 * If a word is an option with wrong upper or lower case, corrects the case in place. Windows' programs ignore a
 * switch's case.
 */
static void parser_correct_case(const struct parser *p, char *word)
{
    size_t dashes = strspn(word, "-"), len = strcspn(word + dashes, "=");

    if (!dashes || dashes > 2 || dashes + len <= 2)
        return;
    for (size_t i = 0; i < p->n_longs; i++)
        if (strlen(p->longs[i].name) == len && strncasecmp(word + dashes, p->longs[i].name, len) == 0) {
            memcpy(word + dashes, p->longs[i].name, len);
            return;
        }
}

/* Writes the name by which the user gave the option: "--size", "-ts" or "-s". */
static void parser_write_given_name(const struct parser *p, int got, int long_index, char *name)
{
    const struct command_option *o;

    if (got < FIRST_LONG) {
        snprintf(name, COMMAND_MAX_NAME, "-%c", got);
        return;
    }
    o = command_option_at(p->command, (size_t)(got - FIRST_LONG));
    for (const char *rest = o->names; *rest;) {
        rest = command_next_name(rest, name);
        if (name[1] && strcmp(name + strspn(name, "-"), p->longs[long_index].name) == 0)
            return;
    }
}

/* ---- values ---- */

/* Writes the values that the option can have, for example "off, go-on or stop is expected". Returns `message`. */
static const char *option_write_choices(const struct command_option *o, char *message)
{
    size_t len = 0;

    for (const char *at = o->value; at && *at && len < MAX_MESSAGE;) {
        const char *next = strchr(at, '|');
        const char *separator = at == o->value ? "" : next ? ", " : " or ";
        size_t size = next ? (size_t)(next - at) : strlen(at);
        len += (size_t)snprintf(message + len, MAX_MESSAGE - len, "%s%.*s", separator, (int)size, at);
        at = next ? next + 1 : NULL;
    }
    if (len < MAX_MESSAGE)
        snprintf(message + len, MAX_MESSAGE - len, " is expected");
    return message;
}

static bool option_parse_choice(const struct command_option *o, const char *value, uint32_t *index)
{
    *index = 0;
    for (const char *at = o->value; *at; (*index)++) {
        size_t len = strcspn(at, "|");
        if (strlen(value) == len && strncasecmp(at, value, len) == 0)
            return true;
        at += len + (at[len] == '|');
    }
    return false;
}

/* Stores the value. Returns NULL, or a text that describes the mistake: either `message` or a static string. */
static const char *option_set(const struct command_option *o, void *options, const char *value, char *message)
{
    char low[32], high[32];
    uint64_t wide;
    uint32_t number;
    double seconds;
    void *at = (char *)options + o->at;

    switch (o->kind) {
    case COMMAND_CALL:
        return o->set(at, value);
    case COMMAND_FLAG:
        *(bool *)at = true;
        return NULL;
    case COMMAND_TEXT:
        *(const char **)at = value;
        return NULL;
    case COMMAND_CHOICE:
        if (option_parse_choice(o, value, &number)) {
            *(uint32_t *)at = number;
            return NULL;
        }
        return option_write_choices(o, message);
    case COMMAND_NUMBER:
        if (number_parse(value, (uint32_t)o->low, (uint32_t)o->high, &number)) {
            *(uint32_t *)at = number;
            return NULL;
        }
        snprintf(message, MAX_MESSAGE, "a number from %.0f to %.0f is expected", o->low, o->high);
        return message;
    case COMMAND_SIZE:
    case COMMAND_SIZE64:
        if (number_parse_size(value, (uint64_t)o->low, (uint64_t)o->high, &wide)) {
            if (o->kind == COMMAND_SIZE)
                *(uint32_t *)at = (uint32_t)wide;
            else
                *(uint64_t *)at = wide;
            return NULL;
        }
        snprintf(message, MAX_MESSAGE, "a size from %s to %s is expected, in bytes or with K, M or G",
                 number_write_size((uint64_t)o->low, low, sizeof low),
                 number_write_size((uint64_t)o->high, high, sizeof high));
        return message;
    case COMMAND_SECONDS:
        if (number_parse_duration(value, o->low, o->high, &seconds)) {
            *(double *)at = seconds;
            return NULL;
        }
        snprintf(message, MAX_MESSAGE,
                 "a time from %.10g to %.10g seconds is expected; it may have the unit us, ms, s, min or h", o->low,
                 o->high);
        return message;
    }
    return "it cannot be set";
}

static bool option_has_name(const struct command_option *o, const char *long_name)
{
    char name[COMMAND_MAX_NAME];

    for (const char *rest = o->names; rest && *rest;) {
        rest = command_next_name(rest, name);
        if (strncmp(name, "--", 2) == 0 && strcmp(name + 2, long_name) == 0)
            return true;
    }
    return false;
}

const char *command_set(const struct command *c, void *options, const char *name, const char *value,
                        char message[COMMAND_MAX_MESSAGE])
{
    const struct command_option *o = c->options, *end = c->options + c->n_options;

    while (o < end && !option_has_name(o, name))
        o++;
    if (o == end)
        return "unknown option";
    if (o->kind == COMMAND_FLAG && strcmp(value, "true") != 0)
        return "true is expected, because the option is a flag";
    return option_set(o, options, value, message);
}

/* ---- parsing ---- */

static int parser_report_unknown(const struct parser *p, const char *word, int letter)
{
    const struct option *nearest = word[0] == '-' && word[1] && word[2] ? parser_nearest(p, word) : NULL;
    char name[COMMAND_MAX_NAME] = "";
    size_t n_similar = 0, len;

    parser_copy_name(word, name);
    len = strlen(name);
    for (size_t i = 0; len && i < p->n_longs; i++)
        n_similar += strncmp(p->longs[i].name, name, len) == 0;
    if (letter >= FIRST_LONG) /* the user has given a value to an option that takes none */
        return command_usage_error(p->command, "%s: the option has no value", word);
    if (n_similar > 1)
        return command_usage_error(p->command, "%s: ambiguous, several options begin like that", word);
    if (nearest) {
        parser_write_given_name(p, nearest->val, (int)(nearest - p->longs), name);
        return command_usage_error(p->command, "%s: unknown option; the nearest one is %s", word, name);
    }
    if (letter && !(word[0] == '-' && word[1] == '-'))
        return command_usage_error(p->command, "-%c: unknown option", letter);
    return command_usage_error(p->command, "%s: unknown option", word);
}

static int parser_add_argument(const struct parser *p, const char *word)
{
    const char *error = p->command->add_argument ? p->command->add_argument(p->options, word)
                                                 : "no argument is expected here";

    return error ? command_usage_error(p->command, "'%s': %s", word, error) : -1;
}

static int parser_set(const struct parser *p, int got, int long_index, int argc, char **argv)
{
    size_t index = got < FIRST_LONG ? p->short_index[got & 0x7f] : (size_t)(got - FIRST_LONG);
    const struct command_option *o = command_option_at(p->command, index);
    char name[COMMAND_MAX_NAME], message[MAX_MESSAGE];
    const char *value = optarg, *error;

    if (index == p->command->n_options + HELP)
        return command_print_help(p->command);
    if (index == p->command->n_options + VERSION)
        return command_print_version(p->command);
    /* getopt finds an optional value only in the option's own word. Here the next word may also be the value. */
    if (!value && option_has_optional_value(o) && optind < argc && argv[optind][0] != '-')
        value = argv[optind++];
    error = option_set(o, p->options, value, message);
    if (!error && p->command->on_option)
        error = p->command->on_option(p->options, o, value);
    if (!error)
        return -1;
    parser_write_given_name(p, got, long_index, name);
    if (!value)
        return command_usage_error(p->command, "%s: %s", name, error);
    return command_usage_error(p->command, "%s: '%s' is not a value for this option: %s", name, value, error);
}

static int parser_report_missing(const struct parser *p, const char *word, int got)
{
    size_t index = got < FIRST_LONG ? p->short_index[got & 0x7f] : (size_t)(got - FIRST_LONG);

    return command_usage_error(p->command, "%s: the value is missing: %s", word,
                               command_option_at(p->command, index)->value);
}

static int parser_run(const struct parser *p, int argc, char **argv)
{
    int code = -1, got, long_index = 0;

    opterr = 0;
    optind = 0; /* makes getopt of glibc start again */
    while (code < 0) {
        if (optind < argc)
            parser_correct_case(p, argv[optind ? optind : argc > 1]);
        got = getopt_long_only(argc, argv, p->shorts, p->longs, &long_index);
        if (got == -1)
            break;
        if (got == 1)
            code = parser_add_argument(p, optarg);
        else if (got == '?')
            code = parser_report_unknown(p, argv[optind - 1], optopt);
        else if (got == ':')
            code = parser_report_missing(p, argv[optind - 1], optopt);
        else
            code = parser_set(p, got, long_index, argc, argv);
    }
    while (code < 0 && optind < argc) /* the words after "--" */
        code = parser_add_argument(p, argv[optind++]);
    return code;
}

int command_parse(const struct command *c, void *options, int argc, char **argv)
{
    struct parser p;
    int code;

    signal(SIGPIPE, SIG_IGN);
    if (parser_init(&p, c, options)) {
        code = parser_run(&p, argc, argv);
    } else {
        fprintf(stderr, "%s: out of memory\n", c->name);
        code = COMMAND_FAILED;
    }
    parser_fini(&p);
    return code;
}
