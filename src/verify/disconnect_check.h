/* SPDX-License-Identifier: MIT */
/* Checks the requests that are outstanding when a consumer disconnects. */
#ifndef VERIFY_DISCONNECT_CHECK_H
#define VERIFY_DISCONNECT_CHECK_H

#include "verify/queue.h"

/*
 * Reports an open chain or signalled requests that are outstanding in qp's initiator queue. Must run before the
 * consumer disconnects an established connection that the peer has not ended. Reports neither silent requests, because
 * they may have completed, nor a chain that another thread has begun. Does nothing if the consumer has polled a failed
 * request of the queue pair.
 */
void disconnect_check(struct queue *qp);

#endif
