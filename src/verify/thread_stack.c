/* SPDX-License-Identifier: MIT */
/*
 * Captures the stack of a thread that waits: see thread_stack.h. Linux shows only the thread's stack pointer and
 * program counter. So the stack is copied, and each caller is found as unwind_row.h describes. Frame pointers alone do
 * not suffice, because the functions of the C library have none.
 *
 * At first the frame pointer is not known. If the row of a function needs the frame pointer, the frame pointer is
 * computed from the size of the memory that the function has reserved. If the computed place has no return address, the
 * copy is searched for the first return address that follows a call of this function.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "verify/thread_stack.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "verify/thread_frames.h"
#include "verify/unwind_row.h"

#if defined(__x86_64__)
enum { FRAME_POINTER = 6, STACK_POINTER = 7, CALL_SIZE = 5 };
#elif defined(__aarch64__)
enum { FRAME_POINTER = 29, STACK_POINTER = 31, CALL_SIZE = 4 };
#else
#error "the numbers of registers are not known"
#endif

enum { MAX_COPIED = 64 << 10, MAX_SEARCHED = 16 << 10, MAX_FIRST_CODE = 64, WORD = sizeof(uintptr_t) };

struct walk {
    uintptr_t pc;
    uintptr_t values[UNWIND_REGISTERS];
    bool is_known[UNWIND_REGISTERS];
    uintptr_t copied_from;
    size_t copied_size;
    uint8_t *copy;
};

static bool walk_read_word(const struct walk *w, uintptr_t at, uintptr_t *word)
{
    uintptr_t offset = at - w->copied_from;

    if (w->copied_size < WORD || offset > w->copied_size - WORD)
        return false;
    memcpy(word, w->copy + offset, WORD);
    return true;
}

static void walk_set(struct walk *w, unsigned number, uintptr_t value)
{
    w->values[number] = value;
    w->is_known[number] = true;
}

#if defined(__x86_64__)
/* Searches the code for `bytes` with at least one byte after them. Returns their offset, or `size` if not found. */
static size_t code_find(const uint8_t *code, size_t size, const uint8_t bytes[3])
{
    size_t i = 0;

    while (i + 3 < size && memcmp(code + i, bytes, 3) != 0)
        i++;
    return i + 3 < size ? i : size;
}
#endif

/*
 * Sets *size to the distance from the stack pointer up to the address in the frame pointer. This memory has two parts:
 * the registers that the function has saved below its frame pointer, and the memory that its first instructions
 * reserve. Returns false if the first instructions do not set the frame pointer.
 */
static bool frame_size(const struct unwind_row *row, uintptr_t pc, size_t *size)
{
#if defined(__x86_64__)
    static const uint8_t set_pointer[] = { 0x48, 0x89, 0xe5 }, reserve[] = { 0x48, 0x83, 0xec },
                         reserve_more[] = { 0x48, 0x81, 0xec };
    uint8_t code[MAX_FIRST_CODE + WORD] = { 0 };
    size_t known = pc - row->function < MAX_FIRST_CODE ? pc - row->function : MAX_FIRST_CODE, at;
    uint32_t reserved = 0;

    if (thread_read_memory(row->function, code, known) != known || code_find(code, known, set_pointer) == known)
        return false;
    *size = 0;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        if (row->rules[i].place == UNWIND_SAVED && i != FRAME_POINTER && i != row->return_register)
            *size += WORD;
    if ((at = code_find(code, known, reserve)) < known)
        reserved = code[at + sizeof reserve];
    else if ((at = code_find(code, known, reserve_more)) < known)
        memcpy(&reserved, code + at + sizeof reserve_more, sizeof reserved);
    *size += reserved;
    return true;
#else
    (void)row, (void)pc, (void)size;
    return false;
#endif
}

/* Returns true if the instruction before the return address is a direct call of the function. */
static bool is_call_of(uintptr_t return_address, uintptr_t function)
{
    uint8_t code[CALL_SIZE];
    int32_t offset;

    if (thread_read_memory(return_address - CALL_SIZE, code, sizeof code) != sizeof code)
        return false;
#if defined(__x86_64__)
    memcpy(&offset, code + 1, sizeof offset);
    return code[0] == 0xe8 && return_address + (uintptr_t)(intptr_t)offset == function;
#else
    uint32_t instruction;

    memcpy(&instruction, code, sizeof instruction);
    offset = (int32_t)(instruction << 6) >> 4; /* 26 bits, in units of 4 bytes */
    return instruction >> 26 == 0x25 && return_address - CALL_SIZE + (uintptr_t)(intptr_t)offset == function;
#endif
}

/*
 * Finds the frame pointer of the row's function, and stores it in *w. The frame pointer is the address of two words:
 * the caller's frame pointer and the return address. Returns false if it cannot be found.
 */
