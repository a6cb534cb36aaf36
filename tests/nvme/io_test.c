/* SPDX-License-Identifier: MIT */
/* The target's protocol: the commands for namespaces, with data in the host's memory and in the capsule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nvme/rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct rig rig;
static struct target_controller *controller;

/* Queue 0 is the admin queue, queue 1 the I/O queue. */
static int setup(void **state)
{
    (void)state;
    rig_init(&rig, true);
    controller = rig_admin(&rig, 0, RIG_NQN);
    rig_io_queue(&rig, 1, controller, 1, 64);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_fini(&rig);
    return 0;
}

static void fill_host(uint8_t seed)
{
    for (unsigned i = 0; i < RIG_HOST_MEMORY; i++)
        rig.host[i] = (uint8_t)(i * 13 + (i >> 8) + seed);
}

static struct rig_outcome run(const struct nvme_command *sqe)
{
    return rig_run(&rig, 1, sqe);
}

/* ---- Read and write ---- */

static void test_read(void **state)
{
    static const struct {
        uint32_t nsid;
        uint64_t lba;
        uint32_t blocks;
    } cases[] = {
        { 1, 0, 1 }, { 1, 255, 1 }, { 1, 3, 8 }, { 1, 192, 64 }, { 2, 0, 1 }, { 2, 31, 1 }, { 2, 24, 8 }, { 5, 7, 2 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nvme_command sqe = rig_io(NVME_IO_READ, cases[i].nsid, cases[i].lba, cases[i].blocks);
        unsigned index = cases[i].nsid == 5 ? 2 : cases[i].nsid - 1;
        uint8_t shift = rig.namespaces[index].block_shift;
        struct rig_outcome outcome;

        memset(rig.host, 0, sizeof rig.host);
        outcome = run(&sqe);
        assert_int_equal(outcome.action, TARGET_COMPLETE);
        assert_int_equal(outcome.completion.status, 0);
        assert_int_equal(outcome.completion.cid, 0x1234);
        assert_int_equal(outcome.puts, 1);
        assert_int_equal(outcome.disks, 1);
        assert_true(outcome.invalidate);
        assert_memory_equal(rig.host, rig.disks[index] + (cases[i].lba << shift), cases[i].blocks << shift);
        assert_int_equal(rig.host[cases[i].blocks << shift], 0);
    }
    assert_int_equal(controller->reads, COUNT(cases));
}

static void test_write(void **state)
{
    struct nvme_command sqe = rig_io(NVME_IO_WRITE, 1, 100, 64);
    struct rig_outcome outcome;
    uint8_t before[RIG_DISK];

    (void)state;
    fill_host(1);
    memcpy(before, rig.disks[0], sizeof before);
    outcome = run(&sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.fetches, 1);
    assert_int_equal(outcome.operation, TARGET_DISK_WRITE);
    assert_false(outcome.fua);
    memcpy(before + 51200, rig.host, 32768);
    assert_memory_equal(rig.disks[0], before, sizeof before);
    assert_int_equal(controller->writes, 1);
    assert_int_equal(controller->bytes_written, 32768);
    sqe.io.control = NVME_IO_FUA;
    assert_true(run(&sqe).fua);
}

static void test_write_in_capsule(void **state)
{
    struct nvme_command sqe = rig_io(NVME_IO_WRITE, 2, 3, 1);
    uint8_t data[RIG_CAPSULE_DATA];
    struct rig_outcome outcome;

    (void)state;
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 3);
    rig_set_in_capsule(&sqe, 0, sizeof data);
    outcome = rig_run_data(&rig, 1, &sqe, data, sizeof data);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.fetches + outcome.buffers, 0);
    assert_false(outcome.invalidate);
    assert_memory_equal(rig.disks[1] + 3 * 4096, data, sizeof data);
    /* An offset. */
    sqe = rig_io(NVME_IO_WRITE, 1, 9, 2);
    rig_set_in_capsule(&sqe, 1001, 1024);
    outcome = rig_run_data(&rig, 1, &sqe, data, 1001 + 1024);
    assert_int_equal(outcome.completion.status, 0);
    assert_memory_equal(rig.disks[0] + 9 * 512, data + 1001, 1024);
}

