/* SPDX-License-Identifier: MIT */
/*
 * Packets of TCP connections, made from events. The Ethernet, IP and TCP headers are synthetic. Their addresses are the
 * connection's addresses. Their sequence numbers grow like the connection's, but begin with other numbers.
 */
#ifndef NDKTRACE_PACKETS_H
#define NDKTRACE_PACKETS_H

#include <stdio.h>

#include "filter.h"
#include "trace_reader/trace_file.h"

struct packets;

/*
 * Makes the packets of the records, which must be sorted. The trace does not have every payload. In an FPDU of up to
 * `max_filled` bytes, zeros stand for a missing payload. A larger FPDU without its payload is truncated. Returns NULL
 * if out of memory.
 */
struct packets *packets_create(const struct filter *filter, uint32_t max_filled, const struct trace_records *records);
void packets_destroy(struct packets *p);
size_t packets_count(const struct packets *p);
/* Returns the number of connections that are left out, because the trace does not have their beginning. */
size_t packets_left_out(const struct packets *p);
/* Writes all packets as pcapng. The caller checks the stream for write errors. */
void packets_write(const struct packets *p, FILE *out);

#endif
