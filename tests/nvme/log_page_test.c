/* SPDX-License-Identifier: MIT */
/* The target's protocol: Get Log Page, whole and in parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nvme/rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define GUARD 0xee

static struct rig rig;
static struct target_controller *controller;

/* Queue 0 is an I/O controller's admin queue, queue 1 a discovery controller's, queue 2 an I/O queue. */
static int setup(void **state)
{
    (void)state;
    rig_init(&rig, true);
    controller = rig_admin(&rig, 0, RIG_NQN);
    rig_admin(&rig, 1, NVME_DISCOVERY_NQN);
    rig_io_queue(&rig, 2, controller, 1, 32);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_fini(&rig);
    return 0;
}

static struct nvme_command log_command(uint8_t lid, uint64_t offset, uint32_t len)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_GET_LOG_PAGE, 0);
    uint32_t dwords = len / 4 - 1;

    sqe.log.lid = lid;
    sqe.log.dwords_low = (uint16_t)dwords;
    sqe.log.dwords_high = (uint16_t)(dwords >> 16);
    sqe.log.offset = offset;
    rig_set_keyed(&sqe, 0, len);
    return sqe;
}

static struct rig_outcome read_log(unsigned queue, uint8_t lid, uint64_t offset, uint32_t len)
{
    struct nvme_command sqe = log_command(lid, offset, len);

    memset(rig.host, GUARD, sizeof rig.host);
    return rig_run(&rig, queue, &sqe);
}

/* Each page read in all kinds of parts is the same as the page read at once. */
static void test_parts(void **state)
{
    static const struct {
        unsigned queue;
        uint8_t lid;
        uint32_t size;
    } pages[] = {
        { 0, NVME_LOG_ERROR, TARGET_ERROR_ENTRIES * 64 },
        { 0, NVME_LOG_SMART, 512 },
        { 0, NVME_LOG_FIRMWARE, 512 },
        { 0, NVME_LOG_CHANGED_NAMESPACES, 4096 },
        { 0, NVME_LOG_COMMAND_EFFECTS, 4096 },
        { 1, NVME_LOG_DISCOVERY, 4 * 1024 },
    };
    static const uint32_t parts[] = { 4, 60, 64, 512, 1020, 1024, 2048 };
    static uint8_t whole[8192];
    struct nvme_command wrong = rig_io(NVME_IO_READ, 9, 0, 1);

    (void)state;
    for (unsigned i = 0; i < 20; i++)
        rig_run(&rig, 2, &wrong);
    for (size_t i = 0; i < COUNT(pages); i++) {
        assert_int_equal(read_log(pages[i].queue, pages[i].lid, 0, 8192).completion.status, 0);
        memcpy(whole, rig.host, sizeof whole);
        for (uint32_t at = pages[i].size; at < sizeof whole; at++)
            assert_int_equal(whole[at], 0);
        for (size_t j = 0; j < COUNT(parts); j++) {
            for (uint32_t offset = 0; offset <= pages[i].size; offset += parts[j]) {
                assert_int_equal(read_log(pages[i].queue, pages[i].lid, offset, parts[j]).completion.status, 0);
                assert_memory_equal(rig.host, whole + offset, parts[j]);
                assert_int_equal(rig.host[parts[j]], GUARD);
            }
        }
        assert_int_equal(read_log(pages[i].queue, pages[i].lid, pages[i].size + 4, 4).status, NVME_INVALID_FIELD);
        assert_int_equal(read_log(pages[i].queue, pages[i].lid, UINT64_MAX - 3, 4).status, NVME_INVALID_FIELD);
        assert_int_equal(read_log(pages[i].queue, pages[i].lid, 2, 4).status, NVME_INVALID_FIELD);
        assert_int_equal(read_log(!pages[i].queue, pages[i].lid, 0, 4).status, NVME_INVALID_LOG_PAGE);
    }
}

