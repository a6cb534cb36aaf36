/* SPDX-License-Identifier: MIT */
/*
 * Records the calls and callbacks of an NDK consumer (trace/call_events.h), in front of any provider.
 *
 * The consumer holds the provider's own objects. Only the table at `Dispatch` of each object is replaced, by one whose
 * entries record the call and then call the provider's entry with the same arguments. The invariant: apart from that
 * pointer, and from completion routines and callbacks with their contexts, the provider and the consumer see the same
 * arguments and results as without the layer. If memory runs out, events are lost and calls are not changed.
 *
 *   traced_table.h    the replaced tables
 *   traced_object.h   what the layer stores for each open object: its callbacks
 *   traced_call.h     the events of a call, and completion routines
 *   adapter.c and others: the entries of the tables
 *   names.c           the names of values in the events
 *
 * The layer can include only include/ndk, include/openndk, src/base and src/trace.
 */
#ifndef CALLTRACE_CALLTRACE_H
#define CALLTRACE_CALLTRACE_H

#include <stdbool.h>

#include <ndk/ndkpi.h>

/*
 * Begins to record the calls on a provider's open adapter, and on all objects that will be created from it. Does
 * nothing while tracing is off. To be called again if the provider opens an adapter that is open already.
 */
void calltrace_begin(NDK_ADAPTER *adapter);
/*
 * Frees what the layer stores for the adapter. To be called once for each calltrace_begin, shortly before or after the
 * adapter is closed. Returns false if nothing is stored.
 */
bool calltrace_end(const NDK_ADAPTER *adapter);

#endif
