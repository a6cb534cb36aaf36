/* SPDX-License-Identifier: MIT */
/* Octets as digits on the command line, and as a dump. */
#ifndef NDKRUN_OCTETS_H
#define NDKRUN_OCTETS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Two digits each. False: other characters, an odd number, or more than there is room for. */
bool octets_parse(const char *hex, uint8_t *data, uint32_t room, uint32_t *length);

/* The first 256. */
void octets_show(const uint8_t *data, uint32_t length, FILE *out);

#endif
