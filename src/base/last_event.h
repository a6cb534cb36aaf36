/* SPDX-License-Identifier: MIT */
/*
 * An event that the process recorded recently: see ONDK_TRACE. trace_last returns events of this type, and reports of
 * the verify layer print them. The invariant: the event refers to no other memory.
 */
#ifndef BASE_LAST_EVENT_H
#define BASE_LAST_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* An event in the form in which `ndktrace show` prints it. */
struct last_event {
    double seconds; /* time since the start of the trace, in seconds */
    uint32_t thread, connection;
    bool is_related; /* the event is about the object of the report: see trace_last */
    char name[32];
    char fields[208]; /* for example "from=IDLE event=start to=TCP_CONNECTING" */
};

#endif
