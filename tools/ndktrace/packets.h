/* SPDX-License-Identifier: MIT */
/*
 * Creates packets of TCP connections from events. The Ethernet, IP and TCP headers are synthetic. They contain the
 * connection's real addresses. The sequence numbers grow as on the real connection, but start with other numbers.
 */
#ifndef NDKTRACE_PACKETS_H
#define NDKTRACE_PACKETS_H

#include <stdio.h>

#include "filter.h"
#include "trace_reader/trace_file.h"

struct packets;

/*
 * Creates the packets of the records, which must be sorted. The trace lacks many payloads. An FPDU of up to
 * `max_filled` bytes receives zeros instead; a larger FPDU is truncated before the payload. Returns NULL if out of
 * memory.
 */
struct packets *packets_create(const struct filter *filter, uint32_t max_filled, const struct trace_records *records);
void packets_destroy(struct packets *p);
size_t packets_count(const struct packets *p);
/* Returns the number of connections that were omitted because the trace lacks their beginning. */
size_t packets_left_out(const struct packets *p);
/* Writes all packets in the format pcapng. The caller must check the stream for write errors. */
void packets_write(const struct packets *p, FILE *out);

#endif
