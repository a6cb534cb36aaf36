/* SPDX-License-Identifier: MIT */
/*
 * The verify layer: stands between an NDK consumer and any provider, and reports calls that break NDK's rules.
 *
 * verify_wrap puts a proxy in front of a provider's adapter. The consumer then has only proxies, one in front of each
 * of the provider's objects, and calls through the proxies' tables. An entry of a table checks the call, and then calls
 * the provider with the object behind the proxy. Completions and events also return through the proxies. The invariant:
 * a provider never receives a proxy in place of an object, and a consumer never receives a provider's object.
 *
 * Every check of an NDK call belongs here:
 *
 *   verify.h                     wraps and closes adapters; finds uses of memory for the host
 *   host.h                       functions of the host that the layer calls: IRQL, callbacks, stacks, addresses
 *   report.h, rules.h            the mode, the report, the rules about NDK
 *   report_forms.h, repeats.h    text, JSON and JUnit; the number of reports of a place
 *   stack.h, stack_intern.h      call stacks
 *   thread_state.h, thread_stack.h, unwind_row.h
 *                                stacks of other threads, which are not stopped
 *   proxy.h                      the base of all proxies; each type of object has its own file
 *   call.h                       the consumer's calls and callbacks that are in progress
 *   exclusive.h, argument.h      calls that are made one at a time; missing and wrong arguments
 *   limits.h, post_check.h       requests and queues that exceed a limit; posts at a wrong time, or too many
 *   disconnect_check.h           requests that are outstanding at a disconnect
 *   chain_check.h                chains of deferred requests that no request has ended
 *   messages.h, net_namespace.h  sends without a receive at a peer in this process
 *   async_call.h, pending.h      calls that complete by a callback, and their contexts
 *   queue.h, posted.h            queues, and the records of posted requests
 *   posted_chain.h               the chain of deferred requests of a queue
 *   tokens.h, region.h           tokens, regions and windows, and the requests that make and invalidate tokens
 *   logical.h, mdl_chain.h       logical addresses of mappings; MDL chains
 *   connector_phase.h            the phases of a connector, and the calls that are legal in each
 *   stall.h, stall_*.h           the thread that reports what waits for too long
 *   objects_left.h               the wait of an adapter's close for objects that nobody closes
 *
 * The host is the program in which the consumer runs. The layer calls the host through the table in host.h. Before the
 * host frees memory of the consumer, it calls verify_find_use. The host of a driver is the kernel surface (src/wdk),
 * which provides Windows' kernel routines to drivers. The kernel surface itself checks IRQL, locks, pool, MDLs and
 * every other rule about a WDK routine, and reports through report.h.
 *
 * The layer can include only include/ndk, include/openndk and src/base. It calls a provider only through dispatch
 * tables, so that any provider can be wrapped.
 *
 * The kernel surface is compiled with include/wdk: WCHAR has 16 bits, AF_INET6 is 23, and bit fields are laid out as on
 * Windows. This layer does not depend on these differences. NDK's structures contain neither WCHAR nor bit fields, and
 * ndkpi.h and ndkinfo.h assert the structures' sizes with both sets of headers. The layer reads a sockaddr only on the
 * provider's side, where the sockaddr has the system's format.
 */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <ndk/ndkpi.h>

#include "base/private_export.h"
#include "verify/host.h"
#include "verify/report.h"
#include "verify/stack.h"

/* ---- Adapters ---- */

/*
 * Creates a proxy for a provider's open adapter. Returns NULL if out of memory. `routine` is the name of the call that
 * the consumer has made.
 */
NDK_ADAPTER *verify_wrap(NDK_ADAPTER *provider, const char *routine) PRIVATE_EXPORT(verify_wrap);

/* Returns true if verify_wrap has returned the adapter. This remains true for some time after the adapter's close. */
bool verify_is_wrapped(const NDK_ADAPTER *adapter) PRIVATE_EXPORT(verify_is_wrapped);

