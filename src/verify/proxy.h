/* SPDX-License-Identifier: MIT */
/*
 * Implements proxies. The consumer has a proxy for each of the provider's objects, and never the object itself. A proxy
 * is kept for some time after its object is closed, so that a later call on it is reported instead of crashing.
 *
 * The consumer may write NdkReserved and Dispatch of a proxy. Neither this layer nor the provider reads these members.
 */
#ifndef VERIFY_PROXY_H
#define VERIFY_PROXY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include <ndk/ndkpi.h>

#include "verify/call.h"
#include "verify/host.h"
#include "verify/pending.h"
#include "verify/region_memory.h"
#include "verify/rules.h"
#include "verify/stack.h"
#include "verify/verify.h"

enum { PROXY_OPEN, PROXY_CLOSING, PROXY_CLOSED };
enum { PROXY_MAX_MDLS = 8 }; /* maximum number of watched MDLs of a region; further MDLs of the chain are not watched */

struct proxy {
    struct {
        NDK_OBJECT_HEADER header;
        const void *dispatch;
    } pub;      /* must be the first member, because the consumer has the address of `pub` */
    void *real; /* the provider's object */
    NDK_OBJECT_TYPE type;
    uint64_t serial;        /* number in the order of creation, from 1 */
    atomic_bool is_created; /* the provider has created the object and returned `real` */
    atomic_int state, refs;
    atomic_int closed_thread; /* ID of the thread that has closed the object; 0: the object is open */
    atomic_uint completions;  /* number of callbacks about the object that have begun: see call_set_completed */
    struct call_history history;
    struct proxy *adapter; /* proxy of the adapter that the object belongs to; NULL for an adapter */
    struct proxy *parent;  /* proxy of the object that created this one, with a reference; NULL for an adapter */
    atomic_int children;   /* in an adapter: number of its objects and mappings that are not closed yet */
    void (*on_closing)(struct proxy *p); /* runs before the provider's close; may be NULL */
    void (*on_end)(struct proxy *p);     /* runs when the object is closed or its creation has failed; may be NULL */
    void (*on_free)(struct proxy *p);    /* runs before the proxy is freed; may be NULL */
    void (*add_notes)(const struct proxy *p); /* adds lines about the object to a report; may be NULL */
    TAILQ_ENTRY(proxy) list;                  /* in the list of open proxies, and later in the list of closed proxies */
    bool watched; /* the object may use the consumer's memory; watched proxies come first in the list of open proxies */
    struct stack created_by, closed_by;

    NDK_FN_CREATE_COMPLETION created;
    NDK_FN_CLOSE_COMPLETION closed;
    void *created_context, *closed_context;
    struct pending creating, closing;

    union { /* the callback that the consumer has passed to the create call */
        NDK_FN_CQ_NOTIFICATION_CALLBACK cq;
        NDK_FN_SRQ_NOTIFICATION_CALLBACK srq;
        NDK_FN_CONNECT_EVENT_CALLBACK connect;
    } notify;
    void *context;                   /* the context for `notify`; in a queue pair: the consumer's QPContext */
    const MDL *mdls[PROXY_MAX_MDLS]; /* in a region: the registered MDLs; guarded by the proxies' lock */
    unsigned mdl_count;
    struct region_memory memory; /* in a region: the registered memory */
    atomic_uint fast_pages;      /* in a region: page count of the last NdkInitializeFastRegisterMr */
};

/* Returns the name of the proxy's type, for example "NDK_QP". */
const char *proxy_type_name(const struct proxy *p);
/*
 * Makes p the object of the next report of this thread. The report then has the type of p, the latest calls on p, and
 * the stack of the call that created p.
 */
void proxy_set_report_object(const struct proxy *p);
/* Returns the proxy of the adapter that p belongs to. If p is an adapter, returns p. */
const struct proxy *proxy_adapter(const struct proxy *p);
/* Returns true if this process is a child of fork and inherited p from its parent. */
bool proxy_is_inherited(const struct proxy *p);
/* Returns the information about p's adapter. It was queried with NdkQueryAdapterInfo when the adapter was wrapped. */
const NDK_ADAPTER_INFO *proxy_adapter_info(const struct proxy *p);
/* Returns the record of the logical address mappings of p's adapter. */
struct logical_pages *proxy_logical_pages(const struct proxy *p);
/* Returns false if the provider has not returned the information about p's adapter. */
bool proxy_has_adapter_info(const struct proxy *p);

/* ---- Creation ---- */

/*
 * Creates a proxy for an object that is about to be created. `size` is the size of the struct for this type, which
 * begins with a struct proxy. `parent` is the object that creates the new one, or NULL for an adapter. Returns NULL if
 * out of memory.
 */
struct proxy *proxy_create(size_t size, NDK_OBJECT_TYPE type, const void *dispatch, struct proxy *parent);
/*
 * Inserts an initialized proxy into the list of open proxies, where other threads can find it. proxy_begin_create calls
 * this function.
 */
void proxy_insert(struct proxy *p);
/*
 * Begins the creation of p's object. Must run before the provider's create call. `routine` is the name of the
 * consumer's call, for example "NdkCreateCq". `done` and `context` are the consumer's completion routine and its
 * context.
 */
void proxy_begin_create(struct proxy *p, const char *routine, NDK_FN_CREATE_COMPLETION done, void *context);
/* Returns the completion routine to pass to the provider, or NULL if the consumer has passed none. Its context is p. */
NDK_FN_CREATE_COMPLETION proxy_create_routine(const struct proxy *p);
/*
 * Handles the return of the provider's create call, which returned `status`. `object` points to the variable in which
 * the provider has stored its object. `out` points to the consumer's variable, in which the function stores the proxy.
 * Returns `status`.
 */
