/* SPDX-License-Identifier: MIT */
/* Parses numbers of a command line. They must be within bounds and have no sign, blanks or trailing characters. */
#ifndef TOOLS_NUMBER_H
#define TOOLS_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a decimal number. Returns false and leaves *value unchanged if it is malformed or out of bounds. */
bool number_parse(const char *text, uint32_t low, uint32_t high, uint32_t *value);
/* The same in C's notation: decimal, 0x and hexadecimal digits, or 0 and octal digits. */
bool number_parse_c(const char *text, uint64_t high, uint64_t *value);
/* Parses seconds with an optional fraction. */
bool number_parse_seconds(const char *text, double low, double high, double *seconds);

#endif
