/* SPDX-License-Identifier: MIT */
/* Rules about requests that are outstanding when a consumer disconnects. */
#ifndef VERIFY_DISCONNECT_CHECK_H
#define VERIFY_DISCONNECT_CHECK_H

#include "verify/queue.h"

/*
 * Called before the consumer disconnects an established connection that the peer has not ended. Reports an open chain
 * or outstanding requests of the queue pair. Does not report: silent requests, which may have ended; a queue pair
 * whose failure the consumer has polled; a chain that another thread may be posting.
 */
void disconnect_check(struct queue *qp);

#endif
