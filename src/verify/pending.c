/* SPDX-License-Identifier: MIT */
/* Pending NDK calls and their contexts: see pending.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/spin.h"
#include "verify/pending.h"
#include "wdk/common/live.h"

TAILQ_HEAD(pendings, ndk_pending);
static struct spin lock;
static struct pendings elsewhere = TAILQ_HEAD_INITIALIZER(elsewhere);
static struct pendings on_stacks = TAILQ_HEAD_INITIALIZER(on_stacks);
static atomic_int on_stacks_count; /* most often 0: then no call looks for any */

static int this_thread(void)
{
    static _Thread_local int id;

    if (!id)
        id = (int)syscall(SYS_gettid);
    return id;
}

static struct pendings *list_of(const struct ndk_pending *p)
{
    return p->thread ? &on_stacks : &elsewhere;
}

void ndk_pending_begin(struct ndk_pending *p, const char *routine, const void *context)
{
    p->routine = NULL;
    if (!check_on())
        return;
    p->routine = routine;
    p->context = context;
    p->thread = stack_contains(context) ? this_thread() : 0;
    p->reported = false;
    stack_take(&p->by, 2);
    live_add(LIVE_NDK_REQUEST, p, routine);
    if (p->thread)
        atomic_fetch_add(&on_stacks_count, 1);
    spin_lock(&lock);
    TAILQ_INSERT_TAIL(list_of(p), p, list);
    spin_unlock(&lock);
}

void ndk_pending_drop(struct ndk_pending *p)
{
    if (!p->routine)
        return;
    spin_lock(&lock);
    TAILQ_REMOVE(list_of(p), p, list);
    spin_unlock(&lock);
    if (p->thread)
        atomic_fetch_sub(&on_stacks_count, 1);
    live_remove(LIVE_NDK_REQUEST, p);
    p->routine = NULL;
}

static void report(const char *routine, const void *context, const struct stack *by, const char *when)
{
    check_add_stack("the request was made by", by);
    check_failed(CHECK_CONTEXT_ON_DEAD_STACK, routine, (uintptr_t)context, 0, 0, 0,
                 "its context %p is on the stack of a function that had returned %s", context, when);
}

static bool has_ended(int thread)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%d", thread);
    return access(path, F_OK) != 0 && access("/proc/self/task", F_OK) == 0;
}

/*
 * The stack pointer of another thread, as the host's kernel shows it while the thread waits; 0 where it runs and
 * nobody knows. UINTPTR_MAX: there is no such thread any more.
 */
static uintptr_t stack_pointer_of(int thread)
{
    char path[64], text[256], *sp;
    ssize_t length;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return has_ended(thread) ? UINTPTR_MAX : 0;
    length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return 0;
    text[length] = 0;
    /* "number arguments... sp pc", or "running" */
    sp = strrchr(text, ' ');
    if (!sp)
        return 0;
    *sp = 0;
    sp = strrchr(text, ' ');
    return sp ? (uintptr_t)strtoull(sp, NULL, 16) : 0;
}

void ndk_pending_end(struct ndk_pending *p, const void *frame)
{
    const char *routine = p->routine;
    const void *context = p->context;
    struct stack by = p->by;
    int thread = p->thread;

    if (!routine)
        return;
    ndk_pending_drop(p); /* then nobody changes it any more */
    if (!thread || p->reported)
        return;
    uintptr_t sp = thread == this_thread() ? (uintptr_t)frame : stack_pointer_of(thread);
    if (sp > (uintptr_t)context)
        report(routine, context, &by, "when the completion came");
}

void ndk_pending_look(const char *routine, const void *frame)
{
    struct ndk_pending *p, found;
    int thread;

    if (!check_on() || atomic_load_explicit(&on_stacks_count, memory_order_relaxed) == 0)
        return;
    thread = this_thread();
    spin_lock(&lock);
    TAILQ_FOREACH(p, &on_stacks, list)
        if (p->thread == thread && !p->reported && (uintptr_t)p->context < (uintptr_t)frame)
            break;
    if (p) {
        p->reported = true;
        found = *p;
    }
    spin_unlock(&lock);
    if (p)
        report(found.routine, found.context, &found.by, routine);
}

/* What is on a stack is never freed. */
bool ndk_pending_find(const void *start, size_t size, struct inuse_found *out)
{
    struct ndk_pending *p;

    spin_lock(&lock);
    TAILQ_FOREACH(p, &elsewhere, list)
        if ((uintptr_t)p->context - (uintptr_t)start < size)
            break;
    if (p) {
        out->rule = CHECK_CONTEXT_FREED_IN_USE;
        out->object = p->context;
        out->what = "context of a pending request";
        out->by = p->by;
    }
    spin_unlock(&lock);
    return p != NULL;
}
