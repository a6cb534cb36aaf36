/* SPDX-License-Identifier: MIT */
/* The value of the environment variable ONDK_TRACE: a file's name or "ring", and optionally a comma and the size. */
#ifndef TRACE_SETTING_H
#define TRACE_SETTING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { TRACE_FILE_MIB = 16, TRACE_RING_MIB = 4, TRACE_MIN_MIB = 1, TRACE_MAX_MIB = 2048 };

#define TRACE_SETTING_EXPECTED "a file or ring, and optionally a comma and the size, a number with the suffix M or G"

struct trace_setting {
    bool is_ring;        /* events are recorded into memory that no file has */
    char path[PATH_MAX]; /* %p was replaced by the process ID, %% by %. Not set if is_ring */
    bool has_pid;        /* a child of fork has a ring or file of its own: is_ring, or the name has %p */
    uint32_t mib;
};

/* Returns false if the text is no valid value. */
bool trace_setting_parse(const char *text, struct trace_setting *setting);
/* Sets a ring of the standard size. */
void trace_setting_use_ring(struct trace_setting *setting);

#endif
