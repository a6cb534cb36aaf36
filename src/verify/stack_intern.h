/* SPDX-License-Identifier: MIT */
/*
 * Stacks of what happens too often to take one each time as stack.h does (locks, timers, DPCs): found by frame
 * pointers, and each different one kept once and for good, so that a pointer stands for it.
 */
#ifndef WDK_KEPT_H
#define WDK_KEPT_H

#include "verify/stack.h"

/* The calling thread's from `by` on, a return address in it. Without any frame while checks are off. Never NULL. */
const struct stack *kept_stack(const void *by);

#endif
