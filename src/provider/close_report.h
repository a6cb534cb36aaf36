/* SPDX-License-Identifier: MIT */
/* Reports what closes wait for that stay pending: those of objects, and the adapter's. */
#ifndef PROVIDER_CLOSE_REPORT_H
#define PROVIDER_CLOSE_REPORT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/gate.h"

struct adapter;
struct object;

/* A part of the adapter. Zeroed: there is no thread, and nothing is reported. */
struct close_reporter {
    pthread_t thread;
    bool runs;                 /* constant while the adapter is open */
    bool is_in_callback;       /* ondk_close_adapter was called in a callback; set before the adapter's close begins */
    bool sleeps;               /* the thread waits without a deadline; guarded by the lock of the adapter's lists */
    atomic_uint order;         /* enum close_report_order */
    struct gate wake;          /* opened after a change of order, and for the first close that begins while it sleeps */
    struct gate ended;         /* opened by the thread as its last action */
    uint64_t earliest_ns;      /* the thread's: no report before this time */
    bool has_reported_adapter; /* the thread's */
};

/* Starts the adapter's thread, unless its configuration wants neither reports nor an abort. Returns 0 or errno. */
int close_report_start(struct adapter *a);
/*
 * The close of an object, or of the adapter, begins. If it is still pending after close_report_ms, it is reported once.
 * The caller must have the object's handle. After the adapter's close has begun, only that one is reported: its report
 * has all objects.
 */
void close_report_begin(struct object *o);
/* Stops the thread. After abort_at (owner_clock) and a grace, calls abort(): the log may block it. */
void close_report_stop(struct adapter *a, uint64_t abort_at);
/* Writes the adapter's report, unless it was written before, and calls abort(), at the latest after a grace. */
_Noreturn void close_report_abort(struct adapter *a);

#endif
