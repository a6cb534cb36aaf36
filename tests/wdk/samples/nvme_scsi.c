/* SPDX-License-Identifier: MIT */
/* The translation of SCSI to NVMe in samples/nvme-initiator, without a driver: commands, ranges, lengths, sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nvme-initiator/nvmescsi.h"

enum { BLOCK = 512, BLOCKS = 1000, MAX_TRANSFER = 128 * 1024, MOST = MAX_TRANSFER / BLOCK };

static const NVME_SCSI_UNIT disk = {
    .NamespaceId = 7,
    .BlockSize = BLOCK,
    .BlockCount = BLOCKS,
    .MaximumTransfer = MAX_TRANSFER,
    .PartTransfer = MAX_TRANSFER / 4,
    .Ready = TRUE,
    .ThinProvisioned = TRUE,
    .VolatileCache = TRUE,
    .CanDeallocate = TRUE,
    .CanWriteZeroes = TRUE,
    .ZeroesDeallocate = TRUE,
    .CanCompare = TRUE,
    .DeallocatedReadsZero = TRUE,
    .Nguid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
    .Serial = { 'S', 'N', '0', '1', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ' },
    .Model = { 'O', 'p', 'e', 'n', 'N', 'D', 'K', ' ', 'd', 'i', 's', 'k', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ' },
    .Firmware = { '1', '.', '2', ' ', ' ', ' ', ' ', ' ' },
};

/* A request with its data in a block of exactly its size, so that a sanitizer finds an access beyond it. */
struct scsi {
    CDB cdb;
    NVME_SCSI_REQUEST request;
    NVME_SCSI_STEP step;
    uint8_t *data;
};

static struct scsi *scsi_new(const uint8_t *cdb, size_t cdb_length, NVME_SCSI_DATA direction, uint32_t length)
{
    struct scsi *s = calloc(1, sizeof *s);

    assert_non_null(s);
    memcpy(&s->cdb, cdb, cdb_length);
    memset(&s->request, 0xcd, sizeof s->request); /* as the contents of an SRB extension */
    s->data = length ? calloc(1, length) : NULL;
    s->request.Cdb = &s->cdb;
    s->request.CdbLength = (uint8_t)cdb_length;
    s->request.Direction = direction;
    s->request.Data = s->data;
    s->request.DataLength = length;
    s->request.Luns = 0;
    return s;
}

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static struct scsi *scsi_send(const NVME_SCSI_UNIT *unit, struct scsi *s)
{
    s->step = NvmeScsiTranslate(unit, &s->request);
    return s;
}

/* The commands of the tests one after the other; `last` is freed by the next one. */
static struct scsi *last;

static struct scsi *remember(struct scsi *s)
{
    if (last) {
        free(last->data);
        free(last);
    }
    return last = s;
}

static struct scsi *get_data(const NVME_SCSI_UNIT *unit, const uint8_t *cdb, size_t cdb_length, uint32_t length)
{
    return remember(scsi_send(unit, scsi_new(cdb, cdb_length, length ? NvmeScsiDataIn : NvmeScsiNoData, length)));
}

static struct scsi *send_data(const NVME_SCSI_UNIT *unit, const uint8_t *cdb, size_t cdb_length, uint32_t length)
{
    return remember(scsi_send(unit, scsi_new(cdb, cdb_length, NvmeScsiDataOut, length)));
}

static void assert_sense(const struct scsi *s, uint8_t key, uint8_t code, uint8_t qualifier)
{
    assert_int_equal(s->step, NvmeScsiAnswered);
    assert_int_equal(s->request.ScsiStatus, SCSISTAT_CHECK_CONDITION);
    assert_int_equal(s->request.SenseKey, key);
    assert_int_equal(s->request.SenseCode, code);
    assert_int_equal(s->request.SenseQualifier, qualifier);
    assert_int_equal(s->request.Transferred, 0);
}

static void assert_invalid_cdb(const struct scsi *s)
{
    assert_sense(s, 5, 0x24, 0);
}

static void assert_illegal_block(const struct scsi *s)
{
    assert_sense(s, 5, 0x21, 0);
}

static void assert_good(const struct scsi *s, uint32_t transferred)
{
    assert_int_equal(s->step, NvmeScsiAnswered);
    assert_int_equal(s->request.ScsiStatus, SCSISTAT_GOOD);
    assert_int_equal(s->request.Transferred, transferred);
}

