/* SPDX-License-Identifier: MIT */
/*
 * Stores call stacks for events that are too frequent for stack_capture (locks, timers, DPCs). The stack is walked by
 * frame pointers. Equal stacks normally share one copy, which is never freed, so a pointer to it represents the stack.
 */
#ifndef VERIFY_STACK_INTERN_H
#define VERIFY_STACK_INTERN_H

#include "verify/stack.h"

/*
 * Returns the calling thread's stack from the return address `by` on. Returns a stack without frames if verification is
 * off, the table is full, or no memory is left.
 */
const struct stack *stack_intern(const void *by) PRIVATE_EXPORT(stack_intern);

#endif
