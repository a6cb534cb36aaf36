/* SPDX-License-Identifier: MIT */
/*
 * How a program that is not a driver opens an adapter: everything between open and close is ndk/ndkpi.h.
 * A child of fork must not use what its parent opened; it may open adapters of its own (docs/fork.md).
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
 *   version    {1,0} to {1,2}, {2,0}, {2,1}; the object carries the provider's highest of that major
 *   if_index   the interface's index (if_nametoindex); loopback is 1 on most machines
 *   adapter    receives the adapter; close it with ondk_close_adapter
 * STATUS_SUCCESS; NDIS_STATUS_BAD_VERSION: the version is not one of these; STATUS_INVALID_PARAMETER: adapter is NULL
 * or there is no such interface, or it has no address; NDIS_STATUS_ADAPTER_NOT_READY: the interface is down;
 * STATUS_INSUFFICIENT_RESOURCES. PASSIVE_LEVEL: may block.
 */
ONDK_API NTSTATUS ondk_open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);

/*
 * Closes it. Blocks until every object made from it has been closed by its consumer and every callback has returned.
 * If that takes close_report_ms (openndk/config.h), prints to standard error which objects are open, with the addresses
 * of connections, and which callbacks have not returned; if it takes close_abort_ms, calls abort().
 * PASSIVE_LEVEL; not from inside a callback of the same adapter. Returns at once in a child that inherited the adapter.
 */
ONDK_API void ondk_close_adapter(NDK_ADAPTER *adapter);

/*
 * From now on addresses that the adapter's objects give out have Windows' number for AF_INET6, 23 (on: 1), or the
 * host's, as at first (0). Those that come in may have either. Before anything was made from the adapter.
 */
ONDK_API void ondk_use_windows_families(NDK_ADAPTER *adapter, int on);

/*
 * Signals. The provider's threads, on which callbacks run, block the signals that the host sends to the process, so
 * that a program's handlers run on its own threads and do not interrupt callbacks. They do not block SIGSEGV, SIGBUS,
 * SIGILL, SIGFPE, SIGTRAP, SIGSYS and SIGABRT: a fault in a callback, or of registered memory that is not mapped any
 * more, reaches the program's handler, sanitizer or debugger. Nor do they block SIGPROF, for profilers. Each has a
 * signal stack of at least 64 KiB, on which handlers with SA_ONSTACK run.
 */

/*
 * 1 in a thread of the provider's own, 0 in any other. Callbacks of the consumer's run on such threads: what emulates
 * IRQLs puts DISPATCH_LEVEL there. Any IRQL.
 */
ONDK_API int ondk_on_provider_thread(void);

/* One network interface that can be opened. */
typedef struct ondk_adapter_entry {
    uint32_t if_index;
    char name[16];
    uint8_t up, loopback;
    uint32_t address_count;   /* how many of addresses are filled */
    struct sockaddr_storage addresses[16];
} ondk_adapter_entry_t;

/*
 * Fills at most capacity entries; returns how many interfaces there are. entries may be NULL if capacity is 0.
 * PASSIVE_LEVEL.
 */
ONDK_API uint32_t ondk_enumerate_adapters_sized(ondk_adapter_entry_t *entries, uint32_t capacity, size_t entry_size);
static inline uint32_t ondk_enumerate_adapters(ondk_adapter_entry_t *entries_, uint32_t capacity_)
{
    return ondk_enumerate_adapters_sized(entries_, capacity_, sizeof(*entries_));
}

/* "STATUS_CONNECTION_REFUSED"; "0x........" for one without a name here. Static or thread-local storage. */
ONDK_API const char *ondk_status_name(NTSTATUS status);
/* What it means for a connection and what to try, one sentence; never NULL. */
ONDK_API const char *ondk_status_advice(NTSTATUS status);

#ifdef __cplusplus
}
#endif

#endif
