/* SPDX-License-Identifier: MIT */
/*
 * Handles messages and completions of a lane (a measured queue pair). Verifies and answers messages. An empty message
 * is a credit if its receiver posts sends, otherwise a flush.
 *   credit   permits its receiver to post `window` / 4 more sends. The other end sends a credit when it has received so
 *            many sends. So at most `window` sends are unconfirmed, and each send finds a posted receive.
 *   flush    shows its receiver that all earlier messages have arrived. It is sent after the last message of a run, or
 *            with --check after the last message of each window.
 */
#ifndef NDKPERF_FLOW_H
#define NDKPERF_FLOW_H

#include "session.h"

/* Returns true if this end posts sends in a bandwidth run. An empty message that it receives is then a credit. */
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
 * Returns true if all messages of the peer have arrived. If this end posts sends, no flush can arrive, because an empty
 * message is a credit; then the queue pairs together must have received `messages` messages. If this end posts no
 * sends, each queue pair must have received `flushes` flushes since the start.
 */
bool flow_has_arrived(const struct session *s, uint64_t flushes, uint64_t messages);
/*
 * Verifies the peer's writes: on each queue pair the messages with the numbers `first` to `first` + `count` - 1.
 * Returns false if the session has failed.
 */
bool flow_check_written(struct session *s, uint64_t first, uint64_t count);

#endif
