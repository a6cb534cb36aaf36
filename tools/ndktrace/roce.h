/* SPDX-License-Identifier: MIT */
/*
 * Converts the events of a traced connection to packets of RoCE v2 (InfiniBand over UDP), because Wireshark calls some
 * dissectors, for example that of NVMe over Fabrics, only for InfiniBand.
 */
#ifndef NDKTRACE_ROCE_H
#define NDKTRACE_ROCE_H

#include "flow.h"

/*
 * Creates the state of a connection's packets. `number` distinguishes the connections of a capture. Returns NULL if out
 * of memory.
 */
struct roce *roce_create(uint32_t number);
void roce_destroy(struct roce *roce); /* NULL is allowed */
/* Creates the packets of an event, and calls `emit` for each of them. Returns false if out of memory. */
bool roce_handle(struct flow *f, const struct trace_record *r, flow_emit emit, void *context);

#endif
