/* SPDX-License-Identifier: MIT */
/*
 * The trace: the NDK calls and callbacks of a program, and the events of its connections. The environment variable
 * ONDK_TRACE records both into a file or into memory. ndktrace shows the recorded events, also of a process that still
 * runs: docs/trace.md.
 *
 * A program that opens its adapters with ondk_open_adapter needs none of these functions to record. A program that gets
 * adapters from another provider calls ondk_trace_begin for each. Any program can print its last events itself, for
 * example when an assertion fails: ondk_trace_print_last.
 *
 * The consumer always holds the provider's own objects. While a trace is recorded, the Dispatch pointer of each object
 * points to another table. The functions of that table record the call and then call the provider.
 */
#ifndef OPENNDK_TRACE_H
#define OPENNDK_TRACE_H

#include <stdint.h>
#include <stdio.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _NDK_ADAPTER; /* NDK_ADAPTER of ndkpi.h */

/*
 * Records the calls on an adapter of another provider, and on every object that is created from it.
 *   adapter   an open adapter, which the caller owns
 *   if_index  the index of the adapter's network interface, for the trace; 0 if it is not known
 * Must be called before the consumer uses the adapter, and before ondk_verify_wrap. The provider must not read the
 * Dispatch pointer of an object that it has returned. ondk_open_adapter does the same with the adapters that it opens.
 * Returns 1 if the calls are recorded. Returns 0 and changes nothing if ONDK_TRACE is not set, if its file cannot be
 * created, or if adapter is NULL. The log (ondk_log_set) has the reason if the file cannot be created.
 * Context: PASSIVE_LEVEL; may block.
 * Example:
 *
 *     NDK_ADAPTER *adapter = NULL;
 *
 *     // Another provider's function opens `adapter` here.
 *     (void)ondk_trace_begin(adapter, if_nametoindex("eth0"));
 *     // The consumer uses `adapter` here.
 *     ondk_trace_end(adapter);
 *     // Another provider's function closes `adapter` here.
 *
 * See also: ondk_trace_end, ondk_verify_wrap, ndktrace, docs/trace.md
 */
ONDK_API int ondk_trace_begin(struct _NDK_ADAPTER *adapter, uint32_t if_index);

/*
 * Records that an adapter is about to be closed, and frees what ondk_trace_begin has stored for it.
 *   adapter  the adapter that was passed to ondk_trace_begin; NULL has no effect
 * Must be called once for each call of ondk_trace_begin that returned 1, before the provider closes the adapter.
 * Calls on objects that are still open are recorded further. A call of this function for another adapter has no effect.
 * Context: any thread.
 * See also: ondk_trace_begin, ondk_verify_unwrap
 */
ONDK_API void ondk_trace_end(struct _NDK_ADAPTER *adapter);

/*
 * Prints the last events that the process has recorded, the oldest first. After a line with the columns, each event is
 * on a line: seconds since the recording began, thread, connection (- if none), event, fields.
 *   out         the stream
 *   max_events  the largest number of events; more than 32 are taken as 32
 * Returns the number of events that were printed: 0 if the process records nothing.
 *
 * The function reads the trace without a lock, and allocates nothing itself. It waits at most a second for another
 * thread that prints. The handler of a fault, for example of SIGSEGV, may call it if the handler may write to the
 * stream, and if the handler's stack has room for 32 KiB. An alternate stack of SIGSTKSZ bytes (sigaltstack) is too
 * small.
 * Context: any thread, any IRQL.
 */
ONDK_API uint32_t ondk_trace_print_last(FILE *out, uint32_t max_events);

#ifdef __cplusplus
}
#endif

#endif
