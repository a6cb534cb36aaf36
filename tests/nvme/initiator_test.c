/* SPDX-License-Identifier: MIT */
/*
 * initiator_test TARGET: the driver of samples/nvme-initiator against the program nvme-target, over the loopback
 * interface: data at several queue depths, a target that is killed, suspended and started again, and removal with
 * requests outstanding.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "initiator_disk.h"

#include <signal.h>

#include "forked.h"

static void test_depths(void **state)
{
    (void)state;
    target_start("--memory", "64M");
    driver_start(true, 60);
    wait_for_units(1);
    for (unsigned depth = 1; depth <= MAX_THREADS; depth *= depth == 1 ? 2 : 4) {
        workers_start(depth, 64 * 1024, 128 / LESS / depth + 1);
        workers_join(depth, OK);
    }
    workers_start(16, BLOCK, 50 / LESS); /* in the command's capsule */
    workers_join(16, OK);
    workers_start(4, 128 * 1024, 20 / LESS);
    workers_join(4, OK);
    assert_int_equal(list_one().Reconnects, 0);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

static void test_commands(void **state)
{
    static uint8_t data[8 * BLOCK], zero[8 * BLOCK];
    uint8_t unmap[24] = { 0, 22, 0, 16, [15] = 2, [19] = 4 };
    ondk_wdk_scsi_command_t c;

    (void)state;
    target_start("--memory", "64M");
    driver_start(true, 60);
    wait_for_units(1);
    memset(data, 0x5a, sizeof data);
    assert_int_equal(transfer(true, 0, 0, data, sizeof data), OK);
    c = (ondk_wdk_scsi_command_t){ .cdb_length = 10, .cdb = { 0x35 } }; /* SYNCHRONIZE CACHE */
    assert_int_equal(disk_send(&c), OK);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x42, [8] = sizeof unmap }, .out = true, .data = unmap, .data_length = sizeof unmap
    };
    assert_int_equal(disk_send(&c), OK);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x41, [8] = 2 }, .out = true, .data = zero, .data_length = BLOCK
    };
    assert_int_equal(disk_send(&c), OK); /* WRITE SAME: blocks 0 and 1 */
    assert_int_equal(transfer(false, 0, 0, data, sizeof data), OK);
    assert_memory_equal(data, zero, 2 * BLOCK);
    assert_int_equal(data[7 * BLOCK], 0x5a);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x2f, 2, [8] = 2 }, .out = true, .data = zero, .data_length = 2 * BLOCK
    };
    assert_int_equal(disk_send(&c), OK); /* VERIFY with comparison */
    c.data = data + 6 * BLOCK;
    assert_int_equal(disk_send(&c), 0xe);
    assert_int_equal(transfer(false, 0, DISK / BLOCK, data, BLOCK), 5);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* The adapter registers less than one command of the disk transfers: the driver sends several NVMe commands. */
