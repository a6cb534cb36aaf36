/* SPDX-License-Identifier: MIT */
/*
 * Implements the system worker threads. If more items are queued than workers are idle, a worker is started, up to one
 * worker for each processor (two if there is only one processor). If no worker removes an item from the queue for 2 ms,
 * all workers may be blocked. A watchdog then starts another worker.
 */
#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <time.h>

#include "wdm.h"

#include "base/schedule.h"
#include "wdk/common/link.h"
#include "wdk/common/live.h"
#include "wdk/ex/worker.h"
#include "wdk/ke/processor.h"
#include "wdk/ke/thread.h"

enum { MAX_WORKERS = 64, BLOCKED_MS = 2, MAX_OWN_ROUTINES = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t item_queued = PTHREAD_COND_INITIALIZER, workers_busy = PTHREAD_COND_INITIALIZER;
static pthread_cond_t io_returned = PTHREAD_COND_INITIALIZER;
static LIST_ENTRY items = { &items, &items };
static unsigned queued, popped; /* number of items in the queue; number of items that workers have removed */
static unsigned workers, idle;  /* number of worker threads; number of worker threads that wait for an item */
static bool has_watchdog;
static _Atomic(const void *) running[MAX_WORKERS]; /* the routine that each worker runs, or NULL */
static const void *running_io[MAX_WORKERS]; /* like `running`, but only routines of Io items; guarded by `lock` */

static PWORKER_THREAD_ROUTINE own_routines[MAX_OWN_ROUTINES];

/* Returns true if worker_add_own_routine has registered the routine. Requires the lock. */
static bool worker_is_own_routine(PWORKER_THREAD_ROUTINE routine)
{
    for (int i = 0; i < MAX_OWN_ROUTINES; i++)
        if (routine && own_routines[i] == routine)
            return true;
    return false;
}

void worker_add_own_routine(PWORKER_THREAD_ROUTINE routine)
{
    int i = 0;

    pthread_mutex_lock(&lock);
    while (i < MAX_OWN_ROUTINES && own_routines[i] && own_routines[i] != routine)
        i++;
    if (i == MAX_OWN_ROUTINES)
        abort();
    own_routines[i] = routine;
    pthread_mutex_unlock(&lock);
}

static void worker_unlink_item(WORK_QUEUE_ITEM *item)
{
    link_remove(&item->List);
    item->List.Flink = NULL;
    queued--;
}

/*
 * Removes the first item from the queue and returns its call. Stores the routine in *runs before the lock is released.
 * So the unload of the driver finds either the item in the queue or the routine in *runs. Requires the lock.
 */
static struct worker_call worker_pop_item(_Atomic(const void *) *runs)
{
    WORK_QUEUE_ITEM *item = CONTAINING_RECORD(items.Flink, WORK_QUEUE_ITEM, List);
    struct worker_call c = worker_call_of(item);

