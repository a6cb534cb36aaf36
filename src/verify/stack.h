/* SPDX-License-Identifier: MIT */
/* Call stacks: captured cheaply, and printed with names only in a report. Only plain C types are used here. */
#ifndef VERIFY_STACK_H
#define VERIFY_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/private_export.h"
#include "verify/elf_line.h"
#include "verify/elf_symbol.h"

enum { STACK_FRAMES = 16 };

struct stack {
    void *frames[STACK_FRAMES];
    int depth;
    bool is_trimmed;   /* frames[0] is a function of the consumer; otherwise the library's frames may come first */
    const char *entry; /* the routine that the consumer called, for reports; NULL: unknown */
};

/*
 * The consumer's call of the library in which this thread is. Stacks that are recorded during the call begin at the
 * call's return address. So the library's frames are left out even if the library is linked statically, where no
 * module's name distinguishes them.
 */
struct stack_call {
    const void *by; /* the return address; NULL: none is known */
    const char *routine;
};

/*
 * Begins a call, and returns the outer one. stack_end_call ends the call. A callback into the consumer is a call with
 * `by` == NULL: during the callback, the thread is in no call until the consumer calls again.
 */
struct stack_call stack_begin_call(const void *by, const char *routine);
void stack_end_call(const struct stack_call *outer);
/* Returns the call that the thread is in. */
struct stack_call stack_entered(void);

/*
 * Must be the first line of a routine that a consumer calls. Calls stack_begin_call, and stack_end_call when the
 * routine returns.
 */
#define STACK_CALL(routine_)                                                                                           \
    struct stack_call outer_                                                                                           \
        __attribute__((cleanup(stack_end_call), unused)) = stack_begin_call(__builtin_return_address(0), routine_)

/*
 * Captures the calling thread's stack, beginning with the return address `by`. If `by` is not in one of the innermost 6
 * frames, the stack begins with the caller. Uses the unwinder, which finds every frame.
 */
void stack_capture(struct stack *s, const void *by) PRIVATE_EXPORT(stack_capture);

/*
 * Captures the calling thread's stack. If the thread is in a call of the consumer, the stack begins with that call's
 * return address, and s->entry is the routine that was called. Otherwise does what stack_capture does.
 */
void stack_capture_call(struct stack *s, const void *by);

/*
 * Like stack_capture, but follows frame pointers only and is a hundred times as fast. Functions that were compiled
 * without frame pointers are missing, for example those of a driver that ondk_driver has not built. The stack always
 * contains `by`.
 */
void stack_walk(struct stack *s, const void *by) PRIVATE_EXPORT(stack_walk);

/*
 * Returns the index of the first frame outside of this library and the C library; 0 if there is none. *entry, unless
 * `entry` is NULL, is set to the library's routine that the frame called, or to NULL if that routine is not known.
 */
int stack_first_frame(const struct stack *s, const char **entry);

/* A frame's place in the program. */
struct stack_frame {
    const void *address;  /* the return address */
    const char *function; /* points to the symbol table or to `symbol`; NULL: unknown */
    size_t offset;        /* in the function */
    const char *module;   /* the name of the program or library, without its folder; NULL: unknown */
    size_t module_offset; /* of the call instruction's last byte, which addr2line accepts */
    struct elf_symbol symbol;
    struct elf_line line; /* line.line is 0 if the line is unknown */
};
/*
 * Sets *frame to frame i of s. If the program is not stripped, functions that it does not export have a name, too.
 * Sets the line if the program has debug information.
 */
void stack_get_frame(const struct stack *s, int i, struct stack_frame *frame);
/* Writes "function+0x12 at file.c:34 (module+0x1234)" and returns `text`. */
const char *stack_describe_frame(const struct stack_frame *frame, char *text, size_t size);

/*
 * Prints a line such as "NdkCloseQp called by" if the routine is known. Then prints a line for each frame, from
 * stack_first_frame on: number, function + offset, file and line, module. If all frames belong to the library, prints
 * all.
 */
void stack_print(const struct stack *s, FILE *out, const char *indent) PRIVATE_EXPORT(stack_print);

/* Returns whether a frame of s lies in [start, start + size). */
bool stack_has_frame_in(const struct stack *s, const void *start, uint64_t size) PRIVATE_EXPORT(stack_has_frame_in);

/* Returns true if the address is inside the calling thread's stack. */
bool stack_contains(const void *address) PRIVATE_EXPORT(stack_contains);
/* Returns the end of the calling thread's stack if the address is inside that stack, otherwise 0. */
uintptr_t stack_end_if_inside(const void *address);

#endif
