/* SPDX-License-Identifier: MIT */
/* The stack of another thread of the process, which is neither stopped nor signalled. */
#ifndef VERIFY_THREAD_STACK_H
#define VERIFY_THREAD_STACK_H

#include "verify/stack.h"
#include "verify/thread_state.h"

/*
 * Returns the state of the thread with this ID. If the thread waits, captures its stack. If the stack cannot be read,
 * s->depth is 0. The stack may lack its outer frames. Allocates memory.
 */
enum thread_state thread_stack_capture(int thread, struct stack *s);

#endif
