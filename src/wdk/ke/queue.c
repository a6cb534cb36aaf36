/* SPDX-License-Identifier: MIT */
/*
 * Implements queues: see ntifs.h. The invariant: if a queue has entries, and a thread waits in KeRemoveQueue, at least
 * MaximumCount threads of the queue run. A queue counts a thread as running except while the thread waits (wait.c, and
 * queue_begin_wait). The dispatcher's lock guards everything here.
 *
 * A thread that calls KeRemoveQueue becomes a member of the queue. A driver's own thread remains a member until it
 * ends, calls KeRemoveQueue for another queue, or KeRundownQueue is called. A borrowed thread, for example a worker,
 * leaves the queue when the driver's routine returns (thread_mark_check). Otherwise the queue would count the thread as
 * running while it runs other routines.
 */
#include "ntifs.h"

#include "verify/stack_intern.h"
#include "wdk/common/inuse.h"
#include "wdk/ke/queue.h"

enum { RUN_DOWN = 1 }; /* the value of Header.Reserved[0] after KeRundownQueue */

static LIST_ENTRY members = { &members, &members }; /* threads that belong to any queue */

static bool queue_is_run_down(const KQUEUE *q)
{
    return q->Header.Reserved[0] == RUN_DOWN;
}

static PLIST_ENTRY queue_pop(PKQUEUE q)
{
    PLIST_ENTRY entry = q->EntryListHead.Flink;

    link_remove(entry);
    entry->Flink = NULL; /* as on Windows */
    dispatch_set_state(&q->Header, dispatch_state(&q->Header) - 1);
    return entry;
}

/* Returns the thread that has last begun to wait in KeRemoveQueue, or NULL. */
static struct kernel_thread *queue_find_waiter(PKQUEUE q)
{
    LIST_ENTRY *head = &q->Header.WaitListHead;

    for (LIST_ENTRY *e = head->Blink; e != head; e = e->Blink) {
        KWAIT_BLOCK *block = CONTAINING_RECORD(e, KWAIT_BLOCK, WaitListEntry);

        if (block->WaitType == WAIT_DEQUEUE)
            return (struct kernel_thread *)block->Thread;
    }
    return NULL;
}

/* Passes entries to waiting threads while fewer than MaximumCount threads of the queue run. */
static void queue_pass_entries(PKQUEUE q, struct wake_list *wake)
{
    struct kernel_thread *t;

    while (q->CurrentCount < q->MaximumCount && !link_empty(&q->EntryListHead) && (t = queue_find_waiter(q))) {
        t->queue_entry = queue_pop(q);
        dispatch_end_wait(t, STATUS_SUCCESS, wake);
    }
}

void queue_begin_wait(void)
{
    struct kernel_thread *t = thread_self();
    struct wake_list wake = { NULL };

    if (!t->queue_joins)
        return;
    dispatch_lock();
    if (t->queue)
        queue_thread_waits(t, &wake);
    dispatch_unlock(&wake);
}

void queue_end_wait(void)
{
    struct kernel_thread *t = thread_self();

    if (!t->queue_joins)
        return;
    dispatch_lock();
    if (t->queue)
        t->queue->CurrentCount++;
    dispatch_unlock(NULL);
}

void queue_thread_waits(struct kernel_thread *t, struct wake_list *wake)
{
    t->queue->CurrentCount--;
    queue_pass_entries(t->queue, wake);
}

void queue_remove_thread(struct kernel_thread *t, struct wake_list *wake)
{
    PKQUEUE q = t->queue;

    if (!q)
        return;
    link_remove(&t->in_queue);
    link_remove(&t->in_any_queue);
    t->queue = NULL;
    q->CurrentCount--;
    queue_pass_entries(q, wake);
}

void queue_remove_self(void)
{
    struct kernel_thread *t = thread_self();
    struct wake_list wake = { NULL };

    dispatch_lock();
    queue_remove_thread(t, &wake);
    dispatch_unlock(&wake);
}

