/* SPDX-License-Identifier: MIT */
/*
 * Creates and frees memory that an adapter uses. The memory is freed after its region, mapping and MDL, because the
 * adapter can access the memory through them. All functions except EchoBufferRegister and EchoBufferSge need
 * PASSIVE_LEVEL.
 */
#include "echo.h"

static NTSTATUS Allocate(ECHO_BUFFER *Buffer, ULONG Length)
{
    RtlZeroMemory(Buffer, sizeof(*Buffer));
    Buffer->Length = Length;
    Buffer->Data = ExAllocatePoolWithTag(NonPagedPoolNx, Length, ECHO_TAG);
    if (!Buffer->Data)
        return STATUS_INSUFFICIENT_RESOURCES;
    RtlZeroMemory(Buffer->Data, Length);
    Buffer->Mdl = IoAllocateMdl(Buffer->Data, Length, FALSE, FALSE, NULL);
    if (!Buffer->Mdl)
        return STATUS_INSUFFICIENT_RESOURCES;
    MmBuildMdlForNonPagedPool(Buffer->Mdl);
    return STATUS_SUCCESS;
}

NTSTATUS EchoBufferCreate(ECHO_BUFFER *Buffer, NDK_PD *Pd, ULONG Length)
{
    NTSTATUS status = Allocate(Buffer, Length);
    ECHO_WAIT wait;

    EchoWaitInitialize(&wait);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&wait, Pd->Dispatch->NdkCreateMr(Pd, FALSE, EchoCreated, &wait, &Buffer->Mr),
            (PVOID *)&Buffer->Mr);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&wait, Buffer->Mr->Dispatch->NdkRegisterMr(Buffer->Mr, Buffer->Mdl, Length,
            NDK_MR_FLAG_ALLOW_LOCAL_WRITE, EchoCompleted, &wait), NULL);
    if (NT_SUCCESS(status))
        Buffer->Token = Buffer->Mr->Dispatch->NdkGetLocalTokenFromMr(Buffer->Mr);
    else
        EchoBufferDelete(Buffer);
    return status;
}

/* Calls NdkBuildLAM twice: the first call, without a buffer, returns the size of the mapping. */
static NTSTATUS Map(ECHO_BUFFER *Buffer, NDK_ADAPTER *Adapter)
{
    ULONG size = 0;
    ECHO_WAIT wait;
    NTSTATUS status;

    EchoWaitInitialize(&wait);
    status = EchoWaitFor(&wait, Adapter->Dispatch->NdkBuildLAM(Adapter, Buffer->Mdl, Buffer->Length, EchoCompleted,
        &wait, NULL, &size, &Buffer->Offset), NULL);
    if (status != STATUS_BUFFER_TOO_SMALL)
        return NT_SUCCESS(status) ? STATUS_INTERNAL_ERROR : status;
    Buffer->Lam = ExAllocatePoolWithTag(NonPagedPoolNx, size, ECHO_TAG);
    if (!Buffer->Lam)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = EchoWaitFor(&wait, Adapter->Dispatch->NdkBuildLAM(Adapter, Buffer->Mdl, Buffer->Length, EchoCompleted,
        &wait, Buffer->Lam, &size, &Buffer->Offset), NULL);
    if (NT_SUCCESS(status)) {
        Buffer->Adapter = Adapter;
    } else {
        ExFreePoolWithTag(Buffer->Lam, ECHO_TAG);
        Buffer->Lam = NULL;
    }
    return status;
}

NTSTATUS EchoBufferCreateFast(ECHO_BUFFER *Buffer, NDK_ADAPTER *Adapter, NDK_PD *Pd, ULONG Length, BOOLEAN Remote)
{
    NTSTATUS status = Allocate(Buffer, Length);
    ECHO_WAIT wait;

    EchoWaitInitialize(&wait);
    if (NT_SUCCESS(status))
        status = Map(Buffer, Adapter);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&wait, Pd->Dispatch->NdkCreateMr(Pd, TRUE, EchoCreated, &wait, &Buffer->Mr),
            (PVOID *)&Buffer->Mr);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&wait, Buffer->Mr->Dispatch->NdkInitializeFastRegisterMr(Buffer->Mr,
            Buffer->Lam->AdapterPageCount, Remote, EchoCompleted, &wait), NULL);
    if (NT_SUCCESS(status))
        Buffer->Token = Buffer->Mr->Dispatch->NdkGetLocalTokenFromMr(Buffer->Mr);
    else
        EchoBufferDelete(Buffer);
    return status;
}

/*
 * Posts a fast registration of the whole memory. The request is silent and has no context, so it has a result only if
 * it fails. After a failure the later requests of the queue pair fail, too.
 *
 * NdkFastRegister requires a base address that has the same offset in its page as the memory. The memory's own virtual
 * address has this offset.
 */
NTSTATUS EchoBufferRegister(ECHO_BUFFER *Buffer, NDK_QP *Qp, ULONG Flags)
{
    NTSTATUS status = Qp->Dispatch->NdkFastRegister(Qp, NULL, Buffer->Mr, Buffer->Lam->AdapterPageCount,
        Buffer->Lam->AdapterPageArray, Buffer->Offset, Buffer->Length, Buffer->Data,
        Flags | NDK_OP_FLAG_SILENT_SUCCESS);

    if (NT_SUCCESS(status)) /* each registration gives the region a new token */
        Buffer->Token = Buffer->Mr->Dispatch->NdkGetLocalTokenFromMr(Buffer->Mr);
    return status;
}

VOID EchoBufferDelete(ECHO_BUFFER *Buffer)
{
    if (Buffer->Mr)
        EchoClose(&Buffer->Mr->Header, Buffer->Mr->Dispatch->NdkCloseMr);
    if (Buffer->Lam) {
        Buffer->Adapter->Dispatch->NdkReleaseLAM(Buffer->Adapter, Buffer->Lam);
        ExFreePoolWithTag(Buffer->Lam, ECHO_TAG);
    }
    if (Buffer->Mdl)
        IoFreeMdl(Buffer->Mdl);
    if (Buffer->Data)
        ExFreePoolWithTag(Buffer->Data, ECHO_TAG);
    RtlZeroMemory(Buffer, sizeof(*Buffer));
}

NDK_SGE EchoBufferSge(const ECHO_BUFFER *Buffer, ULONG Offset, ULONG Length)
{
    NDK_SGE sge;

    RtlZeroMemory(&sge, sizeof(sge));
    sge.VirtualAddress = Buffer->Data + Offset;
    sge.Length = Length;
    sge.MemoryRegionToken = Buffer->Token;
    return sge;
}
