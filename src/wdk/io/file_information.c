/* SPDX-License-Identifier: MIT */
/*
 * Implements ZwQueryInformationFile and ZwSetInformationFile: see wdm/zw.h. For a file of the host, the kernel itself
 * handles every class. For a device, the kernel handles only FilePositionInformation and FileAlignmentInformation. For
 * any other class, the device's driver receives an IRP.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ntifs.h"

#include "wdk/io/device.h"
#include "wdk/io/file.h"
#include "wdk/io/irp.h"
#include "wdk/io/section.h"
#include "wdk/ob/object.h"

static const int64_t UNIX_EPOCH = 116444736000000000; /* in units of 100 ns since 1601 */

/* ---- Files of the host ------------------------------------------------------------------------------------------- */

static int64_t file_time(const struct statx_timestamp *t)
{
    return UNIX_EPOCH + t->tv_sec * 10000000 + t->tv_nsec / 100;
}

static NTSTATUS file_stat(PFILE_OBJECT file, struct statx *st)
{
    if (statx(file_object_descriptor(file), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, st))
        return file_status_from_errno(errno);
    if (!(st->stx_mask & STATX_BTIME)) /* the filesystem does not store the time of creation */
        st->stx_btime = st->stx_mtime;
    return STATUS_SUCCESS;
}

static ULONG file_attributes(const struct statx *st)
{
    ULONG attributes = S_ISDIR(st->stx_mode) ? FILE_ATTRIBUTE_DIRECTORY : 0;

    if (!(st->stx_mode & S_IWUSR))
        attributes |= FILE_ATTRIBUTE_READONLY;
    return attributes ? attributes : FILE_ATTRIBUTE_NORMAL;
}

static int64_t file_size(const struct statx *st)
{
    return S_ISDIR(st->stx_mode) ? 0 : (int64_t)st->stx_size;
}

static void file_query_basic(const struct statx *st, FILE_BASIC_INFORMATION *out)
{
    out->CreationTime.QuadPart = file_time(&st->stx_btime);
    out->LastAccessTime.QuadPart = file_time(&st->stx_atime);
    out->LastWriteTime.QuadPart = file_time(&st->stx_mtime);
    out->ChangeTime.QuadPart = file_time(&st->stx_ctime);
    out->FileAttributes = file_attributes(st);
}

static void file_query_network_open(const struct statx *st, FILE_NETWORK_OPEN_INFORMATION *out)
{
    FILE_BASIC_INFORMATION basic = { 0 };

    file_query_basic(st, &basic);
    *out = (FILE_NETWORK_OPEN_INFORMATION){ basic.CreationTime,  basic.LastAccessTime,
                                            basic.LastWriteTime, basic.ChangeTime,
                                            { { 0 } },           { { 0 } },
                                            basic.FileAttributes };
    out->AllocationSize.QuadPart = (int64_t)st->stx_blocks * 512;
    out->EndOfFile.QuadPart = file_size(st);
}

static NTSTATUS file_query_host(PFILE_OBJECT file, FILE_INFORMATION_CLASS class, void *out)
{
    struct statx st;
    NTSTATUS status = file_stat(file, &st);
    FILE_STANDARD_INFORMATION *standard = out;

    if (status)
        return status;
    switch ((int)class) {
    case FileBasicInformation:
        file_query_basic(&st, out);
        return STATUS_SUCCESS;
    case FileStandardInformation:
        standard->AllocationSize.QuadPart = (int64_t)st.stx_blocks * 512;
        standard->EndOfFile.QuadPart = file_size(&st);
        standard->NumberOfLinks = st.stx_nlink;
        standard->DeletePending = file->DeletePending;
        standard->Directory = S_ISDIR(st.stx_mode);
        return STATUS_SUCCESS;
    case FileInternalInformation:
        ((FILE_INTERNAL_INFORMATION *)out)->IndexNumber.QuadPart = (int64_t)st.stx_ino;
        return STATUS_SUCCESS;
    case FileNetworkOpenInformation:
        file_query_network_open(&st, out);
        return STATUS_SUCCESS;
    case FileAttributeTagInformation:
        ((FILE_ATTRIBUTE_TAG_INFORMATION *)out)->FileAttributes = file_attributes(&st);
        return STATUS_SUCCESS;
    default:
        return STATUS_INVALID_INFO_CLASS;
    }
}

static struct timespec file_new_time(LARGE_INTEGER t)
{
    int64_t units = t.QuadPart - UNIX_EPOCH;
    struct timespec host = { units / 10000000, units % 10000000 * 100 };

