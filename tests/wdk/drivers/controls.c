/* SPDX-License-Identifier: MIT */
/* A device with requests of every method, queued requests, and each mistake that a driver can make with an IRP. */
#include <pthread.h>

#include <ntifs.h>
#include <wdmsec.h>

#include "controls.h"

int controls_check_interfaces(PDEVICE_OBJECT first, PDEVICE_OBJECT second); /* controls_interface.c */

static PDEVICE_OBJECT device, exclusive;
static IO_CSQ queue;
static LIST_ENTRY queued = { &queued, &queued };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t later;
static int has_later;
static PIRP left;
static unsigned char counts[4]; /* create, cleanup, close, cancel */
static unsigned flushes;
static LARGE_INTEGER end_of_file;

static UNICODE_STRING device_name = RTL_CONSTANT_STRING(L"\\Device\\Controls");
static UNICODE_STRING exclusive_name = RTL_CONSTANT_STRING(L"\\Device\\Exclusive");
static UNICODE_STRING link_name = RTL_CONSTANT_STRING(L"\\DosDevices\\Controls");

/* ---- The queue -------------------------------------------------------------------------------------------------- */

static void insert(PIO_CSQ q, PIRP irp)
{
    UNREFERENCED_PARAMETER(q);
    irp->Tail.Overlay.ListEntry.Flink = &queued;
    irp->Tail.Overlay.ListEntry.Blink = queued.Blink;
    queued.Blink->Flink = &irp->Tail.Overlay.ListEntry;
    queued.Blink = &irp->Tail.Overlay.ListEntry;
}

static void unqueue_irp(PIO_CSQ q, PIRP irp)
{
    UNREFERENCED_PARAMETER(q);
    irp->Tail.Overlay.ListEntry.Flink->Blink = irp->Tail.Overlay.ListEntry.Blink;
    irp->Tail.Overlay.ListEntry.Blink->Flink = irp->Tail.Overlay.ListEntry.Flink;
}

static PIRP peek(PIO_CSQ q, PIRP irp, PVOID context)
{
    LIST_ENTRY *next = irp ? irp->Tail.Overlay.ListEntry.Flink : queued.Flink;

    UNREFERENCED_PARAMETER(q);
    UNREFERENCED_PARAMETER(context);
    return next == &queued ? NULL : CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry);
}

static void acquire(PIO_CSQ q, PKIRQL irql)
{
    UNREFERENCED_PARAMETER(q);
    *irql = KeGetCurrentIrql();
    pthread_mutex_lock(&lock);
}

static void release(PIO_CSQ q, KIRQL irql)
{
    UNREFERENCED_PARAMETER(q);
    UNREFERENCED_PARAMETER(irql);
    pthread_mutex_unlock(&lock);
}

