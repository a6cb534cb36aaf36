/* SPDX-License-Identifier: MIT */
/*
 * System worker threads. As many as there are processors (two at least) are started as they are needed. If then nothing
 * is taken from the queue for a while, because every one of them blocks, one more is started, and so on.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "wdm.h"

#include "wdk/link.h"
#include "wdk/live.h"
#include "wdk/processor.h"
#include "wdk/thread.h"
#include "wdk/worker.h"

enum { WORKERS_MOST = 64, STUCK_MS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, behind = PTHREAD_COND_INITIALIZER;
static LIST_ENTRY items = { &items, &items };
static unsigned waiting, idle, workers, taken; /* items in the queue, threads without one, threads, items so far */
static bool watched;                           /* the thread that looks for blocked workers is there */
static _Atomic(const void *) running[WORKERS_MOST];
static _Thread_local _Atomic(const void *) *running_here;

void worker_runs(const void *routine)
{
    if (running_here)
        atomic_store_explicit(running_here, routine, memory_order_relaxed);
}

static WORK_QUEUE_ITEM *take(void)
{
    WORK_QUEUE_ITEM *item = CONTAINING_RECORD(items.Flink, WORK_QUEUE_ITEM, List);

    link_remove(&item->List);
    item->List.Flink = NULL;
    waiting--;
    taken++;
    return item;
}

/* The item may be gone as soon as its routine runs. */
static void call(WORK_QUEUE_ITEM *item)
{
    PWORKER_THREAD_ROUTINE routine = item->WorkerRoutine;
    struct thread_mark mark = thread_mark_take();

    worker_runs((const void *)(uintptr_t)routine);
    routine(item->Parameter);
    worker_runs(NULL);
    thread_mark_check(&mark, "work item", (const void *)(uintptr_t)routine);
}

static void *work(void *argument)
{
    running_here = argument;
    (void)thread_self();
    pthread_mutex_lock(&lock);
    for (;;) {
        WORK_QUEUE_ITEM *item;

        idle++;
        while (link_empty(&items))
            pthread_cond_wait(&filled, &lock);
        idle--;
        item = take();
        pthread_mutex_unlock(&lock);
        call(item);
        pthread_mutex_lock(&lock);
    }
    return argument;
}

/* Without memory for one more the others have to do. */
static void start_thread(void *(*routine)(void *), void *argument, unsigned *count)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, routine, argument))
        return;
    pthread_detach(thread);
    ++*count;
}

static void start_worker(void)
{
    if (workers < WORKERS_MOST)
        start_thread(work, &running[workers], &workers);
}

static void *watch(void *argument)
{
    static const struct timespec while_ = { 0, STUCK_MS * 1000000 };

    pthread_mutex_lock(&lock);
    for (;;) {
        unsigned before = taken;

        while (link_empty(&items))
            pthread_cond_wait(&behind, &lock);
        before = taken;
        pthread_mutex_unlock(&lock);
        nanosleep(&while_, NULL);
        pthread_mutex_lock(&lock);
        if (!link_empty(&items) && taken == before)
            start_worker();
    }
    return argument;
}

static void watch_over(void)
{
    unsigned count = 0;

    if (watched) {
        pthread_cond_signal(&behind);
        return;
    }
    start_thread(watch, NULL, &count);
    watched = count > 0;
}

/* Under the lock: an item more than there are threads without one. */
static void help(void)
{
    unsigned enough = processor_count() < 2 ? 2 : processor_count();

    if (workers < enough && workers < WORKERS_MOST)
        start_worker();
    else
        watch_over();
}

bool worker_queue(WORK_QUEUE_ITEM *item)
{
    bool free_;

    pthread_mutex_lock(&lock);
    free_ = item->List.Flink == NULL;
    if (free_) {
        link_before(&items, &item->List);
        if (++waiting > idle)
            help();
        else
            pthread_cond_signal(&filled);
    }
    pthread_mutex_unlock(&lock);
    return free_;
}

bool worker_remove(WORK_QUEUE_ITEM *item)
{
    bool was;

    pthread_mutex_lock(&lock);
    was = item->List.Flink != NULL;
    if (was) {
        link_remove(&item->List);
        item->List.Flink = NULL;
        waiting--;
    }
    pthread_mutex_unlock(&lock);
    return was;
}

bool worker_is_queued(const WORK_QUEUE_ITEM *item)
{
    bool is;

    pthread_mutex_lock(&lock);
    is = item->List.Flink != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

/* The stack names the routine itself, which is the driver's; a printed frame is one less, as for return addresses. */
static void visit_routine(live_visit *visit, void *context, const void *thing, const char *what, const void *routine)
{
    struct stack by = { { (void *)((uintptr_t)routine + 1) }, 1 };

    visit(context, LIVE_WORK_ITEM, thing, what, &by);
}

static void walk(live_visit *visit, void *context)
{
    pthread_mutex_lock(&lock);
    for (LIST_ENTRY *e = items.Flink; e != &items; e = e->Flink) {
        WORK_QUEUE_ITEM *item = CONTAINING_RECORD(e, WORK_QUEUE_ITEM, List);

        visit_routine(visit, context, item, "queued", worker_routine(item));
    }
    for (unsigned i = 0; i < workers; i++) {
        const void *routine = atomic_load_explicit(&running[i], memory_order_relaxed);

        if (routine)
            visit_routine(visit, context, routine, "routine that runs", routine);
    }
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void start(void)
{
    live_add_source(walk);
}
