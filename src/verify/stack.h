/* SPDX-License-Identifier: MIT */
/*
 * Call stacks: taken cheaply, printed when somebody wants to know.
 */
#ifndef ONDK_WDK_STACK_H
#define ONDK_WDK_STACK_H

#include <stdio.h>

enum { STACK_FRAMES = 16 };

struct stack {
    void *frames[STACK_FRAMES];
    int depth;
};

/* The caller's stack, without its innermost `skip` frames. */
void stack_take(struct stack *s, int skip);

/*
 * The caller's stack from `by` on, a return address in it, by frame pointers alone: a hundred times as fast, but code
 * without them (a driver built otherwise than ondk_driver does) is passed over. `by` is there in any case.
 */
void stack_walk(struct stack *s, const void *by);

/* A line for each frame: number, function + offset, module. */
void stack_print(const struct stack *s, FILE *out, const char *indent);

/* Is the address inside of the calling thread's stack? */
int stack_contains(const void *address);

/* The same, below the frame that is running (a frame that has ended)? */
int stack_is_dead(const void *address);

#endif
