/* SPDX-License-Identifier: MIT */
/*
 * Implements ZwDeviceIoControlFile and ZwFsControlFile: see wdm/zw.h and ntifs.h. For a device, the device's driver
 * receives an IRP. For a file of the host, the kernel itself executes the control code.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>

#include "ntifs.h"

#include "wdk/io/device.h"
#include "wdk/io/file.h"
#include "wdk/io/irp.h"

/* The arguments of a control. */
struct file_control {
    UCHAR major;
    ULONG code;
    struct irp_buffers buffers;
};

static NTSTATUS file_control_device(PFILE_OBJECT file, const struct file_control *c, ULONG_PTR *done)
{
    PIO_STACK_LOCATION next;
    PIRP irp = file_object_irp(file, c->major, IRP_FROM_KERNEL, &next);
    NTSTATUS status = irp ? irp_set_control(irp, c->code, &c->buffers) : STATUS_INSUFFICIENT_RESOURCES;

    return NT_SUCCESS(status) ? irp_send(irp, done) : status;
}

/* Deallocates a range of the file, so that it reads as zeros. */
static NTSTATUS file_control_zero(PFILE_OBJECT file, const struct irp_buffers *buffers)
{
    const FILE_ZERO_DATA_INFORMATION *range = buffers->in;
    int64_t offset;

    if (!range || buffers->in_length < sizeof *range)
        return STATUS_INVALID_PARAMETER;
    offset = range->FileOffset.QuadPart;
    if (offset < 0 || range->BeyondFinalZero.QuadPart < offset)
        return STATUS_INVALID_PARAMETER;
    if (!file->WriteAccess)
        return STATUS_ACCESS_DENIED;
    if (range->BeyondFinalZero.QuadPart == offset)
        return STATUS_SUCCESS;
    if (!fallocate(file_object_descriptor(file), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                   range->BeyondFinalZero.QuadPart - offset))
        return STATUS_SUCCESS;
    return errno == EOPNOTSUPP ? STATUS_INVALID_DEVICE_REQUEST : file_status_from_errno(errno);
}

static NTSTATUS file_control_host(PFILE_OBJECT file, const struct file_control *c)
{
    if (c->major != IRP_MJ_FILE_SYSTEM_CONTROL)
        return STATUS_INVALID_DEVICE_REQUEST;
    switch (c->code) {
    case FSCTL_SET_SPARSE: /* every file of the host may have holes */
        return file->WriteAccess ? STATUS_SUCCESS : STATUS_ACCESS_DENIED;
    case FSCTL_SET_ZERO_DATA:
        return file_control_zero(file, &c->buffers);
    default:
        return STATUS_INVALID_DEVICE_REQUEST;
    }
}

static NTSTATUS file_control(const char *routine, HANDLE handle, HANDLE event, PIO_APC_ROUTINE apc,
                             PIO_STATUS_BLOCK block, const struct file_control *c)
{
    ULONG_PTR done = 0;
    NTSTATUS status;
    PFILE_OBJECT file = file_lookup(routine, handle, &status);

    if (!file)
        return status;
    if (event || apc)
        status = event ? STATUS_INVALID_PARAMETER_2 : STATUS_INVALID_PARAMETER_3;
    else
        status = file->DeviceObject ? file_control_device(file, c, &done) : file_control_host(file, c);
    return file_finish(file, block, status, done);
}

NTSTATUS ZwDeviceIoControlFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
                               PIO_STATUS_BLOCK IoStatusBlock, ULONG IoControlCode, PVOID InputBuffer,
                               ULONG InputBufferLength, PVOID OutputBuffer, ULONG OutputBufferLength)
{
    const struct file_control c = { IRP_MJ_DEVICE_CONTROL,
                                    IoControlCode,
                                    { InputBuffer, InputBufferLength, OutputBuffer, OutputBufferLength } };

    UNREFERENCED_PARAMETER(ApcContext);
    return file_control("ZwDeviceIoControlFile", FileHandle, Event, ApcRoutine, IoStatusBlock, &c);
}

NTSTATUS ZwFsControlFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
                         PIO_STATUS_BLOCK IoStatusBlock, ULONG FsControlCode, PVOID InputBuffer,
                         ULONG InputBufferLength, PVOID OutputBuffer, ULONG OutputBufferLength)
{
    const struct file_control c = { IRP_MJ_FILE_SYSTEM_CONTROL,
                                    FsControlCode,
                                    { InputBuffer, InputBufferLength, OutputBuffer, OutputBufferLength } };

    UNREFERENCED_PARAMETER(ApcContext);
    return file_control("ZwFsControlFile", FileHandle, Event, ApcRoutine, IoStatusBlock, &c);
}

/* ---- Names of user mode ------------------------------------------------------------------------------------------ */

__typeof__(ZwDeviceIoControlFile) NtDeviceIoControlFile __attribute__((alias("ZwDeviceIoControlFile")));
__typeof__(ZwFsControlFile) NtFsControlFile __attribute__((alias("ZwFsControlFile")));
