/* SPDX-License-Identifier: MIT */
/*
 * Writes a report if the close of an object or of the adapter stays pending. The report lists what the close waits for.
 */
#ifndef PROVIDER_CLOSE_REPORT_H
#define PROVIDER_CLOSE_REPORT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/gate.h"

struct adapter;
struct object;

/*
 * The state of the thread that reports closes. Each adapter has one. If all members are zero, there is no thread and
 * nothing is reported.
 */
struct close_reporter {
    pthread_t thread;
    bool runs;           /* the thread exists; constant while the adapter is open */
    bool is_in_callback; /* ondk_close_adapter was called in a callback; set before the adapter's close begins */
    bool sleeps;         /* the thread waits without a deadline; guarded by the lock of the adapter's lists */
    atomic_uint order;   /* enum close_report_order */
    struct gate wake;    /* opened when `order` has changed, and when a close begins while `sleeps` is set */
    struct gate ended;   /* opened by the thread as its last action */
    /*
     * When a close wakes the thread, the thread sets rest_until_ns to the present time plus close_report_ms. While no
     * close is in the queue, the thread sleeps until rest_until_ns. A close that begins during this sleep does not wake
     * the thread, because the report of that close is due after rest_until_ns. After rest_until_ns, the thread sleeps
     * until a close wakes it. Only the thread uses this member.
     */
    uint64_t rest_until_ns;
    uint64_t earliest_ns;      /* the thread writes no report before this time; only the thread uses this */
    bool has_reported_adapter; /* the adapter's close has been reported; only the thread uses this */
};

/* Starts the adapter's thread if the configuration enables reports or an abort. Returns 0 or an errno value. */
int close_report_start(struct adapter *a);
/*
 * Adds the close of an object, or of the adapter, to the pending closes. If the close is still pending after
 * close_report_ms, the thread reports the close once. The caller must hold the REF_HANDLE reference of `o`. After the
 * adapter's close has begun, the closes of objects are not reported, because the adapter's report contains all objects.
 */
void close_report_begin(struct object *o);
/*
 * Stops the thread and waits until it has ended. Calls abort() if the thread has not ended one second after `abort_at`,
 * for example because the program's log callback blocks it. `abort_at` is a time of owner_clock, or UINT64_MAX for
 * never.
 */
void close_report_stop(struct adapter *a, uint64_t abort_at);
/* Waits at most one second for the thread to write the adapter's report. Then calls abort(). */
_Noreturn void close_report_abort(struct adapter *a);

#endif
