/* SPDX-License-Identifier: MIT */
/*
 * Implements files and devices with handles: see wdm/zw.h. A file of the host is opened only below the directory that
 * the host program has set. Neither a symbolic link nor ".." leads out of this directory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ntifs.h"

#include "openndk/wdk.h"
#include "wdk/common/check.h"
#include "wdk/common/host_error.h"
#include "wdk/common/text.h"
#include "wdk/io/device.h"
#include "wdk/io/file.h"
#include "wdk/io/irp.h"
#include "wdk/io/section.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards file_root */
static int file_root = -1;

int ondk_wdk_set_file_root(const char *directory)
{
    int new_root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), old;

    if (new_root < 0)
        return host_error("%s: %s", directory, strerror(errno));
    pthread_mutex_lock(&lock);
    old = file_root;
    file_root = new_root;
    pthread_mutex_unlock(&lock);
    if (old >= 0)
        close(old);
    return 0;
}

char *file_root_path(void)
{
    char *path;

    pthread_mutex_lock(&lock);
    path = file_root < 0 ? NULL : file_descriptor_path(file_root);
    pthread_mutex_unlock(&lock);
    return path;
}

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

NTSTATUS file_status_from_errno(int error)
{
    switch (error) {
    case ENOENT:
        return STATUS_OBJECT_NAME_NOT_FOUND;
    case ENOTDIR:
        return STATUS_OBJECT_PATH_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EXDEV: /* from openat2: the path leads out of the directory */
    case ELOOP:
        return STATUS_ACCESS_DENIED;
    case EEXIST:
        return STATUS_OBJECT_NAME_COLLISION;
    case EISDIR:
        return STATUS_FILE_IS_A_DIRECTORY;
    case ENOSPC:
        return STATUS_DISK_FULL;
    default:
        return STATUS_UNSUCCESSFUL;
    }
}

/* Replaces backslashes by slashes, and removes slashes at the end, which Windows allows after a directory's name. */
static void file_convert_slashes(char *text)
{
    for (char *at = text; (at = strchr(at, '\\')); at++)
        *at = '/';
    for (size_t n = strlen(text); n && text[n - 1] == '/'; n--)
        text[n - 1] = 0;
}

char *file_host_name(PCUNICODE_STRING name)
{
    size_t units = name->Length / sizeof(WCHAR);
    char *text, *at;
    bool drive, system;

    if (text_length(name->Buffer, sizeof(WCHAR), units) < units) /* a zero in the name would cut off the path */
        return NULL;
    text = text_narrow_copy(name->Buffer, units);
    if (!text)
        return NULL;
    at = !strncasecmp(text, "\\??\\", 4) ? text + 4 : !strncasecmp(text, "\\DosDevices\\", 12) ? text + 12 : NULL;
    drive = at && at[0] && at[1] == ':' && at[2] == '\\';
    system = !strncasecmp(text, "\\SystemRoot\\", 12);
    if ((!drive && !system) || strchr(text, '/')) {
        free(text);
        return NULL;
    }
    if (drive) { /* remove the colon */
        char letter = at[0] >= 'a' && at[0] <= 'z' ? (char)(at[0] - 32) : at[0];

        memmove(text + 1, at + 2, strlen(at + 2) + 1);
        text[0] = letter;
    } else {
        memmove(text, text + 1, strlen(text));
        memcpy(text, "SystemRoot", 10);
    }
    file_convert_slashes(text);
    return text;
}

/*
 * Returns the file's path relative to an open directory: a/b for a\b, and "." for the directory itself. The caller
 * frees the path. Returns NULL if the name is invalid, or if out of memory.
 */
static char *file_relative_name(PCUNICODE_STRING name)
{
    size_t units = name->Length / sizeof(WCHAR);
    char *text;

    if (text_length(name->Buffer, sizeof(WCHAR), units) < units)
        return NULL;
    text = units ? text_narrow_copy(name->Buffer, units) : strdup(".");
    if (text && (text[0] == '\\' || strchr(text, '/'))) {
        free(text);
        return NULL;
    }
    if (text)
        file_convert_slashes(text);
    return text;
}

