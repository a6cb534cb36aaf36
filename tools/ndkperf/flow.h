/* SPDX-License-Identifier: MIT */
/*
 * Handles messages and completions that arrive on a lane; messages are verified and answered. An end returns a credit,
 * which is an empty message, for each quarter of a window of sends that it has received. The peer never has more sends
 * than a window without credit, so each of them finds a receive. An empty message to an end that does not send itself is
 * a flush: it follows the last message of a run, and shows that all have arrived.
 */
#ifndef NDKPERF_FLOW_H
#define NDKPERF_FLOW_H

#include "session.h"

/* Does this end post sends in a bandwidth run, so that an empty message is a credit? */
bool flow_sends(const struct session *s);
/* The number of messages that a credit stands for. */
uint32_t flow_credit(const struct session *s);

/* Handlers of completions. They return false if the session has failed. */
bool flow_on_receive(struct session *s, struct lane *l, uint32_t slot, uint32_t len);
bool flow_on_completed(struct session *s, struct lane *l, enum id id, uint32_t slot);

/* Sends a flush on each lane. Does nothing if both ends send, because then the number of messages replaces it. */
bool flow_flush(struct session *s);
/* Have all messages of the peer arrived? flushes: since the start; messages: of this run, of all lanes. */
bool flow_has_arrived(const struct session *s, uint64_t flushes, uint64_t messages);
/* Verifies the peer's writes of a lap: their numbers on each lane are first to first + count - 1. */
bool flow_check_written(struct session *s, uint64_t first, uint64_t count);

#endif