static void test_refused(void **state)
{
    static const uint8_t unknown[] = { 0x00, 0x06, 0x07, 0x0c, 0x71, 0x80, 0xff };
    struct nvme_command sqe;

    (void)state;
    for (size_t i = 0; i < COUNT(unknown); i++)
        assert_int_equal(read_log(0, unknown[i], 0, 4).status, NVME_INVALID_LOG_PAGE);
    assert_int_equal(read_log(0, NVME_LOG_SMART, 0, RIG_MAX_TRANSFER).completion.status, 0);
    assert_int_equal(read_log(0, NVME_LOG_SMART, 0, RIG_MAX_TRANSFER + 4).status, NVME_INVALID_FIELD);
    sqe = log_command(NVME_LOG_SMART, 0, 4);
    sqe.log.dwords_low = sqe.log.dwords_high = 0xffff;
    assert_int_equal(rig_run(&rig, 0, &sqe).status, NVME_INVALID_FIELD);
    sqe = log_command(NVME_LOG_SMART, 0, 512);
    sqe.nsid = 1;
    assert_int_equal(rig_run(&rig, 0, &sqe).status, NVME_INVALID_FIELD);
    sqe.nsid = NVME_ALL_NAMESPACES;
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.status, 0);
    rig_set_keyed(&sqe, 0, 508);
    assert_int_equal(rig_run(&rig, 0, &sqe).status, NVME_DATA_SGL_LENGTH_INVALID);
}

static void test_errors(void **state)
{
    struct nvme_command sqe = rig_io(NVME_IO_READ, 9, 77, 1);
    struct nvme_error_entry entries[TARGET_ERROR_ENTRIES];
    uint64_t total;

    (void)state;
    sqe.cid = 0xabcd;
    assert_int_equal(rig_run(&rig, 2, &sqe).status, NVME_INVALID_NAMESPACE);
    sqe = rig_io(NVME_IO_READ, 1, UINT64_MAX, 1);
    assert_int_equal(rig_run(&rig, 2, &sqe).status, NVME_LBA_OUT_OF_RANGE);
    assert_int_equal(read_log(0, NVME_LOG_ERROR, 0, sizeof entries).completion.status, 0);
    memcpy(entries, rig.host, sizeof entries);
    assert_int_equal(entries[0].count, 2);
    assert_int_equal(entries[0].status >> 1, NVME_LBA_OUT_OF_RANGE | NVME_DNR);
    assert_int_equal(entries[0].location, 40);
    assert_true(entries[0].lba == UINT64_MAX);
    assert_int_equal(entries[1].count, 1);
    assert_int_equal(entries[1].sqid, 1);
    assert_int_equal(entries[1].cid, 0xabcd);
    assert_int_equal(entries[1].nsid, 9);
    assert_int_equal(entries[1].lba, 77);
    assert_int_equal(entries[1].location, 4);
    assert_int_equal(entries[2].count, 0);
    for (unsigned i = 0; i < 3 * TARGET_ERROR_ENTRIES; i++)
        rig_run(&rig, 2, &sqe);
    total = 2 + 3 * TARGET_ERROR_ENTRIES;
    assert_int_equal(read_log(0, NVME_LOG_ERROR, 0, sizeof entries).completion.status, 0);
    memcpy(entries, rig.host, sizeof entries);
    for (unsigned i = 0; i < TARGET_ERROR_ENTRIES; i++)
        assert_int_equal(entries[i].count, total - i);
}

static void test_smart(void **state)
{
    struct nvme_command sqe = rig_io(NVME_IO_READ, 1, 0, 64);
    struct nvme_smart smart;

    (void)state;
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(rig_run(&rig, 2, &sqe).completion.status, 0);
    sqe = rig_io(NVME_IO_WRITE, 1, 0, 1);
    assert_int_equal(rig_run(&rig, 2, &sqe).completion.status, 0);
    rig.fail_status = NVME_WRITE_FAULT;
    assert_int_equal(rig_run(&rig, 2, &sqe).status, NVME_WRITE_FAULT);
    rig.fail_status = 0;
    rig.now_ms += 2 * 3600000;
    assert_int_equal(read_log(0, NVME_LOG_SMART, 0, 512).completion.status, 0);
    memcpy(&smart, rig.host, sizeof smart);
    assert_int_equal(smart.units_read[0], 2); /* 524288 bytes */
    assert_int_equal(smart.units_written[0], 1);
    assert_int_equal(smart.reads[0], 16);
    assert_int_equal(smart.writes[0], 1);
    assert_int_equal(smart.media_errors[0], 1);
    assert_int_equal(smart.error_entries[0], 1);
    assert_int_equal(smart.power_on_hours[0], 2);
    assert_int_equal(smart.critical_warning, 0);
}

