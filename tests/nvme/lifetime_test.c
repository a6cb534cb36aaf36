/* SPDX-License-Identifier: MIT */
/* The target's protocol: configuration, connection requests, keep-alive, and how queues and controllers end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nvme/rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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

/* ---- Configuration ---- */

static void break_nqn(struct target_subsystem *s)
{
    s->nqn[0] = 0;
}
static void break_nqn_end(struct target_subsystem *s)
{
    memset(s->nqn, 'a', sizeof s->nqn);
}
static void break_nqn_discovery(struct target_subsystem *s)
{
    strcpy(s->nqn, NVME_DISCOVERY_NQN);
}
static void break_serial(struct target_subsystem *s)
{
    memset(s->serial, 'a', sizeof s->serial);
}
static void break_model(struct target_subsystem *s)
{
    s->model[0] = '\n';
}
static void break_firmware(struct target_subsystem *s)
{
    s->firmware[0] = 0;
}
static void break_order(struct target_subsystem *s)
{
    s->namespaces[1].nsid = 1;
}
static void break_nsid(struct target_subsystem *s)
{
    s->namespaces[0].nsid = 0;
}
static void break_nsid_all(struct target_subsystem *s)
{
    s->namespaces[2].nsid = NVME_ALL_NAMESPACES;
}
static void break_shift(struct target_subsystem *s)
{
    s->namespaces[0].block_shift = 13;
}
static void break_shift_small(struct target_subsystem *s)
{
    s->namespaces[0].block_shift = 8;
}
static void break_blocks(struct target_subsystem *s)
{
    s->namespaces[0].blocks = ((uint64_t)INT64_MAX >> 9) + 1;
}
static void break_empty(struct target_subsystem *s)
{
    s->namespaces[0].blocks = 0;
}
static void break_identifier(struct target_subsystem *s)
{
    memset(s->namespaces[0].uuid, 0, 16);
}
static void break_n_namespaces(struct target_subsystem *s)
{
    s->n_namespaces = TARGET_MAX_NAMESPACES + 1;
}
static void break_controllers(struct target_subsystem *s)
{
    s->max_controllers = 0;
}
static void break_io_queues(struct target_subsystem *s)
{
    s->max_io_queues = TARGET_MAX_IO_QUEUES + 1;
}
static void break_entries(struct target_subsystem *s)
{
    s->max_entries = 1;
}
static void break_transfer(struct target_subsystem *s)
{
    s->max_transfer = 12288;
}
static void break_transfer_small(struct target_subsystem *s)
{
    s->max_transfer = 4096;
}
static void break_capsule(struct target_subsystem *s)
{
    s->max_capsule_data = 8;
}
static void break_hosts(struct target_subsystem *s)
{
    static const char *const hosts[] = { "nqn.host", "" };

    s->hosts = hosts;
    s->n_hosts = 2;
}
static void break_port(struct target_subsystem *s)
{
    rig.ports[0].address[0] = 0;
    (void)s;
}

static void test_configuration(void **state)
{
    static void (*const breaks[])(struct target_subsystem *) = {
        break_nqn,      break_nqn_end,        break_nqn_discovery, break_serial,      break_model,       break_firmware,
        break_order,    break_nsid,           break_nsid_all,      break_shift,       break_shift_small, break_blocks,
        break_empty,    break_identifier,     break_n_namespaces,  break_controllers, break_io_queues,   break_entries,
        break_transfer, break_transfer_small, break_capsule,       break_port,        break_hosts,
    };

    (void)state;
    for (size_t i = 0; i < COUNT(breaks); i++) {
        rig_init(&rig, true);
        breaks[i](&rig.subsystem);
        if (!target_subsystem_init(&rig.subsystem))
            fail_msg("fault %zu is not noticed", i);
    }
    rig_init(&rig, true);
}

/* ---- Connection requests ---- */