/*
 * Closes a wrapped adapter. Waits until everything that was created from it is closed. Then returns the provider's
 * adapter, which the caller must close. If the wrapped adapter was closed before, or verify_is_in_callback returns
 * true, only reports this and returns NULL. If some objects are not closed in time, reports them, gives up and returns
 * NULL; the provider's adapter must then stay open. For an adapter that a child of fork has inherited, does not wait.
 * `routine` is the name of the call that the consumer has made.
 */
NDK_ADAPTER *verify_close(NDK_ADAPTER *adapter, const char *routine) PRIVATE_EXPORT(verify_close);

/* Returns true if verify_close has given up on the adapter since the last call of this function. */
bool verify_close_gave_up(NDK_ADAPTER *adapter) PRIVATE_EXPORT(verify_close_gave_up);

/*
 * Reports that `routine` waits for adapters that nobody closes, and prints everything that is open. `adapters` is the
 * number of these adapters. The host calls this after verify_stall_ms milliseconds without a change.
 */
void verify_report_adapters_left(const char *routine, unsigned adapters) PRIVATE_EXPORT(verify_report_adapters_left);

/* Returns the time in ms after which a wait is reported. Returns 0 if waits are not reported. */
unsigned verify_stall_ms(void) PRIVATE_EXPORT(verify_stall_ms);

/*
 * Returns true if checks are on and the calling thread is in a callback of the wrapped adapter. verify_close then
 * leaves the adapter open.
 */
bool verify_is_in_callback(const NDK_ADAPTER *adapter) PRIVATE_EXPORT(verify_is_in_callback);

/*
 * Sets a function that is called for each new proxy, when the provider has returned the object behind it. The function
 * is called without a lock. Replaces the earlier function; NULL removes it.
 */
void verify_set_on_proxy(void (*on_proxy)(const void *object, const void *proxy));

/* Returns the provider's object behind a proxy of any type. Returns `object` itself if it is no proxy. */
void *verify_unwrap(void *object) PRIVATE_EXPORT(verify_unwrap);

/* ---- For the host ---- */

/* A use of memory by NDK. The memory must not be freed until the use has ended. */
struct verify_use {
    const struct rule *rule; /* the rule that is broken if the memory is freed */
    const void *object;      /* the address that NDK uses; it is inside the memory */
    const char *what;        /* for example "context of a pending request" */
    const char *routine;     /* name of the call that began the use, for example "NdkConnect"; NULL: not known */
    const char *owner_type;  /* type of the object that was called or that uses the memory, for example "NDK_QP" */
    const void *owner;
    struct stack by; /* stack of the call that began the use; depth 0: not known */
};

/*
 * Finds a use of the memory [start, start + size), and describes it in *use. Returns false if there is none. The host
 * calls this before it frees memory. The caller must hold no lock.
 */
bool verify_find_use(const void *start, size_t size, struct verify_use *use) PRIVATE_EXPORT(verify_find_use);

/* An object that is not closed, or a call that is pending. */
struct verify_open {
    bool is_call;
    bool is_left; /* the consumer has received the object, and has not called the object's close routine */
    NDK_OBJECT_TYPE type;
    const void *object;
    const void *adapter; /* the wrapped adapter of the object or call; for an adapter: the adapter itself */
    const char *what;    /* type of the object or name of the call, for example "NDK_QP" or "NdkConnect" */
    uint64_t serial;     /* number of the object in the order of creation, from 1 */
    struct stack by;     /* stack of the call that created the object, or of the pending call */
};

/*
 * Visits copies of all open objects in the order of their creation, and then copies of all pending calls. No lock is
 * held during `visit`.
 */
typedef void verify_open_callback(void *context, const struct verify_open *open);
void verify_walk_open(verify_open_callback *visit, void *context) PRIVATE_EXPORT(verify_walk_open);

/*
 * Prints a line and a stack for each open object and each pending call of the wrapped adapter. Omits the adapter
 * itself. If `adapter` is NULL, prints the objects and calls of all adapters.
 */
void verify_print_open(FILE *out, const NDK_ADAPTER *adapter);

#endif
