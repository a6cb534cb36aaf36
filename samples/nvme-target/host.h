/* SPDX-License-Identifier: MIT */
/*
 * Declares the functions that depend on the platform: locks, threads, memory, time, messages, and the opening of an
 * adapter. host_plain.c implements these functions for a Linux process, host_driver.c for the Windows kernel. All other
 * files that are common to both use only this header, the protocol's headers and NDK.
 *
 * A function whose comment contains "May wait" or "Waits" needs a thread that may wait: PASSIVE_LEVEL in a driver, no
 * callback of the provider in a process. All other functions may also be called in callbacks.
 */
#ifndef NVME_TARGET_HOST_H
#define NVME_TARGET_HOST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef TARGET_DRIVER

#include <ntddk.h>
#include <wsk.h>
#include <wskndk.h>

struct host_lock {
    KSPIN_LOCK lock;
    KIRQL irql; /* the owner's IRQL before it acquired the lock */
};

struct host_semaphore {
    KSEMAPHORE semaphore;
};

struct host_thread {
    PVOID object;
    void (*routine)(void *context);
    void *context;
};

struct host_pages {
    void *data;
    uint32_t size;
    MDL *mdl;
};

typedef SOCKADDR_STORAGE host_address;
typedef PUNICODE_STRING host_path; /* a file's name, for example \??\C:\disk.img */

#else

#include <pthread.h>
#include <semaphore.h>

#include "openndk/adapter.h"
#include "openndk/mdl.h"

struct host_lock {
    pthread_mutex_t mutex;
};

struct host_semaphore {
    sem_t semaphore;
};

struct host_thread {
    pthread_t thread;
    void (*routine)(void *context);
    void *context;
};

struct host_pages {
    void *data;
    uint32_t size;
    MDL *mdl; /* &mdl_memory, or NULL if there are no pages */
    MDL mdl_memory;
};

typedef struct sockaddr_storage host_address;
typedef const char *host_path;

#endif

/* ---- Locks and threads ------------------------------------------------------------------------------------------- */

/* A lock. A thread holds it only for a short time, and never waits while it holds it. */
void host_lock_init(struct host_lock *lock);
void host_lock_fini(struct host_lock *lock);
void host_lock_acquire(struct host_lock *lock);
void host_lock_release(struct host_lock *lock);

void host_semaphore_init(struct host_semaphore *semaphore);
void host_semaphore_fini(struct host_semaphore *semaphore);
void host_semaphore_post(struct host_semaphore *semaphore);
/* Waits until the semaphore's count is not 0, and decrements it. */
void host_semaphore_wait(struct host_semaphore *semaphore);
/*
 * Waits as host_semaphore_wait does, but at most `ms` milliseconds. Returns false if the time has elapsed; in a process
 * also if a signal has ended the wait.
 */
bool host_semaphore_wait_ms(struct host_semaphore *semaphore, uint32_t ms);

/* Starts a thread, which ends when `routine` returns. Returns false if the system has no resources. May wait. */
bool host_thread_start(struct host_thread *thread, void (*routine)(void *context), void *context);
/* Waits until the thread has ended. */
void host_thread_join(struct host_thread *thread);

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Returns zeroed memory, or NULL. */
void *host_alloc(size_t size);
void host_free(void *memory);

/*
 * Allocates zeroed memory that begins at a page boundary, and an MDL that describes the memory. Returns false if out of
 * memory. The caller may call host_pages_free even then. May wait.
 */
bool host_pages_alloc(struct host_pages *pages, uint32_t size);
/* Frees the pages. Does nothing if *pages is zeroed. May wait. */
void host_pages_free(struct host_pages *pages);

/* ---- Time and messages ------------------------------------------------------------------------------------------- */

/* Returns the number of milliseconds since a fixed point in time. */
uint64_t host_now_ms(void);

/* Returns the time of day in a unit that depends on the system. Used for identifiers that differ after each start. */
uint64_t host_time_of_day(void);

/* Prints a line about an event. Formats: %s, %u, %d, %x, %llu. Messages that hosts can cause use log.h instead. */
#ifdef TARGET_DRIVER
void host_log(const char *format, ...);
#else
void host_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif

/* Works like host_log, but with the arguments in a list. */
void host_vlog(const char *format, va_list list);

/* Prints that `what` failed with an NDK status, and what the user can do about it. */
void host_log_status(const char *what, NTSTATUS status);

/* ---- The adapter ------------------------------------------------------------------------------------------------- */

/*
 * Opens the adapter of the interface with version 1.2 of NDK, the first version with NdkSendAndInvalidate and
 * NdkGetCqResultsEx. May wait.
 */
NTSTATUS host_adapter_open(uint32_t if_index, NDK_ADAPTER **adapter);
/* Closes the adapter. Waits until all objects of the adapter are closed. */
void host_adapter_close(NDK_ADAPTER *adapter);

#ifdef TARGET_DRIVER
/* Registers the driver with Winsock Kernel, which opens adapters. May wait. */
NTSTATUS host_start(void);
/* Deregisters the driver from Winsock Kernel. Requires that all adapters are closed. May wait. */
void host_stop(void);
#endif

#endif
