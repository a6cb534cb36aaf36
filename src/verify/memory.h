/* SPDX-License-Identifier: MIT */
/*
 * Detects memory of the consumer that is freed while NDK uses it. In drivers, the kernel's pool checks each free. In
 * plain programs, AddressSanitizer calls this layer at each free(), and marks the memory of ended stack frames. Without
 * the sanitizer, memory counts as freed only if its address is no longer mapped.
 */
#ifndef VERIFY_MEMORY_H
#define VERIFY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Implements memory_state of ondk_verify_host_t for plain programs. */
uint32_t memory_plain_state(const void *address);

/*
 * Returns true if the host reports the first or the last byte of the memory as freed. The bytes between are not
 * examined, because blocks are always freed as a whole.
 */
bool memory_is_freed(const void *start, size_t size);
/* Returns true if memory_is_freed may be called at every post, because the call is cheap or all checks are on. */
bool memory_can_ask_often(void);

/* Begins to check each free() for memory that NDK uses. Does nothing without AddressSanitizer. Idempotent. */
void memory_watch_frees(void);
/*
 * A thread calls these functions before it acquires, and after it releases, a lock that the check of a free() needs.
 * Between the two calls, the thread's own frees are not checked, because the check would wait for the lock forever.
 */
void memory_begin_lock(void);
void memory_end_lock(void);

#endif