static void test_in_capsule_refused(void **state)
{
    static const struct {
        uint8_t opcode;
        uint64_t offset;
        uint32_t length;
        size_t data;
        uint16_t status;
    } cases[] = {
        { NVME_IO_WRITE, 0, 512, 512, NVME_SUCCESS },
        { NVME_IO_WRITE, 0, 512, 511, NVME_SGL_OFFSET_INVALID },
        { NVME_IO_WRITE, 0, 512, 0, NVME_SGL_OFFSET_INVALID },
        { NVME_IO_WRITE, 1, 512, 512, NVME_SGL_OFFSET_INVALID },
        { NVME_IO_WRITE, 513, 512, 512, NVME_SGL_OFFSET_INVALID },
        { NVME_IO_WRITE, UINT64_MAX, 512, 1024, NVME_SGL_OFFSET_INVALID },
        { NVME_IO_WRITE, UINT64_MAX - 511, 512, 1024, NVME_SGL_OFFSET_INVALID },
        { NVME_IO_WRITE, 0, 1024, 1024, NVME_DATA_SGL_LENGTH_INVALID },
        { NVME_IO_WRITE, 0, 0, 512, NVME_DATA_SGL_LENGTH_INVALID },
        { NVME_IO_WRITE, 0, UINT32_MAX, 512, NVME_DATA_SGL_LENGTH_INVALID },
        { NVME_IO_READ, 0, 512, 512, NVME_SGL_TYPE_INVALID },
    };
    uint8_t data[RIG_CAPSULE_DATA] = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nvme_command sqe = rig_io(cases[i].opcode, 1, 0, 1);
        struct rig_outcome outcome;

        rig_set_in_capsule(&sqe, cases[i].offset, cases[i].length);
        outcome = rig_run_data(&rig, 1, &sqe, data, cases[i].data);
        if (outcome.status != cases[i].status)
            fail_msg("case %zu: status 0x%x", i, outcome.status);
    }
}

/* ---- What is refused ---- */

#define ALL_BLOCKS (RIG_DISK / 512)
struct refusal {
    const char *what;
    uint8_t opcode;
    uint32_t nsid;
    uint64_t lba;
    uint32_t blocks;
    uint16_t status;
};
static const struct refusal refusals[] = {
    { "the last block", NVME_IO_READ, 1, ALL_BLOCKS - 1, 1, NVME_SUCCESS },
    { "behind the end", NVME_IO_READ, 1, ALL_BLOCKS, 1, NVME_LBA_OUT_OF_RANGE },
    { "across the end", NVME_IO_READ, 1, ALL_BLOCKS - 1, 2, NVME_LBA_OUT_OF_RANGE },
    { "largest block", NVME_IO_READ, 1, UINT64_MAX, 1, NVME_LBA_OUT_OF_RANGE },
    { "wraps", NVME_IO_READ, 1, UINT64_MAX, 2, NVME_LBA_OUT_OF_RANGE },
    { "wraps in bytes", NVME_IO_READ, 1, UINT64_C(1) << 55, 1, NVME_LBA_OUT_OF_RANGE },
    { "more than the namespace", NVME_IO_READ, 1, 0, ALL_BLOCKS + 1, NVME_LBA_OUT_OF_RANGE },
    { "write behind the end", NVME_IO_WRITE, 1, ALL_BLOCKS, 1, NVME_LBA_OUT_OF_RANGE },
    { "zeroes behind the end", NVME_IO_WRITE_ZEROES, 1, 1, ALL_BLOCKS, NVME_LBA_OUT_OF_RANGE },
    { "compare behind the end", NVME_IO_COMPARE, 1, ALL_BLOCKS, 1, NVME_LBA_OUT_OF_RANGE },
    { "the largest transfer", NVME_IO_READ, 1, 0, RIG_MAX_TRANSFER / 512, NVME_SUCCESS },
    { "more than the largest transfer", NVME_IO_READ, 1, 0, RIG_MAX_TRANSFER / 512 + 1, NVME_INVALID_FIELD },
    { "a larger write", NVME_IO_WRITE, 1, 0, RIG_MAX_TRANSFER / 512 + 1, NVME_INVALID_FIELD },
    { "a larger compare", NVME_IO_COMPARE, 2, 0, RIG_MAX_TRANSFER / 4096 + 1, NVME_INVALID_FIELD },
    { "zeroes have no data", NVME_IO_WRITE_ZEROES, 1, 0, ALL_BLOCKS, NVME_SUCCESS },
    { "no namespace", NVME_IO_READ, 3, 0, 1, NVME_INVALID_NAMESPACE },
    { "namespace 0", NVME_IO_READ, 0, 0, 1, NVME_INVALID_NAMESPACE },
    { "all namespaces", NVME_IO_READ, NVME_ALL_NAMESPACES, 0, 1, NVME_INVALID_NAMESPACE },
    { "zeroes, no namespace", NVME_IO_WRITE_ZEROES, 6, 0, 1, NVME_INVALID_NAMESPACE },
    { "flush, no namespace", NVME_IO_FLUSH, 6, 0, 1, NVME_INVALID_NAMESPACE },
    { "dataset, no namespace", NVME_IO_DATASET_MANAGEMENT, 6, 0, 1, NVME_INVALID_NAMESPACE },
    { "read-only read", NVME_IO_READ, 5, 0, 1, NVME_SUCCESS },
    { "read-only write", NVME_IO_WRITE, 5, 0, 1, NVME_NAMESPACE_WRITE_PROTECTED },
    { "read-only zeroes", NVME_IO_WRITE_ZEROES, 5, 0, 1, NVME_NAMESPACE_WRITE_PROTECTED },
    { "opcode", 0x04, 1, 0, 1, NVME_INVALID_OPCODE },
    { "vendor's opcode", 0x80, 1, 0, 1, NVME_INVALID_OPCODE },
    { "reservation", 0x0d, 1, 0, 1, NVME_INVALID_OPCODE },
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const struct refusal *r = &refusals[i];
        struct nvme_command sqe = rig_io(r->opcode, r->nsid, r->lba, r->blocks);
        struct rig_outcome outcome = run(&sqe);

        if (outcome.action != TARGET_COMPLETE || outcome.status != r->status)
            fail_msg("%s: action %d, status 0x%x", r->what, outcome.action, outcome.status);
        if (r->status != NVME_SUCCESS && (!outcome.dnr || !outcome.more || outcome.disks != 0))
            fail_msg("%s: dnr %d, more %d, %u disk operations", r->what, outcome.dnr, outcome.more, outcome.disks);
    }
}

