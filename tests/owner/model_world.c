/* SPDX-License-Identifier: MIT */
/*
 * Memory, kernel and clock of the model, and the atomics of owner.c as scheduling points. The invariant is total store
 * order: a plain store goes to the actor's store buffer and becomes visible in a step of its own, in order. An exchange
 * or a system call empties the buffer first.
 */
#include <string.h>

#include "base/owner_atomic.h"
#include "model.h"

struct model model;

void model_same_place(unsigned step)
{
    const uint64_t *place = model.place[explore_self()];

    explore_label((unsigned)place[0] * 100 + step, place[1], place[2]);
}

/* ---- memory ---- */

static void set_cell(uint64_t cell, uint64_t value)
{
    if (cell == CELL_RENEWED)
        atomic_store_explicit(&model.o.renewed, value, memory_order_relaxed);
    else
        model.cells[cell] = value;
}

static uint64_t get_cell(uint64_t cell)
{
    if (cell == CELL_RENEWED)
        return atomic_load_explicit(&model.o.renewed, memory_order_relaxed);
    return model.cells[cell];
}

bool model_can_flush(unsigned actor)
{
    return model.buffer[actor].count > 0;
}

void model_flush(unsigned actor)
{
    struct store *s = model.buffer[actor].store;

    set_cell(s[0].cell, s[0].value);
    memmove(s, s + 1, sizeof(*s) * (MODEL_BUFFER - 1));
    memset(s + MODEL_BUFFER - 1, 0, sizeof(*s));
    model.buffer[actor].count--;
}

static void fence(void)
{
    while (model_can_flush(explore_self()))
        model_flush(explore_self());
}

void model_store(enum cell cell, uint64_t value, const char *what)
{
    unsigned me = explore_self();

    explore_point(what, value);
    if (!model_scenario->deferred) {
        set_cell(cell, value);
        return;
    }
    if (model.buffer[me].count == MODEL_BUFFER)
        model_flush(me);
    model.buffer[me].store[model.buffer[me].count++] = (struct store){ cell, value };
}

uint64_t model_load(enum cell cell, const char *what)
{
    unsigned me = explore_self();
    uint64_t value;

    explore_point(what, cell);
    value = get_cell(cell);
    for (uint64_t i = 0; i < model.buffer[me].count; i++)
        if (model.buffer[me].store[i].cell == cell)
            value = model.buffer[me].store[i].value;
    explore_saw("saw", value);
    return value;
}

/* ---- the atomics of owner.c ---- */

uint32_t owner_word_load(struct owner *o)
{
    uint32_t w;

    explore_point("load word", 0);
    w = atomic_load(&o->word);
    explore_saw("saw", w);
    return w;
}

/* An actor other than the thread has ended the thread's sleep in the word, so it owes one wake-up call. */
static void note_sleep(uint32_t was, uint32_t is)
{
    if (explore_self() != 0 && (was & OWNER_SLEEP_MASK) != 0 && (is & OWNER_SLEEP_MASK) == 0)
        model.owed++;
}

bool owner_word_exchange(struct owner *o, uint32_t *seen, uint32_t next)
{
    uint32_t w;

    explore_point("exchange word for", next);
    fence();
    w = atomic_load(&o->word);
    if (w != *seen) {
        *seen = w;
        /* The loops of owner.c continue as if their load had returned this word. */
        explore_saw_instead("failed, saw", w);
        return false;
    }
    atomic_store(&o->word, next);
    note_sleep(w, next);
    explore_saw("was", w);
    return true;
}

uint32_t owner_wake_count_load(struct owner *o)
{
    uint32_t k;

    explore_point("load wake_count", 0);
    k = atomic_load(&o->wake_count);
    explore_saw("saw", k);
    return k;
}

void owner_wake_count_add(struct owner *o)
{
    explore_point("increment wake_count", 0);
    fence();
    atomic_fetch_add(&o->wake_count, 1);
}

uint64_t owner_renewed_load(struct owner *o)
{
    (void)o;
    return model_load(CELL_RENEWED, "load renewed");
}

void owner_renewed_store(struct owner *o, uint64_t now)
{
    (void)o;
    model_store(CELL_RENEWED, now, "store renewed");
}

/* ---- kernel ---- */

static void pay_owed_call(void)
{
    if (model.owed == 0)
        explore_fail("a wake-up call for a thread that was not asleep");
    model.owed--;
}

static void world_wake(void *ctx)
{
    (void)ctx;
    explore_point("write eventfd", 0);
    fence();
    pay_owed_call();
    model.signalled = 1;
}

static bool epoll_ready(unsigned actor)
{
    (void)actor;
    return model.signalled || (model.watched && model.readable);
}

static void pass_time(uint64_t deadline)
{
    if (model.now < deadline)
        model.now = deadline;
}

void model_epoll_wait(uint64_t deadline)
{
    model.sleeps = 1;
    if (!explore_block("epoll_wait", epoll_ready, deadline != OWNER_NEVER))
        pass_time(deadline);
    model.signalled = model.sleeps = 0;
    model_same_place(98);
}

static bool futex_ready(unsigned actor)
{
    (void)actor;
    return model.futex_woken || model.spurious_left;
}

static void world_futex_wait(void *ctx, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline)
{
    (void)ctx;
    explore_point("futex_wait while wake_count is", expected);
    fence();
    if (atomic_load(word) != expected) {
        model_same_place(99);
        return;
    }
    model.futex_waits = model.sleeps = 1;
    if (!explore_block("futex_wait", futex_ready, deadline != OWNER_NEVER))
        pass_time(deadline);
    else if (!model.futex_woken)
        model.spurious_left--;
    model.futex_waits = model.futex_woken = model.sleeps = 0;
    model_same_place(99); /* the callers check everything again */
}

static void world_futex_wake(void *ctx, _Atomic uint32_t *word)
{
    (void)ctx;
    (void)word;
    explore_point("futex_wake", 0);
    fence();
    pay_owed_call();
    model.futex_woken = model.futex_waits;
}

static uint64_t world_now(void *ctx)
{
    (void)ctx;
    explore_point("now", 0);
    explore_saw("is", model.now);
    return model.now;
}

const struct owner_ops model_ops = {
    .wake = world_wake, .futex_wait = world_futex_wait, .futex_wake = world_futex_wake, .now = world_now
};
