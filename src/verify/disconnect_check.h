/* SPDX-License-Identifier: MIT */
/* Checks the rules about requests that are outstanding when a consumer disconnects. */
#ifndef VERIFY_DISCONNECT_CHECK_H
#define VERIFY_DISCONNECT_CHECK_H

#include "verify/queue.h"

/*
 * Reports an open chain or signalled requests that are outstanding in qp's initiator queue. Runs before the consumer
 * disconnects an established connection that the peer has not ended. Does not report silent requests, because they may
 * have completed. Does not report a queue pair if the consumer has polled its failure. Does not report a chain that
 * another thread has begun.
 */
void disconnect_check(struct queue *qp);

#endif