static NTSTATUS end(PIRP irp, NTSTATUS status, ULONG_PTR information)
{
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

static void cancelled(PIO_CSQ q, PIRP irp)
{
    UNREFERENCED_PARAMETER(q);
    __atomic_fetch_add(&counts[3], 1, __ATOMIC_SEQ_CST);
    end(irp, STATUS_CANCELLED, 0);
}

/* ---- Requests --------------------------------------------------------------------------------------------------- */

static const unsigned char *input_of(PIRP irp, PIO_STACK_LOCATION at)
{
    ULONG method = METHOD_FROM_CTL_CODE(at->Parameters.DeviceIoControl.IoControlCode);

    return method == METHOD_NEITHER ? at->Parameters.DeviceIoControl.Type3InputBuffer
                                    : irp->AssociatedIrp.SystemBuffer;
}

static unsigned char *output_of(PIRP irp, PIO_STACK_LOCATION at)
{
    ULONG method = METHOD_FROM_CTL_CODE(at->Parameters.DeviceIoControl.IoControlCode);

    if (method == METHOD_BUFFERED)
        return irp->AssociatedIrp.SystemBuffer;
    return method == METHOD_NEITHER ? irp->UserBuffer
                                    : MmGetSystemAddressForMdlSafe(irp->MdlAddress, NormalPagePriority);
}

static ULONG echo(PIRP irp, PIO_STACK_LOCATION at)
{
    ULONG n = min(at->Parameters.DeviceIoControl.InputBufferLength, at->Parameters.DeviceIoControl.OutputBufferLength);
    const unsigned char *in = input_of(irp, at);
    unsigned char *out = output_of(irp, at);

    for (ULONG i = 0; i < n; i++)
        out[i] = (unsigned char)(in[i] + 1);
    return n;
}

static NTSTATUS complete_oldest(PIRP irp)
{
    PIRP oldest = IoCsqRemoveNextIrp(&queue, NULL);

    if (oldest)
        end(oldest, STATUS_SUCCESS, echo(oldest, IoGetCurrentIrpStackLocation(oldest)));
    return end(irp, oldest ? STATUS_SUCCESS : STATUS_NO_MORE_ENTRIES, 0);
}

/* One driver's request to another's device, here to itself: the result is that of ECHO. */
static NTSTATUS forward(PIRP irp, PIO_STACK_LOCATION at, ULONG method)
{
    IO_STATUS_BLOCK result = { .Information = 0 };
    unsigned char out[8] = { 0 };
    PFILE_OBJECT file;
    PDEVICE_OBJECT target;
    NTSTATUS status;
    KEVENT event;
    PIRP sent;

    status = IoGetDeviceObjectPointer(&link_name, FILE_READ_DATA, &file, &target);
    if (!NT_SUCCESS(status))
        return end(irp, status, 0);
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    sent = IoBuildDeviceIoControlRequest(CONTROL(INNER, method), target, irp->AssociatedIrp.SystemBuffer,
                                         at->Parameters.DeviceIoControl.InputBufferLength, out, sizeof out, FALSE,
                                         &event, &result);
    status = sent ? IoCallDriver(target, sent) : STATUS_NO_MEMORY;
    if (status == STATUS_PENDING) {
        KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, NULL);
        status = result.Status;
    }
    ObDereferenceObject(file);
    __builtin_memcpy(irp->AssociatedIrp.SystemBuffer, out, result.Information);
    return end(irp, status, result.Information);
}

