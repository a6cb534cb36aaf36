/* SPDX-License-Identifier: MIT */
/* Captures call stacks cheaply, and finds names for their frames only in a report. Only plain C types are used here. */
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
    bool is_trimmed;   /* frames[0] is in the consumer; false: frames of this library may come first */
    const char *entry; /* name of the routine that the consumer called, for reports; NULL: not known */
};

/*
 * A call from the consumer into this library that is in progress. A stack that is captured during the call begins at
 * the call's return address, so it has no frames of the library. This also works if the library is linked statically,
 * where module names do not identify the library's frames.
 */
struct stack_call {
    const void *by; /* return address of the call; NULL: the thread is in no call */
    const char *routine;
};

/*
 * Begins a call by the calling thread. Returns the outer call, which stack_end_call restores at the end. For a callback
 * into the consumer, `by` is NULL: the thread is then in no call until the consumer calls again.
 */
struct stack_call stack_begin_call(const void *by, const char *routine);
void stack_end_call(const struct stack_call *outer);

/*
 * Begins a call with stack_begin_call, and ends it when the enclosing routine returns. Must be the first line of a
 * routine that a consumer calls.
 */
#define STACK_CALL(routine_)                                                                                           \
    struct stack_call outer_                                                                                           \
        __attribute__((cleanup(stack_end_call), unused)) = stack_begin_call(__builtin_return_address(0), routine_)

/*
 * Captures the stack of the calling thread. The captured stack begins at the return address `by`. If none of the 6
 * innermost frames has this address, the stack begins with the caller. Uses the unwinder, which finds every frame.
 */
void stack_capture(struct stack *s, const void *by) PRIVATE_EXPORT(stack_capture);

/*
 * Captures the stack of the calling thread. If the thread is in a call of the consumer, the stack begins with the
 * return address of that call, and s->entry is the routine that the consumer has called. Otherwise works like
 * stack_capture.
 */
void stack_capture_call(struct stack *s, const void *by);

/*
 * Captures the stack of the calling thread by its frame pointers, a hundred times as fast as stack_capture. The stack
 * always begins with `by`. It lacks functions without frame pointers, for example those of a driver that was not built
 * with ondk_driver.
 */
void stack_walk(struct stack *s, const void *by) PRIVATE_EXPORT(stack_walk);

/*
 * Returns the index of the first frame outside of this library and the C library, or 0 if there is none. If `entry` is
 * not NULL, sets *entry to the routine of this library that the frame has called, or to NULL if that routine is not
 * known.
 */
int stack_first_frame(const struct stack *s, const char **entry);

/* The place of a frame in the program. */
struct stack_frame {
    const void *address; /* return address */
    /* Name of the function. It is in the module's symbol table in memory, or in symbol.name. NULL: not known. */
    const char *function;
    size_t offset;        /* offset of the call in the function, in bytes */
    const char *module;   /* name of the program or library without its folder; NULL: not known */
    size_t module_offset; /* offset in the module of the call instruction's last byte, for addr2line */
    struct elf_symbol symbol;
    struct elf_line line; /* source line; line.line is 0 if it is not known */
};
/*
 * Sets *frame to the place of frame i of s. Functions that the program does not export have a name if the program is
 * not stripped. The frame has a source line if the program has debug information.
 */
void stack_get_frame(const struct stack *s, int i, struct stack_frame *frame);
/* Writes the frame as "function+0x12 at file.c:34 (module+0x1234)". Returns `text`. */
const char *stack_describe_frame(const struct stack_frame *frame, char *text, size_t size);

/*
 * Prints the stack. If the called routine is known, the first line is for example "NdkCloseQp called by". Then each
 * frame has a line: number, function + offset, file and line, module. Frames before the frame of stack_first_frame are
 * omitted. If all frames belong to this library, prints all of them.
 */
void stack_print(const struct stack *s, FILE *out, const char *indent) PRIVATE_EXPORT(stack_print);

/* Returns true if a frame of s is in [start, start + size). */
bool stack_has_frame_in(const struct stack *s, const void *start, uint64_t size) PRIVATE_EXPORT(stack_has_frame_in);

/* Returns true if the address is inside the stack of the calling thread. */
bool stack_contains(const void *address) PRIVATE_EXPORT(stack_contains);
/* Returns the end of the stack of the calling thread if the address is inside that stack. Returns 0 otherwise. */
uintptr_t stack_end_if_inside(const void *address);

#endif