static void test_sgl_refused(void **state)
{
    static const struct {
        uint8_t identifier;
        uint32_t length; /* 1024 is right */
        uint16_t status;
    } cases[] = {
        { 0x40, 1024, NVME_SUCCESS },
        { 0x4f, 1023, NVME_DATA_SGL_LENGTH_INVALID },
        { 0x4f, 1025, NVME_DATA_SGL_LENGTH_INVALID },
        { 0x4f, 0, NVME_DATA_SGL_LENGTH_INVALID },
        { 0x4f, 0xffffff, NVME_DATA_SGL_LENGTH_INVALID },
        { 0x00, 1024, NVME_SGL_TYPE_INVALID },
        { 0x10, 1024, NVME_SGL_TYPE_INVALID },
        { 0x20, 1024, NVME_SGL_TYPE_INVALID },
        { 0x41, 1024, NVME_SGL_TYPE_INVALID },
        { 0xff, 1024, NVME_SGL_TYPE_INVALID },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (unsigned writes = 0; writes < 2; writes++) {
            struct nvme_command sqe = rig_io(writes ? NVME_IO_WRITE : NVME_IO_READ, 1, 0, 2);
            struct rig_outcome outcome;

            rig_set_keyed(&sqe, 0, cases[i].length);
            sqe.sgl.identifier = cases[i].identifier;
            outcome = run(&sqe);
            if (outcome.status != cases[i].status)
                fail_msg("case %zu: status 0x%x", i, outcome.status);
            assert_int_equal(outcome.invalidate, cases[i].identifier == 0x4f);
        }
    }
}

static void test_flags_refused(void **state)
{
    static const uint8_t flags[] = { 0x00, 0x41, 0x42, 0x80, 0xc0 };

    (void)state;
    for (size_t i = 0; i < COUNT(flags); i++) {
        struct nvme_command sqe = rig_io(NVME_IO_READ, 1, 0, 1);

        sqe.flags = flags[i];
        assert_int_equal(run(&sqe).status, NVME_INVALID_FIELD);
    }
}

/* Properties and admin commands belong to the admin queue. */
static void test_admin_in_io_queue(void **state)
{
    struct nvme_command sqe = rig_property_get(NVME_PROPERTY_CAP, NVME_PROPERTY_SIZE_8);

    (void)state;
    assert_int_equal(run(&sqe).status, NVME_INVALID_OPCODE);
    sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, 0);
    assert_int_equal(run(&sqe).status, NVME_INVALID_OPCODE);
    sqe = rig_command(NVME_ADMIN_KEEP_ALIVE, 0);
    assert_int_equal(run(&sqe).status, NVME_INVALID_OPCODE);
    sqe = rig_connect(&rig, 1, controller->cntlid, RIG_NQN);
    assert_int_equal(run(&sqe).status, NVME_COMMAND_SEQUENCE_ERROR);
}

