/* SPDX-License-Identifier: MIT */
/* Finds the two ends of a connection by addresses, roles, start-up frames and time. */
#ifndef NDKTRACE_PAIRS_H
#define NDKTRACE_PAIRS_H

#include "ends.h"

/*
 * The difference of the clocks of two files `from` and `to`, if it is known: the clock of `to` minus the clock of
 * `from`.
 */
struct pairs_offset {
    bool is_known;
    int64_t offset_ns, uncertainty_ns;
};
typedef struct pairs_offset (*pairs_find_offset)(const void *context, const struct trace_file *from,
                                                 const struct trace_file *to);

/*
 * Sets `other` of both ends of each connection that was found. The first call must have `offset` NULL. It pairs the
 * ends of connections whose addresses no other connection has. The second call pairs the other ends by their order and
 * their times. Returns false if out of memory.
 */
bool pairs_find(struct ends *e, const struct trace_records *records, pairs_find_offset offset, const void *context);
/* Returns whether the file has all events that were recorded. */
bool pairs_is_whole(const struct trace_file *f);

#endif
