/* SPDX-License-Identifier: MIT */
/*
 * The command line of a tool: one table declares its options. The table parses the command line with getopt_long_only,
 * prints --help, and makes the messages about wrong values. The shell completions and the manual pages are checked
 * against --help, so every option must be in the table.
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
    COMMAND_INTERRUPTED = 130, /* the results so far were printed */
};

/* The type of the value that an option stores at the offset `at` of the tool's options. */
enum command_kind {
    COMMAND_FLAG,    /* bool: true. The option has no value */
    COMMAND_NUMBER,  /* uint32_t */
    COMMAND_SIZE,    /* uint32_t: bytes, with K, M or G */
    COMMAND_SIZE64,  /* uint64_t: the same */
    COMMAND_SECONDS, /* double: seconds with a fraction, or a number with the unit us, ms, s, min or h */
    COMMAND_CHOICE,  /* uint32_t: the index of the value in command_option.value */
    COMMAND_TEXT,    /* const char *: the value itself */
    COMMAND_CALL,    /* whatever command_option.set does; without a value if there is none */
};

struct command_option {
    const char *names; /* all spellings: "-s, --size, -ts"; NULL: `text` is the heading of the options below */
    const char *value; /* the value's name in --help; for a choice all values, "off|on"; NULL: the option has no value.
                          In brackets, "[SECONDS]": the value is optional; only for COMMAND_CALL */
    const char *text;  /* what the option does */
    enum command_kind kind;
    size_t at;
    double low, high;     /* for numbers, sizes and seconds, both included. --help prints them unless high is 0 */
    const char *standard; /* what applies without the option; --help prints it */
    /*
     * For COMMAND_CALL: sets what is at the offset `at` of the tool's options: a field, or, with offset 0, all of them.
     * Returns NULL, or what is wrong with the value, for example "a list of zero, write and read is expected". value is
     * NULL if the option has none.
     */
    const char *(*set)(void *at, const char *value);
};

struct command_status {
    int code;
    const char *text;
};

struct command {
    const char *name;
    const char *summary;      /* a paragraph about what the tool does */
    const char *const *usage; /* one command line each, without the tool's name; NULL at the end */
    const struct command_option *options;
    size_t n_options;
    /* Stores an argument that is no option. Returns NULL, or what is wrong with it. NULL: there are no arguments. */
    const char *(*add_argument)(void *options, const char *word);
    const struct command_status *statuses; /* exit codes; a NULL text at the end */
    const char *notes;                     /* printed at the end of --help, line by line as it is; NULL: none */
};

/*
 * Parses the command line into *options, which holds the defaults. Returns -1 if the tool may go on. Otherwise help, the
 * version or an error was printed, and the tool must exit with the returned code. Sets SIGPIPE to be ignored, so that
 * output to a closed pipe is reported as a failed write.
 */
int command_parse(const struct command *c, void *options, int argc, char **argv);

/* Prints a message about wrong usage and the way to --help. Returns COMMAND_USAGE. */
int command_usage_error(const struct command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
