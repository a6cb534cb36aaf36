/* SPDX-License-Identifier: MIT */
/* The checks of a request's buffers when its result is taken: whether they are freed, and whether their data changed. */
#ifndef VERIFY_COMPLETED_H
#define VERIFY_COMPLETED_H

#include "verify/queue.h"

/*
 * Checks the buffers of the request with this RequestContext of the provider, and those of the silent requests before
 * it. `posted` is the initiator or the receive queue of q. Does nothing if the request was not posted to `posted`.
 * `routine` is the name of the poll.
 *
 * Called only if the request has succeeded, because a consumer may free the buffers of a connection that has ended.
 */
void completed_check(const struct queue *q, struct posted *posted, void *context, const char *routine);

#endif
