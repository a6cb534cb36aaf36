/* SPDX-License-Identifier: MIT */
/*
 * Memory that NDK requests use, with one of two kinds of registration:
 *
 *   plain  NdkRegisterMr, once. The token is valid until the memory is deleted.
 *   fast   NdkFastRegister before each use, NdkInvalidate after it, both as requests on the queue pair. So the token is
 *          valid only while a command uses the memory. This limits what the peer can write: over iWARP the peer may be
 *          able to write to memory that is the local buffer of a read.
 */
#ifndef NVME_TARGET_MEMORY_H
#define NVME_TARGET_MEMORY_H

#include "host.h"

struct target_memory {
    struct host_pages pages;
    NDK_MR *mr;
    uint32_t token; /* token for the SGEs of this side */
    NDK_ADAPTER *adapter;
    NDK_LOGICAL_ADDRESS_MAPPING *lam; /* fast registration only */
    ULONG offset;                     /* offset of the first byte in the first page of the mapping */
};

/* Allocates zeroed memory, and registers it for receives, sends, reads and writes that this side posts. May wait. */
NTSTATUS target_memory_create(struct target_memory *memory, NDK_PD *pd, uint32_t size);
/* Allocates zeroed memory, and prepares it for fast registration. May wait. */
NTSTATUS target_memory_create_fast(struct target_memory *memory, NDK_ADAPTER *adapter, NDK_PD *pd, uint32_t size);
/*
 * Frees the memory, even after a create has failed. Requires that the queue pair of each request that used the memory
 * is closed. May wait.
 */
void target_memory_delete(struct target_memory *memory);

/*
 * target_memory_register posts the fast registration, target_memory_invalidate the invalidation that ends it. Both
 * requests are silent: they have a result only if they fail, and the result has no context. After a failure the queue
 * pair's later requests fail, too. Both use NDK_OP_FLAG_DEFER, so the adapter may start them together with the next
 * request.
 */
NTSTATUS target_memory_register(struct target_memory *memory, NDK_QP *qp);
NTSTATUS target_memory_invalidate(struct target_memory *memory, NDK_QP *qp);

/* Returns an SGE for `length` bytes at `data`, which lie in the memory with the token. */
NDK_SGE target_token_sge(uint32_t token, void *data, uint32_t length);
/* Returns an SGE for the `length` bytes at `data`. Requires that these bytes lie in the memory. */
NDK_SGE target_memory_sge(const struct target_memory *memory, void *data, uint32_t length);

#endif
