/* SPDX-License-Identifier: MIT */
/*
 * Memory that requests name, with one of two kinds of registration:
 *
 *   plain  NdkRegisterMr, once. The token is valid until the memory is deleted.
 *   fast   NdkFastRegister before each use, NdkInvalidate after it, both as requests on the queue pair. So the token is
 *          valid only while a command uses the memory, which matters because the sink of an iWARP read is open to the
 *          peer.
 */
#ifndef NVME_TARGET_MEMORY_H
#define NVME_TARGET_MEMORY_H

#include "host.h"

struct target_memory {
    struct host_pages pages;
    NDK_MR *mr;
    uint32_t token; /* local, for SGEs */
    NDK_ADAPTER *adapter;
    NDK_LOGICAL_ADDRESS_MAPPING *lam; /* fast registration only */
    ULONG offset;                     /* of the first byte in the first page of the mapping */
};

/* Allocates zeroed memory and registers it for receives, sends, reads and writes of this side. Waits. */
NTSTATUS target_memory_create(struct target_memory *memory, NDK_PD *pd, uint32_t size);
/* Allocates zeroed memory for fast registration. Waits. */
NTSTATUS target_memory_create_fast(struct target_memory *memory, NDK_ADAPTER *adapter, NDK_PD *pd, uint32_t size);
/* Frees the memory, even after a failed create. No request may use it: its queue pair is closed. Waits. */
void target_memory_delete(struct target_memory *memory);

/*
 * Post the fast registration, and the invalidation that ends it. The requests are silent: only a failure has a result,
 * without a context. After a failure the queue pair's later requests fail, too. Each waits for the next request
 * (NDK_OP_FLAG_DEFER).
 */
NTSTATUS target_memory_register(struct target_memory *memory, NDK_QP *qp);
NTSTATUS target_memory_invalidate(struct target_memory *memory, NDK_QP *qp);

/* Returns the SGE of `length` bytes at `data`, which are in the memory. */
NDK_SGE target_memory_sge(const struct target_memory *memory, void *data, uint32_t length);

#endif