static void assert_command(const struct scsi *s, NVME_SCSI_STEP step, uint8_t opcode, uint64_t lba, uint32_t blocks,
                           uint16_t control)
{
    const struct nvme_command *c = &s->request.Command;

    assert_int_equal(s->step, step);
    assert_int_equal(c->opcode, opcode);
    assert_int_equal(c->flags, 0);
    assert_int_equal(c->cid, 0);
    assert_int_equal(c->nsid, 7);
    assert_int_equal(c->io.lba, lba);
    assert_int_equal(c->io.blocks, blocks - 1);
    assert_int_equal(c->io.control, control);
    assert_int_equal(c->io.dataset, 0);
    assert_int_equal(c->cdw14, 0);
    assert_int_equal(c->cdw15, 0);
}

/* ---- About the unit ---------------------------------------------------------------------------------------------- */

static void test_inquiry(void **state)
{
    (void)state;
    assert_good(get_data(&disk, BYTES(0x12, 0, 0, 0, 96, 0), 96), 96);
    assert_memory_equal(last->data, ((uint8_t[]){ 0, 0, 6, 2, 91, 0, 0, 2 }), 8);
    assert_memory_equal(last->data + 8, "NVMe    OpenNDK disk    1.2 ", 28);
    assert_good(get_data(&disk, BYTES(0x12, 0, 0, 0, 36, 0), 96), 36);
    assert_int_equal(last->data[36], 0);
    assert_good(get_data(&disk, BYTES(0x12, 0, 0, 0, 255, 0), 5), 5);
    assert_good(get_data(&disk, BYTES(0x12, 0, 0, 0, 0, 0), 0), 0);
    assert_good(get_data(NULL, BYTES(0x12, 0, 0, 0, 36, 0), 36), 36);
    assert_int_equal(last->data[0], 0x20);
    assert_invalid_cdb(get_data(&disk, BYTES(0x12, 0, 0x80, 0, 36, 0), 36));
    assert_invalid_cdb(get_data(&disk, BYTES(0x12, 2, 0, 0, 36, 0), 36));
    assert_invalid_cdb(get_data(&disk, BYTES(0x12, 0, 0, 0, 36), 36));
    assert_invalid_cdb(send_data(&disk, BYTES(0x12, 0, 0, 0, 36, 0), 36));
}

static void page(const NVME_SCSI_UNIT *unit, uint8_t code, uint32_t length)
{
    assert_good(get_data(unit, BYTES(0x12, 1, code, 0, 255, 0), 255), length);
    assert_int_equal(last->data[1], code);
    assert_int_equal(last->data[2] << 8 | last->data[3], length - 4);
}

static void test_pages(void **state)
{
    NVME_SCSI_UNIT plain = disk;

    (void)state;
    page(&disk, 0x00, 10);
    assert_memory_equal(last->data + 4, ((uint8_t[]){ 0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2 }), 6);
    page(&disk, 0x80, 4 + 4 + 9);
    assert_memory_equal(last->data + 4, "SN01_00000007", 13);
    page(&disk, 0x83, 4 + 4 + 16 + 4 + 24 + 13);
    assert_memory_equal(last->data + 4, ((uint8_t[]){ 1, 2, 0, 16, 1, 2, 3, 4 }), 8);
    assert_memory_equal(last->data + 24, ((uint8_t[]){ 2, 1, 0, 37 }), 4);
    assert_memory_equal(last->data + 28, "NVMe    OpenNDK disk    SN01_00000007", 37);
    page(&disk, 0xb1, 64);
    assert_int_equal(last->data[5], 1);
    page(&disk, 0xb2, 8);
    assert_memory_equal(last->data + 4, ((uint8_t[]){ 0, 0xe4, 2, 0 }), 4);
    memset(plain.Nguid, 0, sizeof plain.Nguid);
    plain.Eui64[7] = 9;
    plain.CanDeallocate = plain.CanWriteZeroes = plain.ZeroesDeallocate = plain.DeallocatedReadsZero = FALSE;
    page(&plain, 0x83, 4 + 4 + 8 + 4 + 24 + 13);
    assert_memory_equal(last->data + 4, ((uint8_t[]){ 1, 2, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9 }), 12);
    plain.Eui64[7] = 0;
    page(&plain, 0x83, 4 + 4 + 24 + 13);
    page(&plain, 0xb2, 8);
    assert_memory_equal(last->data + 4, ((uint8_t[]){ 0, 0, 0, 0 }), 4);
    assert_invalid_cdb(get_data(&disk, BYTES(0x12, 1, 0xc0, 0, 255, 0), 255));
    assert_invalid_cdb(get_data(NULL, BYTES(0x12, 1, 0x83, 0, 255, 0), 255));
    page(NULL, 0x00, 10);
}

