/* SPDX-License-Identifier: MIT */
/*
 * Handles messages and completions of a lane (a measured queue pair). Verifies and answers messages. After every
 * `window` / 4 received sends, an end returns a credit, which is an empty message. The sender has at most `window`
 * sends without credit, so each send finds a posted receive. An end whose own test needs no sends gets no credits: an
 * empty message that it receives is a flush. A flush follows the last message of a run, or, with --check, of a window,
 * and shows that all messages have arrived.
 */
#ifndef NDKPERF_FLOW_H
#define NDKPERF_FLOW_H

#include "session.h"

/* Returns whether this end posts sends in a bandwidth run. If so, an empty message that it receives is a credit. */
bool flow_sends(const struct session *s);
/* Returns after how many received messages an end sends a credit, which permits as many further sends. */
uint32_t flow_credit(const struct session *s);

/* Handlers of completions. They return false if the session has failed. */
bool flow_on_receive(struct session *s, struct lane *l, uint32_t slot, uint32_t len);
bool flow_on_completed(struct session *s, struct lane *l, enum id id, uint32_t slot);

/* Sends a flush (an empty last message) on each queue pair. Does nothing if both ends send: the peer counts sends. */
bool flow_flush(struct session *s);
/*
 * Returns whether all messages of the peer have arrived: whether each queue pair has received `flushes` flushes (empty
 * last messages) since the start, or, if this end sends, whether all together have received `messages` messages.
 */
bool flow_has_arrived(const struct session *s, uint64_t flushes, uint64_t messages);
/* Verifies the peer's writes: on each queue pair, the messages with the numbers `first` to `first` + `count` - 1. */
bool flow_check_written(struct session *s, uint64_t first, uint64_t count);

#endif
