/* SPDX-License-Identifier: MIT */
/*
 * Records pending calls and their contexts: see pending.h. The list `on_stacks` has the calls whose context is on a
 * stack. The list `elsewhere` has all other calls.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "base/fork.h"
#include "base/owner.h"
#include "base/spin.h"
#include "verify/call.h"
#include "verify/pending.h"
#include "verify/rules.h"
#include "verify/stall.h"
#include "verify/thread_state.h"

TAILQ_HEAD(pending_list, pending);
static struct spin list_lock; /* guards `elsewhere` and `on_stacks` */
static struct pending_list elsewhere = TAILQ_HEAD_INITIALIZER(elsewhere);
static struct pending_list on_stacks = TAILQ_HEAD_INITIALIZER(on_stacks);
static atomic_int on_stacks_count; /* number of calls in on_stacks; while it is 0, no call searches on_stacks */

void pending_guard_fork(void)
{
    fork_guard(&list_lock);
}

static struct pending_list *pending_list_of(const struct pending *p)
{
    return p->thread ? &on_stacks : &elsewhere;
}

void pending_begin(struct pending *p, const struct pending_object *object, const char *routine, const void *context,
                   const void *by)
{
    p->routine = NULL;
    if (!verify_on())
        return;
    p->routine = routine;
    p->object = *object;
    p->context = context;
    p->stack_end = stack_end_if_inside(context);
    p->thread = p->stack_end ? verify_this_thread() : 0;
    p->reported = false;
    p->caller = verify_this_thread();
    p->callback = callback_current();
    p->since_ns = owner_clock(NULL);
    p->stalled = false;
    p->mdl_count = 0;
    stack_capture_call(&p->by, by);
    p->by.entry = routine;
    if (p->thread)
        atomic_fetch_add(&on_stacks_count, 1);
    spin_lock(&list_lock);
    TAILQ_INSERT_TAIL(pending_list_of(p), p, list);
    spin_unlock(&list_lock);
    stall_begin();
}

void pending_set_mdls(struct pending *p, const MDL *mdl)
{
    if (!p->routine)
        return;
    spin_lock(&list_lock);
    for (; mdl && p->mdl_count < PENDING_MAX_MDLS; mdl = mdl->Next)
        p->mdls[p->mdl_count++] = mdl;
    spin_unlock(&list_lock);
}

void pending_remove(struct pending *p)
{
    if (!p->routine)
        return;
    spin_lock(&list_lock);
    TAILQ_REMOVE(pending_list_of(p), p, list);
    spin_unlock(&list_lock);
    if (p->thread)
        atomic_fetch_sub(&on_stacks_count, 1);
    p->routine = NULL;
}

/*
 * Reports a call whose context is dead. `routine` is the name of the call. `when` ends the message, for example "when
 * the completion came".
 */
static void pending_report_dead(const struct pending *p, const char *routine, const char *when)
{
    report_add_stack("the request was made by", &p->by);
    report_set_object(&(struct report_object){ p->object.proxy, p->object.type, NULL, { NULL } });
    report_breach(&verify_rules[RULE_CONTEXT_ON_DEAD_STACK], routine, (uintptr_t)p->context, 0, 0, 0,
                  "its context %p is on the stack of a function that had returned %s", p->context, when);
}

/*
 * Returns the stack pointer of another thread. Returns 0 if the stack pointer is not known, and UINTPTR_MAX if the
 * thread has ended.
 */
static uintptr_t pending_thread_sp(int thread)
{
    struct thread_registers r;
    enum thread_state state = thread_get_registers(thread, &r);

    return state == THREAD_ENDED ? UINTPTR_MAX : state == THREAD_WAITS ? r.sp : 0;
}

/*
 * Returns true if the call's context was a local variable of a function that has returned. Then the stack pointer of
 * the thread that made the call is above the context, or the thread has ended.
 *
 * `frame` is a stack frame of the current thread. If the current thread made the call, `frame` replaces the stack
 * pointer. Otherwise the function reads the other thread's stack pointer twice. Both values must be above the context.
 * Both values must be in the stack that contains the context, because the thread may run on a signal's stack.
 */
static bool pending_context_is_dead(const struct pending *p, const void *frame)
{
    uintptr_t context = (uintptr_t)p->context, sp = 0;

    if (p->thread == verify_this_thread())
        return (uintptr_t)frame > context && (uintptr_t)frame < p->stack_end;
    for (int i = 0; i < 2; i++) {
        sp = pending_thread_sp(p->thread);
        if (sp <= context || (sp >= p->stack_end && sp != UINTPTR_MAX))
            return false;
    }
    return true;
}

void pending_complete(struct pending *p, const void *frame)
{
    const char *routine = p->routine;

    if (!routine)
        return;
    pending_remove(p); /* from here on no other thread changes *p */
    if (p->thread && !p->reported && verify_on() && pending_context_is_dead(p, frame))
        pending_report_dead(p, routine, "when the completion came");
}

