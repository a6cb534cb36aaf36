/* SPDX-License-Identifier: MIT */
/*
 * Stacks of what happens too often to capture a stack each time (locks, timers, DPCs). They are found by frame pointers,
 * and each different one is stored once and for ever, so that a pointer represents it.
 */
#ifndef VERIFY_STACK_INTERN_H
#define VERIFY_STACK_INTERN_H

#include "verify/stack.h"

/* Returns the calling thread's stack from the return address `by` on; one without frames while verification is off. */
const struct stack *stack_intern(const void *by);

#endif
