/* SPDX-License-Identifier: MIT */
/*
 * Prints the sections of `ndktrace explain` that are not about failed connections: failed calls, refusals, and open
 * connections and adapters.
 */
#ifndef NDKTRACE_EXPLAIN_REST_H
#define NDKTRACE_EXPLAIN_REST_H

#include "story.h"

/*
 * Writes a connection's number and addresses, the client's address first, for example "connection 1 (192.0.2.1:50000 ->
 * 192.0.2.2:7000)".
 */
void explain_connection(FILE *out, const struct story *s);

/*
 * Each of these functions prints a section, and returns true unless the section is empty. explain_failed_calls prints
 * the calls that failed, without the calls that belong to the `n_failed` failed connections in `failed`.
 * explain_unfinished prints the connections and adapters that are open at the end of the traces, and the calls that are
 * pending then.
 */
bool explain_failed_calls(FILE *out, const struct traces *traces, const struct calls *calls, const struct story *failed,
                          size_t n_failed);
bool explain_unfinished(FILE *out, const struct traces *traces, const struct calls *calls);

/* Prints a section about listeners that failed, and about peers that were refused because resources were exhausted. */
void explain_refusals(FILE *out, const struct traces *traces, const struct calls *calls);
/*
 * Calls write(to, text) for each listener that failed and for each peer that was refused, but at most 20 times. Returns
 * the number of all these listeners and peers.
 */
size_t explain_each_refusal(const struct traces *traces, const struct calls *calls,
                            void (*write)(void *to, const char *text), void *to);

#endif
