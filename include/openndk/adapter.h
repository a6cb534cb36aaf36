/* SPDX-License-Identifier: MIT */
/*
 * Adapters for programs that are not drivers: opening, closing and listing them. ndk/ndkpi.h declares what an open
 * adapter can do. A child of fork must not use the adapters and objects of its parent; it may open adapters of its own
 * (docs/fork.md).
 */
#ifndef OPENNDK_ADAPTER_H
#define OPENNDK_ADAPTER_H

#include <stdint.h>

#include "ndk/ndkpi.h"
#include "openndk/api.h"
#include "openndk/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the adapter of a network interface.
 *   version   {1,0} to {1,2}, {2,0} or {2,1}; the adapter has the highest version with the same Major: 1.2 or 2.1
 *   if_index  the interface's index, as if_nametoindex() returns it; loopback is 1 on most machines
 *   adapter   receives the adapter, which the caller owns and closes with ondk_close_adapter
 * The adapter has the configuration that ondk_configure has set before the call. If ondk_configure was not called, the
 * adapter has the defaults and the values of the environment (openndk/config.h).
 * Returns
 *   STATUS_SUCCESS                 *adapter is open
 *   NDIS_STATUS_BAD_VERSION        version is none of the five above
 *   STATUS_INVALID_PARAMETER       adapter is NULL, the interface does not exist, or it has no address
 *   NDIS_STATUS_ADAPTER_NOT_READY  the interface is down
 *   STATUS_INSUFFICIENT_RESOURCES  out of memory, descriptors or threads
 * If the call fails, *adapter does not change.
 * Context: PASSIVE_LEVEL; may block.
 * Example:
 *
 *     NDK_VERSION version = { 2, 1 };
 *     NDK_ADAPTER *adapter;
 *     NTSTATUS status;
 *
 *     status = ondk_open_adapter(version, if_nametoindex("lo"), &adapter);
 *     if (status != STATUS_SUCCESS) {
 *         fprintf(stderr, "%s: %s\n", ondk_status_name(status),
 *                 ondk_status_advice(status));
 *         return 1;
 *     }
 *
 * See also: ondk_open_adapter_with, ondk_close_adapter, ondk_enumerate_adapters, ondk_configure, docs/fork.md
 */
ONDK_API NTSTATUS ondk_open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);

/*
 * Opens the adapter of a network interface with a configuration of its own.
 *   version   as for ondk_open_adapter
 *   if_index  as for ondk_open_adapter
 *   options   the adapter's configuration; copied. The caller has initialized it with ondk_config_init. Values that
 *             were set with ondk_configure do not apply. NULL: the configuration that ondk_open_adapter uses
 *   adapter   receives the adapter, which the caller owns and closes with ondk_close_adapter
 * Returns the statuses of ondk_open_adapter. Also returns STATUS_INVALID_PARAMETER if ondk_configure would refuse the
 * options. If the call fails, *adapter does not change.
 * Context: PASSIVE_LEVEL; may block.
 * See also: ondk_open_adapter, ondk_config_init, ondk_configure
 */
ONDK_API NTSTATUS ondk_open_adapter_with(NDK_VERSION version, uint32_t if_index, const ondk_config_t *options,
                                         NDK_ADAPTER **adapter);

/*
 * Closes an adapter.
 *   adapter  from ondk_open_adapter or ondk_open_adapter_with; invalid after the call
 * The call blocks until the consumer has closed every object of the adapter and every callback has returned. If that
 * takes longer than close_report_ms (ondk_config_t), the library writes to the log which objects are open, with the
 * addresses of connections, and which callbacks have not returned. If the program has set close_abort_ms and the call
 * takes longer, the call ends the process by abort(). In a child of fork that inherited the adapter, the call returns
 * at once and closes nothing. If verification (openndk/verify.h) is on, a call in a callback of the adapter is
 * reported. In mode report, that call returns at once and the adapter stays open.
 * Context: PASSIVE_LEVEL; blocks. Not from inside a callback of the same adapter.
 * See also: ondk_open_adapter, ondk_config_t, ondk_log_set
 */
