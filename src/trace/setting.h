/* SPDX-License-Identifier: MIT */
/*
 * Parses the value of the environment variable ONDK_TRACE: the name of a file or "ring", then optionally a size and the
 * word "payload=" with a number of bytes, each after a comma.
 */
#ifndef TRACE_SETTING_H
#define TRACE_SETTING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { TRACE_FILE_MIB = 16, TRACE_RING_MIB = 4, TRACE_MIN_MIB = 1, TRACE_MAX_MIB = 2048 };

#define TRACE_SETTING_EXPECTED                                                                                         \
    "a file or ring, and optionally a comma and the size, a number with the suffix M or G, "                           \
    "and optionally a comma and payload=BYTES, at most 64000"

struct trace_setting {
    bool is_ring;        /* events are recorded into memory, not into a file */
    char path[PATH_MAX]; /* the file's path, with %p replaced by the process ID and %% by %; empty if is_ring */
    bool has_pid;        /* a child of fork has its own ring or file, because is_ring is true or the name has %p */
    uint32_t mib;
    uint32_t payload; /* this many bytes of each FPDU's payload are recorded, at most TRACE_MAX_PAYLOAD */
};

/* Parses a value of ONDK_TRACE. Returns false if it is not valid. */
bool trace_setting_parse(const char *text, struct trace_setting *setting);
/* Sets *setting to a ring of the default size. */
void trace_setting_use_ring(struct trace_setting *setting);

#endif
