/* SPDX-License-Identifier: MIT */
/*
 * Allocates and registers memory: see memory.h. The region, the mapping and the MDL are deleted before the pages are
 * freed, because the adapter can access the pages through them.
 */
#include "memory.h"

#include <string.h>

#include "wait.h"

static NTSTATUS memory_register_plain(struct target_memory *memory, NDK_PD *pd, struct target_wait *wait)
{
    NTSTATUS status;

    status = pd->Dispatch->NdkCreateMr(pd, FALSE, target_on_created, wait, &memory->mr);
    status = target_wait_create(wait, status, &memory->mr);
    if (!NT_SUCCESS(status))
        return status;
    status = memory->mr->Dispatch->NdkRegisterMr(memory->mr, memory->pages.mdl, memory->pages.size,
                                                 NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK,
                                                 target_on_completed, wait);
    status = target_wait_for(wait, status);
    if (NT_SUCCESS(status))
        memory->token = memory->mr->Dispatch->NdkGetLocalTokenFromMr(memory->mr);
    return status;
}

NTSTATUS target_memory_create(struct target_memory *memory, NDK_PD *pd, uint32_t size)
{
    struct target_wait wait;
    NTSTATUS status;

    memset(memory, 0, sizeof *memory);
    if (!host_pages_alloc(&memory->pages, size))
        return STATUS_INSUFFICIENT_RESOURCES;
    target_wait_init(&wait);
    status = memory_register_plain(memory, pd, &wait);
    target_wait_fini(&wait);
    return status;
}

/*
 * Maps the memory with NdkBuildLAM. The first call has no buffer and returns the size of the mapping; the second call
 * maps.
 */
static NTSTATUS memory_map(struct target_memory *memory, NDK_ADAPTER *adapter, struct target_wait *wait)
{
    NDK_LOGICAL_ADDRESS_MAPPING *lam;
    ULONG size = 0;
    NTSTATUS status;

    status = adapter->Dispatch->NdkBuildLAM(adapter, memory->pages.mdl, memory->pages.size, target_on_completed, wait,
                                            NULL, &size, &memory->offset);
    status = target_wait_for(wait, status);
    if (status != STATUS_BUFFER_TOO_SMALL)
        return NT_SUCCESS(status) ? STATUS_INTERNAL_ERROR : status;
    lam = host_alloc(size);
    if (!lam)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = adapter->Dispatch->NdkBuildLAM(adapter, memory->pages.mdl, memory->pages.size, target_on_completed, wait,
                                            lam, &size, &memory->offset);
    status = target_wait_for(wait, status);
    if (!NT_SUCCESS(status)) {
        host_free(lam);
        return status;
    }
    memory->adapter = adapter;
    memory->lam = lam;
    return STATUS_SUCCESS;
}

static NTSTATUS memory_prepare_fast(struct target_memory *memory, NDK_ADAPTER *adapter, NDK_PD *pd,
                                    struct target_wait *wait)
{
    NTSTATUS status = memory_map(memory, adapter, wait);

    if (!NT_SUCCESS(status))
        return status;
    status = pd->Dispatch->NdkCreateMr(pd, TRUE, target_on_created, wait, &memory->mr);
    status = target_wait_create(wait, status, &memory->mr);
    if (!NT_SUCCESS(status))
        return status;
    status = memory->mr->Dispatch->NdkInitializeFastRegisterMr(memory->mr, memory->lam->AdapterPageCount, FALSE,
                                                               target_on_completed, wait);
    return target_wait_for(wait, status);
}

NTSTATUS target_memory_create_fast(struct target_memory *memory, NDK_ADAPTER *adapter, NDK_PD *pd, uint32_t size)
{
    struct target_wait wait;
    NTSTATUS status;

    memset(memory, 0, sizeof *memory);
    if (!host_pages_alloc(&memory->pages, size))
        return STATUS_INSUFFICIENT_RESOURCES;
    target_wait_init(&wait);
    status = memory_prepare_fast(memory, adapter, pd, &wait);
    target_wait_fini(&wait);
    return status;
}

void target_memory_delete(struct target_memory *memory)
{
    if (memory->mr)
        target_close(&memory->mr->Header, memory->mr->Dispatch->NdkCloseMr);
    if (memory->lam) {
        memory->adapter->Dispatch->NdkReleaseLAM(memory->adapter, memory->lam);
        host_free(memory->lam);
    }
    host_pages_free(&memory->pages);
    memset(memory, 0, sizeof *memory);
}

/*
 * Posts the fast registration. NdkFastRegister requires a base address with the same offset in its page as the first
 * byte. The memory's own address has this offset. Each registration gives the region a new token.
 */
NTSTATUS target_memory_register(struct target_memory *memory, NDK_QP *qp)
{
    NTSTATUS status = qp->Dispatch->NdkFastRegister(
        qp, NULL, memory->mr, memory->lam->AdapterPageCount, memory->lam->AdapterPageArray, memory->offset,
        memory->pages.size, memory->pages.data,
        NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK | NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER);

    if (NT_SUCCESS(status))
        memory->token = memory->mr->Dispatch->NdkGetLocalTokenFromMr(memory->mr);
    return status;
}

NTSTATUS target_memory_invalidate(struct target_memory *memory, NDK_QP *qp)
{
    return qp->Dispatch->NdkInvalidate(qp, NULL, &memory->mr->Header, NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER);
}

NDK_SGE target_token_sge(uint32_t token, void *data, uint32_t length)
{
    NDK_SGE sge;

    memset(&sge, 0, sizeof sge);
    sge.VirtualAddress = data;
    sge.Length = length;
    sge.MemoryRegionToken = token;
    return sge;
}

NDK_SGE target_memory_sge(const struct target_memory *memory, void *data, uint32_t length)
{
    return target_token_sge(memory->token, data, length);
}
