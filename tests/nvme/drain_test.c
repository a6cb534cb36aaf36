/* SPDX-License-Identifier: MIT */
/*
 * The target's protocol: what a controller waits for while disk operations run, operations that are not executed any
 * more, and the steps of operations that zero much.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nvme/rig.h"

#define ENABLE 0x00460001
#define STEP (8u << 20)
#define OTHER_NQN "nqn.2026-11.example:other"

static struct rig rig;

static int setup(void **state)
{
    (void)state;
    rig_init(&rig, true);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_fini(&rig);
    return 0;
}

static void set_cc(unsigned index, uint32_t cc)
{
    struct nvme_command sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, cc);

    assert_int_equal(rig_run(&rig, index, &sqe).completion.status, 0);
}

static uint32_t get_csts(unsigned index)
{
    struct nvme_command sqe = rig_property_get(NVME_PROPERTY_CSTS, NVME_PROPERTY_SIZE_4);
    struct rig_outcome outcome = rig_run(&rig, index, &sqe);

    assert_int_equal(outcome.completion.status, 0);
    return outcome.completion.result;
}

/* Connects an admin queue of the host with the name and the first byte of the identifier. Enables the controller. */
static struct target_controller *connect_as(unsigned index, const char *host_nqn, uint8_t id)
{
    struct nvme_command sqe = rig_connect(&rig, 0, NVME_CNTLID_DYNAMIC, RIG_NQN);
    struct nvme_connect_data *data = (struct nvme_connect_data *)rig.host;

    memset(data->host_nqn, 0, sizeof data->host_nqn);
    strcpy((char *)data->host_nqn, host_nqn);
    data->host_id[0] = id;
    assert_int_equal(rig_queue(&rig, index, 0, 32), NVME_RDMA_OK);
    assert_int_equal(rig_run(&rig, index, &sqe).completion.status, 0);
    set_cc(index, ENABLE);
    return rig.queues[index].controller;
}

/* Sends a command, and carries out its actions until it needs the disk. */
static struct rig_running *begin(unsigned queue, const struct nvme_command *sqe)
{
    struct rig_running *running = rig_begin(&rig, queue, sqe, sizeof *sqe);

    while (running->command.action != TARGET_DISK)
        assert_true(rig_step(&rig, running));
    return running;
}

/* Begins a write that runs until rig_free. */
static struct rig_running *begin_write(unsigned queue, uint64_t lba)
{
    struct nvme_command sqe = rig_io(NVME_IO_WRITE, 1, lba, 1);
    struct rig_running *running = begin(queue, &sqe);

    assert_true(target_disk_begin(&running->command));
    return running;
}

/* The reset of a controller is complete when its writes have ended. The host may enable it again before. */
static void test_reset(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct rig_running *write;

    (void)state;
    for (int is_early = 0; is_early < 2; is_early++) {
        rig_io_queue(&rig, 1, controller, 1, 32);
        write = begin_write(1, 0);
        set_cc(0, ENABLE & ~1u);
        assert_int_equal(get_csts(0), NVME_CSTS_READY);
        assert_true(target_controller_waits(controller));
        if (is_early) {
            set_cc(0, ENABLE);
            assert_int_equal(get_csts(0), 0);
        }
        rig_free(write);
        assert_int_equal(get_csts(0), is_early ? NVME_CSTS_READY : 0);
        assert_false(target_controller_waits(controller));
        rig_close(&rig, 1);
        set_cc(0, ENABLE);
        assert_int_equal(get_csts(0), NVME_CSTS_READY);
    }
}

/* A write that was requested but has not begun is not executed after a reset, so the reset does not wait for it. */
static void test_requested_write(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct nvme_command sqe = rig_io(NVME_IO_WRITE, 1, 0, 1);
    struct rig_running *write;

    (void)state;
    rig_io_queue(&rig, 1, controller, 1, 32);
    write = begin(1, &sqe);
    set_cc(0, ENABLE & ~1u);
    assert_int_equal(get_csts(0), 0);
    assert_false(target_disk_begin(&write->command));
    assert_int_equal(target_command_next(&write->command, NVME_ABORT_REQUESTED), TARGET_DISCONNECT);
    rig_free(write);
}

/*
 * The next controller of a host waits for the writes of the lost one, and accepts no I/O queue until then. A reader,
 * another host and a discovery controller do not wait. The lost controller's table entry is free when the last write
 * has ended.
 */
