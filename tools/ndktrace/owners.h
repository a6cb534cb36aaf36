/* SPDX-License-Identifier: MIT */
/*
 * Finds the connections of calls and callbacks. In a trace, calls and callbacks have no connection's number, because
 * the layer that records them has no knowledge of connections. The objects of a call lead to its connection:
 *
 *   connector the events `connection` and `connector` name it queue pair NdkConnect, NdkAccept and their variants name
 *   it with the connector completion queue NdkCreateQp and its variant name it; it has a connection if one queue pair
 *   uses it result the completion queue and qp_context lead to the queue pair
 *
 * A call before the connection has begun, for example a receive that is posted early, gets the object's next
 * connection. An object ends when its close has completed. After that, its address may belong to another object.
 */
#ifndef NDKTRACE_OWNERS_H
#define NDKTRACE_OWNERS_H

#include "trace_reader/trace_file.h"

struct owners;

/* Returns NULL if out of memory. */
struct owners *owners_create(void);
void owners_destroy(struct owners *o);
/*
 * Sets the connection's number in the records of calls and callbacks. The records must be sorted. May be called again
 * with later records. Returns false if out of memory.
 */
bool owners_assign(struct owners *o, struct trace_records *records);

#endif
