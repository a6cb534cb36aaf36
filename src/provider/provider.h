/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of several object types share: the entries of dispatch tables that create objects, and
 * the structs of protection domains, completion queues, shared receive queues and queue pairs. The invariant: each
 * struct begins with its public struct, followed by its struct object. So a handle is also a pointer to the whole
 * struct.
 */
#ifndef PROVIDER_PROVIDER_H
#define PROVIDER_PROVIDER_H

#include <stdatomic.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "openndk/netstat.h"
#include "provider/adapter.h"
#include "provider/object.h"

/* ---- The entries of the adapter's dispatch table that create objects ---- */
NTSTATUS cq_create(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify, PVOID notify_context,
                   GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CQ **out);
NTSTATUS pd_create(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out);
NTSTATUS shared_endpoint_create(NDK_ADAPTER *adapter, CONST PSOCKADDR address, ULONG address_length,
                                NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SHARED_ENDPOINT **out);
NTSTATUS connector_create(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CONNECTOR **out);
NTSTATUS listener_create(NDK_ADAPTER *adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                         NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_LISTENER **out);

/* ---- The entries of the protection domain's dispatch table that create objects ---- */
NTSTATUS mr_create(NDK_PD *pd, BOOLEAN fast_register, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MR **out);
NTSTATUS mw_create(NDK_PD *pd, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MW **out);
NTSTATUS srq_create(NDK_PD *pd, ULONG depth, ULONG max_sge, ULONG threshold, NDK_FN_SRQ_NOTIFICATION_CALLBACK notify,
                    PVOID notify_context, GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context,
                    NDK_SRQ **out);
NTSTATUS qp_create(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context, ULONG receive_depth,
                   ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_size,
                   NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out);
NTSTATUS qp_create_with_srq(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq, PVOID qp_context,
                            ULONG initiator_depth, ULONG initiator_sges, ULONG inline_size,
                            NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out);

/* ---- The structs ---- */

struct pd {
    NDK_PD pub;
    struct object obj;
};
OBJECT_ASSERT_LAYOUT(pd);
static inline struct pd *pd_of(NDK_PD *pub)
{
    return (struct pd *)pub;
}
/* Returns the value that identifies the protection domain in the fabric. */
const void *pd_domain(const struct pd *pd);

struct cq {
    NDK_CQ pub;
    struct object obj;
    struct fabric_cq *fabric;
    _Atomic uint32_t depth;
    int affinity; /* the preferred processor, or -1 */
    NDK_FN_CQ_NOTIFICATION_CALLBACK notify;
    void *notify_context;
};
OBJECT_ASSERT_LAYOUT(cq);
static inline struct cq *cq_of(NDK_CQ *pub)
{
    return (struct cq *)pub;
}

/* Returns the lowest processor of the set, or -1 if the set is NULL or empty. */
int cq_processor(const GROUP_AFFINITY *affinity);

struct srq {
    NDK_SRQ pub;
    struct object obj;
    struct fabric_srq *fabric;
    struct pd *pd;
    uint32_t sges;
    int affinity;                            /* the preferred processor, or -1 */
    NDK_FN_SRQ_NOTIFICATION_CALLBACK notify; /* or NULL */
    void *notify_context;
};
OBJECT_ASSERT_LAYOUT(srq);
static inline struct srq *srq_of(NDK_SRQ *pub)
{
    return (struct srq *)pub;
}

struct qp {
    NDK_QP pub;
    struct object obj;
    struct fabric_qp *fabric;
    struct pd *pd;
    struct cq *receive_cq, *initiator_cq;
    struct srq *srq; /* or NULL */
    uint32_t receive_depth, initiator_depth, receive_sges, initiator_sges, inline_size;
    atomic_bool bound; /* true: a connector has connected the queue pair, or is connecting it */
};
OBJECT_ASSERT_LAYOUT(qp);
static inline struct qp *qp_of(NDK_QP *pub)
{
    return (struct qp *)pub;
}
static inline const struct fabric_ops *qp_ops(const struct qp *qp)
{
    return qp->obj.adapter->fabric->ops;
}
extern const NDK_QP_DISPATCH qp_dispatch; /* qp_requests.c */

#endif