    worker_unlink_item(item);
    popped++;
    atomic_store_explicit(runs, worker_is_own_routine(c.routine) ? NULL : worker_call_routine(&c),
                          memory_order_relaxed);
    running_io[runs - running] = c.routine ? NULL : worker_call_routine(&c);
    return c;
}

static void worker_run_item(const struct worker_call *c)
{
    struct thread_mark mark = thread_mark_get();

    schedule_point();
    worker_call_run(c);
    thread_mark_check(&mark, "work item", worker_call_routine(c));
}

static void *worker_main(void *argument)
{
    _Atomic(const void *) *runs = argument;

    processor_unbind();
    thread_self()->kind = THREAD_WORKER;
    pthread_mutex_lock(&lock);
    for (;;) {
        struct worker_call c;

        idle++;
        while (link_empty(&items))
            pthread_cond_wait(&item_queued, &lock);
        idle--;
        c = worker_pop_item(runs);
        pthread_mutex_unlock(&lock);
        worker_run_item(&c);
        atomic_store_explicit(runs, NULL, memory_order_relaxed);
        pthread_mutex_lock(&lock);
        running_io[runs - running] = NULL;
        pthread_cond_broadcast(&io_returned);
    }
    return argument;
}

/*
 * Starts a thread and increments *count. If no thread can be created, does nothing, and the items wait for the other
 * workers.
 */
static void worker_start_thread(void *(*routine)(void *), void *argument, unsigned *count)
{
    pthread_t thread;

    if (thread_create(&thread, NULL, routine, argument))
        return;
    pthread_detach(thread);
    ++*count;
}

static void worker_start(void)
{
    if (workers < MAX_WORKERS)
        worker_start_thread(worker_main, &running[workers], &workers);
}

static void *watchdog_main(void *argument)
{
    static const struct timespec interval = { 0, BLOCKED_MS * 1000000 };

    pthread_mutex_lock(&lock);
    for (;;) {
        unsigned before = popped;

        while (link_empty(&items))
            pthread_cond_wait(&workers_busy, &lock);
        before = popped;
        pthread_mutex_unlock(&lock);
        nanosleep(&interval, NULL);
        pthread_mutex_lock(&lock);
        if (!link_empty(&items) && popped == before)
            worker_start();
    }
    return argument;
}

static void watchdog_wake(void)
{
    unsigned count = 0;

    if (has_watchdog) {
        pthread_cond_signal(&workers_busy);
        return;
    }
    worker_start_thread(watchdog_main, NULL, &count);
    has_watchdog = count > 0;
}

/*
 * Starts another worker, or wakes the watchdog if there are enough workers. Requires the lock. Called if the queue has
 * more items than there are idle workers.
 */
static void worker_add(void)
{
    unsigned enough = processor_count() < 2 ? 2 : processor_count();

    if (workers < enough && workers < MAX_WORKERS)
        worker_start();
    else
        watchdog_wake();
}

bool worker_queue(WORK_QUEUE_ITEM *item, void (*prepare)(void *context), void *context)
{
    bool was_free;

    pthread_mutex_lock(&lock);
    was_free = item->List.Flink == NULL;
    if (was_free) {
        if (prepare)
            prepare(context);
        link_insert_before(&items, &item->List);
        if (++queued > idle)
            worker_add();
        else
            pthread_cond_signal(&item_queued);
    }
    pthread_mutex_unlock(&lock);
    return was_free;
}

bool worker_remove(WORK_QUEUE_ITEM *item)
{
    bool was_queued;

    pthread_mutex_lock(&lock);
    was_queued = item->List.Flink != NULL;
    if (was_queued)
        worker_unlink_item(item);
    pthread_mutex_unlock(&lock);
    return was_queued;
}

/* Returns true if a worker runs an Io work item whose routine is in [start, start + size). Requires the lock. */
static bool worker_io_runs_in(const char *start, uint64_t size)
{
    for (unsigned i = 0; i < workers; i++)
        if (running_io[i] && (uintptr_t)running_io[i] - (uintptr_t)start < size)
            return true;
    return false;
}

void worker_wait_io(const char *start, uint64_t size)
{
    pthread_mutex_lock(&lock);
    while (worker_io_runs_in(start, size))
        pthread_cond_wait(&io_returned, &lock);
    pthread_mutex_unlock(&lock);
}

/*
 * Passes the item to `visit` with a stack of one frame, the routine. The frame is the routine's address plus 1, because
 * stack_print subtracts 1 from each frame as if it were a return address.
 */
static void worker_report_routine(live_on_entry *visit, void *context, const void *thing, const char *what,
                                  const void *routine)
{
    struct stack by = { .frames = { (void *)((uintptr_t)routine + 1) }, .depth = 1 };

    visit(context, LIVE_WORK_ITEM, thing, what, &by);
}

static void worker_walk_items(live_on_entry *visit, void *context)
{
    pthread_mutex_lock(&lock);
    for (LIST_ENTRY *e = items.Flink; e != &items; e = e->Flink) {
        WORK_QUEUE_ITEM *item = CONTAINING_RECORD(e, WORK_QUEUE_ITEM, List);
        struct worker_call c = worker_call_of(item);

        worker_report_routine(visit, context, item, "queued", worker_call_routine(&c));
    }
    for (unsigned i = 0; i < workers; i++) {
        const void *routine = atomic_load_explicit(&running[i], memory_order_relaxed);

        if (routine)
            worker_report_routine(visit, context, routine, "routine that runs", routine);
    }
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void worker_register(void)
{
    live_add_source(worker_walk_items);
}
