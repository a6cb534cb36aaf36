/* SPDX-License-Identifier: MIT */
/*
 * Stacks of what happens too often to capture a stack each time (locks, timers, DPCs). They are found by frame
 * pointers. Each different stack is stored once and never freed, so that a pointer represents it.
 */
#ifndef VERIFY_STACK_INTERN_H
#define VERIFY_STACK_INTERN_H

#include "verify/stack.h"

/*
 * Returns the calling thread's stack from the return address `by` on; one without frames while verification is off or
 * the table is full.
 */
const struct stack *stack_intern(const void *by);

#endif
