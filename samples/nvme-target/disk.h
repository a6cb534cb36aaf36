/* SPDX-License-Identifier: MIT */
/*
 * The disks behind namespaces: memory, or a file. Several threads may use one disk at the same time. The caller checks
 * that each range is inside of the disk. A block of up to 4096 bytes, aligned to its size, is read and written as a
 * whole.
 */
#ifndef NVME_TARGET_DISK_H
#define NVME_TARGET_DISK_H

#include "host.h"

struct disk;

/* The functions of a kind of disk. Each returns whether the disk did what was asked. */
struct disk_operations {
    bool (*read)(struct disk *disk, uint64_t offset, void *buffer, uint32_t length);
    bool (*write)(struct disk *disk, uint64_t offset, const void *buffer, uint32_t length);
    /* Makes earlier writes survive a loss of power. */
    bool (*flush)(struct disk *disk);
    /* Makes the range read as zeroes. If `deallocate` is true, its storage may be freed. */
    bool (*zero)(struct disk *disk, uint64_t offset, uint64_t length, bool deallocate);
    void (*close)(struct disk *disk);
};

struct disk {
    const struct disk_operations *operations;
    uint64_t size; /* in bytes */
    bool is_read_only;
    bool may_wait; /* the functions may wait for a device, so a worker must call them */
};

/* Returns a disk of zeroed memory, whose contents are lost with it. NULL: out of memory, which was logged. */
struct disk *disk_memory_open(uint64_t size);
/* Opens a file that exists, as large as it is. NULL: the reason was logged. Waits. */
struct disk *disk_file_open(host_path path, bool is_read_only);
/* Closes the disk, which no operation uses. Waits. */
void disk_close(struct disk *disk);

#endif
