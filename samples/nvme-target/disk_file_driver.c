/* SPDX-License-Identifier: MIT */
/*
 * Implements a disk in a file, for the Windows kernel. The handle is a kernel handle, so the worker threads, which
 * belong to the system process, can use it. A write that has returned is in the system's cache; a flush writes it to
 * the disk.
 */
#include <ntifs.h>

#include "disk.h"

struct file_disk {
    struct disk disk; /* first */
    HANDLE handle;
    volatile LONG has_failed; /* not 0: a flush has failed, so completed writes may be lost */
};

static bool file_read(struct disk *disk, uint64_t offset, void *buffer, uint32_t length)
{
    struct file_disk *file = (struct file_disk *)disk;
    LARGE_INTEGER at;
    IO_STATUS_BLOCK block;

    at.QuadPart = (LONGLONG)offset;
    return NT_SUCCESS(ZwReadFile(file->handle, NULL, NULL, NULL, &block, buffer, length, &at, NULL)) &&
        block.Information == length;
}

static bool file_write(struct disk *disk, uint64_t offset, const void *buffer, uint32_t length)
{
    struct file_disk *file = (struct file_disk *)disk;
    LARGE_INTEGER at;
    IO_STATUS_BLOCK block;

    at.QuadPart = (LONGLONG)offset;
    return NT_SUCCESS(ZwWriteFile(file->handle, NULL, NULL, NULL, &block, (PVOID)buffer, length, &at, NULL)) &&
        block.Information == length;
}

/*
 * Fails for ever after one failure, because the system may report an error of a write to the device only once. A later
 * flush would succeed although data are lost.
 */
static bool file_flush(struct disk *disk)
{
    struct file_disk *file = (struct file_disk *)disk;
    IO_STATUS_BLOCK block;
    NTSTATUS status;

    if (disk->is_read_only)
        return true; /* nothing was written, and a flush needs write access */
    status = file->has_failed ? STATUS_IO_DEVICE_ERROR : ZwFlushBuffersFile(file->handle, &block);
    if (!NT_SUCCESS(status) && !InterlockedExchange(&file->has_failed, 1))
        host_log("a flush has failed, status 0x%08x; completed writes may be lost, and all flushes fail until the "
            "target restarts", (unsigned)status);
    return NT_SUCCESS(status) && !file->has_failed;
}

static bool file_zero(struct disk *disk, uint64_t offset, uint64_t length, bool deallocate)
{
    static const uint8_t zeroes[65536];
    uint64_t done = 0;

    UNREFERENCED_PARAMETER(deallocate);
    while (done < length) {
        uint32_t part = length - done < sizeof(zeroes) ? (uint32_t)(length - done) : sizeof(zeroes);

        if (!file_write(disk, offset + done, zeroes, part))
            return false;
        done += part;
    }
    return true;
}

static void file_close(struct disk *disk)
{
    ZwClose(((struct file_disk *)disk)->handle);
    host_free(disk);
}

static NTSTATUS file_open(host_path path, bool is_read_only, HANDLE *handle)
{
    ACCESS_MASK access = SYNCHRONIZE | (is_read_only ? GENERIC_READ : GENERIC_READ | GENERIC_WRITE);
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK block;

    InitializeObjectAttributes(&attributes, path, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
    return ZwCreateFile(handle, access, &attributes, &block, NULL, FILE_ATTRIBUTE_NORMAL, FILE_SHARE_READ, FILE_OPEN,
        FILE_NON_DIRECTORY_FILE | FILE_RANDOM_ACCESS | FILE_SYNCHRONOUS_IO_NONALERT, NULL, 0);
}

struct disk *disk_file_open(host_path path, bool is_read_only)
{
    static const struct disk_operations operations = { file_read, file_write, file_flush, file_zero, file_close };
    struct file_disk *file = host_alloc(sizeof(*file));
    FILE_STANDARD_INFORMATION information;
    IO_STATUS_BLOCK block;
    NTSTATUS status = file ? file_open(path, is_read_only, &file->handle) : STATUS_INSUFFICIENT_RESOURCES;

    if (NT_SUCCESS(status)) {
        status = ZwQueryInformationFile(file->handle, &block, &information, sizeof(information),
            FileStandardInformation);
        if (!NT_SUCCESS(status))
            ZwClose(file->handle);
    }
    if (!NT_SUCCESS(status)) {
        DbgPrint("nvme-target: %wZ: not opened, 0x%08X\n", path, status);
        host_free(file);
        return NULL;
    }
    file->disk.operations = &operations;
    file->disk.identity = disk_hash(path->Buffer, path->Length, 0);
    file->disk.size = (uint64_t)information.EndOfFile.QuadPart;
    file->disk.is_read_only = is_read_only;
    file->disk.may_wait = true;
    return &file->disk;
}
