/* SPDX-License-Identifier: MIT */
/*
 * Creates packets from events: packets of TCP connections, or of RoCE v2 (roce.h). The headers are synthetic. They
 * contain the connection's real addresses. TCP's sequence numbers grow as on the real connection, but start with other
 * numbers.
 */
#ifndef NDKTRACE_PACKETS_H
#define NDKTRACE_PACKETS_H

#include <stdio.h>

#include "filter.h"
#include "trace_reader/trace_file.h"

struct packets;

struct packets_style {
    uint32_t max_filled; /* as in struct flow; larger FPDUs are truncated at the first byte that the trace lacks */
    bool is_roce;        /* the packets are those of RoCE v2 */
};

/* Creates the packets of the records, which must be sorted. Returns NULL if out of memory. */
struct packets *packets_create(const struct filter *filter, const struct packets_style *style,
                               const struct trace_records *records);
void packets_destroy(struct packets *p);
size_t packets_count(const struct packets *p);
/* Returns the number of connections that were omitted because the trace lacks their beginning. */
size_t packets_left_out(const struct packets *p);
/* Writes all packets in the format pcapng. The caller must check the stream for write errors. */
void packets_write(const struct packets *p, FILE *out);

#endif