static void test_queue_refused(void **state)
{
    static const struct {
        uint16_t qid;
        uint32_t commands;
        enum nvme_rdma_status want;
    } cases[] = {
        { 0, 32, NVME_RDMA_OK },           { 0, 33, NVME_RDMA_INVALID_HSQSIZE },  { 4, 128, NVME_RDMA_OK },
        { 5, 128, NVME_RDMA_INVALID_QID }, { 4, 129, NVME_RDMA_INVALID_HSQSIZE }, { 65535, 32, NVME_RDMA_INVALID_QID },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rig.queues[0].context = &rig;
        assert_int_equal(rig_queue(&rig, 0, cases[i].qid, cases[i].commands), cases[i].want);
        assert_ptr_equal(rig.queues[0].context, &rig);
        if (cases[i].want == NVME_RDMA_OK)
            assert_int_equal(rig.queues[0].commands, cases[i].commands);
    }
    assert_int_equal(target_queue_init(&rig.queues[0], &rig.subsystem, "", 0, 0), NVME_RDMA_INVALID_LENGTH);
}

/* ---- Time ---- */

static void test_keep_alive(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct nvme_command keep_alive = rig_command(NVME_ADMIN_KEEP_ALIVE, 0), sqe;

    (void)state;
    rig_io_queue(&rig, 1, controller, 1, 32);
    rig.now_ms += 9000;
    assert_false(target_controller_has_expired(controller, rig.now_ms));
    assert_int_equal(rig_run(&rig, 0, &keep_alive).completion.status, 0);
    assert_false(target_controller_has_expired(controller, rig.now_ms + 10000));
    assert_true(target_controller_has_expired(controller, rig.now_ms + 10001));
    /* Traffic on an I/O queue counts. */
    rig.now_ms += 9000;
    sqe = rig_io(NVME_IO_READ, 1, 0, 1);
    assert_int_equal(rig_run(&rig, 1, &sqe).completion.status, 0);
    assert_false(target_controller_has_expired(controller, rig.now_ms + 10000));
    /* The host changes the timeout; 0 ends it. */
    sqe = rig_command(NVME_ADMIN_SET_FEATURES, 0);
    sqe.cdw10 = NVME_FEATURE_KEEP_ALIVE;
    sqe.cdw11 = 1001;
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.result, 2000);
    assert_true(target_controller_has_expired(controller, rig.now_ms + 4001));
    sqe.cdw11 = UINT32_MAX;
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.result, UINT32_MAX);
    assert_false(target_controller_has_expired(controller, rig.now_ms + UINT32_MAX));
    sqe.cdw11 = 0;
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.result, 0);
    assert_false(target_controller_has_expired(controller, UINT64_MAX));
    assert_int_equal(rig_run(&rig, 0, &keep_alive).status, NVME_KEEP_ALIVE_INVALID);
}

static void test_discovery_expires(void **state)
{
    struct nvme_command sqe = rig_connect(&rig, 0, NVME_CNTLID_DYNAMIC, NVME_DISCOVERY_NQN);
    struct target_controller *controller;

    (void)state;
    sqe.connect.kato = 0;
    assert_int_equal(rig_queue(&rig, 0, 0, 32), NVME_RDMA_OK);
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.status, 0);
    controller = rig.queues[0].controller;
    assert_false(target_controller_has_expired(controller, rig.now_ms + TARGET_DISCOVERY_MS));
    assert_true(target_controller_has_expired(controller, rig.now_ms + TARGET_DISCOVERY_MS + 1));
}

static void test_queue_expires(void **state)
{
    (void)state;
    assert_int_equal(rig_queue(&rig, 0, 0, 32), NVME_RDMA_OK);
    assert_false(target_queue_has_expired(&rig.queues[0], rig.now_ms + TARGET_CONNECT_MS));
    assert_false(target_queue_has_expired(&rig.queues[0], 0));
    assert_true(target_queue_has_expired(&rig.queues[0], rig.now_ms + TARGET_CONNECT_MS + 1));
    rig_admin(&rig, 1, RIG_NQN);
    assert_false(target_queue_has_expired(&rig.queues[1], UINT64_MAX));
}

/* ---- What the transport does wrong, or cannot do ---- */

