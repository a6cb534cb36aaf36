/* SPDX-License-Identifier: MIT */
/*
 * Handles messages and completions of a lane (a measured queue pair). Verifies and answers messages. An empty message
 * is a credit if its receiver posts sends, otherwise a flush.
 *   credit   permits its receiver to post `window` / 4 more sends. An end sends a credit each time it has received
 *            `window` / 4 messages. So at most `window` sends are unconfirmed, and each send finds a posted receive.
 *   flush    shows its receiver that all earlier messages have arrived. It is sent after the last message of a run, or
 *            with --check after the last message of each window.
 */
#ifndef NDKPERF_FLOW_H
#define NDKPERF_FLOW_H

#include "session.h"

/* Returns true if this end posts sends in a bandwidth run. If it returns true, received empty messages are credits. */
bool flow_sends(const struct session *s);
/* Returns the number of sends that one credit permits. */
uint32_t flow_credit(const struct session *s);

/*
 * flow_on_receive handles the completion of a receive, flow_on_completed that of any other request. Both return false
 * if the session has failed.
 */
bool flow_on_receive(struct session *s, struct lane *l, uint32_t slot, uint32_t len);
bool flow_on_completed(struct session *s, struct lane *l, enum id id, uint32_t slot);

/*
 * Sends a flush (an empty message) on each queue pair, after the last message. Does nothing in a run with sends in both
 * directions: there each end counts the received messages instead. Returns false if the session has failed.
 */
bool flow_flush(struct session *s);
/*
 * Returns true if all messages of the peer have arrived. If this end posts no sends, tests whether each queue pair has
 * received `flushes` flushes since the start. If this end posts sends, no flush can arrive, because every empty message
 * is a credit. In this case tests whether the queue pairs together have received `messages` messages.
 */
bool flow_has_arrived(const struct session *s, uint64_t flushes, uint64_t messages);
/*
 * Verifies the peer's writes: on each queue pair the messages with the numbers `first` to `first` + `count` - 1.
 * Returns false if the session has failed.
 */
bool flow_check_written(struct session *s, uint64_t first, uint64_t count);

#endif
