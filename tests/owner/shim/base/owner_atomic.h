/* SPDX-License-Identifier: MIT */
/*
 * Replaces src/base/owner_atomic.h when owner.c is compiled for the interleaving explorer. The invariant: every access
 * to the word is a scheduling point.
 */
#ifndef OPENNDK_BASE_OWNER_ATOMIC_H
#define OPENNDK_BASE_OWNER_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/owner.h"

uint32_t owner_word_load(struct owner *o);
bool owner_word_exchange(struct owner *o, uint32_t *seen, uint32_t next);
uint32_t owner_wake_count_load(struct owner *o);
void owner_wake_count_add(struct owner *o);
uint64_t owner_renewed_load(struct owner *o);
void owner_renewed_store(struct owner *o, uint64_t now);

#endif
