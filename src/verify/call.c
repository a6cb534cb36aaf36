/* SPDX-License-Identifier: MIT */
/* Records the calls and callbacks of each thread: see call.h. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/schedule.h"
#include "verify/call.h"
#include "verify/host.h"
#include "verify/pending.h"
#include "verify/proxy.h"

static _Thread_local struct call *innermost_call;
static _Thread_local const struct callback *innermost_callback;

struct call *call_current(void)
{
    return innermost_call;
}

const char *callback_current(void)
{
    return innermost_callback ? innermost_callback->name : NULL;
}

const char *callback_of(const struct proxy *adapter)
{
    const struct callback *c = innermost_callback;

    while (c && c->adapter != adapter)
        c = c->outer;
    return c ? c->name : NULL;
}

static _Thread_local int thread_id; /* ID of this thread; 0: not queried yet */

/*
 * Clears the stored thread ID in a child of fork. The child's thread is a copy of the thread that called fork, but has
 * another ID.
 */
static void call_forget_thread(void)
{
    thread_id = 0;
}

void call_follow_fork(void)
{
    fork_on_child(call_forget_thread);
}

int verify_this_thread(void)
{
    if (!thread_id)
        thread_id = (int)syscall(SYS_gettid);
    return thread_id;
}

static void call_record(struct call_history *history, const char *routine)
{
    unsigned at = atomic_fetch_add_explicit(&history->count, 1, memory_order_relaxed) % CALL_HISTORY;

    atomic_store_explicit(&history->last[at].routine, routine, memory_order_relaxed);
    atomic_store_explicit(&history->last[at].thread, verify_this_thread(), memory_order_relaxed);
}

void call_begin(struct call *c, const void *pub, const char *routine, const void *by, const void *frame)
{
    *c = (struct call){ .routine = routine, .by = by, .outer = innermost_call };
    c->outer_stack = stack_begin_call(by, routine);
    innermost_call = c;
    verify_check_irql(routine, VERIFY_DISPATCH_LEVEL);
    pending_check_stack(routine, frame);
    if (!proxy_real_at(pub, routine))
        return;
    c->p = (struct proxy *)(uintptr_t)pub;
    proxy_ref(c->p);
    c->completions = atomic_load_explicit(&c->p->completions, memory_order_relaxed);
    call_record(&c->p->history, routine);
}

void call_end(struct call *c)
{
    if (c->p) {
        exclusive_end(c);
        proxy_check_still_open(c);
        proxy_unref(c->p);
    }
    innermost_call = c->outer;
    stack_end_call(&c->outer_stack);
    schedule_point();
}

void call_set_completed(struct proxy *p)
{
    atomic_fetch_add(&p->completions, 1);
}

void callback_begin(struct callback *c, const struct proxy *adapter, const char *name)
{
    *c = (struct callback){ .name = name, .adapter = adapter, .outer = innermost_callback };
    innermost_callback = c;
    c->stack = stack_begin_call(NULL, NULL);
    schedule_point();
    c->mark = verify_host()->callback_begin();
}

void callback_end(struct callback *c, const void *routine)
{
    verify_host()->callback_end(c->mark, c->name, routine);
    stack_end_call(&c->stack);
    innermost_callback = c->outer;
}
