/* SPDX-License-Identifier: MIT */
/*
 * Implements ZwQueryVolumeInformationFile: see ntifs.h. For a file of the host, the kernel itself handles every class.
 * For a device, the kernel handles only FileFsDeviceInformation. For any other class, the device's driver receives an
 * IRP.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "ntifs.h"

#include "wdk/io/device.h"
#include "wdk/io/file.h"
#include "wdk/io/irp.h"

static const ULONG SECTOR_SIZE = 512;

/* Returns the size of the class' structure. Returns 0 if the class cannot be queried. */
static ULONG volume_information_size(FS_INFORMATION_CLASS class)
{
    switch ((int)class) {
    case FileFsVolumeInformation:
        return sizeof(FILE_FS_VOLUME_INFORMATION);
    case FileFsSizeInformation:
        return sizeof(FILE_FS_SIZE_INFORMATION);
    case FileFsFullSizeInformation:
        return sizeof(FILE_FS_FULL_SIZE_INFORMATION);
    case FileFsDeviceInformation:
        return sizeof(FILE_FS_DEVICE_INFORMATION);
    case FileFsAttributeInformation:
        return sizeof(FILE_FS_ATTRIBUTE_INFORMATION);
    default:
        return 0;
    }
}

/* ---- Files of the host ------------------------------------------------------------------------------------------- */

static NTSTATUS volume_query_volume(PFILE_OBJECT file, FILE_FS_VOLUME_INFORMATION *out, ULONG_PTR *done)
{
    struct stat st;

    if (fstat(file_object_descriptor(file), &st))
        return file_status_from_errno(errno);
    out->VolumeSerialNumber = (ULONG)(st.st_dev ^ st.st_dev >> 32);
    *done = FIELD_OFFSET(FILE_FS_VOLUME_INFORMATION, VolumeLabel);
    return STATUS_SUCCESS;
}

static NTSTATUS volume_query_size(PFILE_OBJECT file, FILE_FS_FULL_SIZE_INFORMATION *out)
{
    struct statvfs st;
    ULONG sectors;

    if (fstatvfs(file_object_descriptor(file), &st))
        return file_status_from_errno(errno);
    sectors = (ULONG)(st.f_frsize / SECTOR_SIZE);
    out->BytesPerSector = sectors ? SECTOR_SIZE : (ULONG)st.f_frsize;
    out->SectorsPerAllocationUnit = sectors ? sectors : 1;
    out->TotalAllocationUnits.QuadPart = (int64_t)st.f_blocks;
    out->CallerAvailableAllocationUnits.QuadPart = (int64_t)st.f_bavail;
    out->ActualAvailableAllocationUnits.QuadPart = (int64_t)st.f_bfree;
    return STATUS_SUCCESS;
}

/* Stores the whole structure and as much of the name as fits. If it does not fit, returns STATUS_BUFFER_OVERFLOW. */
static NTSTATUS volume_query_attributes(PFILE_OBJECT file, FILE_FS_ATTRIBUTE_INFORMATION *out, ULONG length,
                                        ULONG_PTR *done)
{
    static const WCHAR name[] = L"Linux";
    const ULONG whole = sizeof name - sizeof(WCHAR);
    ULONG room = length - FIELD_OFFSET(FILE_FS_ATTRIBUTE_INFORMATION, FileSystemName);
    struct statvfs st;

    if (fstatvfs(file_object_descriptor(file), &st))
        return file_status_from_errno(errno);
    room = room < whole ? room & ~1u : whole;
    out->FileSystemAttributes = FILE_CASE_SENSITIVE_SEARCH | FILE_CASE_PRESERVED_NAMES | FILE_UNICODE_ON_DISK |
                                FILE_SUPPORTS_SPARSE_FILES | (st.f_flag & ST_RDONLY ? FILE_READ_ONLY_VOLUME : 0);
    out->MaximumComponentNameLength = (LONG)st.f_namemax;
    out->FileSystemNameLength = room;
    memcpy(out->FileSystemName, name, room);
    *done = FIELD_OFFSET(FILE_FS_ATTRIBUTE_INFORMATION, FileSystemName) + room;
    return room < whole ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS volume_query_host(PFILE_OBJECT file, FS_INFORMATION_CLASS class, void *out, ULONG length,
                                  ULONG_PTR *done)
{
    FILE_FS_FULL_SIZE_INFORMATION full = { 0 };
    FILE_FS_SIZE_INFORMATION *size = out;
    FILE_FS_DEVICE_INFORMATION *device = out;
    NTSTATUS status;

    switch ((int)class) {
    case FileFsVolumeInformation:
        return volume_query_volume(file, out, done);
    case FileFsSizeInformation:
        status = volume_query_size(file, &full);
        *size = (FILE_FS_SIZE_INFORMATION){ full.TotalAllocationUnits, full.CallerAvailableAllocationUnits,
                                            full.SectorsPerAllocationUnit, full.BytesPerSector };
        return status;
    case FileFsFullSizeInformation:
        return volume_query_size(file, out);
    case FileFsDeviceInformation:
        *device = (FILE_FS_DEVICE_INFORMATION){ FILE_DEVICE_DISK, FILE_DEVICE_IS_MOUNTED };
        return STATUS_SUCCESS;
    default:
        return volume_query_attributes(file, out, length, done);
    }
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static NTSTATUS volume_query_device(PFILE_OBJECT file, FS_INFORMATION_CLASS class, void *out, ULONG length,
                                    ULONG_PTR *done)
{
    struct irp_buffers buffers = { .out = out, .out_capacity = length };
    FILE_FS_DEVICE_INFORMATION *device = out;
    PIO_STACK_LOCATION next;
    NTSTATUS status;
    PIRP irp;

    if (class == FileFsDeviceInformation) {
        *device = (FILE_FS_DEVICE_INFORMATION){ file->DeviceObject->DeviceType, file->DeviceObject->Characteristics };
        return STATUS_SUCCESS;
    }
    irp = file_object_irp(file, IRP_MJ_QUERY_VOLUME_INFORMATION, IRP_FROM_KERNEL, &next);
    if (!irp)
        return STATUS_INSUFFICIENT_RESOURCES;
    next->Parameters.QueryVolume.Length = length;
    next->Parameters.QueryVolume.FsInformationClass = class;
    status = irp_set_buffered(irp, &buffers);
    return NT_SUCCESS(status) ? irp_send(irp, done) : status;
}

NTSTATUS ZwQueryVolumeInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock, PVOID FsInformation,
                                      ULONG Length, FS_INFORMATION_CLASS FsInformationClass)
{
    NTSTATUS status;
    PFILE_OBJECT file = file_lookup("ZwQueryVolumeInformationFile", FileHandle, &status);
    ULONG size = volume_information_size(FsInformationClass);
    ULONG_PTR done = size;

    if (!file)
        return status;
    if (!size || Length < size)
        return file_finish(file, IoStatusBlock, size ? STATUS_INFO_LENGTH_MISMATCH : STATUS_INVALID_INFO_CLASS, 0);
    if (file->DeviceObject) {
        status = volume_query_device(file, FsInformationClass, FsInformation, Length, &done);
    } else {
        memset(FsInformation, 0, size);
        status = volume_query_host(file, FsInformationClass, FsInformation, Length, &done);
    }
    return file_finish(file, IoStatusBlock, status, NT_ERROR(status) ? 0 : done);
}

/* ---- Names of user mode ------------------------------------------------------------------------------------------ */

__typeof__(ZwQueryVolumeInformationFile) NtQueryVolumeInformationFile
    __attribute__((alias("ZwQueryVolumeInformationFile")));
