/* SPDX-License-Identifier: MIT */
/*
 * Implements deferred procedure calls. Each processor has a queue for ordinary DPCs and another queue for threaded
 * DPCs. Each queue has a thread, which is bound to the processor and starts with the queue's first DPC. The
 * dispatcher's lock protects the queues.
 */
#include <pthread.h>
#include <stdlib.h>

#include "wdm.h"

#include "base/schedule.h"
#include "verify/stack_intern.h"
#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/ke/dpc.h"
#include "wdk/ke/processor.h"
#include "wdk/ke/thread.h"

enum { ORDINARY, THREADED, KINDS };

struct dpc_queue {
    bool used, started, runs;
    LIST_ENTRY dpcs;
    KEVENT filled;
};

static struct dpc_queue queues[MAX_PROCESSORS][KINDS];
static atomic_bool start_wanted;

static struct dpc_queue *dpc_queue_of(const KDPC *dpc)
{
    uint32_t processor = dpc->Number ? dpc->Number - 1u : processor_now();

    return &queues[processor][dpc->Type];
}

static void dpc_queue_init(struct dpc_queue *q)
{
    link_init(&q->dpcs);
    dispatch_init(&q->filled.Header, OBJECT_EVENT_SYNCHRONIZATION, 0);
    q->used = true;
    atomic_store(&start_wanted, true);
}

bool dpc_insert(KDPC *dpc, PVOID argument1, PVOID argument2, const struct stack *by, struct wake_list *wake)
{
    struct dpc_queue *q = dpc_queue_of(dpc);

    if (dpc->DpcData)
        return false;
    if (!q->used)
        dpc_queue_init(q);
    dpc->DpcData = q;
    dpc->SystemArgument1 = argument1;
    dpc->SystemArgument2 = argument2;
    dpc->QueuedBy = by;
    link_insert_before(dpc->Importance == HighImportance ? q->dpcs.Flink : &q->dpcs, &dpc->DpcListEntry);
    dispatch_set_state(&q->filled.Header, 1);
    dispatch_satisfy(&q->filled.Header, wake);
    return true;
}

/*
 * Removes the first DPC from the queue, and sets *dpc to its address and *copy to its contents. Returns false if the
 * queue is empty. The caller must read only *copy, because the driver may queue the DPC again or free it at once.
 */
static bool dpc_queue_pop(struct dpc_queue *q, KDPC **dpc, KDPC *copy)
{
    bool any;

    dispatch_lock();
    any = !link_empty(&q->dpcs);
    if (any) {
        *dpc = CONTAINING_RECORD(q->dpcs.Flink, KDPC, DpcListEntry);
        link_remove(&(*dpc)->DpcListEntry);
        *copy = **dpc;
        (*dpc)->DpcData = NULL;
    }
    q->runs = any;
    dispatch_unlock(NULL);
    return any;
}

static void *dpc_thread_run(void *argument)
{
    struct dpc_queue *q = argument;
    ptrdiff_t index = q - &queues[0][0];
    uint32_t processor = (uint32_t)(index / KINDS);
    KDPC *dpc, copy;

    processor_bind(processor / 64, 1ULL << processor % 64);
    (void)irql_set(index % KINDS == THREADED ? PASSIVE_LEVEL : DISPATCH_LEVEL);
    for (;;) {
        (void)dispatch_wait(&q->filled, NULL);
        while (dpc_queue_pop(q, &dpc, &copy)) {
            struct thread_mark mark = thread_mark_get();

            schedule_point();
            copy.DeferredRoutine(dpc, copy.DeferredContext, copy.SystemArgument1, copy.SystemArgument2);
            thread_mark_check(&mark, "DPC", (const void *)(uintptr_t)copy.DeferredRoutine);
        }
    }
    return NULL;
}

static void dpc_thread_start(struct dpc_queue *q)
{
    pthread_t thread;

    if (thread_create(&thread, NULL, dpc_thread_run, q))
        abort(); /* without the thread, queued DPCs would not run */
    pthread_detach(thread);
}

void dpc_start_threads(void)
{
    if (!atomic_load_explicit(&start_wanted, memory_order_relaxed) || !atomic_exchange(&start_wanted, false))
        return;
    for (uint32_t i = 0; i < processor_count() * KINDS; i++) {
        struct dpc_queue *q = &queues[i / KINDS][i % KINDS];
        bool start;

        dispatch_lock();
        start = q->used && !q->started;
        q->started = q->used;
        dispatch_unlock(NULL);
        if (start)
            dpc_thread_start(q);
    }
}

static void dpc_queue_walk(struct dpc_queue *q, live_on_entry *visit, void *context)
{
    LIST_ENTRY *next;

    for (LIST_ENTRY *e = q->dpcs.Flink; q->used && e != &q->dpcs; e = next) {
        KDPC *dpc = CONTAINING_RECORD(e, KDPC, DpcListEntry);

        next = e->Flink;
        if (dpc->QueuedBy) /* QueuedBy is NULL for the DPC of dpc_queue_flush */
            visit(context, LIVE_DPC, dpc, "KDPC", dpc->QueuedBy);
    }
}