static int file_open_flags(ACCESS_MASK access, ULONG disposition, ULONG options)
{
    static const int dispositions[] = { O_CREAT | O_TRUNC, 0, O_CREAT | O_EXCL, O_CREAT, O_TRUNC, O_CREAT | O_TRUNC };
    bool write = access & (FILE_WRITE_DATA | GENERIC_WRITE | GENERIC_ALL), append = access & FILE_APPEND_DATA;
    int flags = dispositions[disposition] | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

    if (options & FILE_DIRECTORY_FILE)
        return O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    if (append && !write)
        flags |= O_APPEND;
    return flags | (write || append || flags & O_TRUNC ? O_RDWR : O_RDONLY);
}

int file_open_beneath(int below, const char *name, int flags)
{
    struct open_how how = { .flags = (uint64_t)flags,
                            .mode = flags & O_CREAT ? 0600 : 0,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
    int result;

    if (below >= 0)
        return (int)syscall(SYS_openat2, below, name, &how, sizeof how);
    pthread_mutex_lock(&lock);
    result = file_root < 0 ? (errno = ENOENT, -1) : (int)syscall(SYS_openat2, file_root, name, &how, sizeof how);
    pthread_mutex_unlock(&lock);
    return result;
}

/* Creates the directory. If the disposition is FILE_OPEN_IF, succeeds for a directory that exists. */
static NTSTATUS file_make_directory(int below, char *name, ULONG disposition)
{
    char *base = strrchr(name, '/');
    int parent, result, error;

    if (!base && below < 0)
        return STATUS_SUCCESS; /* a drive is never created; if it does not exist, the caller's open fails */
    if (base)
        *base = 0;
    parent = file_open_beneath(below, base ? name : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (base)
        *base = '/';
    if (parent < 0)
        return errno == ENOENT ? STATUS_OBJECT_PATH_NOT_FOUND : file_status_from_errno(errno);
    result = mkdirat(parent, base ? base + 1 : name, 0700);
    error = errno;
    close(parent);
    return !result || (error == EEXIST && disposition == FILE_OPEN_IF) ? STATUS_SUCCESS : file_status_from_errno(error);
}

static NTSTATUS file_open_host(int below, char *name, ACCESS_MASK access, ULONG disposition, ULONG options,
                               PFILE_OBJECT *file, ULONG_PTR *information)
{
    int flags = file_open_flags(access, disposition, options), descriptor;
    int existing = file_open_beneath(below, name, O_PATH | O_CLOEXEC);
    NTSTATUS status = STATUS_SUCCESS;
    struct stat st = { 0 };

    if (existing >= 0)
        close(existing);
    if (options & FILE_DIRECTORY_FILE && (disposition == FILE_CREATE || disposition == FILE_OPEN_IF))
        status = file_make_directory(below, name, disposition);
    else if (options & FILE_DIRECTORY_FILE && disposition != FILE_OPEN)
        status = STATUS_INVALID_PARAMETER;
    if (status)
        return status;
    descriptor = file_open_beneath(below, name, flags & ~O_TRUNC);
    if (descriptor < 0)
        return file_status_from_errno(errno);
    if (fstat(descriptor, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
        (S_ISDIR(st.st_mode) && options & FILE_NON_DIRECTORY_FILE))
        status = S_ISDIR(st.st_mode) ? STATUS_FILE_IS_A_DIRECTORY : STATUS_ACCESS_DENIED;
    else if (flags & O_TRUNC)
        status = section_set_file_size(descriptor, 0);
    if (status) {
        close(descriptor);
        return status;
    }
    *file = file_object_of_host(descriptor, access);
    if (!*file) {
        close(descriptor);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *information = existing < 0                    ? FILE_CREATED
                   : disposition == FILE_SUPERSEDE ? FILE_SUPERSEDED
                   : flags & O_TRUNC               ? FILE_OVERWRITTEN
                                                   : FILE_OPENED;
    return STATUS_SUCCESS;
}

static NTSTATUS file_open_named(PCUNICODE_STRING name, ACCESS_MASK access, ULONG share, ULONG disposition,
                                ULONG options, PFILE_OBJECT *file, ULONG_PTR *information)
{
    char *host = file_host_name(name);
    NTSTATUS status = host ? file_open_host(-1, host, access, disposition, options, file, information)
                           : file_object_open(name, access, share, options | disposition << 24, IRP_FROM_KERNEL, file,
                                              information);

    free(host);
    return status;
}

/* Opens a file below an open directory. Names below a device are not supported. */
static NTSTATUS file_open_relative(const OBJECT_ATTRIBUTES *a, ACCESS_MASK access, ULONG disposition, ULONG options,
                                   PFILE_OBJECT *file, ULONG_PTR *information)
{
    NTSTATUS status;
    PFILE_OBJECT below = file_lookup("ZwCreateFile", a->RootDirectory, &status);
    char *name = below && !below->DeviceObject ? file_relative_name(a->ObjectName) : NULL;

    if (!below)
        return status;
    if (name)
        status = file_open_host(file_object_descriptor(below), name, access, disposition, options, file, information);
    else
        status = below->DeviceObject ? STATUS_INVALID_PARAMETER : STATUS_OBJECT_PATH_SYNTAX_BAD;
    free(name);
    ob_unref(below);
    return status;
}

NTSTATUS ZwCreateFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
                      PIO_STATUS_BLOCK IoStatusBlock, PLARGE_INTEGER AllocationSize, ULONG FileAttributes,
                      ULONG ShareAccess, ULONG CreateDisposition, ULONG CreateOptions, PVOID EaBuffer, ULONG EaLength)
{
    PFILE_OBJECT file = NULL;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(AllocationSize);
    UNREFERENCED_PARAMETER(FileAttributes);
    UNREFERENCED_PARAMETER(EaBuffer);
    UNREFERENCED_PARAMETER(EaLength);
    irql_check_max("ZwCreateFile", PASSIVE_LEVEL);
    *FileHandle = NULL;
    IoStatusBlock->Information = 0;
    if (CreateDisposition > FILE_OVERWRITE_IF || !ObjectAttributes->ObjectName ||
        (CreateOptions & FILE_DELETE_ON_CLOSE && !(DesiredAccess & DELETE)))
        return IoStatusBlock->Status = STATUS_INVALID_PARAMETER;
    if (ObjectAttributes->RootDirectory)
        status = file_open_relative(ObjectAttributes, DesiredAccess, CreateDisposition, CreateOptions, &file,
                                    &IoStatusBlock->Information);
    else
        status = file_open_named(ObjectAttributes->ObjectName, DesiredAccess, ShareAccess, CreateDisposition,
                                 CreateOptions, &file, &IoStatusBlock->Information);
    if (NT_SUCCESS(status)) {
        if (CreateOptions & FILE_DELETE_ON_CLOSE)
            file->Flags |= FO_DELETE_ON_CLOSE;
        status = handle_open(file, FileHandle);
        if (status)
            ob_unref(file);
    }
    return IoStatusBlock->Status = status;
}

NTSTATUS ZwOpenFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
                    PIO_STATUS_BLOCK IoStatusBlock, ULONG ShareAccess, ULONG OpenOptions)
{
    return ZwCreateFile(FileHandle, DesiredAccess, ObjectAttributes, IoStatusBlock, NULL, FILE_ATTRIBUTE_NORMAL,
                        ShareAccess, FILE_OPEN, OpenOptions, NULL, 0);
}

/* ---- Read, write and flush -------------------------------------------------------------------------------------- */

PFILE_OBJECT file_lookup(const char *routine, HANDLE handle, NTSTATUS *status)
{
    PFILE_OBJECT file;

    irql_check_max(routine, PASSIVE_LEVEL);
    file = handle_lookup(handle, *IoFileObjectType, status);
    if (!file && *status == STATUS_INVALID_HANDLE && check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)handle, 0, 0, 0, "handle %p is not open", handle);
    return file;
}

NTSTATUS file_finish(PFILE_OBJECT file, PIO_STATUS_BLOCK block, NTSTATUS status, ULONG_PTR information)
{
    block->Status = status;
    block->Information = information;
    ob_unref(file);
    return status;
}

/*
 * The locks of the files' positions. A transfer to a file of the host holds the lock from the reading of the position
 * until the position has been changed. A transfer to a device acquires the lock twice: to read the position, and to
 * change the position. The transfer does not hold the lock while the driver runs, because the driver may take long.
 */
enum { POSITION_LOCKS = 16 };
static pthread_mutex_t position_locks[POSITION_LOCKS] = { [0 ... POSITION_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER };

static pthread_mutex_t *position_lock(PFILE_OBJECT file)
{
    return &position_locks[(uintptr_t)file / 64 % POSITION_LOCKS];
}

int64_t file_get_position(PFILE_OBJECT file)
{
    int64_t at;

    pthread_mutex_lock(position_lock(file));
    at = file->CurrentByteOffset.QuadPart;
    pthread_mutex_unlock(position_lock(file));
    return at;
}

void file_set_position(PFILE_OBJECT file, int64_t at)
{
    pthread_mutex_lock(position_lock(file));
    file->CurrentByteOffset.QuadPart = at;
    pthread_mutex_unlock(position_lock(file));
}

static NTSTATUS file_host_io(PFILE_OBJECT file, bool write, void *buffer, ULONG length, int64_t offset, ULONG_PTR *done)
{
    int descriptor = file_object_descriptor(file);
    ssize_t n;

    if (write ? !file->WriteAccess : !file->ReadAccess)
        return STATUS_ACCESS_DENIED;
    if (offset < 0)
        return STATUS_INVALID_PARAMETER;
    n = write ? pwrite(descriptor, buffer, length, offset) : pread(descriptor, buffer, length, offset);
    if (n < 0)
        return errno == EISDIR ? STATUS_INVALID_DEVICE_REQUEST : file_status_from_errno(errno);
    *done = (ULONG_PTR)n;
    return !n && length && !write ? STATUS_END_OF_FILE : STATUS_SUCCESS;
}

static NTSTATUS file_device_io(PFILE_OBJECT file, bool write, void *buffer, ULONG length, int64_t offset,
                               ULONG_PTR *done)
{
    struct irp_buffers buffers = { write ? buffer : NULL, write ? length : 0, write ? NULL : buffer,
                                   write ? 0 : length };
    PIO_STACK_LOCATION next;
    PIRP irp = file_object_irp(file, write ? IRP_MJ_WRITE : IRP_MJ_READ, IRP_FROM_KERNEL, &next);
    NTSTATUS status = irp ? irp_set_transfer(irp, &buffers, offset) : STATUS_INSUFFICIENT_RESOURCES;

    return NT_SUCCESS(status) ? irp_send(irp, done) : status;
}

/* Returns true if the file was opened only for appending. Writes then ignore the offset. */
static bool file_appends(PFILE_OBJECT file)
{
    return !file->DeviceObject && fcntl(file_object_descriptor(file), F_GETFL) & O_APPEND;
}

/*
 * Returns the offset at which a transfer begins. A write to a file that was opened only for appending begins at the
 * file's size. Otherwise, if `requested` is NULL or FILE_USE_FILE_POINTER_POSITION, the transfer begins at `position`.
 * A write with FILE_WRITE_TO_END_OF_FILE begins at the file's size, or at 0 if the file has a device. Any other
 * transfer begins at *requested.
 */
static int64_t file_transfer_offset(PFILE_OBJECT file, const LARGE_INTEGER *requested, bool write, int64_t position)
{
    struct stat st;

    if (write && file_appends(file))
        return fstat(file_object_descriptor(file), &st) ? 0 : st.st_size;
    if (!requested || (requested->HighPart == -1 && requested->LowPart == FILE_USE_FILE_POINTER_POSITION))
        return position;
    if (write && requested->HighPart == -1 && requested->LowPart == FILE_WRITE_TO_END_OF_FILE)
        return file->DeviceObject || fstat(file_object_descriptor(file), &st) ? 0 : st.st_size;
    return requested->QuadPart;
}

static NTSTATUS file_transfer_host(PFILE_OBJECT file, bool write, void *buffer, ULONG length,
                                   const LARGE_INTEGER *requested, ULONG_PTR *done)
{
    pthread_mutex_t *mutex = position_lock(file);
    NTSTATUS status;
    int64_t offset;

    pthread_mutex_lock(mutex);
    offset = file_transfer_offset(file, requested, write, file->CurrentByteOffset.QuadPart);
    status = file_host_io(file, write, buffer, length, offset, done);
    if (NT_SUCCESS(status))
        file->CurrentByteOffset.QuadPart = offset + (int64_t)*done;
    pthread_mutex_unlock(mutex);
    return status;
}

static NTSTATUS file_transfer_device(PFILE_OBJECT file, bool write, void *buffer, ULONG length,
                                     const LARGE_INTEGER *requested, ULONG_PTR *done)
{
    int64_t offset = file_transfer_offset(file, requested, write, file_get_position(file));
    NTSTATUS status = file_device_io(file, write, buffer, length, offset, done);

    if (NT_SUCCESS(status))
        file_set_position(file, offset + (int64_t)*done);
    return status;
}

static NTSTATUS file_transfer(const char *routine, HANDLE handle, HANDLE event, PIO_APC_ROUTINE apc,
                              PIO_STATUS_BLOCK block, bool write, void *buffer, ULONG length,
                              const LARGE_INTEGER *requested)
{
    ULONG_PTR done = 0;
    NTSTATUS status;
    PFILE_OBJECT file = file_lookup(routine, handle, &status);

    if (!file)
        return status;
    if (event || apc)
        status = event ? STATUS_INVALID_PARAMETER_2 : STATUS_INVALID_PARAMETER_3;
    else
        status = file->DeviceObject ? file_transfer_device(file, write, buffer, length, requested, &done)
                                    : file_transfer_host(file, write, buffer, length, requested, &done);
    return file_finish(file, block, status, done);
}

NTSTATUS ZwReadFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
                    PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer, ULONG Length, PLARGE_INTEGER ByteOffset, PULONG Key)
{
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(Key);
    return file_transfer("ZwReadFile", FileHandle, Event, ApcRoutine, IoStatusBlock, false, Buffer, Length, ByteOffset);
}

NTSTATUS ZwWriteFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
                     PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer, ULONG Length, PLARGE_INTEGER ByteOffset, PULONG Key)
{
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(Key);
    return file_transfer("ZwWriteFile", FileHandle, Event, ApcRoutine, IoStatusBlock, true, Buffer, Length, ByteOffset);
}