/* ---- Failures ---- */

static void test_failures(void **state)
{
    static const struct {
        uint8_t opcode;
        uint16_t status;
        unsigned actions; /* that the command has: each of them fails once */
    } cases[] = {
        { NVME_IO_READ, NVME_UNRECOVERED_READ_ERROR, 3 },    { NVME_IO_WRITE, NVME_WRITE_FAULT, 3 },
        { NVME_IO_WRITE_ZEROES, NVME_CAPACITY_EXCEEDED, 1 }, { NVME_IO_FLUSH, NVME_WRITE_FAULT, 1 },
        { NVME_IO_COMPARE, NVME_UNRECOVERED_READ_ERROR, 3 },
    };
    uint64_t media = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (unsigned action = 0; action <= cases[i].actions; action++) {
            struct nvme_command sqe = rig_io(cases[i].opcode, 1, 0, 1);
            struct rig_outcome outcome;

            memcpy(rig.host, rig.disks[0], 512);
            rig.fail_after = action;
            rig.fail_status = cases[i].status;
            outcome = run(&sqe);
            rig.fail_status = 0;
            assert_int_equal(outcome.action, TARGET_COMPLETE);
            if (outcome.status != (action < cases[i].actions ? cases[i].status : NVME_SUCCESS))
                fail_msg("case %zu, action %u: status 0x%x", i, action, outcome.status);
            assert_false(outcome.dnr);
            if (action < cases[i].actions && cases[i].status != NVME_CAPACITY_EXCEEDED)
                media++;
        }
    }
    assert_int_equal(controller->media_errors, media);
    assert_int_equal(rig.queues[1].inflight, 0);
}

static void test_wrong_key(void **state)
{
    struct nvme_command sqe = rig_io(NVME_IO_WRITE, 1, 0, 1);
    uint8_t before[512];

    (void)state;
    memcpy(before, rig.disks[0], sizeof before);
    rig_set_keyed(&sqe, UINT64_MAX, 512);
    assert_int_equal(run(&sqe).status, NVME_DATA_TRANSFER_ERROR);
    assert_memory_equal(rig.disks[0], before, sizeof before);
}

/* A namespace that shrinks, becomes read-only or goes away while a command runs. */
static void shrink(struct rig *r)
{
    r->namespaces[0].blocks = 8;
}
static void protect(struct rig *r)
{
    r->namespaces[0].read_only = true;
}
static void detach(struct rig *r)
{
    r->namespaces[0].attached = false;
}

static void test_namespace_changes_within_a_command(void **state)
{
    static void (*const changes[])(struct rig *) = { shrink, protect, detach };
    static const uint16_t statuses[] = { NVME_LBA_OUT_OF_RANGE, NVME_NAMESPACE_WRITE_PROTECTED,
                                         NVME_INVALID_NAMESPACE };
    const struct nvme_dataset_range ranges[2] = { { .blocks = 1 }, { .blocks = 1, .lba = 8 } };

    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++) {
        struct nvme_command sqe = rig_command(NVME_IO_DATASET_MANAGEMENT, 1), capsule;
        struct target_command command = { .queue = &rig.queues[1] };
        uint8_t bytes[64], buffer[32];

        rig.namespaces[0].blocks = ALL_BLOCKS;
        rig.namespaces[0].read_only = false;
        rig.namespaces[0].attached = true;
        sqe.cdw10 = 1;
        sqe.cdw11 = NVME_DATASET_DEALLOCATE;
        rig_set_keyed(&sqe, 0, sizeof ranges);
        capsule = sqe;
        memcpy(bytes, &capsule, sizeof bytes);
        assert_int_equal(target_command_begin(&command, bytes, sizeof bytes, 0), TARGET_BUFFER);
        command.buffer = buffer;
        command.buffer_size = sizeof buffer;
        assert_int_equal(target_command_next(&command, NVME_SUCCESS), TARGET_FETCH);
        memcpy(buffer, ranges, sizeof ranges);
        assert_int_equal(target_command_next(&command, NVME_SUCCESS), TARGET_DISK);
        changes[i](&rig);
        assert_int_equal(target_command_next(&command, NVME_SUCCESS), TARGET_COMPLETE);
        assert_int_equal(command.completion.status >> 1 & NVME_STATUS_CODE_MASK, statuses[i]);
    }
}

