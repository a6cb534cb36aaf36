/* SPDX-License-Identifier: MIT */
/*
 * The filter's objects: a proxy for each object of the provider's. The driver holds the proxy and calls through its
 * table; each entry of that looks first and then calls the provider with the object behind. A proxy whose object is
 * closed stays for a while as it is, so that a call on it is reported and not a crash.
 *
 * The provider's object is never the driver's, so that whatever the driver does to the one in its hands (NdkReserved
 * and Dispatch are free for it) reaches neither the filter nor the provider.
 */
#ifndef WDK_NDK_FILTER_INTERNAL_H
#define WDK_NDK_FILTER_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "wdm.h"
#include "ndkpi.h"

#include "base/spin.h"
#include "verify/pending.h"
#include "verify/stack.h"
#include "wdk/common/check.h"
#include "wdk/ke/thread.h"

enum { PROXY_OPEN, PROXY_CLOSING, PROXY_CLOSED };
enum { PROXY_MDLS = 8 }; /* of a region's chain, that are looked after */

struct proxy {
    struct {
        NDK_OBJECT_HEADER header;
        const void *dispatch;
    } pub;                     /* first: what the driver holds */
    void *real;                /* the provider's object */
    NDK_OBJECT_TYPE type;
    atomic_int state, refs;
    struct proxy *adapter;     /* that it was made from; NULL for an adapter */
    atomic_int children;       /* an adapter's: objects whose close has not returned */
    void (*end_parts)(struct proxy *p);  /* a type's own, when it is closed and when the proxy goes; or NULL */
    void (*free_parts)(struct proxy *p);
    TAILQ_ENTRY(proxy) list;   /* of the open ones, then of the closed */
    bool watched;              /* it may name memory that must not go: such ones come first in the list of open ones */
    struct stack made_by, closed_by;

    NDK_FN_CREATE_COMPLETION created;
    NDK_FN_CLOSE_COMPLETION closed;
    void *created_context, *closed_context;
    struct ndk_pending creating, closing;

    union {                    /* the callback that it was created with */
        NDK_FN_CQ_NOTIFICATION_CALLBACK cq;
        NDK_FN_SRQ_NOTIFICATION_CALLBACK srq;
        NDK_FN_CONNECT_EVENT_CALLBACK connect;
    } notify;
    void *context;             /* of that; a queue pair's QPContext */
    const MDL *mdls[PROXY_MDLS]; /* of a registered region; under the lock of proxies */
    unsigned mdl_count;
    atomic_uint fast_pages;    /* of a region: as many as NdkInitializeFastRegisterMr was given last */
};

/* ---- proxy.c ---- */

/*
 * A proxy for an object that is about to be made. size: sizeof(struct proxy), or of what begins with one. parent: what
 * it is made from, NULL for an adapter. NULL: no memory.
 */
struct proxy *proxy_make(size_t size, NDK_OBJECT_TYPE type, const void *dispatch, struct proxy *parent);
/* Into the list of what is open, where other threads see it: when all is filled in. proxy_creating does it. */
void proxy_enlist(struct proxy *p);
/* A region gets MDLs: from now on it is watched. Under the lock of proxies. */
void proxy_watch(struct proxy *p);
/* The creating call: before the provider's. `routine` is "NdkCreateCq". */
void proxy_creating(struct proxy *p, const char *routine, NDK_FN_CREATE_COMPLETION done, void *context);
/* The provider's completion routine and its context for it; NULL where the driver gave none. */
NDK_FN_CREATE_COMPLETION proxy_creation_routine(const struct proxy *p);
/* What the creating call returns: made is where the provider wrote its object, out where the driver wants the proxy. */
NTSTATUS proxy_created(struct proxy *p, NTSTATUS status, const void *made, void *out);
/* The provider has made it. */
void proxy_give(struct proxy *p, void *real);
/* It came to nothing. */
void proxy_discard(struct proxy *p);

/* True the first time, and only then: it is closing now. Otherwise reported. */
bool proxy_begin_close(struct proxy *p, const char *routine);
/* The object behind is gone. */
void proxy_end(struct proxy *p);

