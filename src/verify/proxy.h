/* SPDX-License-Identifier: MIT */
/*
 * The consumer holds a proxy for each of the provider's objects, and never the object itself. A proxy is kept for some
 * time after its object is closed, so that a later call on it is reported and does not crash.
 *
 * The consumer may write NdkReserved and Dispatch of the proxy. Neither this layer nor the provider reads them.
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
enum { PROXY_MAX_MDLS = 8 }; /* only the first MDLs of a region's chain are watched */

struct proxy {
    struct {
        NDK_OBJECT_HEADER header;
        const void *dispatch;
    } pub;      /* must be first: the consumer holds its address */
    void *real; /* the provider's object */
    NDK_OBJECT_TYPE type;
    uint64_t serial;        /* see struct verify_open */
    atomic_bool is_created; /* the provider has returned `real` */
    atomic_int state, refs;
    atomic_int closed_thread; /* ID of the thread that closed the object; 0: open */
    atomic_uint completions;  /* asynchronous calls on the object that have completed by a callback */
    struct call_history history;
    struct proxy *adapter;               /* NULL for an adapter */
    struct proxy *parent;                /* the object that created this one, with a reference; NULL for an adapter */
    atomic_int children;                 /* in an adapter: the number of its objects that are not closed */
    void (*on_closing)(struct proxy *p); /* called before the provider's close; may be NULL */
    void (*on_end)(struct proxy *p);     /* called when the object is closed or its creation failed; may be NULL */
    void (*on_free)(struct proxy *p);    /* called before the proxy is freed; may be NULL */
    void (*add_notes)(const struct proxy *p); /* adds lines to the object's history in a report; may be NULL */
    TAILQ_ENTRY(proxy) list;                  /* in the list of open proxies, then in the list of closed proxies */
    bool watched; /* may use the consumer's memory; watched proxies come first in the list of open proxies */
    struct stack created_by, closed_by;

    NDK_FN_CREATE_COMPLETION created;
    NDK_FN_CLOSE_COMPLETION closed;
    void *created_context, *closed_context;
    struct pending creating, closing;

    union { /* the callback that the consumer passed when it created the object */
        NDK_FN_CQ_NOTIFICATION_CALLBACK cq;
        NDK_FN_SRQ_NOTIFICATION_CALLBACK srq;
        NDK_FN_CONNECT_EVENT_CALLBACK connect;
    } notify;
    void *context;                   /* the context of the callback in `notify`; in a queue pair: the QPContext */
    const MDL *mdls[PROXY_MAX_MDLS]; /* of a region: the registered MDLs; guarded by the proxies' lock */
    unsigned mdl_count;
    struct region_memory memory; /* of a region */
    atomic_uint fast_pages;      /* of a region: the page count of the last NdkInitializeFastRegisterMr */
};

/* Returns for example "NDK_QP". */
const char *proxy_type_name(const struct proxy *p);
/*
 * Makes the proxy the object of this thread's next report. The report then describes the proxy: its type, its latest
 * calls, and the stack of its creation.
 */
void proxy_set_report_object(const struct proxy *p);
/* Returns the adapter of a proxy, which may be the proxy itself. */
const struct proxy *proxy_adapter(const struct proxy *p);
/* Returns true in a child of fork for an object of the parent. */
bool proxy_is_inherited(const struct proxy *p);
/* Returns what NdkQueryAdapterInfo of the proxy's adapter returned when the adapter was wrapped. */
const NDK_ADAPTER_INFO *proxy_adapter_info(const struct proxy *p);
/* Returns the logical addresses of the mappings of the proxy's adapter. */
struct logical_pages *proxy_logical_pages(const struct proxy *p);
/* Returns false if the provider did not return the information. */
bool proxy_has_adapter_info(const struct proxy *p);

/* ---- Creation ---- */

/*
 * Returns a proxy for an object that is about to be created, or NULL if out of memory. `size` is the size of the type's
 * struct, which begins with a struct proxy. `parent` is NULL for an adapter.
 */
struct proxy *proxy_create(size_t size, NDK_OBJECT_TYPE type, const void *dispatch, struct proxy *parent);
/*
 * Inserts a complete proxy into the list of open proxies, where other threads find it. proxy_begin_create calls this.
 */
