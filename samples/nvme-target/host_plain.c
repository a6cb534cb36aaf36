/* SPDX-License-Identifier: MIT */
/* Implements the functions of host.h in a Linux process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Locks and threads ------------------------------------------------------------------------------------------- */

void host_lock_init(struct host_lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
}

void host_lock_fini(struct host_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

void host_lock_acquire(struct host_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

void host_lock_release(struct host_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

void host_semaphore_init(struct host_semaphore *semaphore)
{
    sem_init(&semaphore->semaphore, 0, 0);
}

void host_semaphore_fini(struct host_semaphore *semaphore)
{
    sem_destroy(&semaphore->semaphore);
}

void host_semaphore_post(struct host_semaphore *semaphore)
{
    sem_post(&semaphore->semaphore);
}

void host_semaphore_wait(struct host_semaphore *semaphore)
{
    while (sem_wait(&semaphore->semaphore)) /* repeats the wait if a signal has interrupted it */
        ;
}

bool host_semaphore_wait_ms(struct host_semaphore *semaphore, uint32_t ms)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    return sem_clockwait(&semaphore->semaphore, CLOCK_MONOTONIC, &end) == 0; /* a signal may end the wait early */
}

static void *thread_run(void *context)
{
    struct host_thread *thread = context;

    thread->routine(thread->context);
    return NULL;
}

bool host_thread_start(struct host_thread *thread, void (*routine)(void *context), void *context)
{
    thread->routine = routine;
    thread->context = context;
    return pthread_create(&thread->thread, NULL, thread_run, thread) == 0;
}

void host_thread_join(struct host_thread *thread)
{
    pthread_join(thread->thread, NULL);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

void *host_alloc(size_t size)
{
    return calloc(1, size);
}

void host_free(void *memory)
{
    free(memory);
}

bool host_pages_alloc(struct host_pages *pages, uint32_t size)
{
    size_t rounded = ((size_t)size + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;

    memset(pages, 0, sizeof *pages);
    pages->data = aligned_alloc(PAGE_SIZE, rounded);
    if (!pages->data)
        return false;
    memset(pages->data, 0, rounded);
    pages->size = size;
    pages->mdl = &pages->mdl_memory;
    ondk_mdl_init(pages->mdl, pages->data, size, NULL);
    return true;
}

void host_pages_free(struct host_pages *pages)
{
    free(pages->data);
    memset(pages, 0, sizeof *pages);
}

/* ---- Time and messages ------------------------------------------------------------------------------------------- */

uint64_t host_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t host_time_of_day(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void host_vlog(const char *format, va_list list)
{
    char line[512];

    vsnprintf(line, sizeof line, format, list);
    fprintf(stderr, "nvme-target: %s\n", line);
}

void host_log(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    host_vlog(format, list);
    va_end(list);
}

void host_log_status(const char *what, NTSTATUS status)
{
    host_log("%s: %s\n  %s", what, ondk_status_name(status), ondk_status_advice(status));
}

/* ---- The adapter ------------------------------------------------------------------------------------------------- */

NTSTATUS host_adapter_open(uint32_t if_index, NDK_ADAPTER **adapter)
{
    NDK_VERSION version = { 1, 2 };

    *adapter = NULL;
    return ondk_open_adapter(version, if_index, adapter);
}

void host_adapter_close(NDK_ADAPTER *adapter)
{
    ondk_close_adapter(adapter);
}
