/* SPDX-License-Identifier: MIT */
/*
 * Makes fork copy static data and descriptors in a consistent state, because the child has no other thread that could
 * finish a change. The invariant: no fork happens between fork_change_begin and fork_change_end. A thread that forks
 * waits until no change is in progress, and new changes wait until the fork has ended. A signal handler that
 * interrupted a change must not call fork; _Fork followed by exec is safe there.
 */
#ifndef BASE_FORK_H
#define BASE_FORK_H

#include "base/spin.h"

/*
 * Constructors install the fork handlers before the program can install its own. Prepare handlers run in the reverse
 * order of their installation, so the program's handlers acquire the program's locks before this file's handler
 * excludes changes. Otherwise a thread that forks could exclude changes and then wait for a lock of the program, while
 * the lock's holder waits to begin a change. For the same reason, if changes may begin while a lock of the library is
 * held, the handler that acquires this lock has a priority after FORK_FIRST.
 */
enum { FORK_FIRST = 101, FORK_NEXT }; /* priorities of the constructors */

/*
 * The two calls enclose a change that a child must see completely or not at all. The change must be short and must not
 * wait. Changes must not be nested.
 */
void fork_change_begin(void);
void fork_change_end(void);

/* From now on, fork acquires this lock, a leaf in static memory, and releases it in parent and child. Idempotent. */
void fork_guard(struct spin *lock);
/* From now on, each child runs this before fork returns. It may call only async-signal-safe functions. Idempotent. */
void fork_on_child(void (*run)(void));

/* Returns a number that differs between a process and its children. */
unsigned fork_generation(void);

#endif
