/* SPDX-License-Identifier: MIT */
/* Threads as the kernel sees them: see thread.h. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ndkpi.h"
#include "wdm.h"

#include "base/library_thread.h"
#include "openndk/adapter.h"
#include "verify/host.h"
#include "verify/stack_intern.h"
#include "wdk/common/live.h"
#include "wdk/ke/queue.h"
#include "wdk/ke/thread.h"
#include "wdk/ke/wait.h"

_Thread_local struct kernel_thread *thread_current __attribute__((tls_model("initial-exec")));

static LIST_ENTRY threads = { &threads, &threads }; /* guarded by the dispatcher's lock */

static const struct thread_objects *thread_objects;

void thread_set_objects(const struct thread_objects *objects)
{
    thread_objects = objects;
}

static pthread_key_t leaving;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/*
 * Runs when a thread ends, with no driver routine on its stack. Reports the locks that the thread holds, abandons its
 * mutexes, and ends the waits for the thread. The thread's object remains while it has references.
 */
static void thread_exit(void *self)
{
    struct kernel_thread *t = self;
    const struct thread_mark nothing = { .irql = t->irql };

    thread_current = t;
    thread_mark_check(&nothing, "thread", (const void *)(uintptr_t)t->start);
    if (t->system)
        (void)live_remove(LIVE_THREAD, t);
    dispatch_thread_end(t);
    thread_current = NULL;
    thread_objects->release(t);
}

static void thread_create_key(void)
{
    if (pthread_key_create(&leaving, thread_exit))
        abort();
}

int thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *argument)
{
    return library_thread_create(thread, attr, routine, argument);
}

void thread_init(struct kernel_thread *t)
{
    dispatch_init(&t->header, OBJECT_THREAD, 0);
    link_init(&t->waiting);
    link_init(&t->mutants);
    link_init(&t->in_queue);
    link_init(&t->in_any_queue);
    t->priority = 8;
    dispatch_lock();
    link_insert_before(&threads, &t->all);
    dispatch_unlock(NULL);
}

void thread_fini(struct kernel_thread *t)
{
    dispatch_lock();
    link_remove(&t->all);
    dispatch_unlock(NULL);
}

static void thread_walk_locks(struct kernel_thread *t, live_on_entry *visit, void *context)
{
    for (unsigned i = 0; i < THREAD_MAX_LOCKS; i++) {
        const void *lock = atomic_load_explicit(&t->held[i].lock, memory_order_acquire);
        const struct lock_kind *kind = atomic_load_explicit(&t->held[i].kind, memory_order_relaxed);

        if (!lock)
            return;
        if (kind->is_released)
            continue; /* only t itself can check whether it still has this lock */
        visit(context, LIVE_LOCK, lock, kind->name, atomic_load_explicit(&t->held[i].by, memory_order_relaxed));
    }
}

static void thread_walk_all_locks(live_on_entry *visit, void *context)
{
    dispatch_lock();
    for (LIST_ENTRY *e = threads.Flink; e != &threads; e = e->Flink)
        thread_walk_locks(CONTAINING_RECORD(e, struct kernel_thread, all), visit, context);
    dispatch_unlock(NULL);
}

__attribute__((constructor)) static void thread_register_locks(void)
{
    live_add_source(thread_walk_all_locks);
}

void thread_begin(struct kernel_thread *t)
{
    pthread_once(&once, thread_create_key);
    if (pthread_setspecific(leaving, t))
        abort();
    thread_current = t;
    atomic_store(&t->id, (unsigned)syscall(SYS_gettid));
}

struct kernel_thread *thread_adopt(void)
{
    struct kernel_thread *t = thread_objects->create();

    if (!t)
        abort(); /* out of memory, and no routine can work without the thread's state */
    t->irql = ondk_on_provider_thread() ? DISPATCH_LEVEL : PASSIVE_LEVEL;
    thread_begin(t);
    return t;
}