static void test_firmware_and_effects(void **state)
{
    struct nvme_firmware_slots slots;
    static struct nvme_command_effects effects;

    (void)state;
    assert_int_equal(read_log(0, NVME_LOG_FIRMWARE, 0, 512).completion.status, 0);
    memcpy(&slots, rig.host, sizeof slots);
    assert_int_equal(slots.afi, 1);
    assert_memory_equal(slots.frs[0], "1.0     ", 8);
    assert_int_equal(slots.frs[1][0], 0);
    assert_int_equal(read_log(0, NVME_LOG_COMMAND_EFFECTS, 0, 4096).completion.status, 0);
    memcpy(&effects, rig.host, sizeof effects);
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        bool admin = opcode == 2 || opcode == 6 || (opcode >= 8 && opcode <= 10) || opcode == 12 || opcode == 24;
        bool writes = opcode == 1 || opcode == 8 || opcode == 9;
        bool io = opcode == 0 || opcode == 2 || opcode == 5 || writes;

        assert_int_equal(effects.admin[opcode], admin);
        assert_int_equal(effects.io[opcode], writes ? 3 : io);
    }
}

static void test_changed_namespaces(void **state)
{
    uint32_t nsids[3];

    (void)state;
    target_namespace_changed(&rig.subsystem, &rig.namespaces[2]);
    target_namespace_changed(&rig.subsystem, &rig.namespaces[0]);
    assert_int_equal(read_log(0, NVME_LOG_CHANGED_NAMESPACES, 0, 4096).completion.status, 0);
    memcpy(nsids, rig.host, sizeof nsids);
    assert_memory_equal(nsids, ((uint32_t[]){ 1, 5, 0 }), sizeof nsids);
    assert_int_equal(read_log(0, NVME_LOG_CHANGED_NAMESPACES, 0, 4096).completion.status, 0);
    memcpy(nsids, rig.host, sizeof nsids);
    assert_int_equal(nsids[0], 0);
}

static void test_discovery(void **state)
{
    static const char *const hosts[] = { "nqn.2026-11.example:other" };
    struct nvme_discovery_header header;
    struct nvme_discovery_entry entry;

    (void)state;
    assert_int_equal(read_log(1, NVME_LOG_DISCOVERY, 0, 4096).completion.status, 0);
    memcpy(&header, rig.host, sizeof header);
    assert_int_equal(header.records, 3);
    assert_int_equal(header.generation, 1);
    assert_int_equal(header.record_format, 0);
    for (unsigned i = 0; i < 3; i++) {
        memcpy(&entry, rig.host + 1024 * (i + 1), sizeof entry);
        assert_int_equal(entry.trtype, NVME_TRTYPE_RDMA);
        assert_int_equal(entry.adrfam, NVME_ADRFAM_IPV4);
        assert_int_equal(entry.subtype, NVME_SUBTYPE_NVM);
        assert_int_equal(entry.treq, NVME_TREQ_NO_FLOW_CONTROL);
        assert_int_equal(entry.portid, i + 1);
        assert_int_equal(entry.cntlid, 0xffff);
        assert_int_equal(entry.asqsz, 32);
        assert_string_equal(entry.trsvcid, "4420");
        assert_string_equal(entry.traddr, "192.0.2.1");
        assert_string_equal(entry.subnqn, RIG_NQN);
        assert_int_equal(entry.rdma.prtype, NVME_RDMA_PRTYPE_IWARP);
    }
    target_ports_changed(&rig.subsystem);
    rig.subsystem.hosts = hosts;
    rig.subsystem.n_hosts = 1;
    assert_int_equal(read_log(1, NVME_LOG_DISCOVERY, 0, 4096).status, NVME_SUCCESS);
    memcpy(&header, rig.host, sizeof header);
    assert_int_equal(header.records, 0);
    assert_int_equal(header.generation, 2);
    assert_int_equal(rig.host[1024], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_parts),
        TEST(test_refused),
        TEST(test_errors),
        TEST(test_smart),
        TEST(test_firmware_and_effects),
        TEST(test_changed_namespaces),
        TEST(test_discovery),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