static void test_no_buffer(void **state)
{
    struct nvme_command sqe = rig_connect(&rig, 0, NVME_CNTLID_DYNAMIC, RIG_NQN);
    struct target_command command = { .queue = &rig.queues[0] };
    uint8_t capsule[64], buffer[1023];

    (void)state;
    memcpy(capsule, &sqe, sizeof capsule);
    assert_int_equal(rig_queue(&rig, 0, 0, 32), NVME_RDMA_OK);
    assert_int_equal(target_command_begin(&command, capsule, sizeof capsule, 0), TARGET_BUFFER);
    assert_int_equal(target_command_next(&command, NVME_SUCCESS), TARGET_COMPLETE);
    assert_int_equal(command.completion.status >> 1, NVME_INTERNAL_ERROR);
    /* The buffer of another command is too small. */
    command.buffer = buffer;
    command.buffer_size = sizeof buffer;
    assert_int_equal(target_command_begin(&command, capsule, sizeof capsule, 0), TARGET_BUFFER);
    assert_int_equal(command.buffer_needed, 1024);
    assert_int_equal(target_command_next(&command, NVME_SUCCESS), TARGET_COMPLETE);
    assert_int_equal(command.completion.status >> 1, NVME_INTERNAL_ERROR);
    assert_int_equal(rig.queues[0].inflight, 0);
    /* The command has ended. */
    assert_int_equal(target_command_next(&command, NVME_SUCCESS), TARGET_DISCONNECT);
}

/* ---- The ends of queues ---- */

static void test_admin_queue_ends_the_controller(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct nvme_command sqe = rig_io(NVME_IO_READ, 1, 0, 1);

    (void)state;
    rig_io_queue(&rig, 1, controller, 1, 32);
    target_queue_close(&rig.queues[0]);
    target_queue_close(&rig.queues[0]);
    assert_true(controller->in_use && controller->closing);
    assert_int_equal(rig_run(&rig, 1, &sqe).action, TARGET_DISCONNECT);
    /* No queue joins a controller that is closing. */
    sqe = rig_connect(&rig, 2, controller->cntlid, RIG_NQN);
    assert_int_equal(rig_queue(&rig, 2, 2, 32), NVME_RDMA_OK);
    assert_int_equal(rig_run(&rig, 2, &sqe).status, NVME_CONNECT_INVALID_PARAMETERS);
    target_queue_close(&rig.queues[1]);
    assert_false(controller->in_use);
    assert_false(target_controller_has_expired(controller, UINT64_MAX));
}

static void test_capsule_ends_the_queue(void **state)
{
    uint8_t capsule[sizeof(struct nvme_command) + RIG_CAPSULE_DATA + 1] = { 0 };
    static const size_t lengths[] = { 0, 1, 63, sizeof capsule };
    struct nvme_command sqe = rig_property_get(NVME_PROPERTY_VS, NVME_PROPERTY_SIZE_4);

    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        rig_admin(&rig, 0, RIG_NQN);
        rig_admin(&rig, 1, RIG_NQN);
        assert_int_equal(rig_run_capsule(&rig, 0, capsule, lengths[i]).action, TARGET_DISCONNECT);
        /* Nothing follows in this queue; the other host goes on. */
        assert_int_equal(rig_run(&rig, 0, &sqe).action, TARGET_DISCONNECT);
        assert_int_equal(rig_run(&rig, 1, &sqe).completion.status, 0);
        rig_close(&rig, 0);
        rig_close(&rig, 1);
    }
}

static void test_too_many_commands(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct nvme_command sqe = rig_io(NVME_IO_READ, 1, 0, 1);
    struct target_command commands[5] = { 0 };
    uint8_t capsule[64];

    (void)state;
    rig_io_queue(&rig, 1, controller, 1, 4);
    memcpy(capsule, &sqe, sizeof capsule);
    for (unsigned i = 0; i < 5; i++) {
        commands[i].queue = &rig.queues[1];
        assert_int_equal(target_command_begin(&commands[i], capsule, sizeof capsule, 0),
                         i < 4 ? TARGET_BUFFER : TARGET_DISCONNECT);
    }
    /* The others end, too. */
    assert_int_equal(target_command_next(&commands[0], NVME_SUCCESS), TARGET_DISCONNECT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_configuration),     TEST(test_queue_refused),          TEST(test_keep_alive),
        TEST(test_discovery_expires), TEST(test_queue_expires),          TEST(test_admin_queue_ends_the_controller),
        TEST(test_no_buffer),         TEST(test_capsule_ends_the_queue), TEST(test_too_many_commands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
