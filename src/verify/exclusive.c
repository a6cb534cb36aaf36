/* SPDX-License-Identifier: MIT */
/* Reports calls that a consumer must make one at a time: see exclusive.h. */
#include "verify/call.h"
#include "verify/exclusive.h"
#include "verify/proxy.h"

#define EXCLUSIVE_COUNT 0xffffull            /* mask: the number of calls that are inside */
#define EXCLUSIVE_MET (1ull << 16)           /* a call has begun while another one was inside: a breach */
#define EXCLUSIVE_TAKEN (1ull << 17)         /* the earlier call of the breach has ended, and writes `earlier` */
#define EXCLUSIVE_LATER_WRITTEN (1ull << 18) /* the member `later` is complete */
#define EXCLUSIVE_EARLIER_WRITTEN (1ull << 19)
#define EXCLUSIVE_RELEASABLE (1ull << 20) /* exclusive_release can make one of the calls leave early */
#define EXCLUSIVE_BREACH (EXCLUSIVE_MET | EXCLUSIVE_TAKEN | EXCLUSIVE_LATER_WRITTEN | EXCLUSIVE_EARLIER_WRITTEN)
#define EXCLUSIVE_NUMBER (1ull << 32)

void exclusive_init(struct exclusive *e, enum verify_rule rule, const char *what, uint64_t p3)
{
    atomic_init(&e->word, 0);
    e->rule = rule;
    e->what = what;
    e->p3 = p3;
}

/* Returns the number (an ID) of the breach that is not reported yet. Returns 0 if there is no such breach. */
static uint32_t exclusive_breach(uint64_t word)
{
    return word & EXCLUSIVE_MET ? (uint32_t)(word >> 32) : 0;
}

static bool exclusive_is_inside(const struct exclusive *e, const struct call *c)
{
    for (; c; c = c->outer)
        if (c->visit.in == e)
            return true;
    return false;
}

void exclusive_begin(struct exclusive *e, bool can_release)
{
    struct call *c = call_current();
    uint64_t old, new;
    struct exclusive_visit visit;

    if (!verify_on() || exclusive_is_inside(e, c->outer))
        return;
    old = atomic_load(&e->word);
    do {
        visit = (struct exclusive_visit){ .in = e, .seen = exclusive_breach(old) };
        visit.can_release = can_release && !(old & EXCLUSIVE_RELEASABLE);
        visit.is_later = (old & EXCLUSIVE_COUNT) > 0 && !(old & EXCLUSIVE_MET);
        new = old + 1;
        if (visit.can_release)
            new |= EXCLUSIVE_RELEASABLE;
        if (visit.is_later)
            new = (new | EXCLUSIVE_MET) + EXCLUSIVE_NUMBER;
    } while (!atomic_compare_exchange_weak(&e->word, &old, new));
    c->visit = visit;
}

/* Reports a breach. c is the calling thread's call. `other` is the other thread's call. */
static void exclusive_report(struct exclusive *e, const struct call *c, const struct exclusive_side *other)
{
    if (verify_on()) {
        report_add_stack("the other call, at the same time, by", &other->stack);
        proxy_set_report_object(c->p);
        report_breach(&verify_rules[e->rule], c->routine, (uintptr_t)c->p, (uint64_t)other->thread, e->p3, 0,
                      "thread %d called %s of %s%s%p, and thread %d was in %s of it", verify_this_thread(), c->routine,
                      e->what ? e->what : "", e->what ? " of " : "", (const void *)c->p, other->thread, other->routine);
    }
    atomic_fetch_and(&e->word, ~EXCLUSIVE_BREACH);
}

/*
 * Stores the call c as the later side of the breach if `is_later` is true, otherwise as the earlier side. If the other
 * side is stored already, reports the breach.
 */
static void exclusive_write(struct exclusive *e, const struct call *c, bool is_later)
{
    struct exclusive_side *mine = is_later ? &e->later : &e->earlier;
    uint64_t written = is_later ? EXCLUSIVE_LATER_WRITTEN : EXCLUSIVE_EARLIER_WRITTEN;
    uint64_t wanted = is_later ? EXCLUSIVE_EARLIER_WRITTEN : EXCLUSIVE_LATER_WRITTEN;

    mine->routine = c->routine;
    mine->thread = verify_this_thread();
    stack_capture_call(&mine->stack, c->by);
    if (atomic_fetch_or(&e->word, written) & wanted)
        exclusive_report(e, c, is_later ? &e->earlier : &e->later);
}

void exclusive_end(struct call *c)
{
    const struct exclusive_visit v = c->visit;
    uint64_t old, new;
    bool is_inside, is_earlier;

    if (!v.in)
        return;
    c->visit.in = NULL;
    old = atomic_load(&v.in->word);
    do {
        is_inside = !v.can_release || old & EXCLUSIVE_RELEASABLE;
        is_earlier = is_inside && !v.is_later && old & EXCLUSIVE_MET && !(old & EXCLUSIVE_TAKEN) &&
                     exclusive_breach(old) != v.seen;
        new = old - is_inside;
        if (v.can_release)
            new &= ~EXCLUSIVE_RELEASABLE;
        if (is_earlier)
            new |= EXCLUSIVE_TAKEN;
    } while (!atomic_compare_exchange_weak(&v.in->word, &old, new));
    if (v.is_later || is_earlier)
        exclusive_write(v.in, c, v.is_later);
}

void exclusive_release(struct exclusive *e)
{
    uint64_t old = atomic_load(&e->word);

    /* If a breach is not reported yet, the call stays inside, because it may be the earlier call of the breach. */
    while (old & EXCLUSIVE_RELEASABLE && !(old & EXCLUSIVE_MET))
        if (atomic_compare_exchange_weak(&e->word, &old, (old & ~EXCLUSIVE_RELEASABLE) - 1))
            break;
}
