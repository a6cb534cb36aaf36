/* SPDX-License-Identifier: MIT */
/*
 * Implements a disk in memory. Its operations never wait for a device, so callbacks of the provider may call them.
 * Hosts may read and write the same blocks at the same time. The disk is divided into stripes. A transfer holds a
 * stripe's lock, so no transfer sees half of a written block. Several stripes share one lock: stripe number modulo
 * number of locks.
 */
#include "disk.h"

#include <string.h>

enum { STRIPE_SIZE = 65536, N_LOCKS = 64 };

struct memory_disk {
    struct disk disk; /* first */
    uint8_t *data;
    struct host_lock locks[N_LOCKS];
};

enum memory_transfer { MEMORY_READ, MEMORY_WRITE, MEMORY_ZERO };

/* Transfers the first part of the range, up to the end of a stripe. Returns the number of bytes transferred. */
static uint64_t memory_transfer_stripe(struct memory_disk *memory, enum memory_transfer transfer, uint64_t offset,
                                       void *buffer, uint64_t length)
{
    uint64_t part = STRIPE_SIZE - offset % STRIPE_SIZE;
    struct host_lock *lock = &memory->locks[offset / STRIPE_SIZE % N_LOCKS];

    if (part > length)
        part = length;
    host_lock_acquire(lock);
    if (transfer == MEMORY_READ)
        memcpy(buffer, memory->data + offset, part);
    else if (transfer == MEMORY_WRITE)
        memcpy(memory->data + offset, buffer, part);
    else
        memset(memory->data + offset, 0, part);
    host_lock_release(lock);
    return part;
}

static uint16_t memory_read(struct disk *disk, uint64_t offset, void *buffer, uint32_t length)
{
    for (uint32_t done = 0; done < length;)
        done += (uint32_t)memory_transfer_stripe((struct memory_disk *)disk, MEMORY_READ, offset + done,
                                                 (uint8_t *)buffer + done, length - done);
    return NVME_SUCCESS;
}

static uint16_t memory_write(struct disk *disk, uint64_t offset, const void *buffer, uint32_t length)
{
    for (uint32_t done = 0; done < length;)
        done += (uint32_t)memory_transfer_stripe((struct memory_disk *)disk, MEMORY_WRITE, offset + done,
                                                 (uint8_t *)buffer + done, length - done);
    return NVME_SUCCESS;
}

static uint16_t memory_flush(struct disk *disk)
{
    (void)disk; /* memory does not survive a loss of power */
    return NVME_SUCCESS;
}

static uint16_t memory_zero(struct disk *disk, uint64_t offset, uint64_t length, bool deallocate)
{
    (void)deallocate;
    for (uint64_t done = 0; done < length;)
        done += memory_transfer_stripe((struct memory_disk *)disk, MEMORY_ZERO, offset + done, NULL, length - done);
    return NVME_SUCCESS;
}

static void memory_close(struct disk *disk)
{
    struct memory_disk *memory = (struct memory_disk *)disk;

    for (int i = 0; i < N_LOCKS; i++)
        host_lock_fini(&memory->locks[i]);
    host_free(memory->data);
    host_free(memory);
}

struct disk *disk_memory_open(uint64_t size)
{
    static const struct disk_operations operations = {
        .read = memory_read,
        .write = memory_write,
        .flush = memory_flush,
        .zero = memory_zero,
        .close = memory_close,
    };
    struct memory_disk *memory = size <= SIZE_MAX ? host_alloc(sizeof *memory) : NULL;

    if (memory)
        memory->data = host_alloc((size_t)size);
    if (!memory || !memory->data) {
        host_log("a memory disk of %llu bytes: out of memory; choose a smaller one, or a file",
                 (unsigned long long)size);
        host_free(memory);
        return NULL;
    }
    memory->disk.operations = &operations;
    memory->disk.size = size;
    memory->disk.identity = disk_hash(&memory, sizeof memory, host_time_of_day());
    for (int i = 0; i < N_LOCKS; i++)
        host_lock_init(&memory->locks[i]);
    return &memory->disk;
}

uint64_t disk_hash(const void *bytes, size_t length, uint64_t seed)
{
    const uint8_t *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

void disk_close(struct disk *disk)
{
    disk->operations->close(disk);
}
