/* SPDX-License-Identifier: MIT */
/*
 * A one-shot event for PASSIVE_LEVEL. The memory starts zeroed. The gate is opened once. The invariant: one thread
 * waits for it, which may free it as soon as its wait returns, so gate_open does not access it after that. Callbacks
 * and tasks must not wait for a gate, because it may need their thread to open.
 */
#ifndef BASE_GATE_H
#define BASE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
    _Atomic uint32_t open;
};

void gate_open(struct gate *g);
bool gate_is_open(const struct gate *g);
/* Returns false if the deadline (owner_clock) passes first. UINT64_MAX: none. */
bool gate_wait(struct gate *g, uint64_t deadline);

#endif
