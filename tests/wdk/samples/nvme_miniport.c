/* SPDX-License-Identifier: MIT */
/*
 * The NVMe initiator's Storport miniport above controllers in memory (nvme_fake.c): commands, resets, changes of
 * namespaces, and removal with requests outstanding. nvme_controls.c tests its device controls.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "nvme_port.h"

#include <pthread.h>
#include <stdatomic.h>

#include "forked.h"

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static void test_transfers(void **state)
{
    static uint8_t out[256 * FAKE_BLOCK], in[256 * FAKE_BLOCK];
    ondk_wdk_scsi_command_t c;

    (void)state;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (uint8_t)(i * 7 + i / 512);
    start();
    for (uint16_t n = 1; n <= 256; n *= 4) {
        c = transfer(true, n, n, out);
        assert_int_equal(send_sense(&c), 0);
        memset(in, 0, sizeof in);
        c = transfer(false, n, n, in);
        assert_int_equal(send_sense(&c), 0);
        assert_int_equal(c.data_length, n * FAKE_BLOCK);
        assert_memory_equal(in, out, n * (size_t)FAKE_BLOCK);
    }
    c.cdb[8] = 255; /* less than there is room for */
    c.cdb[7] = 0;
    assert_int_equal(send_sense(&c), 0);
    assert_int_equal(c.data_length, 255 * FAKE_BLOCK);
    c = transfer(false, FAKE_BLOCKS, 1, in);
    assert_int_equal(send_sense(&c), 5);
    assert_int_equal(c.sense[12], 0x21);
    c = (ondk_wdk_scsi_command_t){ .cdb_length = 6, .cdb = { 0 } };
    assert_int_equal(send_sense(&c), 0);
    c = (ondk_wdk_scsi_command_t){ .cdb_length = 10, .cdb = { 0x35 } };
    assert_int_equal(send_sense(&c), 0);
    stop();
}

static void test_unmap_and_zero(void **state)
{
    uint8_t list[40] = { 0, 38, 0, 32, [15] = 3, [19] = 2, [31] = 9, [35] = 1 };
    uint8_t zero[FAKE_BLOCK] = { 0 }, in[FAKE_BLOCK], out[4 * FAKE_BLOCK];
    ondk_wdk_scsi_command_t c;

    (void)state;
    memset(out, 0x55, sizeof out);
    start();
    c = transfer(true, 0, 4, out);
    assert_int_equal(send_sense(&c), 0);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x42, [8] = sizeof list }, .out = true, .data = list, .data_length = sizeof list
    };
    assert_int_equal(send_sense(&c), 0);
    c = transfer(false, 3, 1, in);
    assert_int_equal(send_sense(&c), 0);
    assert_int_equal(in[0], 0xdd);
    assert_int_equal(in[511], 0xdd);
    c = transfer(true, 1, 2, zero); /* WRITE SAME */
    c.cdb[0] = 0x41;
    c.data_length = sizeof zero;
    assert_int_equal(send_sense(&c), 0);
    c = transfer(false, 2, 1, in);
    assert_int_equal(send_sense(&c), 0);
    assert_memory_equal(in, zero, sizeof in);
    c = transfer(true, 2, 1, zero); /* VERIFY with comparison */
    c.cdb[0] = 0x2f;
    c.cdb[1] = 2;
    assert_int_equal(send_sense(&c), 0);
    c = transfer(true, 0, 1, zero);
    c.cdb[0] = 0x2f;
    c.cdb[1] = 2;
    assert_int_equal(send_sense(&c), 0xe);
    stop();
}

