/* SPDX-License-Identifier: MIT */
/*
 * Implements waits. If a wait cannot end at once, the waiting thread adds a wait block to the list of each object, and
 * sleeps on a word of its kernel_thread. The thread that later signals an object acquires the objects for the waiting
 * thread: for example, it resets an event, or makes the waiting thread the owner of a mutex. Then it removes the wait
 * blocks and wakes the waiting thread. The invariant: a wait for all objects (WaitAll) acquires all objects in one step
 * under the lock, or none.
 */
#include <sched.h>
#include <stdlib.h>

#include "ndkpi.h"
#include "wdm.h"

#include "openndk/adapter.h"
#include "verify/stack_intern.h"
#include "wdk/common/bug_code.h"
#include "wdk/common/futex.h"
#include "wdk/common/inuse.h"
#include "wdk/ke/clock.h"
#include "wdk/ke/processor.h"
#include "wdk/ke/queue.h"
#include "wdk/ke/wait.h"

struct spin dispatch_spin;

static LIST_ENTRY waiting = { &waiting, &waiting }; /* threads that wait; guarded by the lock */

void dispatch_init(DISPATCHER_HEADER *h, UCHAR type, LONG state)
{
    h->Type = type;
    dispatch_set_state(h, state);
    link_init(&h->WaitListHead);
}

/*
 * Returns true if the calling thread, which wakes `t`, must move `t` to its own processor. Otherwise Linux may let `t`
 * wait up to 4 ms for the processor on which it ran last. A provider's thread yields its processor when its callbacks
 * have returned, so a worker that a callback wakes can continue on that processor. Returns false if the driver has
 * chosen processors for `t`.
 */
static bool wait_can_pull(struct kernel_thread *t)
{
    bool chosen = t->affinity.Mask != 0;

    return t->kind == THREAD_WORKER && !chosen && ondk_on_provider_thread();
}

/*
 * Marks `t` as woken, and wakes it if it sleeps. After the call, the caller may use `t` only if it is a worker, because
 * workers never end. Any other thread may have ended, and its memory may be freed.
 */
static void wait_signal_woken(struct kernel_thread *t)
{
    if (atomic_exchange_explicit(&t->woken, WOKEN_YES, memory_order_acq_rel) == WOKEN_NOT_AND_ASLEEP)
        futex_wake(&t->woken, 1);
}

static void wait_wake(struct kernel_thread *t)
{
    unsigned id = 0;

    if (atomic_load_explicit(&t->woken, memory_order_relaxed) == WOKEN_NOT_AND_ASLEEP && wait_can_pull(t))
        id = atomic_load_explicit(&t->id, memory_order_relaxed);
    if (!id) {
        wait_signal_woken(t);
        return;
    }
    atomic_fetch_add_explicit(&t->pulls, 1, memory_order_relaxed);
    processor_pull_thread(id);
    wait_signal_woken(t);
    processor_release_thread(id);
    atomic_fetch_sub_explicit(&t->pulls, 1, memory_order_release);
}

void dispatch_wake(struct kernel_thread *first)
{
    struct kernel_thread *next;

    for (; first; first = next) {
        next = first->wake_next;
        wait_wake(first);
    }
}

static bool wait_is_signalled(const DISPATCHER_HEADER *h, const struct kernel_thread *t)
{
    return dispatch_state(h) > 0 || (h->Type == OBJECT_MUTANT && ((const KMUTANT *)h)->OwnerThread == (PKTHREAD)t);
}

/*
 * Makes t the owner of the mutex. If t is the owner already, counts another acquisition. Returns true if the mutex was
 * abandoned.
 */
static bool wait_acquire_mutex(KMUTANT *m, struct kernel_thread *t)
{
    bool abandoned = m->Abandoned;
    LONG state = dispatch_state(&m->Header);

    dispatch_set_state(&m->Header, state - 1);
    if (state != 1)
        return false; /* t was the owner already */
    m->OwnerThread = (PKTHREAD)t;
    m->Abandoned = FALSE;
    link_insert_before(&t->mutants, &m->MutantListEntry);
    return abandoned;
}

