/* SPDX-License-Identifier: MIT */
/* Writes capture files in the format pcapng. The caller checks the stream for write errors. */
#ifndef NDKTRACE_PCAPNG_H
#define NDKTRACE_PCAPNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void pcapng_begin(FILE *out, const char *application);
/* Adds an Ethernet interface with times in nanoseconds. Interfaces are numbered from 0 in the order of the calls. */
void pcapng_add_interface(FILE *out, const char *name, const char *description);
/* Adds a packet that had `original` bytes. Its first `captured` bytes are at `bytes`. `comment` may be NULL. */
void pcapng_add_packet(FILE *out, uint32_t interface, uint64_t time_ns, const uint8_t *bytes, uint32_t captured,
                       uint32_t original, const char *comment);

#endif
