/* SPDX-License-Identifier: MIT */
/*
 * System worker threads. As many as there are processors (two at least) are started as they are needed. If then nothing
 * is taken from the queue for a while, because every one of them blocks, one more is started, and so on.
 */
#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <time.h>

#include "wdm.h"

#include "wdk/common/link.h"
#include "wdk/common/live.h"
#include "wdk/ex/worker.h"
#include "wdk/ke/processor.h"
#include "wdk/ke/thread.h"

enum { WORKERS_MOST = 64, STUCK_MS = 2, OWN_MOST = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, behind = PTHREAD_COND_INITIALIZER;
static pthread_cond_t io_returned = PTHREAD_COND_INITIALIZER;
static LIST_ENTRY items = { &items, &items };
static unsigned waiting, idle, workers, taken; /* items in the queue, threads without one, threads, items so far */
static bool watched;                           /* the thread that looks for blocked workers is there */
static _Atomic(const void *) running[WORKERS_MOST];
static const void *running_io[WORKERS_MOST]; /* the same of Io items alone; under the lock */

static PWORKER_THREAD_ROUTINE own[OWN_MOST];

/* Under the lock. */
static bool is_own(PWORKER_THREAD_ROUTINE routine)
{
    for (int i = 0; i < OWN_MOST; i++)
        if (routine && own[i] == routine)
            return true;
    return false;
}

void worker_add_own(PWORKER_THREAD_ROUTINE routine)
{
    int i = 0;

    pthread_mutex_lock(&lock);
    while (i < OWN_MOST && own[i] && own[i] != routine)
        i++;
    if (i == OWN_MOST)
        abort();
    own[i] = routine;
    pthread_mutex_unlock(&lock);
}

static void take_out(WORK_QUEUE_ITEM *item)
{
    link_remove(&item->List);
    item->List.Flink = NULL;
    waiting--;
}

/* What runs here is in `runs` as soon as it is no longer in the queue: who unloads the driver sees it. */
static struct worker_call take(_Atomic(const void *) *runs)
{
    WORK_QUEUE_ITEM *item = CONTAINING_RECORD(items.Flink, WORK_QUEUE_ITEM, List);
    struct worker_call c = worker_call_of(item);

    take_out(item);
    taken++;
    atomic_store_explicit(runs, is_own(c.routine) ? NULL : worker_call_routine(&c), memory_order_relaxed);
    running_io[runs - running] = c.routine ? NULL : worker_call_routine(&c);
    return c;
}

static void call(const struct worker_call *c)
{
    struct thread_mark mark = thread_mark_get();

    worker_call_run(c);
    thread_mark_check(&mark, "work item", worker_call_routine(c));
}

static void *work(void *argument)
{
    _Atomic(const void *) *runs = argument;

    processor_unbind();
    thread_self()->kind = THREAD_WORKER;
    pthread_mutex_lock(&lock);
    for (;;) {
        struct worker_call c;

        idle++;
        while (link_empty(&items))
            pthread_cond_wait(&filled, &lock);
        idle--;
        c = take(runs);
        pthread_mutex_unlock(&lock);
        call(&c);
        atomic_store_explicit(runs, NULL, memory_order_relaxed);
        pthread_mutex_lock(&lock);
        running_io[runs - running] = NULL;
        pthread_cond_broadcast(&io_returned);
    }
    return argument;
}

/* Without memory for one more the others have to do. */
static void start_thread(void *(*routine)(void *), void *argument, unsigned *count)
{
    pthread_t thread;

    if (thread_create(&thread, NULL, routine, argument))
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

bool worker_queue(WORK_QUEUE_ITEM *item, void (*prepare)(void *context), void *context)
{
    bool free_;

    pthread_mutex_lock(&lock);
    free_ = item->List.Flink == NULL;
    if (free_) {
        if (prepare)
            prepare(context);
        link_insert_before(&items, &item->List);
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
    if (was)
        take_out(item);
    pthread_mutex_unlock(&lock);
    return was;
}

/* Under the lock. */
static bool io_runs_in(const char *start, uint64_t size)
{
    for (unsigned i = 0; i < workers; i++)
        if (running_io[i] && (uintptr_t)running_io[i] - (uintptr_t)start < size)
            return true;
    return false;
}

void worker_wait_io(const char *start, uint64_t size)
{
    pthread_mutex_lock(&lock);
    while (io_runs_in(start, size))
        pthread_cond_wait(&io_returned, &lock);
    pthread_mutex_unlock(&lock);
}

/* The stack names the routine itself, which is the driver's; a printed frame is one less, as for return addresses. */
static void visit_routine(live_on_entry *visit, void *context, const void *thing, const char *what, const void *routine)
{
    struct stack by = { { (void *)((uintptr_t)routine + 1) }, 1 };

    visit(context, LIVE_WORK_ITEM, thing, what, &by);
}

static void walk(live_on_entry *visit, void *context)
{
    pthread_mutex_lock(&lock);
    for (LIST_ENTRY *e = items.Flink; e != &items; e = e->Flink) {
        WORK_QUEUE_ITEM *item = CONTAINING_RECORD(e, WORK_QUEUE_ITEM, List);
        struct worker_call c = worker_call_of(item);

        visit_routine(visit, context, item, "queued", worker_call_routine(&c));
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
