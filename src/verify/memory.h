/* SPDX-License-Identifier: MIT */
/*
 * Memory of the consumer that is freed while NDK uses it. The pool of drivers checks each free. In plain programs
 * AddressSanitizer calls this layer at each free(), and marks the memory of dead stack frames. Without the sanitizer,
 * only an address that is not mapped any more is known to be freed.
 */
#ifndef VERIFY_MEMORY_H
#define VERIFY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Implements memory_state of ondk_verify_host_t for plain programs. */
uint32_t memory_plain_state(const void *address);

/*
 * Returns true if the memory is freed, according to the host. Examines only the first and the last byte, because blocks
 * are always freed as a whole.
 */
bool memory_is_freed(const void *start, size_t size);
/* Returns true if memory_is_freed is cheap enough for every post, or if the expensive checks are on. */
bool memory_can_ask_often(void);

/* If AddressSanitizer is in the process, checks from now on whether freed memory is in use by NDK. Idempotent. */
void memory_watch_frees(void);
/*
 * memory_begin_lock and memory_end_lock enclose code that holds a lock. The check of freed memory would acquire this
 * lock, so memory that the enclosed code frees is not checked.
 */
void memory_begin_lock(void);
void memory_end_lock(void);

#endif