static NTSTATUS own_completion(PDEVICE_OBJECT d, PIRP irp, PVOID context)
{
    UNREFERENCED_PARAMETER(d);
    *(ULONG *)context = (ULONG)irp->IoStatus.Information;
    if (irp->Flags & IRP_DEALLOCATE_BUFFER)
        ExFreePool(irp->AssociatedIrp.SystemBuffer);
    IoFreeIrp(irp);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/*
 * A write with the driver's IRP, freed by its completion routine; a read with the system's IRP; and one that is used
 * again.
 */
static NTSTATUS transfers(PIRP irp)
{
    unsigned char data[4] = { 1, 2, 3, 4 };
    LARGE_INTEGER offset = { .QuadPart = 9 };
    IO_STATUS_BLOCK result;
    ULONG sum = 0;
    KEVENT event;
    PIRP sent = IoBuildAsynchronousFsdRequest(IRP_MJ_WRITE, device, data, sizeof data, &offset, NULL);

    IoSetCompletionRoutine(sent, own_completion, &sum, TRUE, TRUE, TRUE);
    (void)IoCallDriver(device, sent);
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    sent = IoBuildSynchronousFsdRequest(IRP_MJ_READ, device, data, sizeof data, &offset, &event, &result);
    (void)IoCallDriver(device, sent);
    if (sum != 10 || result.Information != 4 || data[3] != 12 || !KeReadStateEvent(&event))
        return end(irp, STATUS_DATA_ERROR, 0);
    return end(irp, STATUS_SUCCESS, 0);
}

static NTSTATUS log_error(PIRP irp)
{
    PIO_ERROR_LOG_PACKET packet = IoAllocateErrorLogEntry(device, sizeof *packet + 16);

    packet->ErrorCode = STATUS_DEVICE_NOT_READY;
    packet->UniqueErrorValue = 77;
    packet->NumberOfStrings = 1;
    packet->StringOffset = sizeof *packet;
    __builtin_memcpy((char *)packet + sizeof *packet, L"sample", 14);
    IoWriteErrorLogEntry(packet);
    return end(irp, STATUS_SUCCESS, 0);
}

static void *end_later(void *context)
{
    PIRP irp = context;

    end(irp, STATUS_SUCCESS, echo(irp, IoGetCurrentIrpStackLocation(irp)));
    return NULL;
}

static void cancel_nothing(PDEVICE_OBJECT d, PIRP irp)
{
    UNREFERENCED_PARAMETER(d);
    IoReleaseCancelSpinLock(irp->CancelIrql);
}

static NTSTATUS break_rule(ULONG function, PIRP irp)
{
    PIRP own = IoAllocateIrp(1, FALSE);
    PDEVICE_OBJECT third;
    NTSTATUS status = STATUS_SUCCESS;
    KIRQL irql;

    if (function != BREAK_FREE_TWICE)
        IoFreeIrp(own);
    switch (function) {
    case BREAK_PENDING:
        end(irp, STATUS_SUCCESS, 0);
        return STATUS_PENDING;
    case BREAK_MARK:
        IoMarkIrpPending(irp);
        return end(irp, STATUS_SUCCESS, 0);
    case BREAK_NOT_COMPLETED:
        left = irp;
        return STATUS_SUCCESS;
    case COMPLETE_LATE:
        end(left, STATUS_SUCCESS, echo(left, IoGetCurrentIrpStackLocation(left)));
        break;
    case BREAK_TWICE:
        end(irp, STATUS_SUCCESS, 0);
        return end(irp, STATUS_SUCCESS, 0);
    case BREAK_STATUS:
        return end(irp, STATUS_PENDING, 0) ? STATUS_SUCCESS : STATUS_SUCCESS;
    case BREAK_CANCEL:
        IoSetCancelRoutine(irp, cancel_nothing);
        return end(irp, STATUS_SUCCESS, 0);
    case BREAK_LENGTH:
        return end(irp, STATUS_SUCCESS,
                   IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.OutputBufferLength + 1);
    case BREAK_FREE:
        IoFreeIrp(irp);
        break;
    case BREAK_FREE_TWICE:
        IoFreeIrp(own);
        IoFreeIrp(own);
        break;
    case BREAK_INITIALIZE:
        own = IoAllocateIrp(1, FALSE);
        IoInitializeIrp(own, IoSizeOfIrp(1), 1);
        IoFreeIrp(own);
        break;
    case BREAK_CANCEL_LOCK:
        IoAcquireCancelSpinLock(&irql);
        IoReleaseCancelSpinLock(irql);
        IoReleaseCancelSpinLock(DISPATCH_LEVEL);
        break;
    case BREAK_DELETE:
        status = IoCreateDevice(device->DriverObject, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &third);
        if (NT_SUCCESS(status)) {
            ObReferenceObject(third);
            IoDeleteDevice(third);
            IoDeleteDevice(third);
            ObDereferenceObject(third);
        }
        break;
    case BREAK_ATTACHED:
        status = IoCreateDevice(device->DriverObject, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &third);
        if (NT_SUCCESS(status)) {
            IoAttachDeviceToDeviceStack(third, device);
            IoDeleteDevice(third);
            status = IoGetAttachedDevice(device) == device ? STATUS_SUCCESS : STATUS_INTERNAL_ERROR;
        }
        break;
    default:
        status = STATUS_INVALID_DEVICE_REQUEST;
    }
    return end(irp, status, 0);
}

/* Answers the standard information only, and accepts a new end of file. */
static NTSTATUS information(PDEVICE_OBJECT d, PIRP irp)
{
    PIO_STACK_LOCATION at = IoGetCurrentIrpStackLocation(irp);
    FILE_STANDARD_INFORMATION *info = irp->AssociatedIrp.SystemBuffer;
    BOOLEAN is_query = at->MajorFunction == IRP_MJ_QUERY_INFORMATION;
    ULONG class = is_query ? at->Parameters.QueryFile.FileInformationClass
                           : at->Parameters.SetFile.FileInformationClass;

    UNREFERENCED_PARAMETER(d);
    if (is_query && class == FileStandardInformation && at->Parameters.QueryFile.Length == sizeof *info) {
        RtlZeroMemory(info, sizeof *info);
        info->EndOfFile = end_of_file;
        return end(irp, STATUS_SUCCESS, sizeof *info);
    }
    if (!is_query && class == FileEndOfFileInformation && at->Parameters.SetFile.Length == sizeof end_of_file) {
        end_of_file = *(LARGE_INTEGER *)irp->AssociatedIrp.SystemBuffer;
        return end(irp, STATUS_SUCCESS, 0);
    }
    return end(irp, STATUS_INVALID_PARAMETER, 0);
}

/* Answers the size of the volume only. */
static NTSTATUS volume(PDEVICE_OBJECT d, PIRP irp)
{
    PIO_STACK_LOCATION at = IoGetCurrentIrpStackLocation(irp);
    FILE_FS_SIZE_INFORMATION *size = irp->AssociatedIrp.SystemBuffer;

    UNREFERENCED_PARAMETER(d);
    if (at->Parameters.QueryVolume.FsInformationClass != FileFsSizeInformation ||
        at->Parameters.QueryVolume.Length != sizeof *size)
        return end(irp, STATUS_INVALID_PARAMETER, 0);
    RtlZeroMemory(size, sizeof *size);
    size->BytesPerSector = 2048;
    return end(irp, STATUS_SUCCESS, sizeof *size);
}

/* Returns TRUE if the information of the device is what `information` and `volume` answer. */
static BOOLEAN check_information(HANDLE handle)
{
    FILE_STANDARD_INFORMATION info = { 0 };
    FILE_BASIC_INFORMATION basic;
    FILE_ALIGNMENT_INFORMATION alignment = { 1 };
    FILE_FS_DEVICE_INFORMATION type = { 0 };
    FILE_FS_SIZE_INFORMATION sectors = { 0 };
    LARGE_INTEGER size = { .QuadPart = 77 };
    IO_STATUS_BLOCK block;

    return ZwSetInformationFile(handle, &block, &size, sizeof size, FileEndOfFileInformation) == STATUS_SUCCESS &&
           ZwQueryInformationFile(handle, &block, &info, sizeof info, FileStandardInformation) == STATUS_SUCCESS &&
           block.Information == sizeof info && info.EndOfFile.QuadPart == 77 &&
           ZwQueryInformationFile(handle, &block, &basic, sizeof basic, FileBasicInformation) ==
               STATUS_INVALID_PARAMETER &&
           ZwQueryInformationFile(handle, &block, &alignment, sizeof alignment, FileAlignmentInformation) ==
               STATUS_SUCCESS &&
           alignment.AlignmentRequirement == exclusive->AlignmentRequirement &&
           ZwQueryVolumeInformationFile(handle, &block, &type, sizeof type, FileFsDeviceInformation) ==
               STATUS_SUCCESS &&
           type.DeviceType == exclusive->DeviceType && type.Characteristics == exclusive->Characteristics &&
           ZwQueryVolumeInformationFile(handle, &block, &sectors, sizeof sectors, FileFsSizeInformation) ==
               STATUS_SUCCESS &&
           block.Information == sizeof sectors && sectors.BytesPerSector == 2048;
}

static NTSTATUS handle_first(PIRP irp)
{
    UNICODE_STRING name = exclusive_name;
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK block;
    unsigned char before[4];
    NTSTATUS status;
    HANDLE handle;
    PVOID file;

    InitializeObjectAttributes(&attributes, &name, OBJ_KERNEL_HANDLE, NULL, NULL);
    status = ZwOpenFile(&handle, GENERIC_READ, &attributes, &block, 0, FILE_SYNCHRONOUS_IO_NONALERT);
    if (!NT_SUCCESS(status))
        return end(irp, status, 0);
    flushes = 0;
    status = ZwFlushBuffersFile(handle, &block);
    ZwClose(handle);
    if (status != STATUS_ACCESS_DENIED || flushes)
        return end(irp, STATUS_DATA_ERROR, 0);
    status = ZwOpenFile(&handle, FILE_APPEND_DATA, &attributes, &block, 0, FILE_SYNCHRONOUS_IO_NONALERT);
    if (!NT_SUCCESS(status))
        return end(irp, status, 0);
    status = ZwFlushBuffersFile(handle, &block);
    if (status != STATUS_SUCCESS || flushes != 1 || !check_information(handle))
        return end(irp, STATUS_DATA_ERROR, 0);
    status = ObReferenceObjectByHandle(handle, 0, *IoFileObjectType, KernelMode, &file, NULL);
    if (!NT_SUCCESS(status))
        return end(irp, status, 0);
    __builtin_memcpy(before, counts, sizeof before);
    ZwClose(handle);
    if (counts[1] != before[1] + 1 || counts[2] != before[2])
        return end(irp, STATUS_DATA_ERROR, 0);
    ObDereferenceObject(file);
    return end(irp, counts[1] == before[1] + 1 && counts[2] == before[2] + 1 ? STATUS_SUCCESS : STATUS_CRC_ERROR, 0);
}

static NTSTATUS return_counts(PIRP irp)
{
    unsigned char *out = irp->AssociatedIrp.SystemBuffer;

    for (ULONG i = 0; i < sizeof counts; i++)
        out[i] = __atomic_load_n(&counts[i], __ATOMIC_SEQ_CST); /* a cancel routine may run in another thread */
    return end(irp, STATUS_SUCCESS, sizeof counts);
}

static NTSTATUS control(PDEVICE_OBJECT d, PIRP irp)
{
    PIO_STACK_LOCATION at = IoGetCurrentIrpStackLocation(irp);
    ULONG function = at->Parameters.DeviceIoControl.IoControlCode >> 2 & 0xfff;

    if (function == INNER && irp->RequestorMode == KernelMode && !at->FileObject)
        return end(irp, STATUS_SUCCESS, echo(irp, at));
    if (at->DeviceObject != d || at->FileObject->DeviceObject != d || irp->RequestorMode != 1)
        return end(irp, STATUS_INTERNAL_ERROR, 0);
    switch (function) {
    case ECHO:
        return end(irp, STATUS_SUCCESS, echo(irp, at));
    case QUEUE:
        IoCsqInsertIrp(&queue, irp, NULL);
        return STATUS_PENDING;
    case COMPLETE_OLDEST:
        return complete_oldest(irp);
    case LATER:
        IoMarkIrpPending(irp);
        has_later = 1;
        if (pthread_create(&later, NULL, end_later, irp))
            __builtin_trap();
        return STATUS_PENDING;
    case WARN:
        return end(irp, STATUS_BUFFER_OVERFLOW, echo(irp, at));
    case FAIL:
        return end(irp, STATUS_INVALID_PARAMETER, echo(irp, at));
    case FORWARD:
        return forward(irp, at, ((unsigned char *)irp->AssociatedIrp.SystemBuffer)[0] & 3);
    case TRANSFERS:
        return transfers(irp);
    case LOG:
        return log_error(irp);
    case COUNTS:
        return return_counts(irp);
    case INTERFACES:
        *(int *)irp->AssociatedIrp.SystemBuffer = controls_check_interfaces(device, exclusive);
        return end(irp, STATUS_SUCCESS, sizeof(int));
    case HANDLE_FIRST:
        return handle_first(irp);
    case DELETE_OTHER:
        IoDeleteDevice(exclusive);
        exclusive = NULL;
        return end(irp, STATUS_SUCCESS, 0);
    default:
        return break_rule(function, irp);
    }
}

static NTSTATUS open_or_close(PDEVICE_OBJECT d, PIRP irp)
{
    PIO_STACK_LOCATION at = IoGetCurrentIrpStackLocation(irp);

    UNREFERENCED_PARAMETER(d);
    counts[at->MajorFunction == IRP_MJ_CREATE ? 0 : at->MajorFunction == IRP_MJ_CLEANUP ? 1 : 2]++;
    if (at->MajorFunction == IRP_MJ_CREATE && at->FileObject->FileName.Length)
        return end(irp, STATUS_OBJECT_PATH_NOT_FOUND, 0);
    return end(irp, STATUS_SUCCESS, 0);
}

/* Reads return bytes of the offset, writes are summed up. */
static NTSTATUS read_or_write(PDEVICE_OBJECT d, PIRP irp)
{
    PIO_STACK_LOCATION at = IoGetCurrentIrpStackLocation(irp);
    unsigned char *data = irp->AssociatedIrp.SystemBuffer;
    ULONG n = at->Parameters.Read.Length, sum = 0;

    UNREFERENCED_PARAMETER(d);
    for (ULONG i = 0; i < n; i++) {
        if (at->MajorFunction == IRP_MJ_READ)
            data[i] = (unsigned char)(at->Parameters.Read.ByteOffset.QuadPart + i);
        sum += data[i];
    }
    return end(irp, STATUS_SUCCESS, at->MajorFunction == IRP_MJ_READ ? n : sum);
}

/* Returns the input like ECHO. */
static NTSTATUS fs_control(PDEVICE_OBJECT d, PIRP irp)
{
    PIO_STACK_LOCATION at = IoGetCurrentIrpStackLocation(irp);

    UNREFERENCED_PARAMETER(d);
    if (at->MinorFunction != IRP_MN_USER_FS_REQUEST ||
        at->Parameters.FileSystemControl.FsControlCode != FSCTL_LOCK_VOLUME)
        return end(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    return end(irp, STATUS_SUCCESS, echo(irp, at));
}

static NTSTATUS flush(PDEVICE_OBJECT d, PIRP irp)
{
    UNREFERENCED_PARAMETER(d);
    flushes++;
    return end(irp, STATUS_SUCCESS, 0);
}

static void unload(PDRIVER_OBJECT driver)
{
    if (has_later)
        pthread_join(later, NULL);
    IoDeleteSymbolicLink(&link_name);
    while (driver->DeviceObject)
        IoDeleteDevice(driver->DeviceObject);
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    NTSTATUS status =
        IoCreateDevice(driver, 16, &device_name, FILE_DEVICE_UNKNOWN, FILE_DEVICE_SECURE_OPEN, FALSE, &device);

    UNREFERENCED_PARAMETER(path);
    if (!NT_SUCCESS(status))
        return status;
    device->Flags |= DO_BUFFERED_IO;
    status = IoCreateDeviceSecure(driver, 0, &exclusive_name, FILE_DEVICE_UNKNOWN, 0, TRUE,
                                  &SDDL_DEVOBJ_SYS_ALL_ADM_ALL, NULL, &exclusive);
    if (NT_SUCCESS(status))
        status = IoCreateSymbolicLink(&link_name, &device_name);
    if (!NT_SUCCESS(status))
        return status;
    driver->DriverUnload = unload;
    driver->MajorFunction[IRP_MJ_CREATE] = open_or_close;
    driver->MajorFunction[IRP_MJ_CLEANUP] = open_or_close;
    driver->MajorFunction[IRP_MJ_CLOSE] = open_or_close;
    driver->MajorFunction[IRP_MJ_READ] = read_or_write;
    driver->MajorFunction[IRP_MJ_WRITE] = read_or_write;
    driver->MajorFunction[IRP_MJ_FLUSH_BUFFERS] = flush;
    driver->MajorFunction[IRP_MJ_QUERY_INFORMATION] = information;
    driver->MajorFunction[IRP_MJ_SET_INFORMATION] = information;
    driver->MajorFunction[IRP_MJ_QUERY_VOLUME_INFORMATION] = volume;
    driver->MajorFunction[IRP_MJ_FILE_SYSTEM_CONTROL] = fs_control;
    driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = control;
    status = IoRegisterShutdownNotification(device);
    if (!NT_SUCCESS(status))
        return status;
    return IoCsqInitialize(&queue, insert, unqueue_irp, peek, acquire, release, cancelled);
}
