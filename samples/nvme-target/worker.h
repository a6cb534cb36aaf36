/* SPDX-License-Identifier: MIT */
/*
 * Threads that do what may wait: disk operations, and the opening and closing of queues. A piece of work is in the list
 * at most once. When its routine is called, the workers do not access it any more, so the routine may free or queue it.
 */
#ifndef NVME_TARGET_WORKER_H
#define NVME_TARGET_WORKER_H

#include "host.h"

enum { WORKER_MAX_THREADS = 64 };

struct worker_work {
    struct worker_work *next;
    void (*routine)(void *context);
    void *context;
};

struct worker_pool {
    struct host_lock lock; /* guards the list */
    struct worker_work *first, **end;
    struct host_semaphore wake; /* posted once for each piece of work, and once for each thread at the end */
    struct host_thread threads[WORKER_MAX_THREADS];
    uint32_t n_threads;
};

/* Starts the threads. Returns false if the system has no resources; then nothing needs a stop. Waits. */
bool worker_pool_start(struct worker_pool *pool, uint32_t n_threads);
/* Waits until the threads have done all queued work and have ended. */
void worker_pool_stop(struct worker_pool *pool);
/* Queues work for one of the threads, which call the routines in the order of queueing. */
void worker_queue(struct worker_pool *pool, struct worker_work *work, void (*routine)(void *context), void *context);

#endif
