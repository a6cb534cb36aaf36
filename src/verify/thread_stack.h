/* SPDX-License-Identifier: MIT */
/* Captures the stack of another thread of the process. That thread is neither stopped nor signalled. */
#ifndef VERIFY_THREAD_STACK_H
#define VERIFY_THREAD_STACK_H

#include "verify/stack.h"
#include "verify/thread_state.h"

/*
 * Captures the stack of the thread with the ID `thread`, if the thread waits in the kernel. Returns the state of the
 * thread. If the stack cannot be read, sets s->depth to 0. The stack may lack its outer frames. Allocates memory.
 */
enum thread_state thread_stack_capture(int thread, struct stack *s);

#endif
