/* SPDX-License-Identifier: MIT */
/*
 * The verify layer: reports an NDK consumer's mistakes by rule, in front of any provider.
 *
 * verify_wrap puts a proxy in front of a provider's adapter. The consumer then holds proxies only, one in front of each
 * of the provider's objects, and calls through their tables. An entry of a table checks the call, then calls the
 * provider with the object behind the proxy. Completions and events return through the proxies as well. The invariant:
 * a provider never sees a proxy, and a consumer never sees a provider's object.
 *
 * Everything about NDK belongs here:
 *
 *   verify.h                     wraps and closes adapters; answers the host's questions
 *   host.h                       what the layer asks its host: IRQL, callbacks, stacks, addresses
 *   report.h, rules.h            the mode, the report, the rules about NDK
 *   stack.h, stack_intern.h      call stacks
 *   proxy.h                      the base of all proxies; each type of object has a file
 *   async_call.h, pending.h      calls that complete by a callback, and their contexts
 *   queue.h, posted.h            queues, and the records of posted requests
 *
 * The host is the program that the consumer runs in. The layer asks it for IRQL, stacks and addresses through the table
 * in host.h. The host asks verify_find_use before memory of the consumer's is freed. The host of a driver is the kernel
 * surface. IRQL, locks, pool, MDLs and every rule about a WDK routine belong to it; it reports them by report.h.
 *
 * The layer stands on include/ndk, include/openndk and src/base. The build shows it nothing else. It calls a provider
 * through dispatch tables only, so that the provider may be anybody's.
 *
 * The kernel surface is compiled with include/wdk: WCHAR has 16 bits, AF_INET6 is 23, bit fields are laid out as
 * Windows does. Nothing that differs crosses into this layer. NDK's structures contain none of it, and ndkpi.h and
 * ndkinfo.h assert their sizes in both worlds. A sockaddr passes through unread.
 */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <ndk/ndkpi.h>

#include "verify/host.h"
#include "verify/report.h"
#include "verify/stack.h"

/* ---- Adapters ---- */

/* Returns a proxy for a provider's open adapter; NULL if out of memory. */
NDK_ADAPTER *verify_wrap(NDK_ADAPTER *provider);

/* True for a proxy of verify_wrap, also for some time after its close. */
bool verify_is_wrapped(const NDK_ADAPTER *adapter);

/*
 * Begins to close a wrapped adapter: waits until everything that was created from it is closed, then returns the
 * provider's adapter. The caller closes that, then calls verify_end_close. Returns NULL if the adapter has been closed
 * before, which is reported. `routine` is the name of the consumer's call.
 */
NDK_ADAPTER *verify_begin_close(NDK_ADAPTER *adapter, const char *routine);
void verify_end_close(NDK_ADAPTER *adapter);

/* Returns the provider's adapter behind a wrapped one; any other adapter as it is. */
NDK_ADAPTER *verify_unwrap(NDK_ADAPTER *adapter);

/* ---- For the host ---- */

/* A use of memory by NDK that forbids to free the memory. */
struct verify_use {
    const struct rule *rule; /* that freeing it breaks */
    const void *object;      /* what is in use, inside the memory */
    const char *what;        /* "context of a pending request" */
    struct stack by;         /* who put it to use; depth 0: unknown */
};

/* Finds the first use of [start, start + size). The host calls it, with no lock held, before memory goes away. */
bool verify_find_use(const void *start, size_t size, struct verify_use *use);

/* An object that is not closed, or a call that is pending. */
struct verify_open {
    bool is_call;
    const void *object;
    const char *what;        /* "NDK_QP", "NdkConnect" */
    uint64_t serial;         /* objects count from 1 in the order of their creation */
    struct stack by;         /* who created the object or made the call */
};

/* Visits all objects, then all pending calls, each in order. Visits copies, with no lock held. */
typedef void verify_open_callback(void *context, const struct verify_open *open);
void verify_walk_open(verify_open_callback *visit, void *context);

/* Prints a line and a stack for each. */
void verify_print_open(FILE *out);

#endif
