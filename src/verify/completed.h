/* SPDX-License-Identifier: MIT */
/* Checks a request's buffers when its result is polled: whether they are freed, and whether their data has changed. */
#ifndef VERIFY_COMPLETED_H
#define VERIFY_COMPLETED_H

#include "verify/queue.h"

/*
 * Checks the buffers of the request for which `context` was passed to the provider as RequestContext. Also checks the
 * buffers of the silent requests (NDK_OP_FLAG_SILENT_SUCCESS) just before that request. `posted` is the initiator or
 * the receive queue of q. Does nothing if the request was not posted to `posted`. `routine` is the name of the routine
 * that polled.
 *
 * Called only if the request has succeeded, because a consumer may free the buffers of a connection that has ended.
 */
void completed_check(const struct queue *q, struct posted *posted, void *context, const char *routine);

#endif