static void queue_add_thread(PKQUEUE q, struct kernel_thread *t, struct wake_list *wake)
{
    queue_remove_thread(t, wake);
    t->queue_joins++;
    t->queue = q;
    link_insert_before(&q->ThreadListHead, &t->in_queue);
    link_insert_before(&members, &t->in_any_queue);
    q->CurrentCount++;
}

/* Searches [start, start + size) for a queue to which threads belong: see inuse_find in inuse.h. */
static bool queue_find_use(const void *start, size_t size, struct inuse_found *out)
{
    dispatch_lock();
    for (LIST_ENTRY *e = members.Flink; e != &members && !out->object; e = e->Flink) {
        struct kernel_thread *t = CONTAINING_RECORD(e, struct kernel_thread, in_any_queue);

        if ((uintptr_t)t->queue - (uintptr_t)start >= size)
            continue;
        out->object = t->queue;
        out->what = "queue to which a thread belongs";
        out->by = *t->queue_by;
    }
    dispatch_unlock(NULL);
    return out->object != NULL;
}

__attribute__((constructor)) static void queue_register(void)
{
    inuse_add_source(queue_find_use);
}

static void kqueue_init(PKQUEUE q, ULONG count)
{
    dispatch_init(&q->Header, OBJECT_QUEUE, 0);
    q->Header.Reserved[0] = 0;
    link_init(&q->EntryListHead);
    link_init(&q->ThreadListHead);
    q->CurrentCount = 0;
    q->MaximumCount = count ? count : KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS);
}

/* Reports a queue that was not initialized, and initializes it. */
static void queue_check(const char *routine, PKQUEUE q)
{
    if (!dispatch_check(routine, &q->Header))
        kqueue_init(q, 0);
}

/* ---- Routines ---------------------------------------------------------------------------------------------------- */

VOID KeInitializeQueue(PRKQUEUE Queue, ULONG Count)
{
    irql_check_max("KeInitializeQueue", DISPATCH_LEVEL);
    inuse_check_init("KeInitializeQueue", Queue, sizeof *Queue);
    kqueue_init(Queue, Count);
}

LONG KeReadStateQueue(PRKQUEUE Queue)
{
    return dispatch_state(&Queue->Header);
}

static LONG queue_insert(const char *routine, PKQUEUE q, PLIST_ENTRY entry, bool first)
{
    struct wake_list wake = { NULL };
    LONG before;

    irql_check_max(routine, DISPATCH_LEVEL);
    queue_check(routine, q);
    dispatch_lock();
    before = dispatch_state(&q->Header);
    link_insert_before(first ? q->EntryListHead.Flink : &q->EntryListHead, entry);
    dispatch_set_state(&q->Header, before + 1);
    queue_pass_entries(q, &wake);
    dispatch_unlock(&wake);
    return before;
}

LONG KeInsertQueue(PRKQUEUE Queue, PLIST_ENTRY Entry)
{
    return queue_insert("KeInsertQueue", Queue, Entry, false);
}

LONG KeInsertHeadQueue(PRKQUEUE Queue, PLIST_ENTRY Entry)
{
    return queue_insert("KeInsertHeadQueue", Queue, Entry, true);
}

/*
 * Returns true if the calling thread `t` may become a member of the queue from which it removes an entry. Returns false
 * in an ordinary DPC or a completion callback. The driver must not wait there, and thread_mark_check, which would
 * remove the thread from the queue, does not run after every completion callback.
 */
static bool queue_can_join(const struct kernel_thread *t)
{
    return t->kind != THREAD_OTHER || t->irql < DISPATCH_LEVEL;
}

/*
 * Removes up to `room` entries for the calling thread. Waits if there is no entry, or if MaximumCount other threads of
 * the queue run. Returns the number of entries, or 0 and the reason in *status. Requires the lock and releases it.
 */
