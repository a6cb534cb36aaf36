/* SPDX-License-Identifier: MIT */
/* Begins the trace of this process: see trace_start. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>

#include "base/fork.h"
#include "trace/file.h"
#include "trace/last.h"
#include "trace/ring.h"
#include "trace/setting.h"
#include "trace/trace.h"

/* Returns true for the first caller in this process. Sets *is_child to whether an ancestor of the process was first. */
static bool start_claim(bool *is_child)
{
    static _Atomic uint64_t claimed; /* 1 + fork_generation of the process that has claimed the start; 0: none */
    uint64_t now = (uint64_t)fork_generation() + 1, before = atomic_exchange(&claimed, now);

    *is_child = before != 0 && before != now;
    return before != now;
}

bool trace_start(char problem[TRACE_MAX_PROBLEM])
{
    const char *text = secure_getenv("ONDK_TRACE");
    struct trace_mapping mapping;
    struct trace_setting setting;
    bool is_child;

    if (!text || !start_claim(&is_child) || !trace_setting_parse(text, &setting))
        return true; /* ondk_config_check_environment reports a wrong value */
    if (is_child && !setting.has_pid)
        return true; /* a name without %p is the name of the parent's file */
    if (!trace_file_create(&setting, &mapping, problem, TRACE_MAX_PROBLEM))
        return !problem[0]; /* false, unless another copy of this library records: that of a provider module */
    trace_last_prepare(mapping.fd);
    if (ring_start(mapping.header))
        return true;
    snprintf(problem, TRACE_MAX_PROBLEM, "ONDK_TRACE: nothing is traced, because memory ran out");
    return false;
}