static void test_limits(void **state)
{
    NVME_SCSI_UNIT plain = disk;

    (void)state;
    page(&disk, 0xb0, 64);
    assert_int_equal(last->data[4], 1);
    assert_int_equal(NvmeScsiGet32(last->data + 8), MOST);
    assert_int_equal(NvmeScsiGet32(last->data + 12), MOST / 4);
    assert_int_equal(NvmeScsiGet32(last->data + 20), UINT32_MAX);
    assert_int_equal(NvmeScsiGet32(last->data + 24), NVME_SCSI_MAX_RANGES);
    assert_int_equal(NvmeScsiGet64(last->data + 36), 65536);
    plain.CanDeallocate = plain.CanWriteZeroes = FALSE;
    page(&plain, 0xb0, 64);
    assert_int_equal(NvmeScsiGet32(last->data + 20), 0);
    assert_int_equal(NvmeScsiGet64(last->data + 36), 0);
}

static void test_capacity(void **state)
{
    NVME_SCSI_UNIT huge = disk;

    (void)state;
    assert_good(get_data(&disk, BYTES(0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0), 8), 8);
    assert_memory_equal(last->data, ((uint8_t[]){ 0, 0, 0x03, 0xe7, 0, 0, 2, 0 }), 8);
    assert_good(get_data(&disk, BYTES(0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0), 32), 32);
    assert_int_equal(NvmeScsiGet64(last->data), BLOCKS - 1);
    assert_int_equal(NvmeScsiGet32(last->data + 8), BLOCK);
    assert_int_equal(last->data[14], 0xc0);
    assert_good(get_data(&disk, BYTES(0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0), 32), 12);
    assert_invalid_cdb(get_data(&disk, BYTES(0x9e, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0), 32));
    assert_sense(get_data(NULL, BYTES(0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0), 8), 5, 0x25, 0);
    huge.BlockCount = UINT64_C(1) << 32;
    assert_good(get_data(&huge, BYTES(0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0), 8), 8);
    assert_int_equal(NvmeScsiGet32(last->data), UINT32_MAX);
    huge.BlockCount++;
    assert_good(get_data(&huge, BYTES(0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0), 8), 8);
    assert_int_equal(NvmeScsiGet32(last->data), UINT32_MAX);
}

static void test_unit(void **state)
{
    NVME_SCSI_UNIT other = disk;
    struct scsi *s;

    (void)state;
    assert_good(get_data(&disk, BYTES(0, 0, 0, 0, 0, 0), 0), 0);
    other.Ready = FALSE;
    assert_sense(get_data(&other, BYTES(0, 0, 0, 0, 0, 0), 0), 2, 4, 1);
    assert_sense(get_data(NULL, BYTES(0, 0, 0, 0, 0, 0), 0), 5, 0x25, 0);
    assert_sense(get_data(&disk, BYTES(0xc1, 0, 0, 0, 0, 0), 0), 5, 0x20, 0);
    s = scsi_new(BYTES(0xa0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0), NvmeScsiDataIn, 512);
    s->request.Luns = UINT64_C(1) << 63 | 5;
    assert_good(remember(scsi_send(NULL, s)), 32);
    assert_int_equal(NvmeScsiGet32(s->data), 24);
    assert_int_equal(s->data[9], 0);
    assert_int_equal(s->data[17], 2);
    assert_int_equal(s->data[25], 63);
    assert_good(get_data(&disk, BYTES(0xa0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0), 512), 8);
    assert_invalid_cdb(get_data(&disk, BYTES(0xa0, 0, 3, 0, 0, 0, 0, 0, 2, 0, 0, 0), 512));
    assert_good(get_data(&disk, BYTES(3, 0, 0, 0, 18, 0), 18), 18);
    assert_memory_equal(last->data, ((uint8_t[]){ 0x70, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0 }), 14);
    assert_good(get_data(NULL, BYTES(3, 0, 0, 0, 18, 0), 18), 18);
    assert_int_equal(last->data[12], 0x25);
    assert_invalid_cdb(get_data(&disk, BYTES(3, 1, 0, 0, 18, 0), 18));
    assert_good(get_data(&disk, BYTES(0x1b, 0, 0, 0, 1, 0), 0), 0);
    assert_command(get_data(&disk, BYTES(0x1b, 0, 0, 0, 0, 0), 0), NvmeScsiSend, NVME_IO_FLUSH, 0, 1, 0);
    assert_invalid_cdb(get_data(&disk, BYTES(0x1b, 0, 0, 0, 2, 0), 0));
    assert_invalid_cdb(get_data(&disk, BYTES(0x1b, 0, 0, 0, 0x20, 0), 0));
}

