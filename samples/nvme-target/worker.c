/* SPDX-License-Identifier: MIT */
/* Runs threads for work that may wait: see worker.h. */
#include "worker.h"

void worker_queue(struct worker_pool *pool, struct worker_work *work, void (*routine)(void *context), void *context)
{
    work->next = NULL;
    work->routine = routine;
    work->context = context;
    host_lock_acquire(&pool->lock);
    *pool->end = work;
    pool->end = &work->next;
    host_lock_release(&pool->lock);
    host_semaphore_post(&pool->wake);
}

/* Removes the oldest piece of work. Returns NULL if the list is empty. */
static struct worker_work *worker_pop(struct worker_pool *pool)
{
    struct worker_work *work;

    host_lock_acquire(&pool->lock);
    work = pool->first;
    if (work) {
        pool->first = work->next;
        if (!pool->first)
            pool->end = &pool->first;
    }
    host_lock_release(&pool->lock);
    return work;
}

/*
 * Executes work until the pool stops. worker_pool_stop wakes each thread once more, when all work is queued. So a
 * thread ends when it wakes and the list is empty.
 */
static void worker_run(void *context)
{
    struct worker_pool *pool = context;
    struct worker_work *work;

    for (;;) {
        host_semaphore_wait(&pool->wake);
        work = worker_pop(pool);
        if (!work)
            return;
        work->routine(work->context);
    }
}

void worker_pool_stop(struct worker_pool *pool)
{
    for (uint32_t i = 0; i < pool->n_threads; i++)
        host_semaphore_post(&pool->wake);
    for (uint32_t i = 0; i < pool->n_threads; i++)
        host_thread_join(&pool->threads[i]);
    host_semaphore_fini(&pool->wake);
    host_lock_fini(&pool->lock);
    pool->n_threads = 0;
}

bool worker_pool_start(struct worker_pool *pool, uint32_t n_threads)
{
    host_lock_init(&pool->lock);
    host_semaphore_init(&pool->wake);
    pool->first = NULL;
    pool->end = &pool->first;
    for (pool->n_threads = 0; pool->n_threads < n_threads; pool->n_threads++) {
        if (!host_thread_start(&pool->threads[pool->n_threads], worker_run, pool)) {
            worker_pool_stop(pool);
            return false;
        }
    }
    return true;
}
