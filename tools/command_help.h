/* SPDX-License-Identifier: MIT */
/* Prints --help and --version. Only command.c and command_help.c include this header. */
#ifndef TOOLS_COMMAND_HELP_H
#define TOOLS_COMMAND_HELP_H

#include "command.h"

enum { COMMAND_MAX_NAME = 64 };

/* Returns the option with index i, or NULL after the last option. Headings and the common options count as options. */
const struct command_option *command_option_at(const struct command *c, size_t i);
/* Copies the first name in `names` to `name`, a buffer of COMMAND_MAX_NAME bytes. Returns the remaining names. */
const char *command_next_name(const char *names, char *name);

/*
 * Both functions print to stdout and return COMMAND_OK. If the text cannot be written, they print a message and return
 * COMMAND_LOST.
 */
int command_print_help(const struct command *c);
int command_print_version(const struct command *c);

#endif
