/* SPDX-License-Identifier: MIT */
/*
 * The world around the target: locks, threads, memory, time, messages, and how an adapter is opened. host_plain.c
 * implements it for a Linux process, host_driver.c for the Windows kernel. All other files of the target are the same
 * in both, and use only this header, the protocol's headers and NDK.
 *
 * Functions marked "waits" need a thread that may wait: PASSIVE_LEVEL in a driver, no callback of the provider in a
 * process. All others may also be called by callbacks.
 */
#ifndef NVME_TARGET_HOST_H
#define NVME_TARGET_HOST_H

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
typedef PUNICODE_STRING host_path; /* the name of a file, for example \\??\\C:\\disk.img */

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

/* A lock that is held for a short time, and never during a wait. */
void host_lock_init(struct host_lock *lock);
void host_lock_fini(struct host_lock *lock);
void host_lock_acquire(struct host_lock *lock);
void host_lock_release(struct host_lock *lock);

void host_semaphore_init(struct host_semaphore *semaphore);
void host_semaphore_fini(struct host_semaphore *semaphore);
void host_semaphore_post(struct host_semaphore *semaphore);
/* Waits. */
void host_semaphore_wait(struct host_semaphore *semaphore);
/* Waits at most `ms` milliseconds. Returns false after that time. */
bool host_semaphore_wait_ms(struct host_semaphore *semaphore, uint32_t ms);

/* Starts a thread, which ends when the routine returns. Returns false if the system has no resources. Waits. */
bool host_thread_start(struct host_thread *thread, void (*routine)(void *context), void *context);
/* Waits until the thread has ended. */
void host_thread_join(struct host_thread *thread);

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Returns zeroed memory, or NULL. */
void *host_alloc(size_t size);
void host_free(void *memory);

/*
 * Allocates zeroed memory that begins at a page, and describes it to NDK by an MDL. Returns false if out of memory;
 * host_pages_free may be called even then. Waits.
 */
bool host_pages_alloc(struct host_pages *pages, uint32_t size);
/* Frees the pages. Does nothing if *pages is zeroed. Waits. */
void host_pages_free(struct host_pages *pages);

/* ---- Time and messages ------------------------------------------------------------------------------------------- */

/* Milliseconds since an arbitrary time. */
uint64_t host_now_ms(void);

/* Prints a line about an event. Formats: %s, %u, %d, %x, %llu. */
#ifdef TARGET_DRIVER
void host_log(const char *format, ...);
#else
void host_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif

/* Prints that something failed with an NDK status, and what to do about it. */
void host_log_status(const char *what, NTSTATUS status);

/* ---- The adapter ------------------------------------------------------------------------------------------------- */

/*
 * Opens the adapter of the interface with version 1.2 of NDK, the first version with NdkSendAndInvalidate and
 * NdkGetCqResultsEx. Waits.
 */
NTSTATUS host_adapter_open(uint32_t if_index, NDK_ADAPTER **adapter);
/* Waits until everything of the adapter is closed. */
void host_adapter_close(NDK_ADAPTER *adapter);

#ifdef TARGET_DRIVER
/* Registers the driver with Winsock Kernel, which opens adapters. Waits. */
NTSTATUS host_start(void);
/* Waits. Every adapter must be closed. */
void host_stop(void);
#endif

#endif