void proxy_insert(struct proxy *p);
/* Must be called before the provider's create call. `routine` is the call's name, for example "NdkCreateCq". */
void proxy_begin_create(struct proxy *p, const char *routine, NDK_FN_CREATE_COMPLETION done, void *context);
/* Returns the completion routine for the provider, or NULL if the consumer gave none. The routine's context is p. */
NDK_FN_CREATE_COMPLETION proxy_create_routine(const struct proxy *p);
/*
 * Must be called after the provider's create call, which returned `status`. The provider has stored its object at
 * `object`; the consumer expects the proxy at `out`. Returns `status`.
 */
NTSTATUS proxy_end_create(struct proxy *p, NTSTATUS status, const void *object, void *out);
/* Stores in p the object that the provider has created. */
void proxy_set_real(struct proxy *p, void *real);

/* ---- Use ---- */

/*
 * Returns the provider's object of a proxy that is an argument of a call. Returns NULL if `pub` is NULL or the object
 * is closed. Reports a closed object.
 */
void *proxy_real_at(const void *pub, const char *routine);
#define PROXY_REAL(pub_, routine) ((__typeof__(pub_))proxy_real_at(pub_, routine))

/*
 * Called at the end of a call. Reports an object that another thread has closed during the call, unless a callback
 * allowed the close.
 */
void proxy_check_still_open(const struct call *c);

/* NdkQueryExtension of every type. */
NTSTATUS proxy_query_extension(NDK_OBJECT_HEADER *header, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out);

/* Calls a routine of the consumer between callback_begin, which receives `adapter` and `name`, and callback_end. */
#define PROXY_CALLBACK(adapter, name, routine, ...)                                                                    \
    do {                                                                                                               \
        struct callback callback_;                                                                                     \
        callback_begin(&callback_, adapter, name);                                                                     \
        (routine)(__VA_ARGS__);                                                                                        \
        callback_end(&callback_, (const void *)(uintptr_t)(routine));                                                  \
    } while (0)

/* ---- Close ---- */

/* The close entries of the tables. Adapters have none. */
NTSTATUS proxy_close_cq(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_pd(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_mr(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_mw(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_srq(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_qp(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_shared_endpoint(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_connector(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_close_listener(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
/* Returns true for the first close of the object. A later close is reported. */
bool proxy_begin_close(struct proxy *p, const char *routine);
/* Called when the provider's object is closed. Moves the proxy to the list of closed proxies. */
void proxy_end_close(struct proxy *p);

void proxy_ref(struct proxy *p);
void proxy_unref(struct proxy *p);

/* ---- All proxies ---- */

/* Returns true for a proxy, also for some time after its object is closed. */
bool proxy_exists(const void *pub);

/*
 * Lock and unlock the proxies' lock. The proxies' lock guards the lists of proxies, and those members of a proxy that
 * change during calls. The lock of posted requests may be acquired while the proxies' lock is held. The proxies' lock
 * must not be acquired while the lock of posted requests is held.
 */
void proxy_lock_all(void);
void proxy_unlock_all(void);
/*
 * From now on, each fork acquires the proxies' lock before it copies the process. Parent and child then release the
 * lock. So a child never finds the lock held by a thread that it does not have.
 */
void proxy_guard_fork(void);
/*
 * Returns the next watched open proxy after p, or the first watched open proxy if p is NULL. Returns NULL at the end.
 * Requires the lock.
 */
struct proxy *proxy_next_watched(struct proxy *p);
/* Returns the open proxy after p, or the first one if p is NULL. Returns NULL at the end. Requires the lock. */
struct proxy *proxy_next_open(const struct proxy *p);
/* Returns the open proxy at this address with a reference, or NULL if it is closed. */
struct proxy *proxy_find_open(const void *pub);
/*
 * Marks the registered regions that contain this buffer, so that the freeing of their memory is not reported a second
 * time. Returns false if no registered region contains the buffer.
 */
bool proxy_set_memory_reported(const void *start, size_t size);
/* Marks the region as watched. Must be called before MDLs are stored in the region. Requires the lock. */
void proxy_watch(struct proxy *p);
/* Copies at most `room` of the open objects. Returns how many objects are open. */
unsigned proxy_copy_open(struct verify_open *out, unsigned room);

/* ---- Create functions, which are in the table of another object, for example NdkCreateCq in the adapter's ---- */

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
