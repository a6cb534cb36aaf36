/* SPDX-License-Identifier: MIT */
/* Sections of `ndktrace explain` that are not about failed connections: failed calls, and what is unfinished. */
#ifndef NDKTRACE_EXPLAIN_REST_H
#define NDKTRACE_EXPLAIN_REST_H

#include "story.h"

/* Writes "connection 1 (192.0.2.1:50000 -> 192.0.2.2:7000)", the client first. */
void explain_connection(FILE *out, const struct story *s);

/*
 * Each function prints a section, and returns whether it has printed one. `failed` has the stories of the failed
 * connections. Omits calls that belong to these connections.
 */
bool explain_failed_calls(FILE *out, const struct traces *traces, const struct calls *calls, const struct story *failed,
                          size_t n_failed);
bool explain_unfinished(FILE *out, const struct traces *traces, const struct calls *calls);

/* Prints a section about listeners that failed, and about peers that were refused for lack of resources. */
void explain_refusals(FILE *out, const struct traces *traces, const struct calls *calls);
/* Calls write(to, text) for at most 20 of these listeners and peers. Returns the number of all. */
size_t explain_each_refusal(const struct traces *traces, const struct calls *calls,
                            void (*write)(void *to, const char *text), void *to);

#endif