    /* 0 means that the time does not change. -1 and -2 would affect later requests, and are ignored. */
    if (t.QuadPart <= 0)
        host.tv_nsec = UTIME_OMIT;
    else if (host.tv_nsec < 0)
        host = (struct timespec){ host.tv_sec - 1, host.tv_nsec + 1000000000 };
    return host;
}

static NTSTATUS file_set_basic(PFILE_OBJECT file, const FILE_BASIC_INFORMATION *in)
{
    int descriptor = file_object_descriptor(file);
    struct timespec times[2] = { file_new_time(in->LastAccessTime), file_new_time(in->LastWriteTime) };
    struct stat st;
    mode_t mode;

    if (!file_object_may_set_attributes(file))
        return STATUS_ACCESS_DENIED;
    if (fstat(descriptor, &st))
        return file_status_from_errno(errno);
    if (in->FileAttributes & FILE_ATTRIBUTE_DIRECTORY && !S_ISDIR(st.st_mode))
        return STATUS_INVALID_PARAMETER;
    mode = in->FileAttributes & FILE_ATTRIBUTE_READONLY ? st.st_mode & ~(mode_t)0222 : st.st_mode | S_IWUSR;
    if (in->FileAttributes && S_ISREG(st.st_mode) && fchmod(descriptor, mode & 07777))
        return file_status_from_errno(errno);
    return futimens(descriptor, times) ? file_status_from_errno(errno) : STATUS_SUCCESS;
}

static NTSTATUS file_set_size(PFILE_OBJECT file, FILE_INFORMATION_CLASS class, int64_t size)
{
    int descriptor = file_object_descriptor(file);
    struct stat st;

    if (!file->WriteAccess)
        return STATUS_ACCESS_DENIED;
    if (size < 0 || fstat(descriptor, &st))
        return STATUS_INVALID_PARAMETER;
    if (class == FileValidDataLengthInformation)
        return size > st.st_size ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
    if (class == FileAllocationInformation && size >= st.st_size)
        return STATUS_SUCCESS;
    return section_set_file_size(descriptor, size);
}

static NTSTATUS file_set_disposition(PFILE_OBJECT file, const FILE_DISPOSITION_INFORMATION *in)
{
    NTSTATUS status = STATUS_SUCCESS;

    if (!file->DeleteAccess)
        return STATUS_ACCESS_DENIED;
    if (in->DeleteFile)
        status = file_check_delete(file);
    if (NT_SUCCESS(status))
        file->DeletePending = in->DeleteFile;
    return status;
}