ONDK_API void ondk_close_adapter(NDK_ADAPTER *adapter);

/*
 * Selects the value of AF_INET6 in addresses that an adapter returns.
 *   adapter  an open adapter without objects
 *   on       1: Windows' value, 23. 0: the host's value, which is the default
 * Addresses that the consumer passes to the adapter's functions may have either value. Must be called before the first
 * object of the adapter is created.
 * Context: any thread, while no other thread uses the adapter.
 */
ONDK_API void ondk_use_windows_families(NDK_ADAPTER *adapter, int on);

/*
 * Signals. Callbacks run on the provider's threads. These threads block the signals that the host sends to the process,
 * so a program's handlers run on its own threads and do not interrupt callbacks. The provider's threads do not block
 * SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS and SIGABRT: a fault in a callback, or in registered memory that is
 * no longer mapped, reaches the program's handler, sanitizer or debugger. The provider's threads do not block SIGPROF
 * either, because profilers need it. Each of these threads has a signal stack of at least 64 KiB, on which handlers
 * with SA_ONSTACK run.
 */

/*
 * Checks whether the calling thread is a thread of the provider.
 * The consumer's callbacks run on the provider's threads. A program that emulates IRQLs can use this function to give
 * these threads the initial IRQL DISPATCH_LEVEL.
 * Returns 1 on a thread of the provider, 0 on any other thread.
 * Context: any thread, any IRQL.
 */
ONDK_API int ondk_on_provider_thread(void);

/* A network interface that has an address. */
typedef struct ondk_adapter_entry {
    /* The interface's index, for ondk_open_adapter. */
    uint32_t if_index;
    /* The interface's name, terminated by 0. */
    char name[16];
    /* 1: the interface is up. An adapter of an interface that is down cannot be opened. */
    uint8_t up;
    /* 1: the loopback interface. */
    uint8_t loopback;
    /* The number of valid entries in the member addresses. */
    uint32_t address_count;
    /* IPv4 and IPv6 addresses, with port 0. If the interface has more than 16, the rest is not listed. */
    struct sockaddr_storage addresses[16];
} ondk_adapter_entry_t;

/*
 * Lists the network interfaces that have an address.
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * Returns the number of interfaces, which may be larger than capacity and may differ at the next call. Returns 0 if
 * there is no interface with an address, or if the interfaces cannot be listed.
 * Context: PASSIVE_LEVEL; may block.
 * Example:
 *
 *     ondk_adapter_entry_t entries[64];
 *     uint32_t count = ondk_enumerate_adapters(entries, 64);
 *
 *     for (uint32_t i = 0; i < count && i < 64; i++)
 *         printf("%u %s %s\n", entries[i].if_index, entries[i].name,
 *                entries[i].up ? "up" : "down");
 *
 * See also: ondk_open_adapter, ndkinfo
 */
ONDK_API uint32_t ondk_enumerate_adapters_sized(ondk_adapter_entry_t *entries, uint32_t capacity, size_t entry_size);
static inline uint32_t ondk_enumerate_adapters(ondk_adapter_entry_t *entries_, uint32_t capacity_)
{
    return ondk_enumerate_adapters_sized(entries_, capacity_, sizeof(*entries_));
}

/*
 * Returns the name of a status.
 *   status  any NTSTATUS
 * Returns the name, for example "STATUS_CONNECTION_REFUSED", or the hexadecimal number if the status has no known name.
 * Never NULL. The text is valid until the calling thread's next call.
 * Context: any thread, any IRQL.
 * See also: ondk_status_advice, ondk_reason_name, docs/status.md
 */
ONDK_API const char *ondk_status_name(NTSTATUS status);

/*
 * Returns what a status means for a connection, and what to try.
 *   status  any NTSTATUS
 * Returns one sentence in static storage. Never NULL.
 * Context: any thread, any IRQL.
 * See also: ondk_status_name, ondk_reason_advice, docs/status.md
 */
ONDK_API const char *ondk_status_advice(NTSTATUS status);

#ifdef __cplusplus
}
#endif

#endif