static void test_parts(void **state)
{
    (void)state;
    target_start("--memory", "64M");
    setenv("ONDK_PROFILE", "shallow", 1);
    driver_start(true, 60);
    wait_for_units(1);
    assert_true(list_one().MaxTransfer < 128 * 1024);
    workers_start(4, 128 * 1024, 20 / LESS);
    workers_join(4, OK);
    workers_start(3, 62 * 1024, 20 / LESS);
    workers_join(3, OK);
    assert_int_equal(list_one().Reconnects, 0);
    driver_stop();
    unsetenv("ONDK_PROFILE");
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

static void test_controls(void **state)
{
    NVME_IOCTL_CONNECTED connected = { 9 };
    NVME_IOCTL_LOG log = { 0 };
    NVME_IOCTL_CONTROLLER c;
    uint8_t block[BLOCK];

    (void)state;
    driver_start(false, 60);
    assert_int_equal(control(NVME_IOCTL_CONNECT, ADDRESS, PROCESS_NQN, &connected, sizeof connected), REFUSED);
    assert_int_equal(control(NVME_IOCTL_DISCOVER, ADDRESS, "", &log, sizeof log), REFUSED);
    target_start("--memory", "64M");
    assert_int_equal(
        control(NVME_IOCTL_CONNECT, ADDRESS, "nqn.2026-11.org.example:other", &connected, sizeof connected),
        NO_SUCH_DEVICE);
    assert_int_equal(control(NVME_IOCTL_DISCOVER, ADDRESS, "", &log, sizeof log), OK);
    assert_true(log.Count >= 1);
    assert_string_equal(log.Entries[0].Address, ADDRESS);
    assert_string_equal(log.Entries[0].Subsystem, PROCESS_NQN);
    assert_int_equal(
        control(NVME_IOCTL_CONNECT, log.Entries[0].Address, log.Entries[0].Subsystem, &connected, sizeof connected),
        OK);
    assert_int_equal(connected.TargetId, 0);
    wait_for_units(1);
    c = list_one();
    assert_int_equal(c.State, NVME_IOCTL_LIVE);
    assert_string_equal(c.Address, ADDRESS);
    assert_string_equal(c.Subsystem, PROCESS_NQN);
    assert_int_equal(c.Namespaces, 1);
    assert_true(c.Queues >= 1 && c.QueueDepth >= 1 && c.MaxTransfer >= 4096 && *c.Model);
    assert_int_equal(transfer(false, 0, 0, block, sizeof block), OK);
    assert_int_equal(control(NVME_IOCTL_DISCONNECT, "", "", NULL, 0), OK);
    wait_for_units(0);
    assert_int_equal(transfer(false, 0, 0, block, sizeof block), NO_DEVICE);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

static void test_read_only(void **state)
{
    char path[] = "/tmp/initiator_test.XXXXXX";
    int file = mkstemp(path);
    const char *arguments[] = { "--memory", "1M", "--read-only", path, NULL };
    uint8_t block[BLOCK] = { 0 };

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, MIB), 0);
    assert_true(process_start(&target, target_program, arguments));
    driver_start(true, 60);
    wait_for_units(2);
    assert_int_equal(transfer(true, 0, 0, block, sizeof block), OK);
    assert_int_equal(transfer(false, 1, 0, block, sizeof block), OK);
    assert_int_equal(transfer(true, 1, 0, block, sizeof block), 7);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
    close(file);
    unlink(path);
}

/* Blocks of 4096 bytes: capacity, a transfer at the end of the disk, and one that is not a multiple of them. */
static void test_large_blocks(void **state)
{
    const char *arguments[] = { "--block", "4096", "--memory", "1M", NULL };
    uint8_t capacity[8], out[4096], in[4096] = { 0 };
    ondk_wdk_scsi_command_t c = { .cdb_length = 10, .cdb = { 0x25 }, .data = capacity, .data_length = sizeof capacity };

    (void)state;
    memset(out, 0x3c, sizeof out);
    assert_true(process_start(&target, target_program, arguments));
    driver_start(true, 60);
    wait_for_units(1);
    assert_int_equal(disk_send(&c), OK);
    assert_memory_equal(capacity, ((uint8_t[]){ 0, 0, 0, 255, 0, 0, 16, 0 }), 8);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x2a, [5] = 255, [8] = 1 }, .out = true, .data = out, .data_length = sizeof out
    };
    assert_int_equal(disk_send(&c), OK);
    c.cdb[0] = 0x28;
    c.out = false;
    c.data = in;
    assert_int_equal(disk_send(&c), OK);
    assert_memory_equal(in, out, sizeof in);
    c.data_length = 512;
    assert_int_equal(disk_send(&c), 5);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/*
 * A target whose connections stay unanswered delays the start for CommandSeconds, and a connect with retry not at all.
 */
static void test_silent_target(void **state)
{
    NVME_IOCTL_CONNECTED connected = { 9 };

    (void)state;
    target_start("--memory", "64M");
    target_suspend();
    setenv("ONDK_REPLY_MS", "600000", 1); /* so the first attempt does not end meanwhile on a slow machine */
    set_number("CommandSeconds", 1);
    driver_start(true, 60);
    set_number("CommandSeconds", 30);
    assert_int_equal(list_one().State, NVME_IOCTL_CONNECTING);
    assert_int_equal(*list_one().LastReason, 0); /* the first attempt has not ended */
    assert_int_equal(control(NVME_IOCTL_DISCONNECT, "", "", NULL, 0), OK);
    assert_int_equal(
        control_with_flags(NVME_IOCTL_CONNECT, NVME_IOCTL_RETRY, ADDRESS, PROCESS_NQN, &connected, sizeof connected),
        OK);
    assert_int_equal(connected.TargetId, 0);
    assert_int_equal(list_one().State, NVME_IOCTL_CONNECTING);
    assert_int_equal(*list_one().LastReason, 0);
    kill(target.pid, SIGCONT);
    wait_for_units(1);
    driver_stop();
    unsetenv("ONDK_REPLY_MS");
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* The target is not there at first: its disk appears when it is. */
static void test_late_target(void **state)
{
    (void)state;
    driver_start(true, 60);
    assert_int_equal(units(), 0);
    assert_int_equal(list_one().State, NVME_IOCTL_CONNECTING);
    target_start("--memory", "64M");
    wait_for_units(1);
    workers_start(1, 4096, 4);
    workers_join(1, OK);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* The target is killed under load, twice. The writers do not notice, and no write that has succeeded is lost. */
static void test_killed(void **state)
{
    char path[] = "/tmp/initiator_test.XXXXXX";
    int file = mkstemp(path);

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, DISK), 0);
    target_start("--file", path);
    driver_start(true, 60);
    wait_for_units(1);
    workers_start(32, 16 * 1024, 120 / LESS);
    for (int i = 0; i < 2; i++) {
        workers_wait_for_progress(32, 20 / LESS);
        target_kill();
        nap(300);
        target_start("--file", path);
        while (list_one().Reconnects < (uint32_t)i + 1) /* even if the workers have ended before */
            nap(10);
    }
    workers_join(32, OK);
    assert_int_equal(list_one().Reconnects, 2);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
    close(file);
    unlink(path);
}

