/* SPDX-License-Identifier: MIT */
/* Passes the process's trace to `ndktrace attach`. docs/trace.md describes the protocol. */
#ifndef PROVIDER_TRACE_SERVER_H
#define PROVIDER_TRACE_SERVER_H

/*
 * Sends an answer with a descriptor of the trace, and does not wait. If the process records no trace, first begins to
 * record into a ring buffer and calls on_begun. The caller has checked the identity of the reader, and closes the
 * socket afterwards.
 */
void trace_server_answer(int reader, void (*on_begun)(void));

#endif
