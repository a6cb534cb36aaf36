/* SPDX-License-Identifier: MIT */
/*
 * Handles messages and completions of a lane (a measured queue pair). Verifies and answers messages. An empty message
 * is a credit if its receiver posts sends, and a flush if its receiver posts no sends.
 *   credit   sent after every `window` / 4 received sends. At most `window` sends have no credit yet, so each send
 *            finds a posted receive.
 *   flush    sent after the last message of a run, or with --check after the last message of each window. It shows
 *            that all messages have arrived.
 */
#ifndef NDKPERF_FLOW_H
#define NDKPERF_FLOW_H

#include "session.h"

/* Returns whether this end posts sends in a bandwidth run. If so, an empty message that it receives is a credit. */
bool flow_sends(const struct session *s);
/* Returns how many sends one credit permits. An end sends a credit each time it has received this number of sends. */
uint32_t flow_credit(const struct session *s);

/* Handlers of completions. They return false if the session has failed. */
bool flow_on_receive(struct session *s, struct lane *l, uint32_t slot, uint32_t len);
bool flow_on_completed(struct session *s, struct lane *l, enum id id, uint32_t slot);

/*
 * Sends a flush on each queue pair: an empty message after the last message. In a run of sends in both directions,
 * does nothing, because each end then counts the received messages instead.
 */
bool flow_flush(struct session *s);
/*
 * Returns whether all messages of the peer have arrived. If this end posts sends, its queue pairs together must have
 * received `messages` messages. Such an end receives no flushes, because an empty message that it receives is a
 * credit. If this end posts no sends, it must have received `flushes` flushes on each queue pair since the start.
 */
bool flow_has_arrived(const struct session *s, uint64_t flushes, uint64_t messages);
/* Verifies the peer's writes: on each queue pair, the messages with the numbers `first` to `first` + `count` - 1. */
bool flow_check_written(struct session *s, uint64_t first, uint64_t count);

#endif