NTSTATUS proxy_end_create(struct proxy *p, NTSTATUS status, const void *object, void *out);
/* Stores `real`, the object that the provider has created, in the proxy p. */
void proxy_set_real(struct proxy *p, void *real);

/* ---- Use ---- */

/*
 * Returns the provider's object of the proxy `pub`, which is an argument of a call. If the object is closed, reports
 * the call and returns NULL. Returns NULL if `pub` is NULL.
 */
void *proxy_real_at(const void *pub, const char *routine);
#define PROXY_REAL(pub_, routine) ((__typeof__(pub_))proxy_real_at(pub_, routine))

/*
 * Reports a call during which another thread has closed the object. Runs at the end of the call. Reports nothing if a
 * callback about the object began during the call, because the consumer may then close the object.
 */
void proxy_check_still_open(const struct call *c);

/* Implements NdkQueryExtension for all types. */
NTSTATUS proxy_query_extension(NDK_OBJECT_HEADER *header, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out);

/* Calls `routine`, a callback of the consumer, between callback_begin(adapter, name) and callback_end. */
#define PROXY_CALLBACK(adapter, name, routine, ...)                                                                    \
    do {                                                                                                               \
        struct callback callback_;                                                                                     \
        callback_begin(&callback_, adapter, name);                                                                     \
        (routine)(__VA_ARGS__);                                                                                        \
        callback_end(&callback_, (const void *)(uintptr_t)(routine));                                                  \
    } while (0)

/* ---- Close ---- */

/* These functions implement the close entries of the dispatch tables. Adapters have no close entry. */
NTSTATUS proxy_close_cq(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_pd(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_mr(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_mw(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_srq(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_qp(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_shared_endpoint(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_connector(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_listener(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
/* Marks the object as being closed. Returns true for the first close. Reports a later close and returns false. */
bool proxy_begin_close(struct proxy *p, const char *routine);
/* Moves p to the list of closed proxies. Runs when the provider's object is closed. */
void proxy_end_close(struct proxy *p);

void proxy_ref(struct proxy *p);
void proxy_unref(struct proxy *p);

/* ---- All proxies ---- */

/* Returns true if `pub` is the address of an open proxy, or of a closed proxy that is still kept. */
bool proxy_exists(const void *pub);

/*
 * These two functions acquire and release the proxies' lock, which guards the lists of proxies, and the members of a
 * proxy that change during calls. The lock order: the proxies' lock before the lock of posted requests.
 */
void proxy_lock_all(void);
void proxy_unlock_all(void);
/*
 * Makes each later fork acquire the proxies' lock first. Parent and child release the lock after the fork. Otherwise
 * the lock could stay held in the child, where its owner does not exist.
 */
void proxy_guard_fork(void);
/*
 * Returns the next watched open proxy after p. If p is NULL, returns the first one. Returns NULL at the end. Requires
 * the proxies' lock.
 */
struct proxy *proxy_next_watched(struct proxy *p);
/*
 * Returns the next open proxy after p. If p is NULL, returns the first one. Returns NULL at the end. Requires the
 * proxies' lock.
 */
struct proxy *proxy_next_open(const struct proxy *p);
/*
 * Returns the open proxy at the address `pub`, with a reference. Returns NULL if there is no open proxy at this
 * address.
 */
struct proxy *proxy_find_open(const void *pub);
/*
 * Finds the registered regions that contain the buffer, and marks their memory as reported. So freed memory is not
 * reported twice. Returns false if no registered region contains the buffer.
 */
bool proxy_set_memory_reported(const void *start, size_t size);
/* Marks the region p as watched. Must run before MDLs are stored in p. Requires the proxies' lock. */
void proxy_watch(struct proxy *p);
/*
 * Copies at most `room` open objects to `out`. Returns the number of all open objects, which may be more than `room`.
 */
unsigned proxy_copy_open(struct verify_open *out, unsigned room);

/* ---- Create functions, which are entries of another object's table: NdkCreateCq is in the adapter's table ---- */

NTSTATUS verify_create_cq(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify,
                          PVOID notify_context, GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context,
                          NDK_CQ **out);
NTSTATUS verify_create_pd(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out);
NTSTATUS verify_create_mr(NDK_PD *pd, BOOLEAN fast, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MR **out);
NTSTATUS verify_create_mw(NDK_PD *pd, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MW **out);
NTSTATUS verify_create_srq(NDK_PD *pd, ULONG depth, ULONG sges, ULONG threshold,
                           NDK_FN_SRQ_NOTIFICATION_CALLBACK notify, PVOID notify_context, GROUP_AFFINITY *affinity,
                           NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SRQ **out);
NTSTATUS verify_create_qp(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context, ULONG receive_depth,
                          ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_size,
                          NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out);
NTSTATUS verify_create_qp_with_srq(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq, PVOID qp_context,
                                   ULONG initiator_depth, ULONG initiator_sges, ULONG inline_size,
                                   NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out);
NTSTATUS verify_create_shared_endpoint(NDK_ADAPTER *adapter, CONST PSOCKADDR address, ULONG length,
                                       NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SHARED_ENDPOINT **out);
NTSTATUS verify_create_connector(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context,
                                 NDK_CONNECTOR **out);
NTSTATUS verify_create_listener(NDK_ADAPTER *adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                                NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_LISTENER **out);

#endif
