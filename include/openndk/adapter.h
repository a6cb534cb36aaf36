/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes adapters in programs that are not drivers. ndk/ndkpi.h declares what an open adapter can do. A child
 * of fork must not use the adapters and objects of its parent; it may open adapters of its own (docs/fork.md).
 */
#ifndef OPENNDK_ADAPTER_H
#define OPENNDK_ADAPTER_H

#include <stdint.h>

#include "ndk/ndkpi.h"
#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the adapter of a network interface.
 *   version    {1,0} to {1,2}, {2,0} or {2,1}; the adapter has the highest version with the same Major: 1.2 or 2.1
 *   if_index   the interface's index (if_nametoindex); loopback is 1 on most machines
 *   adapter    receives the adapter; the caller closes it with ondk_close_adapter
 * Returns
 *   STATUS_SUCCESS                 *adapter is open
 *   NDIS_STATUS_BAD_VERSION        version is none of the five above
 *   STATUS_INVALID_PARAMETER       adapter is NULL, the interface does not exist, or it has no address
 *   NDIS_STATUS_ADAPTER_NOT_READY  the interface is down
 *   STATUS_INSUFFICIENT_RESOURCES  out of memory or descriptors
 * PASSIVE_LEVEL: may block.
 */
ONDK_API NTSTATUS ondk_open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);

/*
 * Closes an adapter. Blocks until the consumer has closed every object of the adapter and every callback has returned.
 * After close_report_ms (openndk/config.h) it prints to standard error which objects are open, with the addresses of
 * connections, and which callbacks have not returned. After close_abort_ms it calls abort().
 * PASSIVE_LEVEL; not from inside a callback of the same adapter. Returns at once in a child of fork that inherited the
 * adapter.
 */
ONDK_API void ondk_close_adapter(NDK_ADAPTER *adapter);

/*
 * Selects the value of AF_INET6 in the addresses that the adapter's objects return. on = 1: Windows' value, 23. on = 0:
 * the host's value, which is the default. Addresses passed to the adapter's functions may have either value. Must be
 * called before the first object of the adapter is created.
 */
ONDK_API void ondk_use_windows_families(NDK_ADAPTER *adapter, int on);

/*
 * Signals. Callbacks run on the provider's threads. These threads block the signals that the host sends to the process,
 * so a program's handlers run on its own threads and do not interrupt callbacks. They do not block SIGSEGV, SIGBUS,
 * SIGILL, SIGFPE, SIGTRAP, SIGSYS and SIGABRT: a fault in a callback, or in registered memory that is no longer mapped,
 * reaches the program's handler, sanitizer or debugger. They do not block SIGPROF either, because profilers need it.
 * Each thread has a signal stack of at least 64 KiB, on which handlers with SA_ONSTACK run.
 */

/*
 * Returns 1 on a thread of the provider, 0 on any other. The consumer's callbacks run on the provider's threads. A
 * program that emulates IRQLs can use this function to start these threads at DISPATCH_LEVEL. Any IRQL.
 */
ONDK_API int ondk_on_provider_thread(void);

/* One network interface that can be opened. */
typedef struct ondk_adapter_entry {
    uint32_t if_index;
    char name[16];
    uint8_t up, loopback;
    uint32_t address_count; /* the number of valid entries in addresses */
    struct sockaddr_storage addresses[16];
} ondk_adapter_entry_t;

/*
 * Fills at most capacity entries and returns the number of interfaces, which may be larger. entries may be NULL if
 * capacity is 0. PASSIVE_LEVEL.
 */
ONDK_API uint32_t ondk_enumerate_adapters_sized(ondk_adapter_entry_t *entries, uint32_t capacity, size_t entry_size);
static inline uint32_t ondk_enumerate_adapters(ondk_adapter_entry_t *entries_, uint32_t capacity_)
{
    return ondk_enumerate_adapters_sized(entries_, capacity_, sizeof(*entries_));
}

/*
 * Returns the name of a status, for example "STATUS_CONNECTION_REFUSED", or its hexadecimal number if it has no known
 * name. Valid until the calling thread's next call.
 */
ONDK_API const char *ondk_status_name(NTSTATUS status);
/* Returns one sentence: what the status means for a connection, and what to try. Never NULL. */
ONDK_API const char *ondk_status_advice(NTSTATUS status);

#ifdef __cplusplus
}
#endif

#endif