static NTSTATUS file_set_host(PFILE_OBJECT file, FILE_INFORMATION_CLASS class, const void *in, ULONG length)
{
    switch ((int)class) {
    case FileBasicInformation:
        return file_set_basic(file, in);
    case FileDispositionInformation:
        return file_set_disposition(file, in);
    case FileRenameInformation:
        return file->DeleteAccess ? file_rename(file, in, length) : STATUS_ACCESS_DENIED;
    case FileAllocationInformation:
    case FileEndOfFileInformation:
    case FileValidDataLengthInformation:
        return file_set_size(file, class, ((const LARGE_INTEGER *)in)->QuadPart);
    default:
        return STATUS_INVALID_INFO_CLASS;
    }
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static NTSTATUS file_query_device(PFILE_OBJECT file, FILE_INFORMATION_CLASS class, void *out, ULONG length,
                                  ULONG_PTR *done)
{
    struct irp_buffers buffers = { .out = out, .out_capacity = length };
    PIO_STACK_LOCATION next;
    PIRP irp = file_object_irp(file, IRP_MJ_QUERY_INFORMATION, IRP_FROM_KERNEL, &next);
    NTSTATUS status;

    if (!irp)
        return STATUS_INSUFFICIENT_RESOURCES;
    next->Parameters.QueryFile.Length = length;
    next->Parameters.QueryFile.FileInformationClass = class;
    status = irp_set_buffered(irp, &buffers);
    return NT_SUCCESS(status) ? irp_send(irp, done) : status;
}

static NTSTATUS file_set_device(PFILE_OBJECT file, FILE_INFORMATION_CLASS class, const void *in, ULONG length)
{
    struct irp_buffers buffers = { .in = in, .in_length = length };
    PIO_STACK_LOCATION next;
    PIRP irp = file_object_irp(file, IRP_MJ_SET_INFORMATION, IRP_FROM_KERNEL, &next);
    NTSTATUS status;

    if (!irp)
        return STATUS_INSUFFICIENT_RESOURCES;
    next->Parameters.SetFile.Length = length;
    next->Parameters.SetFile.FileInformationClass = class;
    if (class == FileRenameInformation)
        next->Parameters.SetFile.ReplaceIfExists = ((const FILE_RENAME_INFORMATION *)in)->ReplaceIfExists;
    status = irp_set_buffered(irp, &buffers);
    return NT_SUCCESS(status) ? irp_send(irp, NULL) : status;
}

/* ---- By handle --------------------------------------------------------------------------------------------------- */

/* Returns the size of the class' structure. Returns 0 if the class cannot be set (`set` is true) or queried (false). */
static ULONG file_information_size(FILE_INFORMATION_CLASS class, bool set)
{
    switch ((int)class) {
    case FileBasicInformation:
        return sizeof(FILE_BASIC_INFORMATION);
    case FileStandardInformation:
        return set ? 0 : sizeof(FILE_STANDARD_INFORMATION);
    case FileInternalInformation:
        return set ? 0 : sizeof(FILE_INTERNAL_INFORMATION);
    case FileNetworkOpenInformation:
        return set ? 0 : sizeof(FILE_NETWORK_OPEN_INFORMATION);
    case FileAttributeTagInformation:
        return set ? 0 : sizeof(FILE_ATTRIBUTE_TAG_INFORMATION);
    case FileAlignmentInformation:
        return set ? 0 : sizeof(FILE_ALIGNMENT_INFORMATION);
    case FilePositionInformation:
        return sizeof(FILE_POSITION_INFORMATION);
    case FileRenameInformation:
        return set ? sizeof(FILE_RENAME_INFORMATION) : 0;
    case FileDispositionInformation:
        return set ? sizeof(FILE_DISPOSITION_INFORMATION) : 0;
    case FileAllocationInformation:
    case FileEndOfFileInformation:
    case FileValidDataLengthInformation:
        return set ? sizeof(LARGE_INTEGER) : 0;
    default:
        return 0;
    }
}

NTSTATUS ZwQueryInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock, PVOID FileInformation, ULONG Length,
                                FILE_INFORMATION_CLASS FileInformationClass)
{
    NTSTATUS status;
    PFILE_OBJECT file = file_lookup("ZwQueryInformationFile", FileHandle, &status);
    ULONG size = file_information_size(FileInformationClass, false);
    ULONG_PTR done = size;

    if (!file)
        return status;
    if (!size || Length < size)
        return file_finish(file, IoStatusBlock, size ? STATUS_INFO_LENGTH_MISMATCH : STATUS_INVALID_INFO_CLASS, 0);
    if (FileInformationClass == FilePositionInformation) {
        ((PFILE_POSITION_INFORMATION)FileInformation)->CurrentByteOffset.QuadPart = file_get_position(file);
    } else if (FileInformationClass == FileAlignmentInformation) {
        ((PFILE_ALIGNMENT_INFORMATION)FileInformation)->AlignmentRequirement =
            file->DeviceObject ? file->DeviceObject->AlignmentRequirement : FILE_BYTE_ALIGNMENT;
    } else if (file->DeviceObject) {
        status = file_query_device(file, FileInformationClass, FileInformation, Length, &done);
    } else {
        memset(FileInformation, 0, size);
        status = file_query_host(file, FileInformationClass, FileInformation);
    }
    return file_finish(file, IoStatusBlock, status, NT_ERROR(status) ? 0 : done);
}

NTSTATUS ZwSetInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock, PVOID FileInformation, ULONG Length,
                              FILE_INFORMATION_CLASS FileInformationClass)
{
    NTSTATUS status;
    PFILE_OBJECT file = file_lookup("ZwSetInformationFile", FileHandle, &status);
    ULONG size = file_information_size(FileInformationClass, true);
    const LARGE_INTEGER *value = FileInformation;

    if (!file)
        return status;
    if (!size)
        status = STATUS_INVALID_INFO_CLASS;
    else if (Length < size)
        status = STATUS_INFO_LENGTH_MISMATCH;
    else if (FileInformationClass == FilePositionInformation && value->QuadPart < 0)
        status = STATUS_INVALID_PARAMETER;
    else if (FileInformationClass == FilePositionInformation)
        file_set_position(file, value->QuadPart);
    else if (file->DeviceObject)
        status = file_set_device(file, FileInformationClass, FileInformation, Length);
    else
        status = file_set_host(file, FileInformationClass, FileInformation, Length);
    return file_finish(file, IoStatusBlock, status, 0);
}

/* ---- Names of user mode ------------------------------------------------------------------------------------------ */

__typeof__(ZwQueryInformationFile) NtQueryInformationFile __attribute__((alias("ZwQueryInformationFile")));
__typeof__(ZwSetInformationFile) NtSetInformationFile __attribute__((alias("ZwSetInformationFile")));