/* ---- Flush ---- */

static void test_flush(void **state)
{
    struct nvme_command sqe = rig_command(NVME_IO_FLUSH, 2);
    struct rig_outcome outcome = run(&sqe);

    (void)state;
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.disks, 1);
    assert_int_equal(outcome.nsid, 2);
    assert_int_equal(outcome.operation, TARGET_DISK_FLUSH);
    sqe.nsid = NVME_ALL_NAMESPACES;
    rig.namespaces[1].attached = false;
    outcome = run(&sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.disks, 2);
    rig.subsystem.volatile_cache = false;
    assert_int_equal(run(&sqe).disks, 0);
}

/* The host switches the write cache off: each write is durable when it completes. */
static void test_write_through(void **state)
{
    struct nvme_command set = rig_command(NVME_ADMIN_SET_FEATURES, 0), sqe;

    (void)state;
    set.cdw10 = NVME_FEATURE_WRITE_CACHE;
    set.cdw11 = 0;
    assert_int_equal(rig_run(&rig, 0, &set).completion.status, 0);
    sqe = rig_io(NVME_IO_WRITE, 1, 0, 1);
    assert_true(run(&sqe).fua);
    sqe = rig_io(NVME_IO_WRITE_ZEROES, 1, 0, 1);
    assert_true(run(&sqe).fua);
    sqe = rig_io(NVME_IO_READ, 1, 0, 1);
    assert_false(run(&sqe).fua);
    set.cdw11 = 1;
    assert_int_equal(rig_run(&rig, 0, &set).completion.status, 0);
    sqe = rig_io(NVME_IO_WRITE, 1, 0, 1);
    assert_false(run(&sqe).fua);
}

/* ---- Write zeroes, dataset management ---- */

static void test_write_zeroes(void **state)
{
    struct nvme_command sqe = rig_io(NVME_IO_WRITE_ZEROES, 1, 2, 3);
    struct rig_outcome outcome = run(&sqe);

    (void)state;
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.operation, TARGET_DISK_WRITE_ZEROES);
    assert_int_equal(outcome.offset, 1024);
    assert_int_equal(outcome.length, 1536);
    assert_false(outcome.fua);
    sqe.io.control = NVME_IO_DEALLOCATE | NVME_IO_FUA;
    outcome = run(&sqe);
    assert_int_equal(outcome.operation, TARGET_DISK_DEALLOCATE);
    assert_true(outcome.fua);
}

static void test_dataset(void **state)
{
    struct nvme_dataset_range ranges[256];
    struct nvme_command sqe = rig_command(NVME_IO_DATASET_MANAGEMENT, 1);
    struct rig_outcome outcome;
    uint8_t want[RIG_DISK];

    (void)state;
    memset(ranges, 0, sizeof ranges);
    memcpy(want, rig.disks[0], sizeof want);
    ranges[0] = (struct nvme_dataset_range){ .lba = 4, .blocks = 2 };
    ranges[2] = (struct nvme_dataset_range){ .lba = ALL_BLOCKS - 1, .blocks = 1 };
    ranges[255] = (struct nvme_dataset_range){ .lba = 10, .blocks = 1 };
    memset(want + 4 * 512, 0, 1024);
    memset(want + RIG_DISK - 512, 0, 512);
    memset(want + 10 * 512, 0, 512);
    memcpy(rig.host, ranges, sizeof ranges);
    sqe.cdw10 = 255;
    sqe.cdw11 = NVME_DATASET_DEALLOCATE;
    rig_set_keyed(&sqe, 0, sizeof ranges);
    outcome = run(&sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.disks, 3);
    assert_int_equal(outcome.operation, TARGET_DISK_DEALLOCATE);
    assert_memory_equal(rig.disks[0], want, sizeof want);
    /* In the capsule. */
    sqe.cdw10 = 0;
    rig_set_in_capsule(&sqe, 0, 16);
    outcome = rig_run_data(&rig, 1, &sqe, ranges, 16);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.disks, 1);
    /* As Linux sends it: one range, and the memory of 256. */
    rig_set_keyed(&sqe, 0, sizeof ranges);
    outcome = run(&sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.disks, 1);
    assert_int_equal(outcome.fetched, 16);
    rig_set_in_capsule(&sqe, 0, sizeof ranges);
    outcome = rig_run_data(&rig, 1, &sqe, ranges, sizeof ranges);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.disks, 1);
    assert_int_equal(rig_run_data(&rig, 1, &sqe, ranges, sizeof ranges - 1).status, NVME_SGL_OFFSET_INVALID);
    rig_set_in_capsule(&sqe, 0, 16);
    /* A hint without deallocation. */
    sqe.cdw11 = 1;
    outcome = rig_run_data(&rig, 1, &sqe, ranges, 16);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.disks, 0);
}