static void test_addresses(void **state)
{
    uint8_t data[36];
    ondk_wdk_scsi_command_t c = {
        .cdb_length = 6, .cdb = { 0x12, 0, 0, 0, 36 }, .data = data, .data_length = sizeof data
    };

    (void)state;
    start();
    assert_int_equal(send_command(&c), OK);
    c.target = 1;
    assert_int_equal(send_command(&c), NO_DEVICE);
    assert_int_equal(c.data_length, 0);
    c.target = 200;
    assert_int_equal(send_command(&c), NO_DEVICE);
    c.target = 0;
    c.lun = 1;
    assert_int_equal(send_command(&c), NO_DEVICE);
    c.lun = 200;
    assert_int_equal(send_command(&c), NO_DEVICE);
    c.lun = 0;
    c.path = 1;
    assert_int_equal(send_command(&c), NO_DEVICE);
    stop();
}

/* How the ends of a request that are not answers of the controller look from above. */
static void test_failures(void **state)
{
    uint8_t block[FAKE_BLOCK];
    ondk_wdk_scsi_command_t c;

    (void)state;
    start();
    order(FAKE_ANSWER, 0x281); /* an unrecovered read error */
    c = transfer(false, 0, 1, block);
    assert_int_equal(send_sense(&c), 3);
    assert_int_equal(c.sense[12], 0x11);
    order(FAKE_BREAK, (uint32_t)IO_TIMEOUT);
    c = transfer(false, 0, 1, block);
    assert_int_equal(send_command(&c), IO_TIMEOUT);
    order(FAKE_BREAK, (uint32_t)NOT_CONNECTED);
    c = transfer(false, 0, 1, block);
    assert_int_equal(send_command(&c), NO_DEVICE);
    order(FAKE_BREAK, (uint32_t)NO_MEMORY); /* sent again */
    c = transfer(false, 0, 1, block);
    assert_int_equal(send_command(&c), OK);
    stop();
}

/* Waits until the page "block limits" of the unit has this optimal transfer length, in blocks. */
static void wait_for_optimal(uint32_t blocks)
{
    uint8_t page[64];
    ondk_wdk_scsi_command_t c = {
        .cdb_length = 6, .cdb = { 0x12, 1, 0xb0, 0, sizeof page }, .data = page, .data_length = sizeof page
    };

    do {
        c.data_length = sizeof page;
        assert_int_equal(send_sense(&c), 0);
        assert_int_equal(page[10] << 8 | page[11], 256); /* the maximum is the adapter's */
    } while ((page[14] << 8 | page[15]) != (int)blocks);
}

static void write_and_read(const uint8_t *out, uint8_t *in, uint16_t blocks)
{
    ondk_wdk_scsi_command_t c = transfer(true, 7, blocks, (void *)(uintptr_t)out);

    assert_int_equal(send_sense(&c), 0);
    assert_int_equal(c.data_length, blocks * FAKE_BLOCK);
    c = transfer(false, 7, blocks, in);
    memset(in, 0, blocks * (size_t)FAKE_BLOCK);
    assert_int_equal(send_sense(&c), 0);
    assert_int_equal(c.data_length, blocks * FAKE_BLOCK);
    assert_memory_equal(in, out, blocks * (size_t)FAKE_BLOCK);
}

/* The controller's limit is smaller than the adapter's: a command is executed in parts, also after a reconnect. */
static void test_parts(void **state)
{
    static uint8_t out[256 * FAKE_BLOCK], in[256 * FAKE_BLOCK];
    static const uint16_t blocks[] = { 1, 30, 255, 256 };
    ondk_wdk_scsi_command_t c;

    (void)state;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (uint8_t)(i * 5 + i / 512);
    start();
    for (uint32_t limit = 65536; limit >= 4096; limit /= 4) {
        order(FAKE_LIMIT, limit + 100); /* not a multiple of a block */
        wait_for_optimal(limit / FAKE_BLOCK);
        for (int i = 0; i < 4; i++)
            write_and_read(out, in, blocks[i]);
    }
    order(FAKE_ANSWER, 0x281 | 3 << 16); /* an unrecovered read error of the fourth part */
    c = transfer(false, 7, 256, in);
    assert_int_equal(send_sense(&c), 3);
    assert_int_equal(c.data_length, 0);
    c = transfer(true, 7, 256, out); /* VERIFY with comparison: the last block differs */
    c.cdb[0] = 0x2f;
    c.cdb[1] = 2;
    assert_int_equal(send_sense(&c), 0);
    out[sizeof out - 1] ^= 1;
    assert_int_equal(send_sense(&c), 0xe);
    order(FAKE_LIMIT, 128 * 1024);
    wait_for_optimal(256);
    order(FAKE_LIMIT_LATE, 16384); /* the unit has the old limit yet */
    write_and_read(out, in, 256);
    stop();
}

