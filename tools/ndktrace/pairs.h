/* SPDX-License-Identifier: MIT */
/* Finds the two ends of a connection by addresses, roles, start-up frames and time. */
#ifndef NDKTRACE_PAIRS_H
#define NDKTRACE_PAIRS_H

#include "ends.h"

/* The clock of file `to` minus the clock of file `from`, if this difference is known. */
struct pairs_offset {
    bool is_known;
    int64_t offset_ns, uncertainty_ns;
};
typedef struct pairs_offset (*pairs_find_offset)(const void *context, const struct trace_file *from,
                                                 const struct trace_file *to);

/*
 * Finds the two ends of each connection, and sets `other` of both. Must be called first with `offset` NULL: this call
 * pairs the ends of connections whose addresses no other connection has. A second call pairs the remaining ends by
 * their order and their times. Returns false if out of memory.
 */
bool pairs_find(struct ends *e, const struct trace_records *records, pairs_find_offset offset, const void *context);
/* Returns true if the file still contains all events that were recorded. */
bool pairs_is_whole(const struct trace_file *f);

#endif