static void test_attention(void **state)
{
    CDB inquiry = { .AsByte = { 0x12 } }, luns = { .AsByte = { 0xa0 } }, sense = { .AsByte = { 3 } },
        ready = { .AsByte = { 0 } }, read = { .AsByte = { 0x28 } };

    (void)state;
    assert_false(NvmeScsiReportsAttention(&inquiry));
    assert_false(NvmeScsiReportsAttention(&luns));
    assert_false(NvmeScsiReportsAttention(&sense));
    assert_true(NvmeScsiReportsAttention(&ready));
    assert_true(NvmeScsiReportsAttention(&read));
}

static void test_mode_sense(void **state)
{
    NVME_SCSI_UNIT other = disk;

    (void)state;
    assert_good(get_data(&disk, BYTES(0x1a, 0, 0x3f, 0, 255, 0), 255), 4 + 8 + 20 + 12);
    assert_memory_equal(last->data, ((uint8_t[]){ 43, 0, 0x10, 8, 0, 0, 3, 0xe8, 0, 0, 2, 0, 8, 18, 4 }), 15);
    assert_memory_equal(last->data + 32, ((uint8_t[]){ 0x0a, 10 }), 2);
    other.ReadOnly = TRUE;
    other.VolatileCache = FALSE;
    assert_good(get_data(&other, BYTES(0x1a, 8, 8, 0, 255, 0), 255), 24);
    assert_memory_equal(last->data, ((uint8_t[]){ 23, 0, 0x90, 0, 8, 18, 0 }), 7);
    assert_good(get_data(&disk, BYTES(0x1a, 8, 0x48, 0, 255, 0), 255), 24);
    assert_int_equal(last->data[6], 0);
    assert_good(get_data(&disk, BYTES(0x5a, 0x10, 8, 0, 0, 0, 0, 1, 0, 0), 255), 8 + 16 + 20);
    assert_memory_equal(
        last->data, ((uint8_t[]){ 0, 42, 0, 0x10, 1, 0, 0, 16, 0, 0, 0, 0, 0, 0, 3, 0xe8, 0, 0, 0, 0, 0, 0, 2, 0, 8 }),
        25);
    assert_good(get_data(&disk, BYTES(0x5a, 8, 0x0a, 0xff, 0, 0, 0, 0, 9, 0), 255), 9);
    assert_sense(get_data(&disk, BYTES(0x1a, 8, 0xc8, 0, 255, 0), 255), 5, 0x39, 0);
    assert_invalid_cdb(get_data(&disk, BYTES(0x1a, 8, 0x19, 0, 255, 0), 255));
    assert_invalid_cdb(get_data(&disk, BYTES(0x1a, 8, 8, 1, 255, 0), 255));
    assert_good(get_data(&disk, BYTES(0x1a, 8, 8, 0xff, 3, 0), 255), 3);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static void test_reads(void **state)
{
    (void)state;
    assert_command(get_data(&disk, BYTES(0x08, 0, 1, 2, 3, 0), 3 * BLOCK), NvmeScsiSendData, NVME_IO_READ, 0x102, 3, 0);
    assert_int_equal(last->request.Transferred, 3 * BLOCK);
    assert_command(get_data(&disk, BYTES(0x08, 0, 0, 0, 0, 0), 256 * BLOCK), NvmeScsiSendData, NVME_IO_READ, 0, 256, 0);
    assert_command(get_data(&disk, BYTES(0x28, 0, 0, 0, 3, 0xe7, 0, 0, 1, 0), BLOCK), NvmeScsiSendData, NVME_IO_READ,
                   999, 1, 0);
    assert_command(get_data(&disk, BYTES(0x28, 8, 0, 0, 0, 5, 0, 0, 2, 0), 4096), NvmeScsiSendData, NVME_IO_READ, 5, 2,
                   NVME_IO_FUA);
    assert_int_equal(last->request.Transferred, 2 * BLOCK);
    assert_command(get_data(&disk, BYTES(0xa8, 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0), 4096), NvmeScsiSendData, NVME_IO_READ,
                   5, 2, 0);
    assert_command(get_data(&disk, BYTES(0x88, 0x10, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0), 4096), NvmeScsiSendData,
                   NVME_IO_READ, 5, 2, 0);
}

static void test_writes(void **state)
{
    NVME_SCSI_UNIT locked = disk;

    (void)state;
    assert_command(send_data(&disk, BYTES(0x0a, 0, 1, 2, 3, 0), 3 * BLOCK), NvmeScsiSendData, NVME_IO_WRITE, 0x102, 3,
                   0);
    assert_command(send_data(&disk, BYTES(0x2a, 8, 0, 0, 0, 5, 0, 0, 2, 0), 1024), NvmeScsiSendData, NVME_IO_WRITE, 5,
                   2, NVME_IO_FUA);
    assert_command(send_data(&disk, BYTES(0xaa, 8, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0), 1024), NvmeScsiSendData,
                   NVME_IO_WRITE, 5, 2, NVME_IO_FUA);
    assert_command(send_data(&disk, BYTES(0x8a, 8, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0), 1024), NvmeScsiSendData,
                   NVME_IO_WRITE, 5, 2, NVME_IO_FUA);
    locked.ReadOnly = TRUE;
    assert_sense(send_data(&locked, BYTES(0x2a, 0, 0, 0, 0, 5, 0, 0, 2, 0), 1024), 7, 0x27, 0);
    assert_command(get_data(&locked, BYTES(0x28, 0, 0, 0, 0, 5, 0, 0, 2, 0), 1024), NvmeScsiSendData, NVME_IO_READ, 5,
                   2, 0);
}

static void test_ranges(void **state)
{
    static const uint8_t huge[] = { 0x88, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2, 0, 0 };
    static const uint8_t many[] = { 0x88, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0 };

    (void)state;
    assert_illegal_block(get_data(&disk, BYTES(0x28, 0, 0, 0, 3, 0xe7, 0, 0, 2, 0), 1024));
    assert_illegal_block(get_data(&disk, BYTES(0x28, 0, 0, 0, 3, 0xe9, 0, 0, 0, 0), 1024));
    assert_illegal_block(get_data(&disk, huge, sizeof huge, 1024));
    assert_illegal_block(get_data(&disk, many, sizeof many, 1024));
    assert_good(get_data(&disk, BYTES(0x28, 0, 0, 0, 3, 0xe8, 0, 0, 0, 0), 1024), 0);
    assert_invalid_cdb(get_data(&disk, BYTES(0x28, 0, 0, 0, 0, 0, 0, 0, 2, 0), 1023)); /* too little data */
    assert_invalid_cdb(get_data(&disk, BYTES(0x28, 0, 0, 0, 0, 0, 0, 0, 2, 0), 0));
    assert_invalid_cdb(send_data(&disk, BYTES(0x28, 0, 0, 0, 0, 0, 0, 0, 2, 0), 1024)); /* the wrong direction */
    assert_invalid_cdb(get_data(&disk, BYTES(0x2a, 0, 0, 0, 0, 0, 0, 0, 2, 0), 1024));
    assert_invalid_cdb(get_data(&disk, BYTES(0x28, 0x20, 0, 0, 0, 0, 0, 0, 2, 0), 1024)); /* protection */
    assert_invalid_cdb(get_data(&disk, BYTES(0x28, 0, 0, 0, 0, 0, 0, 0, 2), 1024));       /* a command of 9 bytes */
    assert_invalid_cdb(get_data(&disk, BYTES(0x28, 0, 0, 0, 0, 0, 0, 1, 1, 0), MAX_TRANSFER + BLOCK));
    assert_command(get_data(&disk, BYTES(0x28, 0, 0, 0, 0, 0, 0, 1, 0, 0), MAX_TRANSFER), NvmeScsiSendData,
                   NVME_IO_READ, 0, MOST, 0);
}

static void test_verify(void **state)
{
    NVME_SCSI_UNIT plain = disk;

    (void)state;
    assert_good(get_data(&disk, BYTES(0x2f, 0, 0, 0, 0, 0, 0, 3, 0xe8, 0), 0), 0);
    assert_illegal_block(get_data(&disk, BYTES(0x2f, 0, 0, 0, 0, 1, 0, 3, 0xe8, 0), 0));
    assert_illegal_block(get_data(&disk, BYTES(0xaf, 0, 0, 0, 0, 1, 0, 0, 3, 0xe8, 0, 0), 0));
    assert_good(get_data(&disk, BYTES(0x8f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0xe8, 0, 0), 0), 0);
    assert_command(send_data(&disk, BYTES(0x2f, 2, 0, 0, 0, 5, 0, 0, 2, 0), 1024), NvmeScsiSendData, NVME_IO_COMPARE, 5,
                   2, 0);
    assert_invalid_cdb(send_data(&disk, BYTES(0x2f, 2, 0, 0, 0, 5, 0, 0, 2, 0), 512));
    assert_invalid_cdb(send_data(&disk, BYTES(0x2f, 6, 0, 0, 0, 5, 0, 0, 2, 0), 1024));
    plain.CanCompare = FALSE;
    assert_invalid_cdb(send_data(&plain, BYTES(0x2f, 2, 0, 0, 0, 5, 0, 0, 2, 0), 1024));
}

static void test_flush(void **state)
{
    NVME_SCSI_UNIT plain = disk;

    (void)state;
    assert_command(get_data(&disk, BYTES(0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0), 0), NvmeScsiSend, NVME_IO_FLUSH, 0, 1, 0);
    assert_int_equal(last->request.Command.io.blocks, 0);
    assert_command(get_data(&disk, BYTES(0x91, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0xe8, 0, 0), 0), NvmeScsiSend,
                   NVME_IO_FLUSH, 0, 1, 0);
    assert_illegal_block(get_data(&disk, BYTES(0x35, 0, 0, 0, 0, 1, 0, 3, 0xe8, 0), 0));
    plain.VolatileCache = FALSE;
    assert_good(get_data(&plain, BYTES(0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0), 0), 0);
}

/* ---- UNMAP, WRITE SAME ------------------------------------------------------------------------------------------- */

/* An UNMAP with `n` descriptors, in a list of `length` bytes of which the header announces `announced`. */
static struct scsi *unmap(const NVME_SCSI_UNIT *unit, const struct nvme_dataset_range *ranges, uint32_t n,
                          uint32_t length, uint32_t announced)
{
    struct scsi *s = scsi_new(BYTES(0x42, 0, 0, 0, 0, 0, 0, (uint8_t)(length >> 8), (uint8_t)length, 0),
                              NvmeScsiDataOut, length ? length : 1);

    if (length >= 8) {
        NvmeScsiPut16(s->data, length - 2);
        NvmeScsiPut16(s->data + 2, announced);
    }
    for (uint32_t i = 0; i < n; i++) {
        NvmeScsiPut64(s->data + 8 + i * 16, ranges[i].lba);
        NvmeScsiPut32(s->data + 16 + i * 16, ranges[i].blocks);
    }
    return remember(scsi_send(unit, s));
}

static void test_unmap(void **state)
{
    const struct nvme_dataset_range ranges[] = { { .lba = 5, .blocks = 10 },
                                                 { .lba = 3, .blocks = 0 },
                                                 { .lba = 999, .blocks = 1 } };
    const struct nvme_dataset_range outside = { .lba = 999, .blocks = 2 };
    struct nvme_dataset_range many[NVME_SCSI_MAX_RANGES + 1] = { { .blocks = 0 } };
    NVME_SCSI_UNIT other = disk;
    const NVME_SCSI_REQUEST *r;

    (void)state;
    r = &unmap(&disk, ranges, 3, 8 + 48, 48)->request;
    assert_int_equal(last->step, NvmeScsiSendRanges);
    assert_int_equal(r->RangeCount, 2);
    assert_int_equal(r->Transferred, 56);
    assert_int_equal(r->Command.opcode, NVME_IO_DATASET_MANAGEMENT);
    assert_int_equal(r->Command.nsid, 7);
    assert_int_equal(r->Command.cdw10, 1);
    assert_int_equal(r->Command.cdw11, NVME_DATASET_DEALLOCATE);
    assert_memory_equal(&r->Ranges[0], &ranges[0], 16);
    assert_memory_equal(&r->Ranges[1], &ranges[2], 16);
    assert_int_equal(unmap(&disk, ranges, 3, 8 + 48, 40)->request.RangeCount, 1); /* the third one is incomplete */
    assert_good(unmap(&disk, ranges, 0, 8, 0), 0);
    assert_good(unmap(&disk, ranges, 0, 0, 0), 0);
    assert_good(unmap(&disk, many, NVME_SCSI_MAX_RANGES, 8 + 16 * NVME_SCSI_MAX_RANGES, 16 * NVME_SCSI_MAX_RANGES), 0);
    assert_sense(
        unmap(&disk, many, NVME_SCSI_MAX_RANGES + 1, 24 + 16 * NVME_SCSI_MAX_RANGES, 16 + 16 * NVME_SCSI_MAX_RANGES), 5,
        0x26, 0);
    assert_illegal_block(unmap(&disk, &outside, 1, 24, 16));
    assert_sense(unmap(&disk, ranges, 0, 7, 0), 5, 0x1a, 0);
    assert_sense(unmap(&disk, ranges, 1, 24, 17), 5, 0x1a, 0);
    assert_sense(send_data(&disk, BYTES(0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0), 8), 5, 0x1a, 0);
    assert_invalid_cdb(get_data(&disk, BYTES(0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0), 24));
    assert_invalid_cdb(send_data(&disk, BYTES(0x42, 1, 0, 0, 0, 0, 0, 0, 8, 0), 8));
    other.ReadOnly = TRUE;
    assert_sense(unmap(&other, ranges, 1, 24, 16), 7, 0x27, 0);
    other.CanDeallocate = FALSE;
    assert_sense(unmap(&other, ranges, 1, 24, 16), 5, 0x20, 0);
}

static void test_write_same(void **state)
{
    NVME_SCSI_UNIT other = disk;
    struct scsi *s;

    (void)state;
    assert_command(send_data(&disk, BYTES(0x41, 0, 0, 0, 0, 5, 0, 1, 0, 0), BLOCK), NvmeScsiSend, NVME_IO_WRITE_ZEROES,
                   5, 256, 0);
    assert_int_equal(last->request.Transferred, BLOCK);
    assert_command(send_data(&disk, BYTES(0x93, 8, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 1, 0, 0, 0), BLOCK), NvmeScsiSend,
                   NVME_IO_WRITE_ZEROES, 5, 256, NVME_IO_DEALLOCATE);
    assert_command(get_data(&disk, BYTES(0x93, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 1, 0, 0, 0), 0), NvmeScsiSend,
                   NVME_IO_WRITE_ZEROES, 5, 256, 0);
    assert_int_equal(last->request.Transferred, 0);
    other.ZeroesDeallocate = FALSE;
    assert_command(send_data(&other, BYTES(0x41, 8, 0, 0, 0, 5, 0, 1, 0, 0), BLOCK), NvmeScsiSend, NVME_IO_WRITE_ZEROES,
                   5, 256, 0);
    s = scsi_new(BYTES(0x41, 0, 0, 0, 0, 5, 0, 1, 0, 0), NvmeScsiDataOut, BLOCK);
    s->data[BLOCK - 1] = 1;
    assert_invalid_cdb(remember(scsi_send(&disk, s)));
    assert_invalid_cdb(send_data(&disk, BYTES(0x41, 0, 0, 0, 0, 5, 0, 1, 0, 0), BLOCK - 1));
    assert_invalid_cdb(get_data(&disk, BYTES(0x41, 1, 0, 0, 0, 5, 0, 1, 0, 0), 0));
    assert_invalid_cdb(send_data(&disk, BYTES(0x41, 0, 0, 0, 0, 5, 0, 0, 0, 0), BLOCK));
    assert_invalid_cdb(send_data(&disk, BYTES(0x41, 4, 0, 0, 0, 5, 0, 1, 0, 0), BLOCK));
    assert_invalid_cdb(send_data(&disk, BYTES(0x41, 0x10, 0, 0, 0, 5, 0, 1, 0, 0), BLOCK));
    assert_illegal_block(send_data(&disk, BYTES(0x41, 0, 0, 0, 3, 0xe7, 0, 0, 2, 0), BLOCK));
    assert_invalid_cdb(get_data(&disk, BYTES(0x93, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 0, 1, 0, 0), 0));
    other.ReadOnly = TRUE;
    assert_sense(send_data(&other, BYTES(0x41, 0, 0, 0, 0, 5, 0, 1, 0, 0), BLOCK), 7, 0x27, 0);
    other.CanWriteZeroes = FALSE;
    assert_sense(send_data(&other, BYTES(0x41, 0, 0, 0, 0, 5, 0, 1, 0, 0), BLOCK), 5, 0x20, 0);
}

/* ---- Back -------------------------------------------------------------------------------------------------------- */

static void test_finish(void **state)
{
    static const struct {
        uint16_t status;
        uint8_t key, code, qualifier;
    } expected[] = {
        { NVME_INVALID_OPCODE | NVME_DNR, 5, 0x20, 0 },
        { NVME_INVALID_FIELD, 5, 0x24, 0 },
        { NVME_INVALID_NAMESPACE | NVME_DNR, 5, 0x25, 0 },
        { NVME_LBA_OUT_OF_RANGE | NVME_DNR | NVME_MORE, 5, 0x21, 0 },
        { NVME_NAMESPACE_NOT_READY, 2, 4, 1 },
        { NVME_READ_ONLY_RANGE, 7, 0x27, 0 },
        { NVME_CAPACITY_EXCEEDED, 7, 0x27, 7 },
        { NVME_WRITE_FAULT, 3, 3, 0 },
        { NVME_UNRECOVERED_READ_ERROR, 3, 0x11, 0 },
        { NVME_COMPARE_FAILURE, 0xe, 0x1d, 0 },
        { NVME_INTERNAL_ERROR, 4, 0x44, 0 },
        { NVME_ABORT_REQUESTED, 0xb, 0, 0 },
        { 0x7ff, 0xb, 0, 0 },
        { 0x7ff | NVME_DNR, 4, 0x44, 0 },
    };
    struct scsi *s;

    (void)state;
    for (size_t i = 0; i < ARRAYSIZE(expected); i++) {
        s = get_data(&disk, BYTES(0x28, 0, 0, 0, 0, 5, 0, 0, 2, 0), 1024);
        NvmeScsiFinish(&s->request, expected[i].status);
        s->step = NvmeScsiAnswered;
        assert_sense(s, expected[i].key, expected[i].code, expected[i].qualifier);
    }
    s = get_data(&disk, BYTES(0x28, 0, 0, 0, 0, 5, 0, 0, 2, 0), 1024);
    NvmeScsiFinish(&s->request, NVME_SUCCESS);
    assert_int_equal(s->request.ScsiStatus, SCSISTAT_GOOD);
    assert_int_equal(s->request.Transferred, 1024);
}

static void test_sense_data(void **state)
{
    uint8_t sense[24];

    (void)state;
    memset(sense, 0xa5, sizeof sense);
    get_data(&disk, BYTES(0x28, 0, 0, 0, 3, 0xe7, 0, 0, 2, 0), 1024);
    assert_int_equal(NvmeScsiWriteSense(&last->request, sense, 24), 18);
    assert_memory_equal(sense, ((uint8_t[]){ 0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 0xa5 }), 19);
    memset(sense, 0xa5, sizeof sense);
    assert_int_equal(NvmeScsiWriteSense(&last->request, sense, 13), 13);
    assert_int_equal(sense[13], 0xa5);
    assert_int_equal(NvmeScsiWriteSense(&last->request, NULL, 0), 0);
    get_data(&disk, BYTES(0, 0, 0, 0, 0, 0), 0);
    assert_int_equal(NvmeScsiWriteSense(&last->request, sense, 24), 0);
}

/* Random commands: no access beyond the data, which a sanitizer checks, and no NVMe command beyond the unit. */
static void test_random(void **state)
{
    static const uint8_t operations[] = { 0,    3,    8,    0xa,  0x12, 0x1a, 0x1b, 0x25, 0x28, 0x2a, 0x2f, 0x35, 0x41,
                                          0x42, 0x5a, 0x88, 0x8a, 0x8f, 0x91, 0x93, 0x9e, 0xa0, 0xa8, 0xaa, 0xaf };
    unsigned sent = 0;

    (void)state;
    srandom(1);
    for (int i = 0; i < 50000; i++) {
        uint8_t cdb[16] = { operations[(unsigned)random() % sizeof operations] };
        struct scsi *s;

        for (int b = 1; b < 16; b++)
            cdb[b] = random() % 3 ? 0 : (uint8_t)random();
        s = scsi_new(cdb, sizeof cdb, (NVME_SCSI_DATA)(random() % 3), (uint32_t)random() % 2048);
        for (uint32_t b = 0; b < s->request.DataLength; b++)
            s->data[b] = random() % 4 ? 0 : (uint8_t)random();
        remember(scsi_send(random() % 16 ? &disk : NULL, s));
        assert_true(s->request.Transferred <= s->request.DataLength);
        if (s->step == NvmeScsiSendData)
            assert_int_equal(s->request.Transferred, (s->request.Command.io.blocks + 1) * BLOCK);
        if (s->step == NvmeScsiSendData || (s->step == NvmeScsiSend && s->request.Command.opcode != NVME_IO_FLUSH))
            assert_true(s->request.Command.io.lba + s->request.Command.io.blocks + 1 <= BLOCKS);
        sent += s->step != NvmeScsiAnswered;
    }
    assert_true(sent > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inquiry),    cmocka_unit_test(test_pages),      cmocka_unit_test(test_limits),
        cmocka_unit_test(test_capacity),   cmocka_unit_test(test_unit),       cmocka_unit_test(test_attention),
        cmocka_unit_test(test_mode_sense), cmocka_unit_test(test_reads),      cmocka_unit_test(test_writes),
        cmocka_unit_test(test_ranges),     cmocka_unit_test(test_verify),     cmocka_unit_test(test_flush),
        cmocka_unit_test(test_unmap),      cmocka_unit_test(test_write_same), cmocka_unit_test(test_finish),
        cmocka_unit_test(test_sense_data), cmocka_unit_test(test_random),
    };
    int failed = cmocka_run_group_tests_name("nvme_scsi", tests, NULL, NULL);

    remember(NULL);
    return failed;
}