static ULONG queue_remove_or_wait(PKQUEUE q, struct kernel_thread *t, const LARGE_INTEGER *timeout,
                                  PLIST_ENTRY *entries, ULONG room, NTSTATUS *status, struct wake_list *wake)
{
    ULONG n = 0, others = q->CurrentCount - (t->queue == q);

    while (n < room && others < q->MaximumCount && !link_empty(&q->EntryListHead))
        entries[n++] = queue_pop(q);
    if (n || (timeout && timeout->QuadPart == 0)) {
        dispatch_unlock(wake);
        *status = STATUS_TIMEOUT;
        return n;
    }
    *status = dispatch_wait_in_queue(t, q, timeout, wake);
    if (*status == STATUS_SUCCESS)
        entries[n++] = t->queue_entry;
    return n;
}

static ULONG queue_remove(const char *routine, PKQUEUE q, PLARGE_INTEGER timeout, PLIST_ENTRY *entries, ULONG room,
                          const void *by)
{
    struct kernel_thread *t = thread_self();
    struct wake_list wake = { NULL };
    NTSTATUS status = STATUS_ABANDONED;
    ULONG n = 0;

    dispatch_check_wait(routine, timeout);
    queue_check(routine, q);
    t->wait_by = stack_intern(by);
    dispatch_lock();
    t->queue_by = t->wait_by;
    if (queue_is_run_down(q)) {
        dispatch_unlock(NULL);
    } else {
        if (t->queue != q && queue_can_join(t))
            queue_add_thread(q, t, &wake);
        n = queue_remove_or_wait(q, t, timeout, entries, room, &status, &wake);
    }
    if (!n)
        entries[n++] = (PLIST_ENTRY)(LONG_PTR)status;
    return n;
}

PLIST_ENTRY KeRemoveQueue(PRKQUEUE Queue, KPROCESSOR_MODE WaitMode, PLARGE_INTEGER Timeout)
{
    PLIST_ENTRY entry;

    UNREFERENCED_PARAMETER(WaitMode);
    (void)queue_remove("KeRemoveQueue", Queue, Timeout, &entry, 1, __builtin_return_address(0));
    return entry;
}

ULONG KeRemoveQueueEx(PRKQUEUE Queue, KPROCESSOR_MODE WaitMode, BOOLEAN Alertable, PLARGE_INTEGER Timeout,
                      PLIST_ENTRY *EntryArray, ULONG Count)
{
    UNREFERENCED_PARAMETER(WaitMode);
    UNREFERENCED_PARAMETER(Alertable);
    return !Count ? 0 : queue_remove("KeRemoveQueueEx", Queue, Timeout, EntryArray, Count, __builtin_return_address(0));
}

/* Ends the membership of all threads, and the waits of those in KeRemoveQueue. */
static void queue_remove_threads(PKQUEUE q, struct wake_list *wake)
{
    struct kernel_thread *t;

    while (!link_empty(&q->ThreadListHead)) {
        t = CONTAINING_RECORD(q->ThreadListHead.Flink, struct kernel_thread, in_queue);
        link_remove(&t->in_queue);
        link_remove(&t->in_any_queue);
        t->queue = NULL;
    }
    q->CurrentCount = 0;
    while ((t = queue_find_waiter(q)))
        dispatch_end_wait(t, STATUS_ABANDONED, wake);
}

PLIST_ENTRY KeRundownQueue(PRKQUEUE Queue)
{
    struct wake_list wake = { NULL };
    PLIST_ENTRY first = NULL;

    irql_check_max("KeRundownQueue", DISPATCH_LEVEL);
    queue_check("KeRundownQueue", Queue);
    dispatch_lock();
    if (!link_empty(&Queue->EntryListHead)) {
        first = Queue->EntryListHead.Flink;
        link_remove(&Queue->EntryListHead);
    }
    dispatch_set_state(&Queue->Header, 0);
    Queue->Header.Reserved[0] = RUN_DOWN;
    queue_remove_threads(Queue, &wake);
    dispatch_unlock(&wake);
    return first;
}
