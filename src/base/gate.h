/* SPDX-License-Identifier: MIT */
/*
 * A one-shot event for PASSIVE_LEVEL. Its memory must be zero at first. The gate is opened once. The invariant: only
 * one thread waits for a gate. That thread may free the gate as soon as its wait returns. So gate_open does not access
 * the gate after it has set `open`. Callbacks and tasks must not wait for a gate, because later work of the same thread
 * may have to open it.
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
/* Waits until the gate is open. Returns false if owner_clock reaches `deadline` first; UINT64_MAX means no deadline. */
bool gate_wait(struct gate *g, uint64_t deadline);

#endif