/* ---- Changes ----------------------------------------------------------------------------------------------------- */

/* Without its namespace, unit 0 answers that it is not connected, so that the others can be found. */
static void test_no_first_unit(void **state)
{
    uint8_t data[36];
    ondk_wdk_scsi_command_t c = {
        .cdb_length = 6, .cdb = { 0x12, 0, 0, 0, 36 }, .data = data, .data_length = sizeof data
    };

    (void)state;
    start();
    order(FAKE_NAMESPACES, 3);
    wait_for_units(2);
    order(FAKE_NAMESPACES, 2);
    wait_for_units(1);
    assert_int_equal(send_sense(&c), 0);
    assert_int_equal(data[0], 0x20);
    c.cdb[0] = 0;
    c.data_length = 0;
    assert_int_equal(send_sense(&c), 5);
    assert_int_equal(c.sense[12], 0x25);
    c.lun = 1;
    assert_int_equal(send_sense(&c), 0);
    stop();
}

static void test_namespaces(void **state)
{
    uint8_t luns[32] = { 0 }, block[FAKE_BLOCK];
    ondk_wdk_scsi_command_t c;

    (void)state;
    start();
    wait_for_units(1);
    order(FAKE_NAMESPACES, 7);
    wait_for_units(3);
    c = (ondk_wdk_scsi_command_t){ .cdb_length = 12, .cdb = { 0xa0, [9] = 32 }, .data = luns, .data_length = 32 };
    assert_int_equal(send_sense(&c), 0);
    assert_int_equal(luns[3], 24);
    c = transfer(false, 0, 1, block);
    c.lun = 2;
    assert_int_equal(send_command(&c), OK);
    order(FAKE_NAMESPACES, 5); /* namespace 3 keeps its LUN */
    wait_for_units(2);
    c.lun = 2;
    assert_int_equal(send_command(&c), OK);
    c.lun = 1;
    assert_int_equal(send_command(&c), NO_DEVICE);
    order(FAKE_STATE, 3); /* the controller gives up */
    wait_for_units(0);
    c.lun = 0;
    assert_int_equal(send_command(&c), NO_DEVICE);
    stop();
}

/* The next command reports the new capacity, once; INQUIRY does not. */
static void test_capacity(void **state)
{
    uint8_t data[36];
    ondk_wdk_scsi_command_t c;

    (void)state;
    start();
    order(FAKE_GROW, FAKE_BLOCKS + 5);
    do {
        c = (ondk_wdk_scsi_command_t){
            .cdb_length = 6, .cdb = { 0x12, 0, 0, 0, 36 }, .data = data, .data_length = sizeof data
        };
        assert_int_equal(send_sense(&c), 0);
        c = (ondk_wdk_scsi_command_t){ .cdb_length = 10, .cdb = { 0x25 }, .data = data, .data_length = 8 };
    } while (!send_sense(&c));
    assert_int_equal(c.sense[2], 6);
    assert_int_equal(c.sense[12], 0x2a);
    assert_int_equal(c.sense[13], 9);
    c = (ondk_wdk_scsi_command_t){ .cdb_length = 10, .cdb = { 0x25 }, .data = data, .data_length = 8 };
    assert_int_equal(send_sense(&c), 0);
    assert_int_equal(data[2] << 8 | data[3], FAKE_BLOCKS + 4);
    stop();
}

