/* SPDX-License-Identifier: MIT */
/*
 * Records the calls and callbacks of an NDK consumer (trace/call_events.h), in front of any provider.
 *
 * The consumer receives the provider's own objects. The layer replaces only the pointer `Dispatch` of each object by a
 * pointer to a table of its own. An entry of this table records the call, and then calls the provider's entry with the
 * same arguments. The invariant: the provider and the consumer see the same arguments and results as without the layer.
 * The only differences are the pointer `Dispatch`, completion routines, callbacks and their contexts. If memory runs
 * out, events are lost, but calls work as without the layer.
 *
 *   traced_table.h    the tables of the layer
 *   traced_object.h   what the layer stores for each open object, for example its callbacks
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
 * Begins to record the calls on a provider's open adapter and on all objects that are created from it later. Does
 * nothing while tracing is off. Must be called after each open, even if the provider has returned an adapter that was
 * already open.
 */
void calltrace_begin(NDK_ADAPTER *adapter);
/*
 * Ends one calltrace_begin. Must be called once for each calltrace_begin, shortly before or after the close of the
 * adapter. The last call frees what the layer stores for the adapter. Returns false if nothing is stored.
 */
bool calltrace_end(const NDK_ADAPTER *adapter);

#endif
