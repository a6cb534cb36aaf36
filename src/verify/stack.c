/* SPDX-License-Identifier: MIT */
/* Captures and prints call stacks: see stack.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "verify/host.h"
#include "verify/stack.h"

enum {
    /* maximum number of inner frames that stack_capture skips to find the return address `by` */
    MAX_SKIPPED = 6,
    /* number of additional frames that stack_capture_call captures, because it may skip frames of the provider */
    MAX_SKIPPED_IN_CALL = 16
};

static _Thread_local struct stack_call entered;

struct stack_call stack_begin_call(const void *by, const char *routine)
{
    struct stack_call outer = entered;

    entered = (struct stack_call){ by, routine };
    return outer;
}

void stack_end_call(const struct stack_call *outer)
{
    entered = *outer;
}

/* Returns the index of the frame with the return address `by`. Returns 0 if none of the first `limit` frames has it. */
static int stack_find(void *const *frames, int limit, const void *by)
{
    for (int i = 1; i < limit; i++)
        if (frames[i] == by)
            return i;
    return 0;
}

static void stack_set(struct stack *s, void *const *frames, int depth)
{
    s->depth = depth < 0 ? 0 : depth < STACK_FRAMES ? depth : STACK_FRAMES;
    memcpy(s->frames, frames, (size_t)s->depth * sizeof s->frames[0]);
    s->is_trimmed = false;
    s->entry = NULL;
}

void stack_capture(struct stack *s, const void *by)
{
    void *frames[STACK_FRAMES + MAX_SKIPPED];
    int depth = backtrace(frames, STACK_FRAMES + MAX_SKIPPED), first;

    first = stack_find(frames, depth <= MAX_SKIPPED ? depth : MAX_SKIPPED + 1, by);
    first = first ? first : 1; /* at least frame 0 is skipped, because it is this function */
    stack_set(s, frames + first, depth - first);
}

void stack_capture_call(struct stack *s, const void *by)
{
    void *frames[STACK_FRAMES + MAX_SKIPPED_IN_CALL];
    int depth = backtrace(frames, STACK_FRAMES + MAX_SKIPPED_IN_CALL), first, call;

    call = entered.by ? stack_find(frames, depth, entered.by) : 0;
    first = call ? call : stack_find(frames, depth, by);
    first = first ? first : 1;
    stack_set(s, frames + first, depth - first);
    if (call) {
        s->is_trimmed = true;
        s->entry = entered.routine;
    }
}

struct bounds {
    uintptr_t low;
    size_t size; /* size in bytes; 0: not known */
};

/* Returns the bounds of the calling thread's stack. After a success, later calls by the thread do not call the host. */
static struct bounds stack_thread_bounds(void)
{
    static _Thread_local struct bounds bounds;

    if (!bounds.size && !verify_host()->stack_bounds(&bounds.low, &bounds.size))
        bounds.size = 0;
    return bounds;
}

enum { MAX_FRAME_TEXT = 512 }; /* in bytes; the name of a C++ function may be long */

/* maximum number of frames that stack_walk visits, including the frames before the one that returns to `by` */
enum { MAX_WALK = 10 + STACK_FRAMES };

/* Returns the frame of the caller of `frame`'s function, or NULL at the end of the chain. */
__attribute__((no_sanitize("address"))) static const uintptr_t *stack_next_frame(const uintptr_t *frame,
                                                                                 struct bounds b)
{
    uintptr_t next = frame[0];

    return next > (uintptr_t)frame && next % sizeof next == 0 && next - b.low < b.size - 2 * sizeof next
               ? (const uintptr_t *)next
               : NULL;
}

__attribute__((no_sanitize("address"))) void stack_walk(struct stack *s, const void *by)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    struct bounds b = stack_thread_bounds();
    bool reached = false;

    s->frames[0] = (void *)(uintptr_t)by;
    s->depth = 1;
    s->is_trimmed = by && by == entered.by;
    s->entry = s->is_trimmed ? entered.routine : NULL;
    if ((uintptr_t)frame - b.low >= b.size)
        return; /* the current stack has unknown bounds, for example because the program has allocated it */
    for (int i = 0; frame && i < MAX_WALK && s->depth < STACK_FRAMES; i++) {
        if (reached && frame[1])
            s->frames[s->depth++] = (void *)frame[1];
        reached = reached || frame[1] == (uintptr_t)by;
        frame = stack_next_frame(frame, b);
    }
}

static const char *path_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Returns the return address of frame i minus one. That address is inside the call instruction. */
static const char *stack_call_at(const struct stack *s, int i)
{
    return (const char *)s->frames[i] - 1;
}