/* If one range is wrong, none is deallocated. */
static void test_dataset_refused(void **state)
{
    static const struct nvme_dataset_range wrong[] = {
        { .lba = ALL_BLOCKS, .blocks = 1 },          { .lba = 1, .blocks = ALL_BLOCKS },
        { .lba = 0, .blocks = UINT32_MAX },          { .lba = UINT64_MAX, .blocks = 2 },
        { .lba = UINT64_MAX, .blocks = UINT32_MAX },
    };
    struct nvme_command sqe = rig_command(NVME_IO_DATASET_MANAGEMENT, 1);
    struct nvme_dataset_range ranges[2] = { { .lba = 0, .blocks = 1 } };

    (void)state;
    sqe.cdw10 = 1;
    sqe.cdw11 = NVME_DATASET_DEALLOCATE;
    rig_set_keyed(&sqe, 0, sizeof ranges);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct rig_outcome outcome;

        ranges[1] = wrong[i];
        memcpy(rig.host, ranges, sizeof ranges);
        outcome = run(&sqe);
        assert_int_equal(outcome.status, NVME_LBA_OUT_OF_RANGE);
        assert_true(outcome.dnr);
        assert_int_equal(outcome.disks, 0);
    }
    rig_set_keyed(&sqe, 0, 16);
    assert_int_equal(run(&sqe).status, NVME_DATA_SGL_LENGTH_INVALID);
    sqe.nsid = 5;
    rig_set_keyed(&sqe, 0, sizeof ranges);
    assert_int_equal(run(&sqe).status, NVME_NAMESPACE_WRITE_PROTECTED);
}

/* ---- Compare ---- */

static void test_compare(void **state)
{
    static const uint32_t sizes[] = { 512, 16384, 16896, RIG_MAX_TRANSFER };

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct nvme_command sqe = rig_io(NVME_IO_COMPARE, 1, 5, sizes[i] / 512);
        struct rig_outcome outcome;

        memcpy(rig.host, rig.disks[0] + 5 * 512, sizes[i]);
        outcome = run(&sqe);
        assert_int_equal(outcome.completion.status, 0);
        assert_int_equal(outcome.fetched, sizes[i]);
        assert_int_equal(outcome.disks, sizes[i] > RIG_MAX_TRANSFER / 2 ? 2 : 1);
        for (unsigned at = 0; at < 3; at++) {
            uint32_t byte = at == 0 ? 0 : at == 1 ? sizes[i] / 2 : sizes[i] - 1;

            rig.host[byte] ^= 0x20;
            outcome = run(&sqe);
            assert_int_equal(outcome.status, NVME_COMPARE_FAILURE);
            rig.host[byte] ^= 0x20;
        }
    }
}

static void test_compare_in_capsule(void **state)
{
    struct nvme_command sqe = rig_io(NVME_IO_COMPARE, 2, 6, 1);
    uint8_t data[4096];
    struct rig_outcome outcome;

    (void)state;
    memcpy(data, rig.disks[1] + 6 * 4096, sizeof data);
    rig_set_in_capsule(&sqe, 0, sizeof data);
    outcome = rig_run_data(&rig, 1, &sqe, data, sizeof data);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.fetches, 0);
    data[4095]++;
    outcome = rig_run_data(&rig, 1, &sqe, data, sizeof data);
    assert_int_equal(outcome.status, NVME_COMPARE_FAILURE);
    assert_true(outcome.dnr);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_read),
        TEST(test_write),
        TEST(test_write_in_capsule),
        TEST(test_in_capsule_refused),
        TEST(test_refused),
        TEST(test_sgl_refused),
        TEST(test_flags_refused),
        TEST(test_admin_in_io_queue),
        TEST(test_failures),
        TEST(test_wrong_key),
        TEST(test_namespace_changes_within_a_command),
        TEST(test_flush),
        TEST(test_write_through),
        TEST(test_write_zeroes),
        TEST(test_dataset),
        TEST(test_dataset_refused),
        TEST(test_compare),
        TEST(test_compare_in_capsule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