/* Changes the object's state as a satisfied wait does. Returns true if the object was an abandoned mutex. */
static bool wait_acquire(DISPATCHER_HEADER *h, struct kernel_thread *t)
{
    switch (h->Type) {
    case OBJECT_EVENT_SYNCHRONIZATION:
    case OBJECT_TIMER_SYNCHRONIZATION:
        dispatch_set_state(h, 0);
        return false;
    case OBJECT_SEMAPHORE:
        dispatch_set_state(h, dispatch_state(h) - 1);
        return false;
    case OBJECT_MUTANT:
        return wait_acquire_mutex((KMUTANT *)h, t);
    default: /* notification events, notification timers and threads stay signalled */
        return false;
    }
}

/*
 * If `all` is true, acquires the objects of all blocks, or none if one of the objects cannot be acquired now. If `all`
 * is false, acquires the first object that can be acquired now. If an object was acquired, sets *status and returns
 * true. Otherwise returns false.
 */
static bool wait_acquire_blocks(struct kernel_thread *t, KWAIT_BLOCK *blocks, ULONG count, bool all, NTSTATUS *status)
{
    ULONG i = 0;

    if (all) {
        while (i < count && wait_is_signalled(blocks[i].Object, t))
            i++;
        if (i < count)
            return false;
        *status = STATUS_WAIT_0;
        for (i = count; i-- > 0;)
            if (wait_acquire(blocks[i].Object, t))
                *status = STATUS_ABANDONED_WAIT_0 + (NTSTATUS)i;
        return true;
    }
    while (i < count && !wait_is_signalled(blocks[i].Object, t))
        i++;
    if (i == count)
        return false;
    *status = (wait_acquire(blocks[i].Object, t) ? STATUS_ABANDONED_WAIT_0 : STATUS_WAIT_0) + (NTSTATUS)i;
    return true;
}

static void wait_remove_blocks(struct kernel_thread *t)
{
    for (ULONG i = 0; i < t->wait_count; i++)
        link_remove(&t->wait_blocks[i].WaitListEntry);
    link_remove(&t->waiting);
}

/* If the thread belongs to a queue, counts the thread as running. Requires the lock. */
static void wait_resume_in_queue(struct kernel_thread *t)
{
    if (t->queue)
        t->queue->CurrentCount++;
}

void dispatch_end_wait(struct kernel_thread *t, NTSTATUS status, struct wake_list *wake)
{
    wait_remove_blocks(t);
    wait_resume_in_queue(t);
    t->wait_ended = true;
    t->wait_status = status;
    t->wake_next = wake->first;
    wake->first = t;
}

/*
 * Returns the first list entry after `entry` that belongs to another thread than `t`, or `head` if there is none. The
 * returned entry remains in the list when the caller ends the wait of `t`.
 */
static LIST_ENTRY *wait_next_thread(LIST_ENTRY *entry, const LIST_ENTRY *head, PKTHREAD t)
{
    do
        entry = entry->Flink;
    while (entry != head && CONTAINING_RECORD(entry, KWAIT_BLOCK, WaitListEntry)->Thread == t);
    return entry;
}

void dispatch_satisfy(DISPATCHER_HEADER *h, struct wake_list *wake)
{
    LIST_ENTRY *entry, *next, *head = &h->WaitListHead;

    for (entry = head->Flink; entry != head && dispatch_state(h) > 0; entry = next) {
        KWAIT_BLOCK *block = CONTAINING_RECORD(entry, KWAIT_BLOCK, WaitListEntry);
        struct kernel_thread *t = (struct kernel_thread *)block->Thread;
        NTSTATUS status;

        next = wait_next_thread(entry, head, block->Thread);
        if (t->wait_all) {
            if (wait_acquire_blocks(t, t->wait_blocks, t->wait_count, true, &status))
                dispatch_end_wait(t, status, wake);
        } else {
            status = wait_acquire(h, t) ? STATUS_ABANDONED_WAIT_0 : STATUS_WAIT_0;
            dispatch_end_wait(t, status + block->WaitKey, wake);
        }
    }
}

static struct deadline wait_deadline(const LARGE_INTEGER *timeout)
{
    if (!timeout)
        return (struct deadline){ .clock = -1 };
    if (timeout->QuadPart < 0) {
        int64_t end = clock_after(clock_interrupt(), clock_relative(timeout->QuadPart));

        return (struct deadline){ CLOCK_MONOTONIC, clock_timespec(end) };
    }
    if (timeout->QuadPart < CLOCK_1970)
        return (struct deadline){ CLOCK_REALTIME, { 0, 0 } };
    return (struct deadline){ CLOCK_REALTIME, clock_timespec(timeout->QuadPart - CLOCK_1970) };
}