/* Is it a proxy, open or closed not long ago? */
bool proxy_known(const void *pub);

void proxy_ref(struct proxy *p);
void proxy_unref(struct proxy *p);

/* The lock of proxies: the lists, and what NDK calls change in them. A leaf, but for those of posted requests. */
void proxies_lock(void);
void proxies_unlock(void);

/*
 * An object that the driver calls, or names in a call: IRQL, its stack, and that it is open. NULL: it is not, which
 * has been reported (or it was NULL).
 */
struct proxy *proxy_enter(const void *pub, const char *routine, const void *frame);
void *proxy_real_at(const void *pub, const char *routine);
#define ENTER(pub_, routine) proxy_enter(pub_, routine, __builtin_frame_address(0))
/* The provider's, for a parameter; NULL for NULL. */
#define REAL(pub_, routine) ((__typeof__(pub_))proxy_real_at(pub_, routine))

/* NdkClose..., NdkQueryExtension: the same for all. */
NTSTATUS proxy_close(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS proxy_query_extension(NDK_OBJECT_HEADER *header, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out);

/* Around a callback of the driver's. */
#define CALL_DRIVER(what, routine, ...)                                       \
    do {                                                                      \
        struct thread_mark mark_ = thread_mark_take();                        \
        (routine)(__VA_ARGS__);                                               \
        thread_mark_check(&mark_, what, (const void *)(uintptr_t)(routine));  \
    } while (0)

/* ---- async_call.c: calls that complete by NDK_FN_REQUEST_COMPLETION ---- */

struct request;
typedef void pend_then(struct proxy *p, NTSTATUS status);

/*
 * Before the provider's call. then, if not NULL, runs with the final status in front of the driver's routine. NULL: no
 * memory, or no routine: the call goes through as it is, unseen.
 */
struct request *pend_begin(struct proxy *p, const char *routine, NDK_FN_REQUEST_COMPLETION done, void *context,
                              pend_then *then);
NDK_FN_REQUEST_COMPLETION pend_routine(const struct request *r, NDK_FN_REQUEST_COMPLETION done);
void *pend_context(struct request *r, void *context);
/* What the provider's call returned; hands it on. */
NTSTATUS pend_answer(struct request *r, NTSTATUS status);

/* ---- completion_queue.c, protection_domain.c, connector.c ---- */

NTSTATUS filter_create_cq(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify,
                          PVOID notify_context,
                          GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CQ **out);
NTSTATUS filter_create_pd(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out);
NTSTATUS filter_create_srq(NDK_PD *pd, ULONG depth, ULONG sges, ULONG threshold,
                           NDK_FN_SRQ_NOTIFICATION_CALLBACK notify,
                           PVOID notify_context, GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context,
                           NDK_SRQ **out);
NTSTATUS filter_create_qp(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context, ULONG receive_depth,
                          ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_size,
                          NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out);
NTSTATUS filter_create_qp_with_srq(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq, PVOID qp_context,
                                   ULONG initiator_depth, ULONG initiator_sges, ULONG inline_size,
                                   NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out);
NTSTATUS filter_create_shared_endpoint(NDK_ADAPTER *adapter, const PSOCKADDR address, ULONG length,
                                       NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SHARED_ENDPOINT **out);
NTSTATUS filter_create_connector(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context,
                                 NDK_CONNECTOR **out);
NTSTATUS filter_create_listener(NDK_ADAPTER *adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                                NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_LISTENER **out);
/*
 * Its connection has ended for good, by a disconnect or its connector's close: none of its requests is outstanding any
 * more.
 */
void filter_qp_is_over(struct proxy *qp);
/* A posted request of an open queue that names memory inside: under the lock of proxies. */
bool filter_find_posted(struct proxy *queue, const void *start, size_t size, struct inuse_found *out);

/*
 * The routine that posted a request, not completed yet, that uses the mapping of this adapter's; NULL: there is none.
 */
const char *filter_find_user(const struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam, uint64_t *at);

#endif
