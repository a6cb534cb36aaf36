/* SPDX-License-Identifier: MIT */
/* Bytes written as hexadecimal text, blanks anywhere between them. */
#ifndef TESTS_WIRE_HEX_H
#define TESTS_WIRE_HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The number of bytes; at most size. */
static inline size_t hex_bytes(uint8_t *bytes, size_t size, const char *hex)
{
    size_t n = 0;
    unsigned byte;
    int used = 0;

    while (n < size && sscanf(hex, " %2x%n", &byte, &used) == 1) {
        bytes[n++] = (uint8_t)byte;
        hex += used;
    }
    return n;
}

#endif
