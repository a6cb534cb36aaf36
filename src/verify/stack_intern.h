/* SPDX-License-Identifier: MIT */
/*
 * Stores call stacks for events that are too frequent for stack_capture, such as locks, timers and DPCs. The stacks are
 * captured by frame pointers. Equal stacks normally share one copy, which is never freed. So a pointer to the copy
 * represents the stack.
 */
#ifndef VERIFY_STACK_INTERN_H
#define VERIFY_STACK_INTERN_H

#include "verify/stack.h"

/*
 * Returns a stored copy of the calling thread's stack. The copy begins at the return address `by`. Returns a stack
 * without frames if verification is off, the table is full, or memory ran out.
 */
const struct stack *stack_intern(const void *by) PRIVATE_EXPORT(stack_intern);

#endif
