/* SPDX-License-Identifier: MIT */
/* Uses a unit of a Storport miniport as a disk: see unit.h. unit_command.c sends the commands. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_command.h"

enum { CDB_6 = 6, CDB_10 = 10, CDB_16 = 16 };
enum operation {
    OP_INQUIRY = 0x12,
    OP_MODE_SENSE_6 = 0x1a,
    OP_READ_CAPACITY_10 = 0x25,
    OP_READ_10 = 0x28,
    OP_WRITE_10 = 0x2a,
    OP_SYNCHRONIZE_CACHE_10 = 0x35,
    OP_UNMAP = 0x42,
    OP_READ_16 = 0x88,
    OP_WRITE_16 = 0x8a,
    OP_WRITE_SAME_16 = 0x93,
    OP_SERVICE_ACTION_IN_16 = 0x9e,
};
enum { ACTION_READ_CAPACITY_16 = 0x10, PAGE_BLOCK_LIMITS = 0xb0, PAGE_PROVISIONING = 0xb2, PAGE_ALL_MODES = 0x3f };
/* Bits of the second byte of a command. */
enum { BIT_VITAL_PRODUCT_DATA = 0x01, BIT_FUA = 0x08, BIT_UNMAP = 0x08 };
enum {
    UNIT_MAX_TRANSFER = 32 << 20, /* maximum number of bytes that a read or write command transfers */
    UNIT_MAX_BLOCK = 65536,       /* maximum block size: the largest minimum block size that NBD allows */
    UNIT_MIN_BEST = 4096,
    UNIT_MAX_BEST = 1 << 20,
    /* Maximum size of the range of an UNMAP or WRITE SAME. A larger range might take longer than the time limit. */
    MAX_RANGE = 64 << 20,
};

/* ---- Size and abilities ------------------------------------------------------------------------------------------ */

/* The properties that a unit reports. A member is 0 if the unit does not report the property. */
struct unit_facts {
    uint64_t last_block;
    uint32_t block_size, physical_size;
    uint32_t max_transfer, best_transfer; /* in blocks */
    uint32_t max_unmap;                   /* in blocks */
    uint64_t max_write_same;              /* in blocks */
    bool can_unmap, can_unmap_by_write_same;
};

/* Returns false if the unit does not have the command, or completes it without data, as some miniports do. */
static bool unit_query_capacity_16(const struct unit *u, struct unit_facts *f)
{
    uint8_t data[32] = { 0 };
    struct unit_command c = unit_command_of(u, "READ CAPACITY(16)", OP_SERVICE_ACTION_IN_16, CDB_16, data, sizeof data);
    struct unit_error ignored;

    c.scsi.cdb[1] = ACTION_READ_CAPACITY_16;
    unit_put(c.scsi.cdb + 10, sizeof data, 4);
    if (!unit_command_send(u, &c, &ignored) || c.scsi.data_length < 14)
        return false;
    f->last_block = unit_get(data, 8);
    f->block_size = (uint32_t)unit_get(data + 8, 4);
    f->physical_size = f->block_size << (data[13] & 0xf);
    return f->block_size != 0;
}

static bool unit_query_capacity_10(const struct unit *u, struct unit_facts *f, struct unit_error *e)
{
    uint8_t data[8] = { 0 };
    struct unit_command c = unit_command_of(u, "READ CAPACITY(10)", OP_READ_CAPACITY_10, CDB_10, data, sizeof data);

    if (!unit_command_send_all(u, &c, e))
        return false;
    f->last_block = unit_get(data, 4);
    f->block_size = (uint32_t)unit_get(data + 4, 4);
    return true;
}

/* Reads a page of vital product data. Returns false if the unit does not have the page. */
static bool unit_query_page(const struct unit *u, uint8_t page, uint8_t *data, uint8_t length)
{
    struct unit_command c = unit_command_of(u, "INQUIRY", OP_INQUIRY, CDB_6, data, length);
    struct unit_error ignored;

    memset(data, 0, length);
    c.scsi.cdb[1] = BIT_VITAL_PRODUCT_DATA;
    c.scsi.cdb[2] = page;
    c.scsi.cdb[4] = length;
    return unit_command_send(u, &c, &ignored) && c.scsi.data_length > 4 && data[1] == page;
}

static void unit_query_limits(const struct unit *u, struct unit_facts *f)
{
    uint8_t data[64];

    if (unit_query_page(u, PAGE_BLOCK_LIMITS, data, sizeof data)) {
        f->max_transfer = (uint32_t)unit_get(data + 8, 4);
        f->best_transfer = (uint32_t)unit_get(data + 12, 4);
        f->max_unmap = (uint32_t)unit_get(data + 20, 4);
        f->max_write_same = unit_get(data + 36, 8);
    }
    if (unit_query_page(u, PAGE_PROVISIONING, data, sizeof data)) {
        f->can_unmap = data[5] & 0x80;
        f->can_unmap_by_write_same = data[5] & 0x40;
    }
}

