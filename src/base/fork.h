/* SPDX-License-Identifier: MIT */
/*
 * Makes fork copy static data and descriptors in a consistent state, because the child has no other thread that could
 * finish a change. The invariant: no fork happens between fork_change_begin and fork_change_end. A thread that forks
 * waits until no change is in progress, and new changes wait until the fork has ended. A signal handler that
 * interrupted a change must not call fork, but may call _Fork followed by exec.
 */
#ifndef BASE_FORK_H
#define BASE_FORK_H

#include "base/spin.h"

/*
 * The priorities of the constructors that install fork handlers. Before a fork, the handlers run in the reverse order
 * of their installation. fork.c's handler, which excludes changes, is installed first (FORK_FIRST) and runs last, when
 * the program's handlers have acquired the program's locks. If it ran earlier, the forking thread could exclude
 * changes and then wait for a lock, while the lock's holder waits to begin a change. FORK_NEXT is for handlers that
 * acquire a lock of the library whose holder may begin a change: these handlers, too, must run before fork.c's
 * handler.
 */
enum { FORK_FIRST = 101, FORK_NEXT };

/*
 * The two calls enclose a change that a child must see completely or not at all. The change must be short and must not
 * wait. Changes must not be nested.
 */
void fork_change_begin(void);
void fork_change_end(void);

/*
 * From now on, fork acquires `lock`, and releases it in parent and child. The lock must be a leaf in static memory.
 * Idempotent.
 */
void fork_guard(struct spin *lock);
/*
 * From now on, each child calls `run` before fork returns. `run` may call only async-signal-safe functions.
 * Idempotent.
 */
void fork_on_child(void (*run)(void));

/* Returns a number that differs between a process and its children. */
unsigned fork_generation(void);

#endif
