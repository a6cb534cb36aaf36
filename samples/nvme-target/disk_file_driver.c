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
    struct host_semaphore flush_busy; /* serializes flushes: its count is 0 while a thread flushes, otherwise 1 */
    uint16_t flush_status; /* if not NVME_SUCCESS, a flush has failed and writes may be lost; guarded by flush_busy */
};

/* Returns the NVMe status for the status of a file operation. `media` is the status for a failure of the medium. */
static uint16_t file_status(NTSTATUS status, uint16_t media)
{
    switch (status) {
    case STATUS_DISK_FULL:
    case STATUS_DISK_QUOTA_EXCEEDED:
        return NVME_CAPACITY_EXCEEDED | NVME_DNR;
    case STATUS_MEDIA_WRITE_PROTECTED:
    case STATUS_ACCESS_DENIED:
        return NVME_NAMESPACE_WRITE_PROTECTED | NVME_DNR;
    case STATUS_INSUFFICIENT_RESOURCES:
    case STATUS_WORKING_SET_QUOTA:
        return NVME_INTERNAL_ERROR; /* the host may try again */
    default:
        return media;
    }
}

static uint16_t file_read(struct disk *disk, uint64_t offset, void *buffer, uint32_t length)
{
    struct file_disk *file = (struct file_disk *)disk;
    LARGE_INTEGER at;
    IO_STATUS_BLOCK block;
    NTSTATUS status;

    at.QuadPart = (LONGLONG)offset;
    status = ZwReadFile(file->handle, NULL, NULL, NULL, &block, buffer, length, &at, NULL);
    if (status == STATUS_END_OF_FILE || (NT_SUCCESS(status) && block.Information != length))
        return NVME_LBA_OUT_OF_RANGE | NVME_DNR; /* the file was truncated */
    return NT_SUCCESS(status) ? NVME_SUCCESS : file_status(status, NVME_UNRECOVERED_READ_ERROR);
}

static uint16_t file_write(struct disk *disk, uint64_t offset, const void *buffer, uint32_t length)
{
    struct file_disk *file = (struct file_disk *)disk;
    LARGE_INTEGER at;
    IO_STATUS_BLOCK block;
    NTSTATUS status;

    at.QuadPart = (LONGLONG)offset;
    status = ZwWriteFile(file->handle, NULL, NULL, NULL, &block, (PVOID)buffer, length, &at, NULL);
    if (!NT_SUCCESS(status))
        return file_status(status, NVME_WRITE_FAULT);
    return block.Information == length ? NVME_SUCCESS : NVME_WRITE_FAULT;
}

/*
 * Fails for ever after one failure, because the system may report an error of a write to the device only once. A later
 * flush would succeed although data are lost. Flushes are serialized, so that a flush of another thread cannot succeed
 * between the report and the change of flush_status. A retry by the host would fail, too. A fast mutex does not suit,
 * because it raises the IRQL, and ZwFlushBuffersFile needs PASSIVE_LEVEL.
 */
static uint16_t file_flush(struct disk *disk)
{
    struct file_disk *file = (struct file_disk *)disk;
    IO_STATUS_BLOCK block;
    NTSTATUS status;
    uint16_t result;

    if (disk->is_read_only)
        return NVME_SUCCESS; /* nothing was written, and a flush needs write access */
    host_semaphore_wait(&file->flush_busy);
    if (file->flush_status == NVME_SUCCESS) {
        status = ZwFlushBuffersFile(file->handle, &block);
        if (!NT_SUCCESS(status)) {
            file->flush_status = file_status(status, NVME_WRITE_FAULT) | NVME_DNR;
            host_log("a flush has failed, status 0x%08x; completed writes may be lost, and all flushes fail until the "
                "target restarts", (unsigned)status);
        }
    }
    result = file->flush_status;
    host_semaphore_post(&file->flush_busy);
    return result;
}

static uint16_t file_zero(struct disk *disk, uint64_t offset, uint64_t length, bool deallocate)
{
    static const uint8_t zeroes[65536];
    uint64_t done = 0;

    UNREFERENCED_PARAMETER(deallocate);
    while (done < length) {
        uint32_t part = length - done < sizeof(zeroes) ? (uint32_t)(length - done) : sizeof(zeroes);
        uint16_t status = file_write(disk, offset + done, zeroes, part);

        if (status != NVME_SUCCESS)
            return status;
        done += part;
    }
    return NVME_SUCCESS;
}

static bool file_measure(struct disk *disk, uint64_t *size)
{
    FILE_STANDARD_INFORMATION information;
    IO_STATUS_BLOCK block;
    NTSTATUS status = ZwQueryInformationFile(((struct file_disk *)disk)->handle, &block, &information,
        sizeof(information), FileStandardInformation);

    if (!NT_SUCCESS(status))
        host_log("the size of a disk cannot be read, status 0x%08x", (unsigned)status);
    *size = (uint64_t)information.EndOfFile.QuadPart;
    return NT_SUCCESS(status);
}

static void file_close(struct disk *disk)
{
    struct file_disk *file = (struct file_disk *)disk;

    ZwClose(file->handle);
    host_semaphore_fini(&file->flush_busy);
    host_free(file);
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
    static const struct disk_operations operations = { file_read, file_write, file_flush, file_zero, file_measure,
        file_close };
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
    host_semaphore_init(&file->flush_busy);
    host_semaphore_post(&file->flush_busy);
    file->disk.operations = &operations;
    file->disk.identity = disk_hash(path->Buffer, path->Length, 0);
    file->disk.size = (uint64_t)information.EndOfFile.QuadPart;
    file->disk.is_read_only = is_read_only;
    file->disk.may_wait = true;
    return &file->disk;
}