/* The target stays away for longer than IoFailSeconds: requests fail. When it is back, the disk works again. */
static void test_gone(void **state)
{
    ondk_wdk_scsi_command_t ready = { .cdb_length = 6 };
    NVME_IOCTL_CONTROLLER c;
    uint8_t block[BLOCK];
    char path[] = "/tmp/initiator_test.XXXXXX";
    int file = mkstemp(path);

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, DISK), 0);
    target_start("--file", path); /* the same disk after the restart */
    driver_start(true, 1);
    wait_for_units(1);
    workers_start(8, 4096, 100000000);
    workers_wait_for_progress(8, 20);
    target_kill();
    workers_join(8, IO_TIMEOUT);
    c = list_one();
    assert_int_equal(c.State, NVME_IOCTL_RECONNECTING);
    assert_true(*c.LastReason);
    assert_int_equal(units(), 1);
    assert_int_equal(disk_send(&ready), 2); /* not ready */
    target_start("--file", path);
    wait_for_state(NVME_IOCTL_LIVE);
    assert_int_equal(transfer(false, 0, 0, block, sizeof block), OK);
    while (disk_send(&ready) != OK)
        nap(10);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
    close(file);
    unlink(path);
}

/* The target does not run any more, but its connections stay: a command that takes too long is aborted. */
static void test_stopped(void **state)
{
    uint8_t block[BLOCK];
    ondk_wdk_scsi_command_t c = {
        .cdb_length = 10, .cdb = { 0x28, [8] = 1 }, .data = block, .data_length = sizeof block, .timeout = 1
    };

    (void)state;
    target_start("--memory", "64M");
    driver_start(true, 60);
    wait_for_units(1);
    target_suspend();
    assert_int_not_equal(disk_send(&c), OK);
    kill(target.pid, SIGCONT);
    assert_int_equal(transfer(false, 0, 0, block, sizeof block), OK);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* A controller is disconnected while its target has requests, and answers none of them. */
static void test_disconnect_outstanding(void **state)
{
    (void)state;
    target_start("--memory", "64M");
    set_number("IoQueues", 1); /* the close of each queue waits for the target */
    driver_start(true, 60);
    set_number("IoQueues", 4);
    wait_for_units(1);
    workers_start(32, 16 * 1024, 100000000);
    workers_wait_for_progress(32, 3);
    target_suspend();
    assert_int_equal(control(NVME_IOCTL_DISCONNECT, "", "", NULL, 0), OK);
    workers_join(32, NO_DEVICE);
    kill(target.pid, SIGCONT);
    wait_for_units(0);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* The driver is unloaded while it tries to connect again. */
static void test_unload_reconnecting(void **state)
{
    (void)state;
    target_start("--memory", "64M");
    driver_start(true, 60);
    wait_for_units(1);
    workers_start(4, 4096, 10);
    workers_join(4, OK);
    target_kill();
    wait_for_state(NVME_IOCTL_RECONNECTING);
    driver_stop();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depths),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_large_blocks),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_late_target),
        cmocka_unit_test(test_silent_target),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_disconnect_outstanding),
        cmocka_unit_test(test_unload_reconnecting),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: initiator_test TARGET [TEST]\n");
        return 2;
    }
    target_program = argv[1];
    if (argc == 2)
        return forked_run(tests, sizeof tests / sizeof *tests, 4);
    cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests_name("nvme.initiator", tests, NULL, NULL);
}