NTSTATUS ZwFlushBuffersFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock)
{
    PIO_STACK_LOCATION next;
    NTSTATUS status;
    PFILE_OBJECT file = file_lookup("ZwFlushBuffersFile", FileHandle, &status);
    PIRP irp;

    if (!file)
        return status;
    if (!file->WriteAccess) {
        status = STATUS_ACCESS_DENIED;
    } else if (file->DeviceObject) {
        irp = file_object_irp(file, IRP_MJ_FLUSH_BUFFERS, IRP_FROM_KERNEL, &next);
        status = irp ? irp_send(irp, NULL) : STATUS_INSUFFICIENT_RESOURCES;
    } else {
        status = fsync(file_object_descriptor(file)) ? file_status_from_errno(errno) : STATUS_SUCCESS;
    }
    return file_finish(file, IoStatusBlock, status, 0);
}

/* ---- Names of user mode ------------------------------------------------------------------------------------------ */

__typeof__(ZwCreateFile) NtCreateFile __attribute__((alias("ZwCreateFile")));
__typeof__(ZwOpenFile) NtOpenFile __attribute__((alias("ZwOpenFile")));
__typeof__(ZwReadFile) NtReadFile __attribute__((alias("ZwReadFile")));
__typeof__(ZwWriteFile) NtWriteFile __attribute__((alias("ZwWriteFile")));
