/* SPDX-License-Identifier: MIT */
/* Call stacks: see stack.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <string.h>

#include "verify/host.h"
#include "verify/stack.h"

enum { MAX_SKIPPED = 6 };

void stack_capture(struct stack *s, const void *by)
{
    void *frames[STACK_FRAMES + MAX_SKIPPED];
    int depth = backtrace(frames, STACK_FRAMES + MAX_SKIPPED), first = 1; /* frame 0 is this function */

    for (int i = 1; i < depth && i <= MAX_SKIPPED; i++) {
        if (frames[i] == by) {
            first = i;
            break;
        }
    }
    s->depth = depth - first < STACK_FRAMES ? depth - first : STACK_FRAMES;
    if (s->depth < 0)
        s->depth = 0;
    memcpy(s->frames, frames + first, (size_t)s->depth * sizeof s->frames[0]);
    s->entry = NULL;
}

struct bounds {
    uintptr_t low;
    size_t size; /* 0: unknown */
};

/* Returns the bounds of the calling thread's stack. Calls the host only the first time. */
static struct bounds stack_thread_bounds(void)
{
    static _Thread_local struct bounds bounds;

    if (!bounds.size && !verify_host()->stack_bounds(&bounds.low, &bounds.size))
        bounds.size = 0;
    return bounds;
}

/* The number of frames that stack_walk visits. stack_walk does not find `by` in frames beyond these. */
enum { MAX_WALK = 10 + STACK_FRAMES };

/* Returns the frame of the caller; NULL at the end of the chain. */
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
    s->entry = NULL;
    if ((uintptr_t)frame - b.low >= b.size)
        return; /* the thread runs on a stack that the program has allocated */
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

/* Returns the frame's return address minus one, which lies inside the call. */
static const char *stack_call(const struct stack *s, int i)
{
    return (const char *)s->frames[i] - 1;
}

static bool stack_starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

/* Returns true for a function of this library, or of the C library, which calls signal handlers. */
static bool stack_is_library(const Dl_info *info)
{
    const char *module = path_base_name(info->dli_fname);

    return stack_starts_with(module, "libopenndk") || stack_starts_with(module, "libc.so");
}

/*
 * Returns the index of the first frame outside of this library and the C library, or 0 if there is none. *entry
 * receives the name of the routine that the consumer called, or NULL if the name is not known. The routine is the last
 * exported function before that frame, or s->entry if no function is exported.
 */
static int stack_first_outside(const struct stack *s, const char **entry)
{
    const char *exported = NULL;
    Dl_info info;
    int i;

    *entry = NULL;
    for (i = 0; i < s->depth; i++) {
        if (!dladdr(stack_call(s, i), &info) || !info.dli_fname || !stack_is_library(&info))
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

/* Prints one frame. addr2line accepts the printed offset in the module. */
static void stack_print_frame(int number, const char *at, FILE *out, const char *indent)
{
    Dl_info info;

    if (!dladdr(at, &info) || !info.dli_fname)
        fprintf(out, "%s#%d %p\n", indent, number, (const void *)(at + 1));
    else if (!info.dli_sname)
        fprintf(out, "%s#%d ? (%s+0x%zx)\n", indent, number, path_base_name(info.dli_fname),
                (size_t)(at - (const char *)info.dli_fbase));
    else
        fprintf(out, "%s#%d %s+0x%zx (%s+0x%zx)\n", indent, number, info.dli_sname,
                (size_t)(at - (const char *)info.dli_saddr), path_base_name(info.dli_fname),
                (size_t)(at - (const char *)info.dli_fbase));
}

void stack_print(const struct stack *s, FILE *out, const char *indent)
{
    const char *entry;
    int first = stack_first_outside(s, &entry);

    if (entry)
        fprintf(out, "%s%s called by\n", indent, entry);
    for (int i = first; i < s->depth; i++)
        stack_print_frame(i - first, stack_call(s, i), out, indent);
}

bool stack_has_frame_in(const struct stack *s, const void *start, uint64_t size)
{
    for (int i = 0; i < s->depth; i++)
        if ((uintptr_t)s->frames[i] - (uintptr_t)start < size)
            return true;
    return false;
}

bool stack_contains(const void *address)
{
    struct bounds b = stack_thread_bounds();

    return (uintptr_t)address - b.low < b.size;
}
