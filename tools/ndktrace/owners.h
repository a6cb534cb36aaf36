/* SPDX-License-Identifier: MIT */
/*
 * Finds the connections to which calls and callbacks belong. A trace records calls and callbacks without a connection's
 * number, because the layer that records them does not use connections. The objects of a call lead to its connection:
 *
 *   object             leads to the connection because
 *   connector          the events `connection` and `connector` contain the connector and the connection's number
 *   queue pair         NdkConnect, NdkAccept and their variants have the queue pair and the connector as parameters
 *   completion queue   NdkCreateQp and its variant have it as a parameter; used if only one queue pair uses the CQ
 *   result             its completion queue and its qp_context lead to the queue pair
 *
 * A call before the connection has begun, for example a receive that is posted early, is assigned to the object's next
 * connection. An object ends when its close has completed. After that, its address may belong to another object.
 */
#ifndef NDKTRACE_OWNERS_H
#define NDKTRACE_OWNERS_H

#include "trace_reader/trace_file.h"

struct owners;

/* Creates an empty state. Returns NULL if out of memory. */
struct owners *owners_create(void);
void owners_destroy(struct owners *o);
/*
 * Stores the connection's number in the records of calls and callbacks. The records must be sorted. May be called again
 * with later records. Returns false if out of memory.
 */
bool owners_assign(struct owners *o, struct trace_records *records);

#endif