/* While the controller is being connected again the disk stays, and is not ready. */
static void test_reconnecting(void **state)
{
    ondk_wdk_scsi_command_t c = { .cdb_length = 6 };

    (void)state;
    start();
    order(FAKE_STATE, NVME_IOCTL_RECONNECTING);
    while (send_sense(&c) == 0)
        ;
    assert_int_equal(c.sense[2], 2);
    assert_int_equal(c.sense[12], 4);
    assert_int_equal(units(), 1);
    order(FAKE_STATE, NVME_IOCTL_LIVE);
    while (send_sense(&c))
        ;
    stop();
}

/* ---- Resets ------------------------------------------------------------------------------------------------------ */

struct reader {
    pthread_t thread;
    uint8_t lun;
    uint32_t timeout;  /* only for write_parts; seconds */
    atomic_int answer; /* 1: none yet */
};

static void *read_block(void *context)
{
    uint8_t block[FAKE_BLOCK];
    ondk_wdk_scsi_command_t c = transfer(false, 0, 1, block);
    struct reader *r = context;

    c.lun = r->lun;
    atomic_store(&r->answer, send_command(&c));
    return NULL;
}

static void readers_start(struct reader *readers, unsigned n, uint8_t lun)
{
    for (unsigned i = 0; i < n; i++) {
        readers[i].lun = lun;
        atomic_store(&readers[i].answer, 1);
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_block, &readers[i]), 0);
    }
}

static void readers_join(struct reader *readers, unsigned n, int expected)
{
    for (unsigned i = 0; i < n; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(atomic_load(&readers[i].answer), expected);
    }
}

/* Waits until the controller has received that many requests and completed none of them, after FAKE_HOLD. */
static void wait_for_outstanding(uint32_t wanted)
{
    struct fake_state state;

    do {
        uint8_t block[FAKE_BLOCK];
        ondk_wdk_scsi_command_t c = transfer(false, FAKE_ORDER_LBA, 1, block);

        assert_int_equal(send_sense(&c), 0);
        memcpy(&state, block, sizeof state);
    } while (state.outstanding != wanted && !nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL));
    assert_int_equal(state.outstanding, wanted);
}

/* A request that takes too long: SRB_STATUS_BUS_RESET, by the reset of its unit. The next one is answered. */
static void expire_and_read(void)
{
    uint8_t block[FAKE_BLOCK];
    ondk_wdk_scsi_command_t c = transfer(false, 0, 1, block);

    order(FAKE_HOLD, 0);
    c.timeout = 1;
    assert_int_equal(send_command(&c), IO_ERROR);
    assert_int_equal(c.data_length, 0);
    order(FAKE_RELEASE, 0);
    c = transfer(false, 0, 1, block);
    assert_int_equal(send_command(&c), OK);
}

static void test_timeout(void **state)
{
    (void)state;
    start();
    expire_and_read();
    order(FAKE_SLOW_ABORTS, 0);
    expire_and_read();
    stop();
}

/* The reset of a unit ends no request of another one. */
static void test_reset_of_unit(void **state)
{
    struct reader other;

    (void)state;
    start();
    order(FAKE_NAMESPACES, 3);
    wait_for_units(2);
    order(FAKE_HOLD, 0);
    readers_start(&other, 1, 1);
    wait_for_outstanding(1);
    expire_and_read();
    assert_int_equal(atomic_load(&other.answer), 1);
    assert_int_equal(disconnect(0), OK);
    readers_join(&other, 1, NO_DEVICE);
    stop();
}

/* Another disk with the same number after a reconnect: it has a LUN of its own, and none of the old disk's requests. */
static void test_replaced(void **state)
{
    ondk_wdk_scsi_command_t c = { .cdb_length = 10, .cdb = { 0x25 } };
    uint8_t data[8];
    struct reader readers[8];

    (void)state;
    start();
    wait_for_units(1);
    order(FAKE_HOLD, 0);
    readers_start(readers, 8, 0);
    wait_for_outstanding(8);
    order(FAKE_REPLACE, 1);
    for (int i = 0; i < 8; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_true(readers[i].answer == IO_ERROR || readers[i].answer == NO_DEVICE);
    }
    c.data = data;
    do {
        c.data_length = sizeof data;
        c.lun = 1;
    } while (send_command(&c) == NO_DEVICE);
    assert_int_equal(c.scsi_status, 0);
    c = (ondk_wdk_scsi_command_t){ .cdb_length = 6 };
    assert_int_equal(send_sense(&c), 5);
    assert_int_equal(c.sense[12], 0x25);
    wait_for_units(1);
    stop();
}

