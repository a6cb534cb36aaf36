/* SPDX-License-Identifier: MIT */
/*
 * A proxy stands in front of each of the provider's objects. A proxy whose object is closed stays for some time, so
 * that a later call on it is reported instead of a crash.
 *
 * The consumer never holds the provider's object. Whatever it does to NdkReserved and Dispatch of the proxy, which are
 * free for it, reaches neither this layer nor the provider.
 */
#ifndef VERIFY_PROXY_H
#define VERIFY_PROXY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include <ndk/ndkpi.h>

#include "verify/host.h"
#include "verify/pending.h"
#include "verify/rules.h"
#include "verify/stack.h"
#include "verify/verify.h"

enum { PROXY_OPEN, PROXY_CLOSING, PROXY_CLOSED };
enum { PROXY_MAX_MDLS = 8 }; /* of a region's chain, that are watched */

struct proxy {
    struct {
        NDK_OBJECT_HEADER header;
        const void *dispatch;
    } pub;                     /* first: what the consumer holds */
    void *real;                /* the provider's object */
    NDK_OBJECT_TYPE type;
    uint64_t serial;           /* see struct verify_open */
    atomic_int state, refs;
    struct proxy *adapter;     /* NULL for an adapter */
    atomic_int children;       /* an adapter's: objects whose close has not returned */
    void (*on_end)(struct proxy *p);  /* the type's own, when it is closed and when the proxy is freed; or NULL */
    void (*on_free)(struct proxy *p);
    TAILQ_ENTRY(proxy) list;   /* of the open ones, then of the closed ones */
    bool watched;              /* it may name memory that must stay: such proxies come first among the open ones */
    struct stack created_by, closed_by;

    NDK_FN_CREATE_COMPLETION created;
    NDK_FN_CLOSE_COMPLETION closed;
    void *created_context, *closed_context;
    struct pending creating, closing;

    union {                    /* the callback that it was created with */
        NDK_FN_CQ_NOTIFICATION_CALLBACK cq;
        NDK_FN_SRQ_NOTIFICATION_CALLBACK srq;
        NDK_FN_CONNECT_EVENT_CALLBACK connect;
    } notify;
    void *context;             /* of that callback; a queue pair's QPContext */
    const MDL *mdls[PROXY_MAX_MDLS]; /* of a registered region; under the proxies' lock */
    unsigned mdl_count;
    atomic_uint fast_pages;    /* of a region: as many as NdkInitializeFastRegisterMr received last */
};

/* ---- Creation ---- */

/*
 * Returns a proxy for an object that is about to be created; NULL if out of memory. size is that of a struct that
 * begins with a struct proxy. parent is NULL for an adapter.
 */
struct proxy *proxy_create(size_t size, NDK_OBJECT_TYPE type, const void *dispatch, struct proxy *parent);
/* Inserts a complete proxy into the open ones, where other threads find it. proxy_begin_create does that. */
void proxy_insert(struct proxy *p);
/* Before the provider's create call. `routine` is "NdkCreateCq". */
void proxy_begin_create(struct proxy *p, const char *routine, NDK_FN_CREATE_COMPLETION done, void *context);
/* The completion routine for the provider, whose context is the proxy; NULL if the consumer gave none. */
NDK_FN_CREATE_COMPLETION proxy_create_routine(const struct proxy *p);
/*
 * After the provider's create call, which returned status. object is where the provider wrote its object, out where
 * the consumer wants the proxy. Returns status.
 */
NTSTATUS proxy_end_create(struct proxy *p, NTSTATUS status, const void *object, void *out);
/* The provider has created the object. */
void proxy_set_real(struct proxy *p, void *real);

/* ---- Use ---- */

/*
 * Returns the proxy of an object that the consumer calls, after checks of the IRQL, the caller's stack, and that the
 * object is open. Returns NULL for NULL, and if the object is closed, which is reported.
 */
struct proxy *proxy_enter(const void *pub, const char *routine, const void *frame);
#define PROXY_ENTER(pub_, routine) proxy_enter(pub_, routine, __builtin_frame_address(0))
/* Returns the provider's object for one that a call names, likewise. */
void *proxy_real_at(const void *pub, const char *routine);
#define PROXY_REAL(pub_, routine) ((__typeof__(pub_))proxy_real_at(pub_, routine))

/* NdkQueryExtension of every type. */
NTSTATUS proxy_query_extension(NDK_OBJECT_HEADER *header, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out);

/* Calls a routine of the consumer's. */
#define PROXY_CALLBACK(name, routine, ...)                                                     \
    do {                                                                                       \
        const struct verify_host *host_ = verify_host();                                       \
        uint64_t mark_ = host_->callback_begin();                                              \
        (routine)(__VA_ARGS__);                                                                \
        host_->callback_end(mark_, name, (const void *)(uintptr_t)(routine));                  \
    } while (0)

/* ---- Close ---- */

/* The close call of every type but the adapter's. */
NTSTATUS proxy_close(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
/* Returns true for the first close of the object. A later one is reported. */
bool proxy_begin_close(struct proxy *p, const char *routine);
/* The provider's object is gone. */
void proxy_end_close(struct proxy *p);

void proxy_ref(struct proxy *p);
void proxy_unref(struct proxy *p);

/* ---- All proxies ---- */

/* True for a proxy, also for some time after its close. */
bool proxy_exists(const void *pub);

/* Protects the lists of proxies, and what NDK calls change in a proxy. Taken before the lock of posted requests. */
void proxy_lock_all(void);
void proxy_unlock_all(void);
/* The open proxy after p, among those that are watched; the first for NULL. Requires the lock. */
struct proxy *proxy_next_watched(struct proxy *p);
/* A region gets MDLs: it is watched from now on. Requires the lock. */
void proxy_watch(struct proxy *p);
/* Copies the open objects, as far as there is room; returns how many there are. */
unsigned proxy_copy_open(struct verify_open *out, unsigned room);

/* ---- Create calls of the types that another type's table contains ---- */

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