void irql_report(const char *routine, KIRQL now, KIRQL min, KIRQL max)
{
    if (now > max)
        verify_report_irql(routine, now, max);
    else
        check_failed(CHECK_IRQL_TOO_LOW, routine, now, min, 0, 0, "IRQL is %d, at least %d is needed", now, min);
}

void thread_add_lock(const void *lock, const struct lock_kind *kind, const void *by)
{
    struct kernel_thread *t = thread_self();
    struct held_lock *h = &t->held[t->held_count];

    if (t->held_count == THREAD_MAX_LOCKS) {
        t->unwatched++;
        return;
    }
    t->held_count++;
    atomic_store_explicit(&h->kind, kind, memory_order_relaxed);
    atomic_store_explicit(&h->by, stack_intern(by), memory_order_relaxed);
    atomic_store_explicit(&h->lock, lock, memory_order_release);
}

static void held_lock_copy(struct held_lock *to, struct held_lock *from)
{
    atomic_store_explicit(&to->kind, atomic_load_explicit(&from->kind, memory_order_relaxed), memory_order_relaxed);
    atomic_store_explicit(&to->by, atomic_load_explicit(&from->by, memory_order_relaxed), memory_order_relaxed);
    atomic_store_explicit(&to->lock, atomic_load_explicit(&from->lock, memory_order_relaxed), memory_order_release);
}

/*
 * Removes the lock from the thread's list of held locks. Begins with the newest lock, because a thread usually releases
 * the lock that it has acquired last.
 */
void thread_remove_lock(const void *lock)
{
    struct kernel_thread *t = thread_self();

    for (unsigned i = t->held_count; i-- > 0;) {
        if (atomic_load_explicit(&t->held[i].lock, memory_order_relaxed) != lock)
            continue;
        for (t->held_count--; i < t->held_count; i++)
            held_lock_copy(&t->held[i], &t->held[i + 1]);
        atomic_store_explicit(&t->held[t->held_count].lock, NULL, memory_order_relaxed);
        return;
    }
    if (t->unwatched > 0)
        t->unwatched--;
}

bool thread_has_lock(const void *lock)
{
    struct kernel_thread *t = thread_self();

    for (unsigned i = 0; i < t->held_count; i++)
        if (atomic_load_explicit(&t->held[i].lock, memory_order_relaxed) == lock)
            return true;
    return false;
}

bool thread_may_have_lock(const void *lock)
{
    return thread_self()->unwatched > 0 || thread_has_lock(lock);
}

struct thread_mark thread_mark_get(void)
{
    struct kernel_thread *t = thread_self();

    return (struct thread_mark){ t->irql, t->held_count, t->queue_joins };
}

void thread_mark_check(const struct thread_mark *mark, const char *routine, const void *called)
{
    struct kernel_thread *t = thread_self();

    while (t->held_count > mark->held) {
        struct held_lock *h = &t->held[--t->held_count];
        const void *lock = atomic_load_explicit(&h->lock, memory_order_relaxed);
        const struct lock_kind *kind = atomic_load_explicit(&h->kind, memory_order_relaxed);

        atomic_store_explicit(&h->lock, NULL, memory_order_relaxed);
        if (!check_on() || (kind->is_released && kind->is_released(lock)))
            continue;
        report_add_stack("acquired by", atomic_load_explicit(&h->by, memory_order_relaxed));
        check_failed(CHECK_LOCK_HELD_AT_END, routine, (uintptr_t)lock, (uintptr_t)called, 0, 0, "%s %p is still held",
                     kind->name, lock);
    }
    if (t->queue_joins != mark->queue_joins && t->kind != THREAD_DRIVERS)
        queue_remove_self();
    if (t->irql == mark->irql)
        return;
    if (check_on())
        check_failed(CHECK_IRQL_CHANGED, routine, (uintptr_t)called, mark->irql, t->irql, 0,
                     "called at IRQL %d, came back at %d", mark->irql, t->irql);
    t->irql = mark->irql;
}