/* A write in parts, whose first part succeeds after its abort. */
static void *write_parts(void *context)
{
    static uint8_t out[256 * FAKE_BLOCK];
    struct reader *w = context;
    ondk_wdk_scsi_command_t c = transfer(true, 0, 256, out);

    memset(out, 0x77, sizeof out);
    c.timeout = w->timeout;
    atomic_store(&w->answer, send_command(&c) == OK && !c.scsi_status ? OK : IO_ERROR);
    return NULL;
}

/* The later parts of a write reach neither a disk after the reset of unit or bus, nor a disk that has replaced it. */
static void test_parts_after_abort(void **state)
{
    static const enum fake_action actions[] = { FAKE_RELEASE, FAKE_RESET_BUS, FAKE_REPLACE };
    uint8_t block[FAKE_BLOCK]; /* of the last part */

    (void)state;
    for (int i = 0; i < 3; i++) {
        bool replaced = actions[i] == FAKE_REPLACE, expires = i == 0; /* the expired command's unit is reset */
        struct reader writer = { .timeout = expires ? 1 : NEVER };
        ondk_wdk_scsi_command_t c = transfer(false, 255, 1, block);

        start();
        order(FAKE_LIMIT, 16384);
        wait_for_optimal(32);
        order(FAKE_LATE_ABORTS, 0);
        order(FAKE_HOLD, 0);
        assert_int_equal(pthread_create(&writer.thread, NULL, write_parts, &writer), 0);
        if (!expires) {
            wait_for_outstanding(1); /* the first part */
            order(actions[i], 1);
        }
        readers_join(&writer, 1, IO_ERROR);
        c.lun = replaced;
        while (send_command(&c) == NO_DEVICE)
            ;
        assert_int_equal(c.scsi_status, 0);
        assert_int_equal(block[0], 0);
        stop();
    }
}

/* ---- Removal ----------------------------------------------------------------------------------------------------- */

/* Requests that wait in the controller end when it is disconnected, each with the status of a removed device. */
static void test_disconnect_outstanding(void **state)
{
    struct reader readers[16];

    (void)state;
    start();
    order(FAKE_HOLD, 0);
    readers_start(readers, 16, 0);
    wait_for_outstanding(16);
    assert_int_equal(disconnect(0), OK);
    readers_join(readers, 16, NO_DEVICE);
    wait_for_units(0);
    stop();
}

#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 15 };
#else
enum { ROUNDS = 50 };
#endif

/* Each round ends in another way: some readers are answered, some are reset, some find no disk. */
static void test_disconnect_running(void **state)
{
    (void)state;
    start();
    for (int round = 0; round < ROUNDS; round++) {
        struct reader readers[4];
        uint32_t target;

        readers_start(readers, 4, 0);
        assert_int_equal(disconnect(0), OK);
        for (int i = 0; i < 4; i++) {
            pthread_join(readers[i].thread, NULL);
            assert_true(readers[i].answer == OK || readers[i].answer == NO_DEVICE);
        }
        assert_int_equal(connect_to("127.0.0.1", "nqn.fake", &target), OK);
        assert_int_equal(target, 0);
    }
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_unmap_and_zero),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_no_first_unit),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_reset_of_unit),
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_reconnecting),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_parts_after_abort),
        cmocka_unit_test(test_disconnect_outstanding),
        cmocka_unit_test(test_disconnect_running),
    };

    return forked_run(tests, sizeof tests / sizeof *tests, 4);
}
