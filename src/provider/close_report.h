/* SPDX-License-Identifier: MIT */
/* If the close of an object or of the adapter stays pending, reports what the close waits for. */
#ifndef PROVIDER_CLOSE_REPORT_H
#define PROVIDER_CLOSE_REPORT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/gate.h"

struct adapter;
struct object;

/* A member of struct adapter. If all its members are zero, there is no thread and nothing is reported. */
struct close_reporter {
    pthread_t thread;
    bool runs;           /* the thread exists; constant while the adapter is open */
    bool is_in_callback; /* ondk_close_adapter was called in a callback; set before the adapter's close begins */
    bool sleeps;         /* the thread waits without a deadline; guarded by the lock of the adapter's lists */
    atomic_uint order;   /* enum close_report_order */
    struct gate wake;    /* opened after `order` has changed, and when a close begins while `sleeps` is set */
    struct gate ended;   /* opened by the thread as its last action */
    /*
     * Until this time, the thread's sleep has a deadline, which is rest_until_ns. A close that begins before
     * rest_until_ns need not wake the thread. Such a close is reported only after rest_until_ns, because it must first
     * be pending for close_report_ms. After rest_until_ns, the thread sleeps without a deadline until a close wakes
     * it. Only the thread uses this member.
     */
    uint64_t rest_until_ns;
    uint64_t earliest_ns;      /* the thread writes no report before this time; only the thread uses this */
    bool has_reported_adapter; /* the adapter's close has been reported; only the thread uses this */
};

/* Starts the adapter's thread if the configuration enables reports or an abort. Returns 0 or an errno value. */
int close_report_start(struct adapter *a);
/*
 * Called when the close of an object, or of the adapter, begins. If the close is still pending after close_report_ms,
 * it is reported once. The caller must have the HANDLE reference of o. After the adapter's close has begun, the closes
 * of objects are not reported, because the adapter's report has all objects.
 */
void close_report_begin(struct object *o);
/*
 * Stops the thread and waits until the thread has ended. The program's log callback may block the thread. If the thread
 * has not ended one second after abort_at (a time of owner_clock; UINT64_MAX: never), calls abort().
 */
void close_report_stop(struct adapter *a, uint64_t abort_at);
/* Waits at most one second for the thread to write the adapter's report. Then calls abort(). */
_Noreturn void close_report_abort(struct adapter *a);

#endif
