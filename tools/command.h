/* SPDX-License-Identifier: MIT */
/*
 * Parses the command line of a tool. One table declares the tool's options. command_parse uses the table to parse the
 * command line with getopt_long_only, to print --help, and to report wrong values. The shell completions and the manual
 * pages are checked against --help, so every option must be in the table.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes that mean the same in every tool. */
enum command_exit {
    COMMAND_OK = 0,
    COMMAND_FAILED = 1,
    COMMAND_USAGE = 2,
    COMMAND_LOST = 6,          /* the output could not be written completely */
    COMMAND_INTERRUPTED = 130, /* Ctrl-C; the results so far were printed */
};

/* The type of an option's value. The value is stored at the offset `at` in the tool's options. */
enum command_kind {
    COMMAND_FLAG,    /* bool: set to true. The option has no value */
    COMMAND_NUMBER,  /* uint32_t */
    COMMAND_SIZE,    /* uint32_t: a number of bytes, which may end with K, M or G */
    COMMAND_SIZE64,  /* uint64_t: as COMMAND_SIZE */
    COMMAND_SECONDS, /* double: seconds with a fraction, or a number with the unit us, ms, s, min or h */
    COMMAND_CHOICE,  /* uint32_t: the index of the value in command_option.value */
    COMMAND_TEXT,    /* const char *: the value itself */
    COMMAND_CALL,    /* any type: command_option.set parses and stores the value */
};

struct command_option {
    /* All names, for example "-s, --size, -ts"; NULL: `text` is a heading for the following options. */
    const char *names;
    /*
     * The value as --help prints it: a name, for example "SECONDS", or the values of a choice, for example "off|on".
     * Brackets, as in "[SECONDS]", mean that the value is optional, which only COMMAND_CALL allows. NULL: the option
     * has no value.
     */
    const char *value;
    const char *text; /* description of the option in --help */
    enum command_kind kind;
    size_t at;
    double low, high;     /* the minimum and maximum number, size or time; --help prints them unless `high` is 0 */
    const char *standard; /* the default in the form that --help prints */
    /*
     * Stores the value of a COMMAND_CALL option. The parameter `at` is the address of the tool's options plus
     * command_option.at. `value` is NULL if the user has given no value. Returns NULL, or a text that describes the
     * mistake, for example "a list of zero, write and read is expected".
     */
    const char *(*set)(void *at, const char *value);
};

struct command_status {
    int code;
    const char *text;
};

struct command {
    const char *name;
    const char *summary;      /* a paragraph that describes the tool */
    const char *const *usage; /* command lines without the tool's name; the last entry is NULL */
    const struct command_option *options;
    size_t n_options;
    /*
     * Stores an argument that is not an option. Returns NULL, or a text that describes the mistake. The member is NULL
     * if the tool accepts no arguments.
     */
    const char *(*add_argument)(void *options, const char *word);
    /*
     * Called after an option was stored; may be NULL. `value` is NULL if the option has no value. Returns NULL, or a
     * text that describes the mistake.
     */
    const char *(*on_option)(void *options, const struct command_option *o, const char *value);
    const struct command_status *statuses; /* exit codes; the last entry has a NULL text */
    const char *notes;                     /* printed at the end of --help without wrapping; may be NULL */
};

/*
 * Parses the command line into *options, which must contain the defaults. Returns -1 if the tool must continue.
 * Otherwise help, the version or an error was printed, and the tool must exit with the returned code. Makes the process
 * ignore SIGPIPE, so that output to a closed pipe is reported as a failed write.
 */
int command_parse(const struct command *c, void *options, int argc, char **argv);

enum { COMMAND_MAX_MESSAGE = 512 };
/*
 * Stores the value of the option with the long name `name`, which has no dashes. The value of a flag is "true". Returns
 * NULL, or a text that describes the mistake; the text is in `message` or in static storage.
 */
const char *command_set(const struct command *c, void *options, const char *name, const char *value,
                        char message[COMMAND_MAX_MESSAGE]);

/* Prints a message about wrong usage, and mentions --help. Returns COMMAND_USAGE. */
int command_usage_error(const struct command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