static void dpc_walk_all(live_on_entry *visit, void *context)
{
    dispatch_lock();
    for (uint32_t i = 0; i < processor_count() * KINDS; i++)
        dpc_queue_walk(&queues[i / KINDS][i % KINDS], visit, context);
    dispatch_unlock(NULL);
}

__attribute__((constructor)) static void dpc_register(void)
{
    live_add_source(dpc_walk_all);
}

/*
 * Removes a queued DPC before it is initialized again, because the initialization would corrupt the queue. Called only
 * while checks are on.
 */
static void dpc_remove_if_same(void *context, enum live_kind kind, const void *thing, const char *what,
                               const struct stack *made)
{
    KDPC **wanted = context;

    (void)what;
    (void)made;
    if (kind == LIVE_DPC && thing == *wanted)
        link_remove(&(*wanted)->DpcListEntry);
}

static void dpc_init(const char *routine, KDPC *dpc, UCHAR type, PKDEFERRED_ROUTINE deferred, PVOID context)
{
    inuse_check_init(routine, dpc, sizeof *dpc);
    if (check_on())
        dpc_walk_all(dpc_remove_if_same, &dpc);
    *dpc = (KDPC){
        .Type = type, .Importance = MediumImportance, .DeferredRoutine = deferred, .DeferredContext = context
    };
    link_init(&dpc->DpcListEntry);
}

VOID KeInitializeDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine, PVOID DeferredContext)
{
    dpc_init("KeInitializeDpc", Dpc, ORDINARY, DeferredRoutine, DeferredContext);
}

VOID KeInitializeThreadedDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine, PVOID DeferredContext)
{
    dpc_init("KeInitializeThreadedDpc", Dpc, THREADED, DeferredRoutine, DeferredContext);
}

BOOLEAN KeInsertQueueDpc(PRKDPC Dpc, PVOID SystemArgument1, PVOID SystemArgument2)
{
    const struct stack *by = stack_intern(__builtin_return_address(0));
    struct wake_list wake = { NULL };
    bool inserted;

    if (check_on() && !Dpc->DeferredRoutine) {
        check_failed(CHECK_OBJECT_NOT_INITIALIZED, "KeInsertQueueDpc", (uintptr_t)Dpc, 0, 0, 0, "%p", (void *)Dpc);
        return FALSE;
    }
    dispatch_lock();
    inserted = dpc_insert(Dpc, SystemArgument1, SystemArgument2, by, &wake);
    dispatch_unlock(&wake);
    dpc_start_threads();
    return inserted;
}

BOOLEAN KeRemoveQueueDpc(PRKDPC Dpc)
{
    bool was;

    dispatch_lock();
    was = Dpc->DpcData != NULL;
    if (was) {
        link_remove(&Dpc->DpcListEntry);
        Dpc->DpcData = NULL;
    }
    dispatch_unlock(NULL);
    return was;
}

VOID KeSetImportanceDpc(PRKDPC Dpc, KDPC_IMPORTANCE Importance)
{
    Dpc->Importance = (UCHAR)Importance;
}

VOID KeSetTargetProcessorDpc(PRKDPC Dpc, CCHAR Number)
{
    if (Number >= 0 && (uint32_t)Number < processor_count())
        Dpc->Number = (USHORT)(Number + 1);
}

NTSTATUS KeSetTargetProcessorDpcEx(PKDPC Dpc, PPROCESSOR_NUMBER ProcNumber)
{
    ULONG index = KeGetProcessorIndexFromNumber(ProcNumber);

    if (index == INVALID_PROCESSOR_INDEX || ProcNumber->Reserved)
        return STATUS_INVALID_PARAMETER;
    Dpc->Number = (USHORT)(index + 1);
    return STATUS_SUCCESS;
}

static VOID dpc_signal_flushed(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    KeSetEvent(DeferredContext, IO_NO_INCREMENT, FALSE);
}

/*
 * Waits until all DPCs that are now in the queue have run: queues another DPC at the end, and waits until that DPC has
 * run.
 */
static void dpc_queue_flush(uint32_t processor, UCHAR type)
{
    struct wake_list wake = { NULL };
    struct dpc_queue *q = &queues[processor][type];
    KEVENT done;
    KDPC last;
    bool busy;

    dispatch_lock();
    busy = q->used && (q->runs || !link_empty(&q->dpcs));
    dispatch_unlock(NULL);
    if (!busy)
        return;
    dispatch_init(&done.Header, OBJECT_EVENT_NOTIFICATION, 0);
    dpc_init("KeFlushQueuedDpcs", &last, type, dpc_signal_flushed, &done);
    last.Number = (USHORT)(processor + 1);
    dispatch_lock();
    (void)dpc_insert(&last, NULL, NULL, NULL, &wake);
    dispatch_unlock(&wake);
    (void)dispatch_wait(&done, NULL);
}

void dpc_flush(void)
{
    for (uint32_t i = 0; i < processor_count() * KINDS; i++)
        dpc_queue_flush(i / KINDS, (UCHAR)(i % KINDS));
}

VOID KeFlushQueuedDpcs(VOID)
{
    irql_check_max("KeFlushQueuedDpcs", PASSIVE_LEVEL);
    dpc_flush();
}
