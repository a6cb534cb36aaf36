/* SPDX-License-Identifier: MIT */
/*
 * Runs threads for work that may wait: disk operations, and the opening and closing of queue pairs. A piece of work
 * must not be queued twice at the same time. When its routine is called, the pool no longer accesses it, so the routine
 * may free it or queue it again.
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
    struct host_semaphore wake; /* posted once for each piece of work, and at the stop once for each thread */
    struct host_thread threads[WORKER_MAX_THREADS];
    uint32_t n_threads;
};

/* Starts the threads. Returns false if resources are missing; worker_pool_stop is then not necessary. May wait. */
bool worker_pool_start(struct worker_pool *pool, uint32_t n_threads);
/* Waits until the threads have executed all queued work and have ended. May wait. */
void worker_pool_stop(struct worker_pool *pool);
/* Queues a piece of work. The threads start the pieces in the order in which they were queued. */
void worker_queue(struct worker_pool *pool, struct worker_work *work, void (*routine)(void *context), void *context);

#endif
