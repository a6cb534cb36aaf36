/* SPDX-License-Identifier: MIT */
/*
 * What fork copies must be consistent in the child, where no other thread exists to finish a change. A thread that
 * forks waits until no change is under way, and changes wait until it has forked. fork must not be called by a signal
 * handler that interrupted a change; _Fork followed by exec is safe there.
 */
#ifndef BASE_FORK_H
#define BASE_FORK_H

#include "base/spin.h"

/*
 * The handlers of fork are installed by constructors, so before those of the program. Handlers that run before a fork
 * run in the reverse order of their installation: the program's take its locks first. Otherwise a thread that forks
 * would exclude changes and then wait for such a lock, whose holder waits to begin a change. For the same reason the
 * library's own handlers that take locks, under which changes begin, are installed behind FORK_FIRST.
 */
enum { FORK_FIRST = 101, FORK_NEXT }; /* priorities of the constructors */

/* Around a change that the child must see as a whole. Short, without waiting; they do not nest. Any thread. */
void fork_change_begin(void);
void fork_change_end(void);

/* From now on fork takes this lock, a leaf in static memory, so that the child finds it free. Idempotent, any thread. */
void fork_guard(struct spin *lock);
/* From now on runs in each child, before fork returns there. It may call only async-signal-safe functions. Idempotent. */
void fork_on_child(void (*run)(void));

/* Another value in each generation of processes. */
unsigned fork_generation(void);

#endif
