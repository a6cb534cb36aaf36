/* SPDX-License-Identifier: MIT */
/* The value of the environment variable ONDK_TRACE: a file's name, and optionally a comma and the file's size. */
#ifndef TRACE_SETTING_H
#define TRACE_SETTING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { TRACE_STANDARD_MIB = 16, TRACE_MIN_MIB = 1, TRACE_MAX_MIB = 2048 };

#define TRACE_SETTING_EXPECTED "a file, and optionally a comma and its size, a number with the suffix M or G"

struct trace_setting {
    char path[PATH_MAX]; /* %p was replaced by the process ID, %% by % */
    bool has_pid;        /* the name has %p, so that it differs from that of another process */
    uint32_t mib;
};

/* Returns false if the text is no valid value. */
bool trace_setting_parse(const char *text, struct trace_setting *setting);

#endif