static void test_successor(void **state)
{
    struct target_controller *lost = connect_as(0, RIG_HOST_NQN, 0xab), *controller;
    struct nvme_command sqe = rig_io(NVME_IO_READ, 1, 0, 1);
    struct rig_running *writes[2], *read;

    (void)state;
    rig_io_queue(&rig, 1, lost, 1, 32);
    for (int i = 0; i < 2; i++)
        writes[i] = begin_write(1, 0);
    read = begin(1, &sqe);
    rig_close(&rig, 0);
    assert_true(lost->in_use);
    controller = connect_as(2, RIG_HOST_NQN, 2); /* the same name */
    assert_int_equal(get_csts(2), 0);
    connect_as(3, OTHER_NQN, 3);
    assert_int_equal(get_csts(3), NVME_CSTS_READY);
    assert_true(rig_admin(&rig, 5, NVME_DISCOVERY_NQN)->discovery);
    assert_int_equal(get_csts(5), NVME_CSTS_READY);
    rig_free(writes[0]);
    assert_int_equal(get_csts(2), 0);
    sqe = rig_connect(&rig, 1, controller->cntlid, RIG_NQN);
    ((struct nvme_connect_data *)rig.host)->host_id[0] = 2;
    assert_int_equal(rig_queue(&rig, 4, 1, 32), NVME_RDMA_OK);
    assert_int_equal(rig_run(&rig, 4, &sqe).status, NVME_COMMAND_SEQUENCE_ERROR);
    rig_close(&rig, 3);
    connect_as(3, OTHER_NQN, 0xab); /* the same identifier */
    assert_int_equal(get_csts(3), 0);
    rig_free(writes[1]);
    assert_false(lost->in_use);
    assert_int_equal(get_csts(2), NVME_CSTS_READY);
    assert_int_equal(get_csts(3), NVME_CSTS_READY);
    rig_free(read);
}

/* A second controller of a host waits for the writes of the first one that were requested before, and for no others. */
static void test_second_path(void **state)
{
    struct target_controller *first = rig_admin(&rig, 0, RIG_NQN);
    struct rig_running *before, *after;

    (void)state;
    rig_io_queue(&rig, 1, first, 1, 32);
    before = begin_write(1, 0);
    rig_admin(&rig, 2, RIG_NQN);
    after = begin_write(1, 8);
    assert_int_equal(get_csts(2), 0);
    assert_int_equal(get_csts(0), NVME_CSTS_READY);
    assert_int_equal(target_command_next(&before->command, NVME_SUCCESS), TARGET_COMPLETE);
    assert_int_equal(get_csts(2), NVME_CSTS_READY);
    rig_free(before);
    rig_free(after);
}

/* A second controller of a host waits for all steps of a command that began before, also after an Abort. */
static void test_second_path_steps(void **state)
{
    struct nvme_command abort = rig_command(NVME_ADMIN_ABORT, 0), sqe = rig_io(NVME_IO_WRITE_ZEROES, 1, 0, 65536);
    struct rig_running *zeroes;

    (void)state;
    rig.namespaces[0].blocks = UINT64_C(1) << 40;
    rig_io_queue(&rig, 1, rig_admin(&rig, 0, RIG_NQN), 1, 32);
    sqe.cid = 7;
    abort.cdw10 = 7 << 16 | 1;
    for (int n_steps = 2; n_steps <= 4; n_steps += 2) {
        zeroes = begin(1, &sqe);
        assert_true(target_disk_begin(&zeroes->command));
        rig_admin(&rig, 2, RIG_NQN);
        for (int step = 1; step < n_steps; step++) {
            assert_int_equal(get_csts(2), 0);
            assert_int_equal(target_command_next(&zeroes->command, NVME_SUCCESS), TARGET_DISK);
            assert_int_equal(get_csts(2), 0);
            assert_true(target_disk_begin(&zeroes->command));
        }
        if (n_steps < 4)
            assert_int_equal(rig_run(&rig, 0, &abort).completion.result, 1);
        assert_int_equal(get_csts(2), 0);
        assert_int_equal(target_command_next(&zeroes->command, NVME_SUCCESS), TARGET_COMPLETE);
        assert_int_equal(get_csts(2), NVME_CSTS_READY);
        rig_free(zeroes);
        rig_close(&rig, 2);
    }
}

/* A shutdown is complete when the writes have ended. */
static void test_shutdown(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct rig_running *write;

    (void)state;
    rig_io_queue(&rig, 1, controller, 1, 32);
    write = begin_write(1, 0);
    set_cc(0, ENABLE | NVME_CC_SHUTDOWN_NORMAL);
    assert_int_equal(get_csts(0), NVME_CSTS_READY | NVME_CSTS_SHUTDOWN_RUNS);
    assert_int_equal(target_command_next(&write->command, NVME_SUCCESS), TARGET_COMPLETE);
    assert_int_equal(get_csts(0), NVME_CSTS_READY | NVME_CSTS_SHUTDOWN_DONE);
    rig_free(write);
}

