/* SPDX-License-Identifier: MIT */
/*
 * Accesses a SCSI logical unit of a Storport miniport as a disk. unit_init queries the disk's size and the commands
 * that it supports. The other functions read, write, trim or zero a range of bytes. They divide a request of any length
 * into SCSI commands that are short enough for the disk and its adapter. Several threads may use a unit at the same
 * time.
 */
#ifndef NBDKIT_UNIT_H
#define NBDKIT_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "openndk/wdk.h"

enum { UNIT_MAX_TEXT = 256 };

/* The error with which a request failed. */
struct unit_error {
    int number; /* an errno value */
    char text[UNIT_MAX_TEXT];
};

struct unit {
    /* Set by the caller of unit_init. */
    ondk_wdk_device_t *adapter;
    uint8_t path, target, lun;
    uint32_t timeout;              /* time limit of each command in seconds */
    uint32_t adapter_max_transfer; /* the adapter's maximum transfer in bytes */

    /* Set by unit_init. */
    uint64_t size;       /* in bytes */
    uint32_t block_size; /* in bytes; a power of 2, at most 64 KiB */
    uint32_t best_size;  /* the preferred size and alignment of requests in bytes: a power of 2 from 4 KiB to 1 MiB */
    uint32_t max_transfer_blocks;
    uint32_t max_unmap_blocks;      /* 0: the unit does not support UNMAP */
    uint32_t max_write_same_blocks; /* 0: the unit does not support WRITE SAME */
    bool can_unmap_by_write_same;
    bool is_read_only;
    bool has_fua;
};

/* Each of the following functions returns true, or stores the reason of its failure in *e and returns false. */

/* Queries the disk and sets the members under "Set by unit_init". Requires that the caller has set all others. */
bool unit_init(struct unit *u, struct unit_error *e);

/*
 * These functions read, write or trim `length` bytes at `offset`. Both numbers must be multiples of the block size;
 * otherwise the error is EINVAL. unit_trim requires that the unit supports UNMAP.
 */
bool unit_read(const struct unit *u, void *data, uint32_t length, uint64_t offset, struct unit_error *e);
bool unit_write(const struct unit *u, const void *data, uint32_t length, uint64_t offset, bool fua,
                struct unit_error *e);
bool unit_trim(const struct unit *u, uint32_t length, uint64_t offset, struct unit_error *e);
/*
 * Writes zeros. Requires that the unit supports WRITE SAME. If `may_trim` is true, the unit may also unmap the blocks.
 * If the unit refuses the command as unknown or invalid, the error is EOPNOTSUPP, and the caller must write zeros
 * itself.
 */
bool unit_zero(const struct unit *u, uint32_t length, uint64_t offset, bool may_trim, struct unit_error *e);

/* Writes the unit's cache to its medium. */
bool unit_flush(const struct unit *u, struct unit_error *e);

#endif
