/* SPDX-License-Identifier: MIT */
/*
 * Declares functions and flags for the files that post requests. The invariant: a post that starts requests runs
 * between post_begin and post_end, so the queue pair exists until the post has ended.
 */
#ifndef PROVIDER_REQUESTS_H
#define PROVIDER_REQUESTS_H

#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "provider/adapter.h"
#include "provider/provider.h"

/* The flags that every initiator request accepts. */
enum { REQUEST_FLAGS = NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_DEFER };

/* Converts flags to enum rdma_flags. Ignores flags whose meaning depends on the type of the request. */
unsigned request_flags(ULONG flags);

/*
 * Sets the request's SGEs to the consumer's list. The list must not change until the post returns. Returns
 * STATUS_INVALID_PARAMETER if `count` exceeds `max`, if the list is missing, or if the total length exceeds the
 * adapter's limit.
 */
NTSTATUS request_set_sges(struct rdma_request *r, const struct adapter *a, const NDK_SGE *sgl, ULONG count, ULONG max);

/*
 * If an initiator request has no NDK_OP_FLAG_DEFER, its post runs between post_begin and post_end. A successful post of
 * this kind starts the request and the deferred requests before it. If a post with or without NDK_OP_FLAG_DEFER fails,
 * post_end starts the deferred requests. post_end returns `status`.
 */
void post_begin(struct qp *qp);
NTSTATUS post_end(struct qp *qp, NTSTATUS status);

/* The entries of the queue pair's dispatch table for memory regions and windows (region_requests.c). */
NTSTATUS region_fast_register(NDK_QP *qp, PVOID context, NDK_MR *mr, ULONG page_count,
                              CONST NDK_LOGICAL_ADDRESS *logical, ULONG fbo, SIZE_T length, PVOID base, ULONG flags);
NTSTATUS region_bind(NDK_QP *qp, PVOID context, NDK_MR *mr, NDK_MW *mw, PVOID address, SIZE_T length, ULONG flags);
NTSTATUS region_invalidate(NDK_QP *qp, PVOID context, NDK_OBJECT_HEADER *object, ULONG flags);

#endif
