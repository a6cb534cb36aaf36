/* SPDX-License-Identifier: MIT */
/* Parses hexadecimal digits from the command line, and prints hexadecimal dumps. */
#ifndef NDKRUN_HEX_H
#define NDKRUN_HEX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Parses two digits for each byte, and sets *length to the number of bytes. Returns false if `hex` contains other
 * characters, an odd number of digits, or more than `room` bytes.
 */
bool hex_parse(const char *hex, uint8_t *data, uint32_t room, uint32_t *length);

/* Prints the data as a hexadecimal dump, but at most the first 256 bytes. */
void hex_dump(const uint8_t *data, uint32_t length, FILE *out);

#endif