/*
 * Sets is_read_only and has_fua from the header of the mode parameters. A unit that does not support MODE SENSE counts
 * as writable and without FUA.
 */
static void unit_query_mode(struct unit *u)
{
    uint8_t data[192] = { 0 };
    struct unit_command c = unit_command_of(u, "MODE SENSE(6)", OP_MODE_SENSE_6, CDB_6, data, sizeof data);
    struct unit_error ignored;

    c.scsi.cdb[2] = PAGE_ALL_MODES;
    c.scsi.cdb[4] = sizeof data;
    if (!unit_command_send(u, &c, &ignored) || c.scsi.data_length < 4)
        return;
    u->is_read_only = data[2] & 0x80;
    u->has_fua = data[2] & 0x10;
}

static bool unit_is_power_of_2(uint32_t value)
{
    return value && !(value & (value - 1));
}

static uint32_t unit_min(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/*
 * Returns the preferred size of requests, a power of 2: the size of a physical block, or a larger size that divides the
 * unit's optimal transfer size.
 */
static uint32_t unit_best_size(const struct unit_facts *f)
{
    uint64_t best = (uint64_t)f->best_transfer * f->block_size;
    uint32_t size = f->block_size > UNIT_MIN_BEST ? f->block_size : UNIT_MIN_BEST;

    if (unit_is_power_of_2(f->physical_size) && f->physical_size > size)
        size = unit_min(f->physical_size, UNIT_MAX_BEST);
    while (best && size < UNIT_MAX_BEST && best % (2 * (uint64_t)size) == 0)
        size *= 2;
    return size;
}

static void unit_set_limits(struct unit *u, const struct unit_facts *f)
{
    uint32_t range = MAX_RANGE / u->block_size;

    u->max_transfer_blocks = unit_min(u->adapter_max_transfer, UNIT_MAX_TRANSFER) / u->block_size;
    /* The length field in a command of 10 bytes has 16 bits. */
    u->max_transfer_blocks = unit_min(u->max_transfer_blocks, UINT16_MAX);
    if (f->max_transfer)
        u->max_transfer_blocks = unit_min(u->max_transfer_blocks, f->max_transfer);
    u->max_unmap_blocks = f->can_unmap ? unit_min(f->max_unmap ? f->max_unmap : range, range) : 0;
    u->can_unmap_by_write_same = f->can_unmap_by_write_same;
    if (f->can_unmap_by_write_same || f->max_write_same)
        u->max_write_same_blocks = unit_min(f->max_write_same ? f->max_write_same : range, range);
    u->best_size = unit_best_size(f);
}

static bool unit_fail(const struct unit *u, int number, const char *text, struct unit_error *e)
{
    e->number = number;
    snprintf(e->text, sizeof e->text, "unit %u:%u:%u: %s", u->path, u->target, u->lun, text);
    return false;
}

bool unit_init(struct unit *u, struct unit_error *e)
{
    struct unit_facts f = { 0 };

    if (!unit_query_capacity_16(u, &f) && !unit_query_capacity_10(u, &f, e))
        return false;
    if (!unit_is_power_of_2(f.block_size) || f.block_size > UNIT_MAX_BLOCK)
        return unit_fail(u, ENOTSUP, "its block size is not a power of 2 up to 65536", e);
    if (f.last_block >= INT64_MAX / f.block_size)
        return unit_fail(u, EFBIG, "its size in bytes exceeds 63 bits", e);
    if (u->adapter_max_transfer < f.block_size)
        return unit_fail(u, ENOTSUP, "its adapter's maximum transfer is less than a block", e);
    u->block_size = f.block_size;
    u->size = (f.last_block + 1) * f.block_size;
    unit_query_limits(u, &f);
    unit_query_mode(u);
    unit_set_limits(u, &f);
    return true;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static bool unit_check_alignment(const struct unit *u, uint32_t length, uint64_t offset, struct unit_error *e)
{
    char text[128];

    if (length % u->block_size == 0 && offset % u->block_size == 0)
        return true;
    snprintf(text, sizeof text, "offset and length of a request must be multiples of its block size, %u bytes",
             u->block_size);
    return unit_fail(u, EINVAL, text, e);
}

/*
 * Returns a read or write command. The command has 10 bytes if the unit's number of blocks fits into 32 bits, otherwise
 * 16 bytes.
 */
static struct unit_command unit_block_command(const struct unit *u, bool out, void *data, uint64_t block,
                                              uint32_t blocks)
{
    static const struct {
        const char *name;
        uint8_t operation, cdb_length;
    } commands[2][2] = {
        { { "READ(10)", OP_READ_10, CDB_10 }, { "WRITE(10)", OP_WRITE_10, CDB_10 } },
        { { "READ(16)", OP_READ_16, CDB_16 }, { "WRITE(16)", OP_WRITE_16, CDB_16 } },
    };
    bool is_long = u->size / u->block_size > UINT32_MAX;
    struct unit_command c = unit_command_of(u, commands[is_long][out].name, commands[is_long][out].operation,
                                            commands[is_long][out].cdb_length, data, blocks * u->block_size);

    c.scsi.out = out;
    c.block = block;
    c.blocks = blocks;
    unit_put(c.scsi.cdb + 2, block, is_long ? 8 : 4);
    unit_put(c.scsi.cdb + (is_long ? 10 : 7), blocks, is_long ? 4 : 2);
    return c;
}

static bool unit_transfer(const struct unit *u, bool out, uint8_t *data, uint32_t length, uint64_t offset, bool fua,
                          struct unit_error *e)
{
    uint64_t block = offset / u->block_size;
    uint32_t left = length / u->block_size;

    if (!unit_check_alignment(u, length, offset, e))
        return false;
    while (left) {
        uint32_t blocks = unit_min(left, u->max_transfer_blocks);
        struct unit_command c = unit_block_command(u, out, data, block, blocks);

        c.scsi.cdb[1] = fua ? BIT_FUA : 0;
        if (!unit_command_send_all(u, &c, e))
            return false;
        data += (size_t)blocks * u->block_size;
        block += blocks;
        left -= blocks;
    }
    return true;
}

bool unit_read(const struct unit *u, void *data, uint32_t length, uint64_t offset, struct unit_error *e)
{
    return unit_transfer(u, false, data, length, offset, false, e);
}

bool unit_write(const struct unit *u, const void *data, uint32_t length, uint64_t offset, bool fua,
                struct unit_error *e)
{
    /* The cast may remove `const`, because a write command only reads the data. */
    return unit_transfer(u, true, (void *)(uintptr_t)data, length, offset, fua, e);
}

static bool unit_send_unmap(const struct unit *u, uint64_t block, uint32_t blocks, struct unit_error *e)
{
    uint8_t list[24] = { 0 };
    struct unit_command c = unit_command_of(u, "UNMAP", OP_UNMAP, CDB_10, list, sizeof list);

    unit_put(list, sizeof list - 2, 2);
    unit_put(list + 2, 16, 2);
    unit_put(list + 8, block, 8);
    unit_put(list + 16, blocks, 4);
    unit_put(c.scsi.cdb + 7, sizeof list, 2);
    c.scsi.out = true;
    c.block = block;
    c.blocks = blocks;
    return unit_command_send_all(u, &c, e);
}

static bool unit_send_write_same(const struct unit *u, uint64_t block, uint32_t blocks, bool unmap,
                                 struct unit_error *e)
{
    static uint8_t zeros[UNIT_MAX_BLOCK];
    struct unit_command c = unit_command_of(u, "WRITE SAME(16)", OP_WRITE_SAME_16, CDB_16, zeros, u->block_size);

    c.scsi.cdb[1] = unmap ? BIT_UNMAP : 0;
    unit_put(c.scsi.cdb + 2, block, 8);
    unit_put(c.scsi.cdb + 10, blocks, 4);
    c.scsi.out = true;
    c.block = block;
    c.blocks = blocks;
    return unit_command_send_all(u, &c, e);
}

bool unit_trim(const struct unit *u, uint32_t length, uint64_t offset, struct unit_error *e)
{
    uint64_t block = offset / u->block_size;
    uint32_t left = length / u->block_size, blocks;

    if (!unit_check_alignment(u, length, offset, e))
        return false;
    for (; left; left -= blocks, block += blocks) {
        blocks = unit_min(left, u->max_unmap_blocks);
        if (!unit_send_unmap(u, block, blocks, e))
            return false;
    }
    return true;
}

bool unit_zero(const struct unit *u, uint32_t length, uint64_t offset, bool may_trim, struct unit_error *e)
{
    uint64_t block = offset / u->block_size;
    uint32_t left = length / u->block_size, blocks;

    if (!unit_check_alignment(u, length, offset, e))
        return false;
    for (; left; left -= blocks, block += blocks) {
        blocks = unit_min(left, u->max_write_same_blocks);
        if (!unit_send_write_same(u, block, blocks, may_trim && u->can_unmap_by_write_same, e))
            return false;
    }
    return true;
}

/*
 * Flushes the unit's cache. Also succeeds if the unit does not support the command, because such a unit has no cache.
 */
bool unit_flush(const struct unit *u, struct unit_error *e)
{
    struct unit_command c = unit_command_of(u, "SYNCHRONIZE CACHE(10)", OP_SYNCHRONIZE_CACHE_10, CDB_10, NULL, 0);

    return unit_command_send(u, &c, e) || e->number == EOPNOTSUPP;
}
