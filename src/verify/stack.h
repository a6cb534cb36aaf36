/* SPDX-License-Identifier: MIT */
/* Call stacks: captured cheaply, and printed with names only in a report. Only plain C types are used here. */
#ifndef VERIFY_STACK_H
#define VERIFY_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/private_export.h"

enum { STACK_FRAMES = 16 };

struct stack {
    void *frames[STACK_FRAMES];
    int depth;
    const char *entry; /* the routine that the consumer called, for reports; NULL: unknown */
};

/*
 * Captures the calling thread's stack, beginning with the return address `by`. If `by` is not in one of the innermost 6
 * frames, the stack begins with the caller. Uses the unwinder, which finds every frame.
 */
void stack_capture(struct stack *s, const void *by) PRIVATE_EXPORT(stack_capture);

/*
 * Like stack_capture, but follows frame pointers only and is a hundred times as fast. Functions that were compiled
 * without frame pointers are missing, for example those of a driver that ondk_driver has not built. The stack always
 * contains `by`.
 */
void stack_walk(struct stack *s, const void *by) PRIVATE_EXPORT(stack_walk);

/*
 * Prints a line for each frame: number, function + offset, module. Omits the innermost frames if they belong to this
 * library or the C library, and prints a line such as "NdkCloseQp called by" instead. If all frames belong to these
 * libraries, prints all.
 */
void stack_print(const struct stack *s, FILE *out, const char *indent) PRIVATE_EXPORT(stack_print);

/* Returns whether a frame of s lies in [start, start + size). */
bool stack_has_frame_in(const struct stack *s, const void *start, uint64_t size) PRIVATE_EXPORT(stack_has_frame_in);

/* Returns true if the address is inside the calling thread's stack. */
bool stack_contains(const void *address) PRIVATE_EXPORT(stack_contains);

#endif
