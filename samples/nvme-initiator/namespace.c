/* SPDX-License-Identifier: MIT */
/*
 * Reads the list of a controller's active namespaces and the properties of each namespace, and handles the
 * events that report a change. All functions run in the controller's thread at PASSIVE_LEVEL, except EventArrived.
 *
 * If the controller reports such events, one asynchronous event request is outstanding. When it completes, the thread
 * reads the log page that belongs to the event; only then may the controller report this event again. The thread then
 * scans the namespaces, and sends the request again. A change between the scan and the request is not lost, because the
 * controller keeps the event for the next request.
 */
#include "nvmendk.h"

#define SMALL_LOG 512 /* bytes to read of a log page that is read only because the read clears its event */

static VOID NamespaceReadDescriptors(NVME_NAMESPACE *Namespace, const UCHAR *Page)
{
    const struct nvme_namespace_descriptor *descriptor;
    ULONG at;

    for (at = 0; at + sizeof(*descriptor) <= NVME_PAGE_SIZE; at += sizeof(*descriptor) + descriptor->length) {
        const UCHAR *value = Page + at + sizeof(*descriptor);

        descriptor = (const struct nvme_namespace_descriptor *)(Page + at);
        if (descriptor->length == 0 || at + sizeof(*descriptor) + descriptor->length > NVME_PAGE_SIZE)
            break;
        if (descriptor->type == NVME_DESCRIPTOR_EUI64 && descriptor->length == sizeof(Namespace->Eui64))
            RtlCopyMemory(Namespace->Eui64, value, sizeof(Namespace->Eui64));
        else if (descriptor->type == NVME_DESCRIPTOR_NGUID && descriptor->length == sizeof(Namespace->Nguid))
            RtlCopyMemory(Namespace->Nguid, value, sizeof(Namespace->Nguid));
        else if (descriptor->type == NVME_DESCRIPTOR_UUID && descriptor->length == sizeof(Namespace->Uuid))
            RtlCopyMemory(Namespace->Uuid, value, sizeof(Namespace->Uuid));
    }
}

/*
 * Reads a namespace. Sets *Usable to FALSE if the namespace has been removed, or if it has a format that this driver
 * does not support: an unusual block size, metadata, or protection information.
 */
static NTSTATUS NamespaceRead(NVME_CONTROLLER *Controller, NVME_NAMESPACE *Namespace, BOOLEAN *Usable)
{
    const struct nvme_identify_namespace *identify = (const struct nvme_identify_namespace *)Controller->Page;
    const struct nvme_lba_format *format;
    NTSTATUS status = NvmeIdentify(Controller, NVME_CNS_NAMESPACE, Namespace->Id);

    *Usable = FALSE;
    if (!NT_SUCCESS(status))
        return status == STATUS_IO_DEVICE_ERROR ? STATUS_SUCCESS : status;
    format = &identify->lbaf[identify->flbas & 0xF];
    if (identify->nsze == 0)
        return STATUS_SUCCESS;
    if (format->shift < 9 || format->shift > 12 || format->metadata_size != 0 || (identify->dps & 7) != 0) {
        DbgPrint("nvme: %s: namespace %u has a format that is not supported\n", Controller->Name, Namespace->Id);
        return STATUS_SUCCESS;
    }
    Namespace->Blocks = identify->nsze;
    Namespace->BlockShift = format->shift;
    Namespace->ReadOnly = (identify->nsattr & NVME_NSATTR_WRITE_PROTECTED) != 0;
    Namespace->ThinProvisioned = (identify->nsfeat & NVME_NSFEAT_THIN) != 0;
    Namespace->DeallocatedReadsZero = (identify->dlfeat & 7) == NVME_DLFEAT_READS_ZEROES;
    Namespace->ZeroesDeallocate = (identify->dlfeat & NVME_DLFEAT_WRITE_ZEROES) != 0;
    RtlCopyMemory(Namespace->Eui64, identify->eui64, sizeof(Namespace->Eui64));
    RtlCopyMemory(Namespace->Nguid, identify->nguid, sizeof(Namespace->Nguid));
    *Usable = TRUE;
    status = NvmeIdentify(Controller, NVME_CNS_NAMESPACE_DESCRIPTORS, Namespace->Id);
    if (NT_SUCCESS(status))
        NamespaceReadDescriptors(Namespace, Controller->Page);
    /* A target need not support namespace descriptors. */
    return status == STATUS_IO_DEVICE_ERROR ? STATUS_SUCCESS : status;
}

/* Returns TRUE if the two namespaces have the same identifiers. */
static BOOLEAN NamespaceIsSame(const NVME_NAMESPACE *One, const NVME_NAMESPACE *Other)
{
    return RtlEqualMemory(One->Eui64, Other->Eui64, sizeof(One->Eui64)) &&
        RtlEqualMemory(One->Nguid, Other->Nguid, sizeof(One->Nguid)) &&
        RtlEqualMemory(One->Uuid, Other->Uuid, sizeof(One->Uuid));
}