void pending_check_stack(const char *routine, const void *frame)
{
    struct pending *p, found;
    int thread;

    if (!verify_on() || atomic_load_explicit(&on_stacks_count, memory_order_relaxed) == 0)
        return;
    thread = verify_this_thread();
    spin_lock(&list_lock);
    TAILQ_FOREACH (p, &on_stacks, list)
        if (p->thread == thread && !p->reported && (uintptr_t)p->context < (uintptr_t)frame)
            break;
    if (p) {
        p->reported = true;
        found = *p;
    }
    spin_unlock(&list_lock);
    if (p)
        pending_report_dead(&found, found.routine, routine);
}

/* Returns an MDL of the call that is in [start, start + size), or NULL. Requires the lock. */
static const MDL *pending_find_mdl_in(const struct pending *p, const void *start, size_t size)
{
    for (unsigned i = 0; i < p->mdl_count; i++)
        if ((uintptr_t)p->mdls[i] - (uintptr_t)start < size)
            return p->mdls[i];
    return NULL;
}

/*
 * Returns a call in `list` that uses the memory [start, start + size), and describes the use in *use. Returns NULL if
 * there is none. Requires the lock.
 */
static const struct pending *pending_find_use_of(const struct pending_list *list, const void *start, size_t size,
                                                 struct verify_use *use)
{
    const struct pending *p;
    const MDL *mdl = NULL;

    TAILQ_FOREACH (p, list, list) {
        if ((uintptr_t)p->context - (uintptr_t)start < size && !p->thread)
            break;
        mdl = pending_find_mdl_in(p, start, size);
        if (mdl)
            break;
    }
    if (!p)
        return NULL;
    use->rule = &verify_rules[mdl ? RULE_MDL_USED_PENDING : RULE_CONTEXT_FREED];
    use->object = mdl ? mdl : p->context;
    use->what = mdl ? "MDL of a pending request" : "context of a pending request";
    use->routine = p->routine;
    use->owner_type = p->object.type;
    use->owner = p->object.proxy;
    use->by = p->by;
    return p;
}

/* Searches both lists. A context on a stack is skipped, because no free() ends the memory of a stack. */
bool pending_find_use(const void *start, size_t size, struct verify_use *use)
{
    const struct pending *p;

    spin_lock(&list_lock);
    p = pending_find_use_of(&elsewhere, start, size, use);
    if (!p)
        p = pending_find_use_of(&on_stacks, start, size, use);
    spin_unlock(&list_lock);
    return p != NULL;
}

/*
 * Returns a call in `list` that this thread has made and that uses the MDL. Returns NULL if there is none. Requires the
 * lock.
 */
static const struct pending *pending_find_mdl_of(const struct pending_list *list, const MDL *mdl)
{
    const struct pending *p;

    TAILQ_FOREACH (p, list, list)
        if (p->caller == verify_this_thread() && pending_find_mdl_in(p, mdl, 1))
            break;
    return p;
}

bool pending_find_mdl(const MDL *chain, struct pending *found, const MDL **used)
{
    const struct pending *p = NULL;
    const MDL *mdl = chain;

    spin_lock(&list_lock);
    for (int i = 0; i < PENDING_MAX_MDLS && mdl && !p; i++, mdl = mdl->Next) {
        p = pending_find_mdl_of(&elsewhere, mdl);
        if (!p)
            p = pending_find_mdl_of(&on_stacks, mdl);
        *used = mdl;
    }
    if (p)
        *found = *p;
    spin_unlock(&list_lock);
    return p != NULL;
}

/*
 * Does the work of pending_copy_stalled for one list. `out` already has n calls. Returns the new number of calls.
 * Requires the lock.
 */
static unsigned pending_copy_stalled_of(struct pending_list *list, uint64_t before, struct pending *out, unsigned room,
                                        unsigned n, uint64_t *oldest)
{
    struct pending *p;

    TAILQ_FOREACH (p, list, list) {
        if (p->stalled || stall_is_inherited(p->since_ns))
            continue;
        if (p->since_ns <= before && n < room) {
            p->stalled = true;
            out[n++] = *p;
        } else if (p->since_ns < *oldest) {
            *oldest = p->since_ns;
        }
    }
    return n;
}

unsigned pending_copy_stalled(uint64_t before, struct pending *out, unsigned room, uint64_t *oldest)
{
    unsigned n;

    *oldest = UINT64_MAX;
    spin_lock(&list_lock);
    n = pending_copy_stalled_of(&elsewhere, before, out, room, 0, oldest);
    n = pending_copy_stalled_of(&on_stacks, before, out, room, n, oldest);
    spin_unlock(&list_lock);
    return n;
}

static unsigned pending_copy_list(const struct pending_list *list, struct verify_open *out, unsigned room, unsigned n)
{
    const struct pending *p;

    TAILQ_FOREACH (p, list, list) {
        if (n < room)
            out[n] = (struct verify_open){
                .is_call = true, .object = p, .adapter = p->object.adapter, .what = p->routine, .by = p->by
            };
        n++;
    }
    return n;
}

unsigned pending_copy(struct verify_open *out, unsigned room)
{
    unsigned n;

    spin_lock(&list_lock);
    n = pending_copy_list(&elsewhere, out, room, 0);
    n = pending_copy_list(&on_stacks, out, room, n);
    spin_unlock(&list_lock);
    return n;
}
