/* SPDX-License-Identifier: MIT */
/*
 * Reads the discovery log page, which lists a target's subsystems and their addresses. For this it connects a
 * controller to the well-known discovery subsystem; the controller exists only during the call. All functions require
 * PASSIVE_LEVEL.
 */
#include "nvmendk.h"

typedef struct _DISCOVERY {
    NVME_REQUEST Request;
    KEVENT Done;
} DISCOVERY;

static VOID DiscoveryDone(NVME_REQUEST *Request)
{
    DISCOVERY *discovery = CONTAINING_RECORD(Request, DISCOVERY, Request);

    KeSetEvent(&discovery->Done, IO_NO_INCREMENT, FALSE); /* the waiter may return and free `discovery` now */
}

/* Reads the first Length bytes of the log page. */
static NTSTATUS DiscoveryRead(NVME_CONTROLLER *Controller, DISCOVERY *Discovery, PVOID Page, ULONG Length)
{
    NVME_REQUEST *request = &Discovery->Request;
    ULONG dwords = Length / sizeof(ULONG) - 1;

    RtlZeroMemory(Discovery, sizeof(*Discovery));
    KeInitializeEvent(&Discovery->Done, SynchronizationEvent, FALSE);
    request->Command.opcode = NVME_ADMIN_GET_LOG_PAGE;
    request->Command.log.lid = NVME_LOG_DISCOVERY;
    request->Command.log.dwords_low = (USHORT)dwords;
    request->Command.log.dwords_high = (USHORT)(dwords >> 16);
    request->Admin = TRUE;
    request->Direction = NvmeFromController;
    request->Buffer = Page;
    request->Length = Length;
    request->Resets = NvmeControllerResets(Controller);
    request->Completion = DiscoveryDone;
    NvmeSubmit(Controller, request);
    KeWaitForSingleObject(&Discovery->Done, Executive, KernelMode, FALSE, NULL);
    return request->Status;
}

/* Reads as many entries as fit into one transfer of the controller. In practice no target has more entries. */
static NTSTATUS DiscoveryReadEntries(NVME_CONTROLLER *Controller, DISCOVERY *Discovery, PUCHAR Page,
    struct nvme_discovery_entry *Entries, ULONG *Count)
{
    const struct nvme_discovery_header *header = (const struct nvme_discovery_header *)Page;
    ULONG wanted = *Count, read;
    NVME_CONTROLLER_INFO info;
    NTSTATUS status = DiscoveryRead(Controller, Discovery, Page, sizeof(*header));

    if (!NT_SUCCESS(status))
        return status;
    if (header->record_format != 0)
        return STATUS_NOT_SUPPORTED;
    read = (ULONG)min(min(wanted, header->records), NVME_MAX_DISCOVERY_ENTRIES);
    NvmeControllerQuery(Controller, &info);
    read = min(read, (info.MaxTransfer - sizeof(*header)) / sizeof(*Entries));
    if (read != 0)
        status = DiscoveryRead(Controller, Discovery, Page, sizeof(*header) + read * sizeof(*Entries));
    if (!NT_SUCCESS(status))
        return status;
    read = (ULONG)min(read, header->records); /* the list may have become shorter between the two reads */
    *Count = (ULONG)min(header->records, MAXULONG);
    RtlCopyMemory(Entries, header + 1, read * sizeof(*Entries));
    return status;
}

NTSTATUS NvmeDiscover(const NVME_TARGET *Target, const NVME_SETTINGS *Settings, struct nvme_discovery_entry *Entries,
    ULONG *Count)
{
    NVME_CREATE create = { .Target = *Target, .Settings = Settings, .Flags = NVME_CREATE_DISCOVERY };
    NVME_CONTROLLER *controller;
    DISCOVERY *discovery;
    PUCHAR page;
    NTSTATUS status;

    PAGED_CODE();
    RtlCopyMemory(create.Target.Subsystem, NVME_DISCOVERY_NQN, sizeof(NVME_DISCOVERY_NQN));
    status = NvmeControllerCreate(&create, &controller);
    if (!NT_SUCCESS(status))
        return status;
    discovery = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*discovery), NVME_TAG);
    page = ExAllocatePoolWithTag(NonPagedPoolNx, NVME_MAX_TRANSFER, NVME_TAG);
    if (discovery && page)
        status = DiscoveryReadEntries(controller, discovery, page, Entries, Count);
    else
        status = STATUS_INSUFFICIENT_RESOURCES;
    NvmeControllerDelete(controller);
    if (page)
        ExFreePoolWithTag(page, NVME_TAG);
    if (discovery)
        ExFreePoolWithTag(discovery, NVME_TAG);
    return status;
}
