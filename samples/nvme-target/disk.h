/* SPDX-License-Identifier: MIT */
/*
 * Declares the disks of namespaces. A disk is in memory or in a file. Several threads may use one disk at the same
 * time. The caller has checked that each range lies inside the disk. No read sees a half-written block of up to 4096
 * bytes, if the block is aligned to its size.
 */
#ifndef NVME_TARGET_DISK_H
#define NVME_TARGET_DISK_H

#include "../nvme/nvme.h"
#include "host.h"

struct disk;

/*
 * The functions of one kind of disk. read, write, flush and zero return NVME_SUCCESS, or the status for the host: full
 * storage, a failure of the medium, a disk that is not writable, a file that has become too short, or a shortage of
 * memory.
 */
struct disk_operations {
    uint16_t (*read)(struct disk *disk, uint64_t offset, void *buffer, uint32_t length);
    uint16_t (*write)(struct disk *disk, uint64_t offset, const void *buffer, uint32_t length);
    /*
     * Writes the data of completed writes to permanent storage, so that they survive a loss of power. After one failure
     * every later call fails, until the disk is opened again.
     */
    uint16_t (*flush)(struct disk *disk);
    /* Makes the range read as zeroes. If `deallocate` is true, the disk may free the storage of the range. */
    uint16_t (*zero)(struct disk *disk, uint64_t offset, uint64_t length, bool deallocate);
    /*
     * Returns the disk's present size in bytes in *size. Returns false after a failure. NULL: the size cannot change.
     * May wait.
     */
    bool (*measure)(struct disk *disk, uint64_t *size);
    void (*close)(struct disk *disk);
};

struct disk {
    const struct disk_operations *operations;
    uint64_t size;     /* in bytes, when the disk was opened */
    uint64_t identity; /* computed from the file's path; for a disk in memory, from the time */
    bool is_read_only;
    bool may_wait; /* true if the functions may wait for a device, so that only a worker may call them */
};

/*
 * Creates a disk in zeroed memory. The contents are lost when the disk is closed. Returns NULL and logs the reason if
 * out of memory.
 */
struct disk *disk_memory_open(uint64_t size);
/* Opens an existing file as a disk of the file's size. Returns NULL and logs the reason after a failure. May wait. */
struct disk *disk_file_open(host_path path, bool is_read_only);
/* Computes the FNV-1a hash of the bytes and `seed`. */
uint64_t disk_hash(const void *bytes, size_t length, uint64_t seed);
/* Closes the disk. Requires that no operation uses the disk. May wait. */
void disk_close(struct disk *disk);

#endif
