/* SPDX-License-Identifier: MIT */
/*
 * Checks the buffers of a request when the request's result is polled. Reports buffers that are freed, and sources
 * whose data has changed since the post.
 */
#ifndef VERIFY_COMPLETED_H
#define VERIFY_COMPLETED_H

#include "verify/queue.h"

/*
 * Checks the buffers of a request that has succeeded, and the buffers of the silent requests
 * (NDK_OP_FLAG_SILENT_SUCCESS) just before it. `posted` is the initiator queue or the receive queue of q. `context` is
 * the RequestContext that the provider has returned. `routine` is the name of the routine that polled. Does nothing if
 * `posted` has no such request.
 *
 * Requires that the request has succeeded. After a failure the connection has ended, and the consumer may have freed
 * the buffers.
 */
void completed_check(const struct queue *q, struct posted *posted, void *context, const char *routine);

#endif