/*
 * Ends a wait whose timeout has passed. If no thread has satisfied the wait, removes the wait blocks and returns true.
 * Otherwise returns false: the thread that has satisfied the wait will wake this thread.
 */
static bool wait_time_out(struct kernel_thread *t)
{
    bool ended;

    dispatch_lock();
    ended = t->wait_ended;
    if (!ended) {
        wait_remove_blocks(t);
        wait_resume_in_queue(t);
        t->wait_status = STATUS_TIMEOUT;
    }
    dispatch_unlock(NULL);
    return !ended;
}

/*
 * Sleeps until the thread is woken or the deadline has passed. Returns false if the thread was woken before it slept.
 */
static bool wait_sleep(struct kernel_thread *t, struct deadline *until)
{
    unsigned seen = WOKEN_NOT;

    if (!atomic_compare_exchange_strong(&t->woken, &seen, WOKEN_NOT_AND_ASLEEP))
        return false;
    while (atomic_load_explicit(&t->woken, memory_order_acquire) != WOKEN_YES) {
        if (futex_sleep(&t->woken, WOKEN_NOT_AND_ASLEEP, until))
            continue;
        if (wait_time_out(t))
            return true;
        until->clock = -1;
    }
    return true;
}

/*
 * Inserts the blocks into their objects' lists and sleeps until the wait ends. Requires the lock and releases it. Wakes
 * the threads in *wake.
 */
static NTSTATUS wait_block(struct kernel_thread *t, KWAIT_BLOCK *blocks, ULONG count, bool all,
                           const LARGE_INTEGER *timeout, struct wake_list *wake)
{
    struct deadline until;

    for (ULONG i = 0; i < count; i++)
        link_insert_before(&((DISPATCHER_HEADER *)blocks[i].Object)->WaitListHead, &blocks[i].WaitListEntry);
    t->wait_blocks = blocks;
    t->wait_count = count;
    t->wait_all = all;
    t->wait_ended = false;
    atomic_store_explicit(&t->woken, WOKEN_NOT, memory_order_relaxed);
    link_insert_before(&waiting, &t->waiting);
    if (t->queue)
        queue_thread_waits(t, wake);
    dispatch_unlock(wake);
    until = wait_deadline(timeout);
    /* A driver's thread that has slept yields, because Windows queues a woken thread behind the ready threads. */
    if (wait_sleep(t, &until) && t->kind == THREAD_DRIVERS)
        (void)sched_yield();
    return t->wait_status;
}

static NTSTATUS wait_for_blocks(struct kernel_thread *t, KWAIT_BLOCK *blocks, ULONG count, bool all,
                                const LARGE_INTEGER *timeout)
{
    struct wake_list wake = { NULL };
    NTSTATUS status;

    dispatch_lock();
    if (wait_acquire_blocks(t, blocks, count, all, &status)) {
        dispatch_unlock(NULL);
        return status;
    }
    if (timeout && timeout->QuadPart == 0) {
        dispatch_unlock(NULL);
        return STATUS_TIMEOUT;
    }
    return wait_block(t, blocks, count, all, timeout, &wake);
}

static void wait_block_init(KWAIT_BLOCK *block, ULONG key, void *object, struct kernel_thread *t, bool all)
{
    block->WaitType = all ? WaitAll : WaitAny;
    block->WaitKey = (USHORT)key;
    block->Thread = (PKTHREAD)t;
    block->Object = object;
}

NTSTATUS dispatch_wait(void *object, PLARGE_INTEGER timeout)
{
    struct kernel_thread *t = thread_self();

    wait_block_init(&t->own_blocks[0], 0, object, t, false);
    return wait_for_blocks(t, t->own_blocks, 1, false, timeout);
}