static bool walk_find_frame_pointer(struct walk *w, const struct unwind_row *row)
{
    uintptr_t first = w->values[STACK_POINTER], word;
    struct unwind_row caller;
    size_t size;

    if (frame_size(row, w->pc, &size) && walk_read_word(w, first + size + WORD, &word) &&
        unwind_find_row(word - 1, &caller)) {
        walk_set(w, FRAME_POINTER, first + size);
        return true;
    }
    for (uintptr_t at = first; at - first < MAX_SEARCHED && walk_read_word(w, at + WORD, &word); at += WORD)
        if (word > row->code_start + CALL_SIZE && word < row->code_end && is_call_of(word, row->function)) {
            walk_set(w, FRAME_POINTER, at);
            return true;
        }
    return false;
}

/*
 * Sets the registers in *w to the values that they have in the caller. `frame` is the caller's stack pointer. Returns
 * false if a saved register is outside of the copy.
 */
static bool walk_restore(struct walk *w, const struct unwind_row *row, uintptr_t frame)
{
    uintptr_t word;

    for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
        if (row->rules[i].place == UNWIND_UNDEFINED)
            w->is_known[i] = false;
        if (row->rules[i].place != UNWIND_SAVED)
            continue;
        if (!walk_read_word(w, frame + (uintptr_t)row->rules[i].offset, &word))
            return false;
        walk_set(w, i, word);
    }
    walk_set(w, STACK_POINTER, frame);
    return true;
}

/* Moves *w to the caller's frame. Returns false if there is no caller, or if the caller cannot be found. */
static bool walk_step(struct walk *w)
{
    struct unwind_row row;
    uintptr_t frame;

    if (!unwind_find_row(w->pc - 1, &row)) /* pc - 1 is an address inside the call instruction */
        return false;
    if (!w->is_known[row.base] && (row.base != FRAME_POINTER || !walk_find_frame_pointer(w, &row)))
        return false;
    frame = w->values[row.base] + (uintptr_t)row.base_offset;
    if (frame < w->values[STACK_POINTER])
        return false;
    w->is_known[row.return_register] = false; /* the register's value belongs to the inner frame */
    if (!walk_restore(w, &row, frame) || !w->is_known[row.return_register])
        return false;
    w->pc = w->values[row.return_register];
#if defined(__aarch64__)
    w->pc &= (UINT64_C(1) << 48) - 1; /* removes the signature of a signed return address */
#endif
    return w->pc != 0;
}

static bool is_c_library(const Dl_info *info)
{
    const char *name = strrchr(info->dli_fname, '/');

    return !strncmp(name ? name + 1 : info->dli_fname, "libc.so", strlen("libc.so"));
}

/*
 * If the innermost frames are in the C library, sets s->entry to the outermost function of these frames. The thread
 * waits in this function.
 */
static void thread_stack_set_entry(struct stack *s)
{
    Dl_info info;

    for (int i = 0; i < s->depth; i++) {
        if (!dladdr((const char *)s->frames[i] - 1, &info) || !info.dli_fname || !is_c_library(&info))
            return;
        if (info.dli_sname)
            s->entry = info.dli_sname + strspn(info.dli_sname, "_");
    }
}

static void thread_stack_walk(const struct thread_registers *r, uint8_t *copy, struct stack *s)
{
    struct walk w = { .pc = r->pc, .copied_from = r->sp, .copy = copy };

    w.copied_size = thread_read_memory(r->sp, copy, MAX_COPIED);
    walk_set(&w, STACK_POINTER, r->sp);
    do
        s->frames[s->depth++] = (void *)w.pc; /* NOLINT: an address of code */
    while (s->depth < STACK_FRAMES && walk_step(&w));
    thread_stack_set_entry(s);
}

enum thread_state thread_stack_capture(int thread, struct stack *s)
{
    struct thread_registers before, after;
    enum thread_state state = thread_get_registers(thread, &before);
    uint8_t *copy;

    *s = (struct stack){ .depth = 0 };
    if (state != THREAD_WAITS)
        return state;
    copy = malloc(MAX_COPIED);
    if (!copy)
        return state;
    thread_stack_walk(&before, copy, s);
    free(copy);
    state = thread_get_registers(thread, &after);
    if (state != THREAD_WAITS || before.sp != after.sp || before.pc != after.pc)
        s->depth = 0; /* the thread has run meanwhile, so the copied stack is not valid */
    return state;
}

int thread_frames(int thread, void *frames[], int max)
{
    struct stack s;
    enum thread_state state = thread_stack_capture(thread, &s);
    int depth = s.depth < max ? s.depth : max;

    if (state == THREAD_RUNS)
        return THREAD_FRAMES_RUNS;
    if (state != THREAD_WAITS || depth < 0)
        return 0;
    memcpy(frames, s.frames, (size_t)depth * sizeof frames[0]);
    return depth;
}
