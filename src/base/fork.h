/* SPDX-License-Identifier: MIT */
/*
 * Makes fork copy static data and descriptors in a consistent state. This is necessary because the child has no other
 * thread that could finish a change. The invariant: no fork happens between fork_change_begin and fork_change_end. A
 * thread that forks waits until no change is in progress, and new changes wait until the fork has ended. A signal
 * handler that has interrupted a change must not call fork, but may call _Fork and then exec.
 */
#ifndef BASE_FORK_H
#define BASE_FORK_H

#include "base/spin.h"

/*
 * Priorities of the constructors that install fork handlers. Before a fork, the handlers run in the reverse order of
 * their installation.
 *
 * FORK_FIRST is for the handler of fork.c, which waits until no thread is in a change (see fork_change_begin). No
 * change can begin from then until the fork has ended. This handler is installed first, so it runs last, when the other
 * handlers have acquired their locks. If it ran earlier, the forking thread could wait for a lock whose holder waits to
 * begin a change.
 *
 * FORK_NEXT is for this library's handlers that acquire a lock whose holder may begin a change.
 */
enum { FORK_FIRST = 101, FORK_NEXT };

/*
 * These two calls enclose a change. A child of fork sees the change completely or not at all. The change must be short
 * and must not wait. Changes must not be nested.
 */
void fork_change_begin(void);
void fork_change_end(void);

/*
 * Makes each later fork acquire `lock` before it copies the process. Parent and child then release the lock. The lock
 * must be in static memory. A thread that holds it must acquire no other lock. Idempotent.
 */
void fork_guard(struct spin *lock);
/*
 * Makes every child of a later fork call `run` before fork returns in the child. `run` may call only async-signal-safe
 * functions. Idempotent.
 */
void fork_on_child(void (*run)(void));

/* Returns the generation of this process, a number that differs between a process and its children. */
unsigned fork_generation(void);

#endif
