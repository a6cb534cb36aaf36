/* SPDX-License-Identifier: MIT */
/* What the files that post requests have in common. */
#ifndef PROVIDER_REQUESTS_H
#define PROVIDER_REQUESTS_H

#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "provider/adapter.h"
#include "provider/provider.h"

/* Those that every initiator request takes. */
enum { REQUEST_FLAGS = NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_DEFER };

/* enum rdma_flags for the flags that mean the same with every request that takes them. */
unsigned request_flags(ULONG flags);

/*
 * SGEs into the fabric's, count being at most max, and max at most LIMIT_SGES. STATUS_INVALID_PARAMETER: there are
 * more, the list is missing, or the total is beyond what one request may carry.
 */
NTSTATUS request_sges(const struct adapter *a, const NDK_SGE *sgl, ULONG count, ULONG max, struct rdma_sge *out);

/*
 * Around an initiator's post. What waits for the next request is not to wait for one that failed, wherever that was, so
 * a failure lets it go. Gives the status back.
 */
void request_enter(struct qp *qp);
NTSTATUS request_leave(struct qp *qp, NTSTATUS status);

/* Those of memory regions and windows. */
NTSTATUS region_fast_register(NDK_QP *qp, PVOID context, NDK_MR *mr, ULONG page_count,
                              CONST NDK_LOGICAL_ADDRESS *logical, ULONG fbo, SIZE_T length, PVOID base, ULONG flags);
NTSTATUS region_bind(NDK_QP *qp, PVOID context, NDK_MR *mr, NDK_MW *mw, PVOID address, SIZE_T length, ULONG flags);
NTSTATUS region_invalidate(NDK_QP *qp, PVOID context, NDK_OBJECT_HEADER *object, ULONG flags);

#endif