/* Returns TRUE if a scanned and a stored namespace have the same number but different identifiers. */
static BOOLEAN ControllerHasReplaced(const NVME_CONTROLLER *Controller, ULONG Count)
{
    ULONG i, j;

    for (i = 0; i < Controller->Info.NamespaceCount; i++)
        for (j = 0; j < Count; j++)
            if (Controller->Namespaces[i].Id == Controller->Scanned[j].Id &&
                !NamespaceIsSame(&Controller->Namespaces[i], &Controller->Scanned[j])) {
                DbgPrint("nvme: %s: namespace %u is now another disk\n", Controller->Name, Controller->Scanned[j].Id);
                return TRUE;
            }
    return FALSE;
}

/* Stores the scanned namespaces. Returns TRUE if they differ from those that were stored before. */
static BOOLEAN ControllerStoreNamespaces(NVME_CONTROLLER *Controller, ULONG Count)
{
    SIZE_T size = sizeof(Controller->Namespaces);
    BOOLEAN different;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    different = Controller->Info.NamespaceCount != Count ||
        RtlCompareMemory(Controller->Namespaces, Controller->Scanned, size) != size;
    Controller->Info.NamespaceCount = Count;
    RtlCopyMemory(Controller->Namespaces, Controller->Scanned, size);
    KeReleaseSpinLock(&Controller->Lock, irql);
    return different;
}

NTSTATUS NvmeScanNamespaces(NVME_CONTROLLER *Controller)
{
    ULONG ids[NVME_MAX_NAMESPACES], count = 0, i;
    BOOLEAN usable, replaced;
    NTSTATUS status = NvmeIdentify(Controller, NVME_CNS_ACTIVE_NAMESPACES, 0);

    if (status == STATUS_IO_DEVICE_ERROR)
        return NvmeControllerReason(Controller, status, "the controller has no list of its namespaces");
    if (!NT_SUCCESS(status))
        return status;
    RtlCopyMemory(ids, Controller->Page, sizeof(ids));
    RtlZeroMemory(Controller->Scanned, sizeof(Controller->Scanned));
    for (i = 0; i < NVME_MAX_NAMESPACES && ids[i] != 0 && NT_SUCCESS(status); i++) {
        Controller->Scanned[count].Id = ids[i];
        status = NamespaceRead(Controller, &Controller->Scanned[count], &usable);
        if (usable)
            count++;
        else
            RtlZeroMemory(&Controller->Scanned[count], sizeof(Controller->Scanned[count]));
    }
    if (!NT_SUCCESS(status))
        return status;
    replaced = ControllerHasReplaced(Controller, count);
    if (ControllerStoreNamespaces(Controller, count))
        NvmeControllerChanged(Controller, replaced);
    return status;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static VOID EventArrived(NVME_REQUEST *Request)
{
    NVME_CONTROLLER *controller = CONTAINING_RECORD(Request, NVME_CONTROLLER, Event.Request);

    NvmeOwnDone(Request); /* first, because after EventArrived is set, the thread may use the request again */
    InterlockedExchange(&controller->EventArrived, TRUE);
    KeSetEvent(&controller->Wake, IO_NO_INCREMENT, FALSE);
}

static VOID EventRequest(NVME_CONTROLLER *Controller)
{
    NVME_OWN_REQUEST *own = &Controller->Event;

    RtlZeroMemory(&own->Request, sizeof(own->Request));
    own->Request.Command.opcode = NVME_ADMIN_ASYNC_EVENT;
    own->Request.Seconds = NVME_FOREVER;
    NvmeOwnStart(own, &Controller->Queues[0], EventArrived);
}

NTSTATUS NvmeEventsStart(NVME_CONTROLLER *Controller)
{
    NTSTATUS status;

    Controller->EventArrived = FALSE;
    if (!Controller->EventsSupported)
        return STATUS_SUCCESS;
    status = NvmeSetFeature(Controller, NVME_FEATURE_ASYNC_EVENTS, NVME_EVENT_NAMESPACE_CHANGED);
    if (NT_SUCCESS(status))
        EventRequest(Controller);
    return status == STATUS_IO_DEVICE_ERROR ? STATUS_SUCCESS : status; /* the driver works without events, too */
}

NTSTATUS NvmeEventsServe(NVME_CONTROLLER *Controller)
{
    NVME_OWN_REQUEST *own = &Controller->Event;
    UCHAR page;
    NTSTATUS status;

    if (!InterlockedExchange(&Controller->EventArrived, FALSE) || !NT_SUCCESS(own->Request.Status))
        return STATUS_SUCCESS; /* an event request that has failed is not repeated */
    page = (UCHAR)(own->Request.Result >> NVME_EVENT_LOG_SHIFT);
    status = NvmeGetLogPage(Controller, page, page == NVME_LOG_CHANGED_NAMESPACES ? NVME_PAGE_SIZE : SMALL_LOG);
    if (NT_SUCCESS(status) || status == STATUS_IO_DEVICE_ERROR)
        status = NvmeScanNamespaces(Controller);
    if (NT_SUCCESS(status))
        EventRequest(Controller);
    return status;
}
