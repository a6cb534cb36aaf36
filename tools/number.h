/* SPDX-License-Identifier: MIT */
/*
 * Parses numbers from a command line. A number must be within bounds and have no sign, spaces or trailing characters.
 */
#ifndef TOOLS_NUMBER_H
#define TOOLS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses a decimal number. If the number is malformed or out of bounds, returns false and leaves *value unchanged. */
bool number_parse(const char *text, uint32_t low, uint32_t high, uint32_t *value);
/* Parses a number up to `high` in C's notation: decimal, 0x and hexadecimal digits, or 0 and octal digits. */
bool number_parse_c(const char *text, uint64_t high, uint64_t *value);
/* Parses a number that may have a decimal fraction. */
bool number_parse_fraction(const char *text, double low, double high, double *number);
/* Parses a duration: seconds with an optional fraction, or a number with the unit us, ms, s, min or h. */
bool number_parse_duration(const char *text, double low, double high, double *seconds);
/* Parses a number of bytes. With the suffix K, M, G or T it is a number of KiB, MiB, GiB or TiB; iB or B may follow. */
bool number_parse_size(const char *text, uint64_t low, uint64_t high, uint64_t *bytes);
/* Writes a byte count in its shortest exact form, for example 1000, 64K or 16M. Returns `text`. */
const char *number_write_size(uint64_t bytes, char *text, size_t room);
/* Writes a byte count with the largest unit that is exact, for example "1000 bytes" or "64 KiB". Returns `text`. */
const char *number_write_size_iec(uint64_t bytes, char *text, size_t room);

#endif