static bool stack_starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

/*
 * Returns true if the function is in this library or in the C library. In a signal handler's stack, the frame after the
 * handler is in the C library.
 */
static bool stack_is_library(const Dl_info *info)
{
    const char *module = path_base_name(info->dli_fname);

    return stack_starts_with(module, "libopenndk") || stack_starts_with(module, "libc.so");
}

/*
 * Returns the index of the first frame that is not in the library. Needed for a stack that may begin with frames of the
 * library. If frames are skipped, sets *entry to the routine that the returned frame has called.
 */
static int stack_skip_library(const struct stack *s, const char **entry)
{
    const char *exported = NULL;
    Dl_info info;
    int i;

    for (i = 0; i < s->depth; i++) {
        if (!dladdr(stack_call_at(s, i), &info) || !info.dli_fname || !stack_is_library(&info))
            break;
        if (info.dli_sname && stack_starts_with(path_base_name(info.dli_fname), "libopenndk") &&
            !stack_starts_with(info.dli_sname, "ondk_private_"))
            exported = info.dli_sname;
    }
    if (i == 0 || i == s->depth)
        return 0;
    *entry = exported ? exported : s->entry;
    return i;
}

int stack_first_frame(const struct stack *s, const char **entry)
{
    const char *routine = NULL;
    int first = 0;

    if (s->is_trimmed)
        routine = s->entry;
    else
        first = stack_skip_library(s, &routine);
    if (entry)
        *entry = routine;
    return first;
}

/* Sets what only the module's file contains: the source line, and the name of a function that is not exported. */
static void stack_read_file(const char *at, const Dl_info *info, const struct link_map *map, struct stack_frame *frame)
{
    const char *file = map->l_name[0] ? map->l_name : "/proc/self/exe"; /* the program itself has an empty name */
    uintptr_t address = (uintptr_t)at - map->l_addr;

    if (!frame->function && elf_symbol_find(file, info->dli_fbase, address, &frame->symbol)) {
        frame->function = frame->symbol.name;
        frame->offset = frame->symbol.offset;
    }
    if (!elf_line_find(file, info->dli_fbase, address, &frame->line))
        frame->line.line = 0;
}

void stack_get_frame(const struct stack *s, int i, struct stack_frame *frame)
{
    const char *at = stack_call_at(s, i);
    struct link_map *map = NULL;
    Dl_info info;

    *frame = (struct stack_frame){ .address = s->frames[i] };
    if (!dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fname || !map)
        return;
    frame->module = path_base_name(info.dli_fname);
    frame->module_offset = (uintptr_t)at - map->l_addr;
    if (info.dli_sname) {
        frame->function = info.dli_sname;
        frame->offset = (size_t)(at - (const char *)info.dli_saddr);
    }
    stack_read_file(at, &info, map, frame);
}

const char *stack_describe_frame(const struct stack_frame *frame, char *text, size_t size)
{
    char place[ELF_LINE_FILE + 32] = "";

    if (frame->line.line)
        (void)snprintf(place, sizeof place, " at %s:%u", frame->line.file, frame->line.line);
    if (!frame->module)
        (void)snprintf(text, size, "%p", frame->address);
    else if (!frame->function)
        (void)snprintf(text, size, "?%s (%s+0x%zx)", place, frame->module, frame->module_offset);
    else
        (void)snprintf(text, size, "%s+0x%zx%s (%s+0x%zx)", frame->function, frame->offset, place, frame->module,
                       frame->module_offset);
    return text;
}

void stack_print(const struct stack *s, FILE *out, const char *indent)
{
    const char *entry;
    int first = stack_first_frame(s, &entry);
    struct stack_frame frame;
    char text[MAX_FRAME_TEXT];

    if (entry)
        fprintf(out, "%s%s called by\n", indent, entry);
    for (int i = first; i < s->depth; i++) {
        stack_get_frame(s, i, &frame);
        fprintf(out, "%s#%d %s\n", indent, i - first, stack_describe_frame(&frame, text, sizeof text));
    }
}

bool stack_has_frame_in(const struct stack *s, const void *start, uint64_t size)
{
    for (int i = 0; i < s->depth; i++)
        if ((uintptr_t)s->frames[i] - (uintptr_t)start < size)
            return true;
    return false;
}

uintptr_t stack_end_if_inside(const void *address)
{
    struct bounds b = stack_thread_bounds();

    return stack_contains(address) ? b.low + b.size : 0;
}

bool stack_contains(const void *address)
{
    struct bounds b = stack_thread_bounds();

    return (uintptr_t)address - b.low < b.size;
}