NTSTATUS dispatch_wait_in_queue(struct kernel_thread *t, PKQUEUE queue, const LARGE_INTEGER *timeout,
                                struct wake_list *wake)
{
    wait_block_init(&t->own_blocks[0], 0, queue, t, false);
    t->own_blocks[0].WaitType = WAIT_DEQUEUE;
    return wait_block(t, t->own_blocks, 1, false, timeout, wake);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static const char *wait_describe_use(const DISPATCHER_HEADER *h)
{
    switch (h->Type) {
    case OBJECT_EVENT_NOTIFICATION:
    case OBJECT_EVENT_SYNCHRONIZATION:
        return "event that a thread waits for";
    case OBJECT_MUTANT:
        return "mutex that a thread waits for";
    case OBJECT_SEMAPHORE:
        return "semaphore that a thread waits for";
    case OBJECT_TIMER_NOTIFICATION:
    case OBJECT_TIMER_SYNCHRONIZATION:
        return "timer that a thread waits for";
    case OBJECT_QUEUE:
        return "queue that a thread waits for";
    default:
        return "object that a thread waits for";
    }
}

static bool wait_is_inside(const void *thing, const void *start, size_t size)
{
    return (uintptr_t)thing - (uintptr_t)start < size;
}

/* Searches [start, start + size) for an object that a thread waits for, or a wait block in use: see inuse_find. */
static bool wait_find_use(const void *start, size_t size, struct inuse_found *out)
{
    dispatch_lock();
    for (LIST_ENTRY *e = waiting.Flink; e != &waiting && !out->object; e = e->Flink) {
        struct kernel_thread *t = CONTAINING_RECORD(e, struct kernel_thread, waiting);

        for (ULONG i = 0; i < t->wait_count && !out->object; i++) {
            KWAIT_BLOCK *b = &t->wait_blocks[i];

            if (wait_is_inside(b->Object, start, size))
                out->object = b->Object;
            else if (wait_is_inside(b, start, size))
                out->object = b;
            out->what = out->object == b->Object ? wait_describe_use(b->Object) : "wait block of a thread that waits";
        }
        if (out->object && t->wait_by)
            out->by = *t->wait_by;
    }
    dispatch_unlock(NULL);
    return out->object != NULL;
}

__attribute__((constructor)) static void wait_register(void)
{
    inuse_add_source(wait_find_use);
}

/*
 * Returns false if the object was not initialized. The list pointer of such an object is usually NULL, because unused
 * memory is often zero.
 */
bool dispatch_check(const char *routine, DISPATCHER_HEADER *h)
{
    bool made;

    if (!check_on())
        return true;
    dispatch_lock();
    made = h->WaitListHead.Flink != NULL;
    dispatch_unlock(NULL);
    if (made)
        return true;
    check_failed(CHECK_OBJECT_NOT_INITIALIZED, routine, (uintptr_t)h, 0, 0, 0, "%p", (void *)h);
    dispatch_init(h, OBJECT_EVENT_NOTIFICATION, 0);
    return false;
}

void dispatch_check_wait(const char *routine, const LARGE_INTEGER *timeout)
{
    KIRQL irql = irql_now();

    if (irql < DISPATCH_LEVEL || !check_on())
        return;
    if (irql > DISPATCH_LEVEL)
        irql_report(routine, irql, PASSIVE_LEVEL, timeout && timeout->QuadPart == 0 ? DISPATCH_LEVEL : APC_LEVEL);
    else if (!timeout || timeout->QuadPart != 0)
        check_failed(CHECK_WAIT_AT_DISPATCH, routine, irql, timeout ? (uint64_t)timeout->QuadPart : 0, !timeout, 0,
                     timeout ? "with a timeout at IRQL %d" : "without end at IRQL %d", irql);
}

static const struct lock_kind mutex_kind = { .name = "KMUTEX" };

/*
 * If `h`, which `t` has acquired, is a mutex, records a held lock and a critical region. Both last until
 * KeReleaseMutex.
 */
static void wait_note_mutex(struct kernel_thread *t, DISPATCHER_HEADER *h, const void *by)
{
    if (h->Type != OBJECT_MUTANT)
        return;
    t->critical++;
    if (check_on())
        thread_add_lock(h, &mutex_kind, by);
}

static void wait_note_mutexes(struct kernel_thread *t, KWAIT_BLOCK *blocks, ULONG count, bool all, NTSTATUS status,
                              const void *by)
{
    if (all && status != STATUS_TIMEOUT)
        for (ULONG i = 0; i < count; i++)
            wait_note_mutex(t, blocks[i].Object, by);
    else if (status < STATUS_WAIT_0 + (NTSTATUS)count)
        wait_note_mutex(t, blocks[status].Object, by);
    else if (status >= STATUS_ABANDONED_WAIT_0 && status < STATUS_ABANDONED_WAIT_0 + (NTSTATUS)count)
        wait_note_mutex(t, blocks[status - STATUS_ABANDONED_WAIT_0].Object, by);
}

/* ---- Routines ---------------------------------------------------------------------------------------------------- */

NTSTATUS KeWaitForSingleObject(PVOID Object, KWAIT_REASON WaitReason, KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
                               PLARGE_INTEGER Timeout)
{
    const void *by = __builtin_return_address(0);
    struct kernel_thread *t = thread_self();
    NTSTATUS status;

    UNREFERENCED_PARAMETER(WaitReason);
    UNREFERENCED_PARAMETER(WaitMode);
    UNREFERENCED_PARAMETER(Alertable);
    dispatch_check_wait("KeWaitForSingleObject", Timeout);
    (void)dispatch_check("KeWaitForSingleObject", Object);
    t->wait_by = stack_intern(by);
    wait_block_init(&t->own_blocks[0], 0, Object, t, false);
    status = wait_for_blocks(t, t->own_blocks, 1, false, Timeout);
    wait_note_mutexes(t, t->own_blocks, 1, false, status, by);
    return status;
}

static bool wait_check_count(ULONG count, const KWAIT_BLOCK *array)
{
    if (count > 0 && count <= (array ? MAXIMUM_WAIT_OBJECTS : THREAD_WAIT_OBJECTS))
        return true;
    check_bug(MAXIMUM_WAIT_OBJECTS_EXCEEDED, count, (uintptr_t)array, 0, 0);
}

NTSTATUS KeWaitForMultipleObjects(ULONG Count, PVOID Object[], WAIT_TYPE WaitType, KWAIT_REASON WaitReason,
                                  KPROCESSOR_MODE WaitMode, BOOLEAN Alertable, PLARGE_INTEGER Timeout,
                                  PKWAIT_BLOCK WaitBlockArray)
{
    const void *by = __builtin_return_address(0);
    struct kernel_thread *t = thread_self();
    KWAIT_BLOCK *blocks = WaitBlockArray ? WaitBlockArray : t->own_blocks;
    bool all = WaitType == WaitAll;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(WaitReason);
    UNREFERENCED_PARAMETER(WaitMode);
    UNREFERENCED_PARAMETER(Alertable);
    dispatch_check_wait("KeWaitForMultipleObjects", Timeout);
    wait_check_count(Count, WaitBlockArray);
    t->wait_by = stack_intern(by);
    for (ULONG i = 0; i < Count; i++) {
        (void)dispatch_check("KeWaitForMultipleObjects", Object[i]);
        wait_block_init(&blocks[i], i, Object[i], t, all);
    }
    status = wait_for_blocks(t, blocks, Count, all, Timeout);
    wait_note_mutexes(t, blocks, Count, all, status, by);
    return status;
}

/* Waits until the interval has passed: a wait without objects. If the interval is zero, yields. */
NTSTATUS KeDelayExecutionThread(KPROCESSOR_MODE WaitMode, BOOLEAN Alertable, PLARGE_INTEGER Interval)
{
    struct kernel_thread *t = thread_self();
    struct wake_list wake = { NULL };

    UNREFERENCED_PARAMETER(WaitMode);
    UNREFERENCED_PARAMETER(Alertable);
    if (check_on() && irql_now() >= DISPATCH_LEVEL)
        check_failed(CHECK_WAIT_AT_DISPATCH, "KeDelayExecutionThread", irql_now(), (uint64_t)Interval->QuadPart, 0, 0,
                     "at IRQL %d", irql_now());
    if (Interval->QuadPart == 0) {
        sched_yield();
        return STATUS_SUCCESS;
    }
    dispatch_lock();
    (void)wait_block(t, t->own_blocks, 0, false, Interval, &wake);
    return STATUS_SUCCESS;
}

void dispatch_thread_end(struct kernel_thread *t)
{
    struct wake_list wake = { NULL };

    dispatch_lock();
    while (!link_empty(&t->mutants)) {
        KMUTANT *m = CONTAINING_RECORD(t->mutants.Flink, KMUTANT, MutantListEntry);

        link_remove(&m->MutantListEntry);
        m->OwnerThread = NULL;
        m->Abandoned = TRUE;
        dispatch_set_state(&m->Header, 1);
        dispatch_satisfy(&m->Header, &wake);
    }
    queue_remove_thread(t, &wake);
    dispatch_set_state(&t->header, 1);
    dispatch_satisfy(&t->header, &wake);
    dispatch_unlock(&wake);
}
