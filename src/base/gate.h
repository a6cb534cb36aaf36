/* SPDX-License-Identifier: MIT */
/*
 * A one-shot event. Zeroed, opened once, waited for by one thread at PASSIVE_LEVEL, which may free it as soon as its
 * wait returns. Never waited for in a callback or a task, because the gate may need that thread to open.
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