/* ---- Steps and Abort --------------------------------------------------------------------------------------------- */

/* Steps through one range, and checks that the operations cover it in order. */
static void check_steps(struct rig_running *running, uint64_t begin, uint64_t end, bool fua)
{
    struct target_command *command = &running->command;
    uint64_t at = begin;

    while (at < end) {
        assert_int_equal(command->action, TARGET_DISK);
        assert_int_equal(command->disk.offset, at);
        assert_int_equal(command->disk.length, end - at < STEP ? end - at : STEP);
        at += command->disk.length;
        assert_int_equal(command->disk.fua, fua && at == end);
        assert_true(target_disk_begin(command));
        target_command_next(command, NVME_SUCCESS);
    }
}

static void begin_large(void)
{
    rig.namespaces[0].blocks = UINT64_C(1) << 40;
    rig_io_queue(&rig, 1, rig_admin(&rig, 0, RIG_NQN), 1, 32);
}

static void test_write_zeroes_steps(void **state)
{
    struct nvme_command sqe = rig_io(NVME_IO_WRITE_ZEROES, 1, 1000, 65536);
    struct rig_running *running;

    (void)state;
    begin_large();
    for (unsigned blocks = 65536; blocks >= 16384; blocks -= 10000) {
        sqe.io.blocks = (uint16_t)(blocks - 1);
        sqe.io.control = blocks % 3 ? NVME_IO_FUA : 0;
        running = begin(1, &sqe);
        check_steps(running, 1000 * 512, (1000 + blocks) * 512, blocks % 3 != 0);
        assert_int_equal(running->command.action, TARGET_COMPLETE);
        assert_int_equal(running->command.completion.status, 0);
        rig_free(running);
    }
}

static void test_deallocate_steps(void **state)
{
    const struct nvme_dataset_range ranges[] = { { 0, 50000, 7 }, { 0, 0, 3 }, { 0, 16384, 1 << 20 }, { 0, 1, 9 } };
    struct nvme_command sqe = rig_command(NVME_IO_DATASET_MANAGEMENT, 1);
    struct rig_running *running;

    (void)state;
    begin_large();
    sqe.cdw10 = 3;
    sqe.cdw11 = NVME_DATASET_DEALLOCATE;
    rig_set_keyed(&sqe, 0, sizeof ranges);
    memcpy(rig.host, ranges, sizeof ranges);
    running = begin(1, &sqe);
    for (int i = 0; i < 4; i++)
        check_steps(running, ranges[i].lba * 512, (ranges[i].lba + ranges[i].blocks) * 512, false);
    assert_int_equal(running->command.action, TARGET_COMPLETE);
    assert_int_equal(running->command.completion.status, 0);
    rig_free(running);
}

/* An Abort stops an operation before its next step, and a write before its only step. A running step ends normally. */
static void test_abort(void **state)
{
    struct nvme_command abort = rig_command(NVME_ADMIN_ABORT, 0), sqe = rig_io(NVME_IO_WRITE_ZEROES, 1, 0, 65536);
    struct rig_running *zeroes, *write;

    (void)state;
    begin_large();
    sqe.cid = 7;
    zeroes = begin(1, &sqe);
    assert_true(target_disk_begin(&zeroes->command));
    sqe = rig_io(NVME_IO_WRITE, 1, 0, 1);
    sqe.cid = 8;
    write = begin(1, &sqe);
    for (uint32_t cid = 7; cid <= 9; cid++) { /* there is no command 9 */
        abort.cdw10 = cid << 16 | 1;
        assert_int_equal(rig_run(&rig, 0, &abort).completion.result, 1);
    }
    assert_int_equal(target_command_next(&zeroes->command, NVME_SUCCESS), TARGET_COMPLETE);
    assert_int_equal(zeroes->command.completion.status >> 1, NVME_ABORT_REQUESTED);
    assert_false(target_disk_begin(&write->command));
    assert_int_equal(target_command_next(&write->command, NVME_ABORT_REQUESTED), TARGET_COMPLETE);
    rig_free(zeroes);
    rig_free(write);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reset),
        TEST(test_requested_write),
        TEST(test_successor),
        TEST(test_second_path),
        TEST(test_second_path_steps),
        TEST(test_shutdown),
        TEST(test_write_zeroes_steps),
        TEST(test_deallocate_steps),
        TEST(test_abort),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
