/* SPDX-License-Identifier: MIT */
/* Passes the process's trace to `ndktrace attach`. docs/trace.md describes the protocol. */
#ifndef PROVIDER_TRACE_SERVER_H
#define PROVIDER_TRACE_SERVER_H

/*
 * Sends an answer with a descriptor of the trace, and does not wait. If the process records nothing, begins to record
 * into a ring first, and then calls on_begun. The caller has checked who the reader is, and closes the socket.
 */
void trace_server_answer(int reader, void (*on_begun)(void));

#endif
