/* SPDX-License-Identifier: MIT */
/*
 * A unit of a Storport miniport as a disk: its size and abilities, and requests in bytes. A request of any length is
 * sent as SCSI commands that the unit and its adapter accept. Several threads may use a unit at the same time.
 */
#ifndef NBDKIT_UNIT_H
#define NBDKIT_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "openndk/wdk.h"

enum { UNIT_MAX_TEXT = 256 };

/* Why a request failed. */
struct unit_error {
    int number; /* an errno value */
    char text[UNIT_MAX_TEXT];
};

struct unit {
    /* Set by the caller of unit_init. */
    ondk_wdk_device_t *adapter;
    uint8_t path, target, lun;
    uint32_t timeout;              /* seconds, for each command */
    uint32_t adapter_max_transfer; /* bytes */

    /* Set by unit_init. */
    uint64_t size;       /* bytes */
    uint32_t block_size; /* a power of 2, at most 64 KiB */
    uint32_t best_size;  /* the preferred size and alignment of requests: a power of 2, 4 KiB to 1 MiB */
    uint32_t max_transfer_blocks;
    uint32_t max_unmap_blocks;      /* 0: the unit does not support UNMAP */
    uint32_t max_write_same_blocks; /* 0: the unit does not support WRITE SAME */
    bool can_unmap_by_write_same;
    bool is_read_only;
    bool has_fua;
};

/* Each of these functions returns true, or stores why it failed and returns false. */

/* Queries size and abilities. The caller has set the members at the top of *u. */
bool unit_init(struct unit *u, struct unit_error *e);

/* Offset and length must be multiples of the block size, or the error is EINVAL. */
bool unit_read(const struct unit *u, void *data, uint32_t length, uint64_t offset, struct unit_error *e);
bool unit_write(const struct unit *u, const void *data, uint32_t length, uint64_t offset, bool fua,
                struct unit_error *e);
bool unit_trim(const struct unit *u, uint32_t length, uint64_t offset, struct unit_error *e);
/* The error is EOPNOTSUPP if the unit refuses the command, so that the caller must write zeros. */
bool unit_zero(const struct unit *u, uint32_t length, uint64_t offset, bool may_trim, struct unit_error *e);

/* Writes the unit's cache to the medium. */
bool unit_flush(const struct unit *u, struct unit_error *e);

#endif
