/* SPDX-License-Identifier: MIT */
/* Rules about requests that are outstanding when a consumer disconnects. */
#ifndef VERIFY_DISCONNECT_CHECK_H
#define VERIFY_DISCONNECT_CHECK_H

#include "verify/queue.h"

/*
 * Checks the queue pair of a connection that the consumer is about to disconnect, although the peer has not. Not checked
 * are: silent requests, which may have ended; a queue pair whose failure the consumer has polled; a chain that another
 * thread may be posting.
 */
void disconnect_check(struct queue *qp);

#endif
