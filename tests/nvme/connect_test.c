/* SPDX-License-Identifier: MIT */
/* The target's protocol: Connect and the properties. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nvme/rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SQE(member) offsetof(struct nvme_command, member)
#define DATA(member) (offsetof(struct nvme_connect_data, member) | NVME_CONNECT_IN_DATA)

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

/* ---- Connect ---- */

static void test_connect_admin(void **state)
{
    struct nvme_command sqe = rig_connect(&rig, 0, NVME_CNTLID_DYNAMIC, RIG_NQN);
    struct rig_outcome outcome;

    (void)state;
    assert_int_equal(rig_queue(&rig, 0, 0, 32), NVME_RDMA_OK);
    outcome = rig_run(&rig, 0, &sqe);
    assert_int_equal(outcome.action, TARGET_COMPLETE);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.completion.cid, 0x4321);
    assert_int_equal(outcome.completion.sq_head, 1);
    assert_int_equal(outcome.completion.result, 1);
    assert_int_equal(outcome.fetches, 1);
    assert_true(outcome.invalidate);
    assert_int_equal(outcome.invalidate_key, RIG_KEY);
    assert_int_equal(rig.queues[0].controller->cntlid, 1);
    assert_string_equal(rig.queues[0].controller->host_nqn, RIG_HOST_NQN);
    /* A second Connect, and a second controller of the same host. */
    outcome = rig_run(&rig, 0, &sqe);
    assert_int_equal(outcome.status, NVME_COMMAND_SEQUENCE_ERROR);
    assert_true(outcome.dnr);
    assert_int_equal(rig_admin(&rig, 1, RIG_NQN)->cntlid, 2);
}

static void test_connect_in_capsule(void **state)
{
    struct nvme_command sqe = rig_connect(&rig, 0, NVME_CNTLID_DYNAMIC, RIG_NQN);
    struct rig_outcome outcome;

    (void)state;
    rig_set_in_capsule(&sqe, 0, 1024);
    assert_int_equal(rig_queue(&rig, 0, 0, 32), NVME_RDMA_OK);
    outcome = rig_run_data(&rig, 0, &sqe, rig.host, 1024);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.fetches, 0);
    assert_false(outcome.invalidate);
}

static void test_connect_without_flow_control(void **state)
{
    struct nvme_command sqe = rig_connect(&rig, 0, NVME_CNTLID_DYNAMIC, RIG_NQN);
    struct rig_outcome outcome;

    (void)state;
    sqe.connect.attributes = NVME_CONNECT_NO_FLOW_CONTROL;
    assert_int_equal(rig_queue(&rig, 0, 0, 32), NVME_RDMA_OK);
    outcome = rig_run(&rig, 0, &sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.completion.sq_head, NVME_SQ_HEAD_NONE);
    sqe = rig_property_get(NVME_PROPERTY_VS, NVME_PROPERTY_SIZE_4);
    outcome = rig_run(&rig, 0, &sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.completion.sq_head, 0);
}

/* The head of the submission queue follows each command, and wraps. */
static void test_sq_head(void **state)
{
    struct nvme_command sqe = rig_connect(&rig, 0, NVME_CNTLID_DYNAMIC, RIG_NQN);

    (void)state;
    sqe.connect.sqsize = 2;
    assert_int_equal(rig_queue(&rig, 0, 0, 32), NVME_RDMA_OK);
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.sq_head, 1);
    sqe = rig_property_get(NVME_PROPERTY_VS, NVME_PROPERTY_SIZE_4);
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.sq_head, 2);
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.sq_head, 0);
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.sq_head, 1);
}

/* One field of Connect is wrong. */
struct connect_case {
    const char *what;
    uint16_t qid;   /* of the queue */
    size_t offset;  /* of the field: in the command, or in the data with NVME_CONNECT_IN_DATA */
    uint64_t value; /* that it gets */
    size_t size;
    uint16_t status;
    uint32_t result;
    bool retry;
};
static const struct connect_case connect_cases[] = {
    { "record format", 0, SQE(connect.record_format), 1, 2, NVME_CONNECT_INCOMPATIBLE_FORMAT, 0, false },
    { "queue", 0, SQE(connect.qid), 1, 2, NVME_CONNECT_INVALID_PARAMETERS, SQE(connect.qid), false },
    { "one entry", 0, SQE(connect.sqsize), 0, 2, NVME_CONNECT_INVALID_PARAMETERS, SQE(connect.sqsize), false },
    { "entries", 0, SQE(connect.sqsize), 32, 2, NVME_CONNECT_INVALID_PARAMETERS, SQE(connect.sqsize), false },
    { "most entries", 0, SQE(connect.sqsize), 65535, 2, NVME_CONNECT_INVALID_PARAMETERS, SQE(connect.sqsize), false },
    { "flags", 0, SQE(flags), 0, 1, NVME_INVALID_FIELD, 0, false },
    { "fused", 0, SQE(flags), 0x41, 1, NVME_INVALID_FIELD, 0, false },
    { "SGL type", 0, SQE(sgl.identifier), 0x00, 1, NVME_SGL_TYPE_INVALID, 0, false },
    { "SGL segment", 0, SQE(sgl.identifier), 0x30, 1, NVME_SGL_TYPE_INVALID, 0, false },
    { "SGL length", 0, SQE(sgl.specific), 1023, 3, NVME_DATA_SGL_LENGTH_INVALID, 0, false },
    { "key", 0, SQE(sgl.specific) + 3, 1, 4, NVME_DATA_TRANSFER_ERROR, 0, true },
    { "subsystem", 0, DATA(subsystem_nqn), 'x', 1, NVME_CONNECT_INVALID_PARAMETERS, DATA(subsystem_nqn), false },
    { "no subsystem", 0, DATA(subsystem_nqn), 0, 1, NVME_CONNECT_INVALID_PARAMETERS, DATA(subsystem_nqn), false },
    { "no host", 0, DATA(host_nqn), 0, 1, NVME_CONNECT_INVALID_PARAMETERS, DATA(host_nqn), false },
    { "host not text", 0, DATA(host_nqn), 0xff, 1, NVME_CONNECT_INVALID_PARAMETERS, DATA(host_nqn), false },
    { "static controller", 0, DATA(cntlid), 1, 2, NVME_CONNECT_INVALID_PARAMETERS, DATA(cntlid), false },
    { "I/O: no controller", 1, DATA(cntlid), 2, 2, NVME_CONNECT_INVALID_PARAMETERS, DATA(cntlid), false },
    { "I/O: any controller", 1, DATA(cntlid), 0xffff, 2, NVME_CONNECT_INVALID_PARAMETERS, DATA(cntlid), false },
    { "I/O: host", 1, DATA(host_nqn), 'x', 1, NVME_CONNECT_INVALID_PARAMETERS, DATA(host_nqn), false },
    { "I/O: host id", 1, DATA(host_id), 1, 1, NVME_CONNECT_INVALID_PARAMETERS, DATA(host_id), false },
    { "I/O: subsystem", 1, DATA(subsystem_nqn), 'x', 1, NVME_CONNECT_INVALID_PARAMETERS, DATA(subsystem_nqn), false },
    { "I/O: queue", 1, SQE(connect.qid), 2, 2, NVME_CONNECT_INVALID_PARAMETERS, SQE(connect.qid), false },
};

static void test_connect_refused(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);

    (void)state;
    for (size_t i = 0; i < COUNT(connect_cases); i++) {
        const struct connect_case *c = &connect_cases[i];
        uint16_t cntlid = c->qid == 0 ? NVME_CNTLID_DYNAMIC : controller->cntlid;
        struct nvme_command sqe = rig_connect(&rig, c->qid, cntlid, RIG_NQN), good = sqe;
        struct rig_outcome outcome;
        uint8_t data[1024];

        memcpy(data, rig.host, sizeof data);
        if (c->offset & NVME_CONNECT_IN_DATA)
            memcpy(rig.host + (c->offset & 0xffff), &c->value, c->size);
        else
            memcpy((uint8_t *)&sqe + c->offset, &c->value, c->size);
        assert_int_equal(rig_queue(&rig, 1, c->qid, 32), NVME_RDMA_OK);
        outcome = rig_run(&rig, 1, &sqe);
        if (outcome.action != TARGET_COMPLETE || outcome.status != c->status || outcome.dnr == c->retry)
            fail_msg("%s: action %d, status 0x%x, dnr %d", c->what, outcome.action, outcome.status, outcome.dnr);
        if (outcome.completion.result != c->result)
            fail_msg("%s: result 0x%x", c->what, outcome.completion.result);
        assert_false(outcome.more);
        assert_null(rig.queues[1].controller);
        /* The same queue can connect afterwards. */
        memcpy(rig.host, data, sizeof data);
        outcome = rig_run(&rig, 1, &good);
        if (outcome.completion.status != 0)
            fail_msg("%s: afterwards status 0x%x", c->what, outcome.status);
        rig_close(&rig, 1);
    }
}

static void test_connect_io(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct nvme_command sqe;
    struct rig_outcome outcome;

    (void)state;
    rig_io_queue(&rig, 1, controller, 1, 128);
    assert_ptr_equal(rig.queues[1].controller, controller);
    /* The same number again. */
    sqe = rig_connect(&rig, 1, controller->cntlid, RIG_NQN);
    assert_int_equal(rig_queue(&rig, 2, 1, 32), NVME_RDMA_OK);
    assert_int_equal(rig_run(&rig, 2, &sqe).status, NVME_COMMAND_SEQUENCE_ERROR);
    /* After the first has closed, the number is free. */
    rig_close(&rig, 1);
    assert_int_equal(rig_run(&rig, 2, &sqe).completion.status, 0);
    /* The number of queues is that of the feature. */
    rig_close(&rig, 2);
    sqe = rig_command(NVME_ADMIN_SET_FEATURES, 0);
    sqe.cdw10 = NVME_FEATURE_QUEUES;
    sqe.cdw11 = 0x00010001;
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.result, 0x00010001);
    sqe = rig_connect(&rig, 3, controller->cntlid, RIG_NQN);
    assert_int_equal(rig_queue(&rig, 1, 3, 32), NVME_RDMA_OK);
    outcome = rig_run(&rig, 1, &sqe);
    assert_int_equal(outcome.status, NVME_CONNECT_INVALID_PARAMETERS);
    assert_int_equal(outcome.completion.result, SQE(connect.qid));
    /* A controller that is not enabled has no I/O queues. */
    sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, 0);
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.status, 0);
    sqe = rig_connect(&rig, 1, controller->cntlid, RIG_NQN);
    assert_int_equal(rig_queue(&rig, 1, 1, 32), NVME_RDMA_OK);
    assert_int_equal(rig_run(&rig, 1, &sqe).status, NVME_COMMAND_SEQUENCE_ERROR);
}

/* The connection request of an I/O queue may name the controller; then Connect must name the same. */
static void test_connect_cntlid_of_request(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct nvme_command sqe = rig_connect(&rig, 1, controller->cntlid, RIG_NQN);
    struct rig_outcome outcome;

    (void)state;
    assert_int_equal(rig_queue(&rig, 1, 1, 32), NVME_RDMA_OK);
    rig.queues[1].cntlid = 77;
    outcome = rig_run(&rig, 1, &sqe);
    assert_int_equal(outcome.status, NVME_CONNECT_INVALID_PARAMETERS);
    assert_int_equal(outcome.completion.result, DATA(cntlid));
    rig.queues[1].cntlid = controller->cntlid;
    assert_int_equal(rig_run(&rig, 1, &sqe).completion.status, 0);
}

static void test_connect_discovery(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, NVME_DISCOVERY_NQN);
    struct nvme_command sqe;
    struct rig_outcome outcome;

    (void)state;
    assert_true(controller->discovery);
    sqe = rig_connect(&rig, 1, controller->cntlid, NVME_DISCOVERY_NQN);
    assert_int_equal(rig_queue(&rig, 1, 1, 32), NVME_RDMA_OK);
    outcome = rig_run(&rig, 1, &sqe);
    assert_int_equal(outcome.status, NVME_CONNECT_INVALID_PARAMETERS);
    assert_int_equal(outcome.completion.result, DATA(subsystem_nqn));
    sqe = rig_connect(&rig, 1, controller->cntlid, RIG_NQN);
    outcome = rig_run(&rig, 1, &sqe);
    assert_int_equal(outcome.completion.result, DATA(subsystem_nqn));
}

static void test_connect_limits(void **state)
{
    static const char *const hosts[] = { "nqn.2026-11.example:other", RIG_HOST_NQN };
    struct nvme_command sqe;
    struct rig_outcome outcome;

    (void)state;
    for (unsigned i = 0; i < RIG_CONTROLLERS; i++)
        rig_admin(&rig, i, RIG_NQN);
    sqe = rig_connect(&rig, 0, NVME_CNTLID_DYNAMIC, RIG_NQN);
    assert_int_equal(rig_queue(&rig, 5, 0, 32), NVME_RDMA_OK);
    outcome = rig_run(&rig, 5, &sqe);
    assert_int_equal(outcome.status, NVME_CONNECT_CONTROLLER_BUSY);
    assert_false(outcome.dnr);
    /* A number is not used again at once. */
    rig_close(&rig, 1);
    outcome = rig_run(&rig, 5, &sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.completion.result, RIG_CONTROLLERS + 1);

    rig_close(&rig, 5);
    rig.subsystem.hosts = hosts;
    rig.subsystem.n_hosts = 1;
    assert_int_equal(rig_queue(&rig, 5, 0, 32), NVME_RDMA_OK);
    outcome = rig_run(&rig, 5, &sqe);
    assert_int_equal(outcome.status, NVME_CONNECT_INVALID_HOST);
    assert_true(outcome.dnr);
    rig.subsystem.n_hosts = 2;
    assert_int_equal(rig_run(&rig, 5, &sqe).completion.status, 0);
}

/* The numbers of controllers go in a circle, without the reserved ones and those in use. */
static void test_connect_numbers(void **state)
{
    (void)state;
    assert_int_equal(rig_admin(&rig, 0, RIG_NQN)->cntlid, 1);
    rig.subsystem.last_cntlid = NVME_MAX_CNTLID - 1;
    assert_int_equal(rig_admin(&rig, 1, RIG_NQN)->cntlid, NVME_MAX_CNTLID);
    assert_int_equal(rig_admin(&rig, 2, RIG_NQN)->cntlid, 2);
}

static void test_not_connected(void **state)
{
    static const uint8_t opcodes[] = { NVME_ADMIN_IDENTIFY, NVME_ADMIN_KEEP_ALIVE, NVME_IO_READ, 0xff };
    struct nvme_command sqe;

    (void)state;
    for (uint16_t qid = 0; qid <= 1; qid++) {
        assert_int_equal(rig_queue(&rig, qid, qid, 32), NVME_RDMA_OK);
        for (size_t i = 0; i < COUNT(opcodes); i++) {
            sqe = rig_command(opcodes[i], 1);
            assert_int_equal(rig_run(&rig, qid, &sqe).status, NVME_COMMAND_SEQUENCE_ERROR);
        }
        sqe = rig_property_get(NVME_PROPERTY_CAP, NVME_PROPERTY_SIZE_8);
        assert_int_equal(rig_run(&rig, qid, &sqe).status, NVME_COMMAND_SEQUENCE_ERROR);
    }
}

/* Two Connects at the same time in one queue: the second is refused, and the first goes on. */
static void test_connect_twice(void **state)
{
    struct nvme_command sqe = rig_connect(&rig, 0, NVME_CNTLID_DYNAMIC, RIG_NQN);
    struct target_command first = { .queue = &rig.queues[0] };
    uint8_t capsule[64], buffer[1024];

    (void)state;
    memcpy(capsule, &sqe, sizeof capsule);
    assert_int_equal(rig_queue(&rig, 0, 0, 32), NVME_RDMA_OK);
    assert_int_equal(target_command_begin(&first, capsule, sizeof capsule, 0), TARGET_BUFFER);
    assert_int_equal(rig_run(&rig, 0, &sqe).status, NVME_COMMAND_SEQUENCE_ERROR);
    assert_int_equal(rig_run(&rig, 0, &sqe).status, NVME_COMMAND_SEQUENCE_ERROR);
    first.buffer = buffer;
    first.buffer_size = sizeof buffer;
    assert_int_equal(target_command_next(&first, NVME_SUCCESS), TARGET_FETCH);
    memcpy(buffer, rig.host, sizeof buffer);
    assert_int_equal(target_command_next(&first, NVME_SUCCESS), TARGET_COMPLETE);
    assert_int_equal(first.completion.status, 0);
    assert_non_null(rig.queues[0].controller);
}

/* ---- Properties ---- */

static void test_property_get(void **state)
{
    static const struct {
        uint32_t offset;
        uint8_t size;
        uint64_t value;
        bool valid;
    } cases[] = {
        { NVME_PROPERTY_CAP, NVME_PROPERTY_SIZE_8, UINT64_C(0x000000201e01007f), true },
        { NVME_PROPERTY_VS, NVME_PROPERTY_SIZE_4, 0x00010400, true },
        { NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, 0x00460001, true },
        { NVME_PROPERTY_CSTS, NVME_PROPERTY_SIZE_4, NVME_CSTS_READY, true },
        { NVME_PROPERTY_CAP, NVME_PROPERTY_SIZE_4, 0, false },
        { NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_8, 0, false },
        { NVME_PROPERTY_CC, 2, 0, false },
        { NVME_PROPERTY_NSSR, NVME_PROPERTY_SIZE_4, 0, false },
        { 4, NVME_PROPERTY_SIZE_4, 0, false },
        { 0xfffffffc, NVME_PROPERTY_SIZE_8, 0, false },
    };

    (void)state;
    rig_admin(&rig, 0, RIG_NQN);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nvme_command sqe = rig_property_get(cases[i].offset, cases[i].size);
        struct rig_outcome outcome = rig_run(&rig, 0, &sqe);

        assert_int_equal(outcome.status, cases[i].valid ? NVME_SUCCESS : NVME_INVALID_FIELD);
        assert_true(outcome.completion.result64 == cases[i].value);
        assert_int_equal(outcome.more, !cases[i].valid);
    }
}

static void test_property_set(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    static const struct {
        uint32_t offset;
        uint8_t size;
    } refused[] = {
        { NVME_PROPERTY_CAP, NVME_PROPERTY_SIZE_8 },  { NVME_PROPERTY_VS, NVME_PROPERTY_SIZE_4 },
        { NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_8 },   { NVME_PROPERTY_CSTS, NVME_PROPERTY_SIZE_4 },
        { NVME_PROPERTY_NSSR, NVME_PROPERTY_SIZE_4 },
    };
    static const struct {
        uint32_t cc, csts;
    } values[] = {
        { 0x00460001, NVME_CSTS_READY }, { 0x00460011, NVME_CSTS_FATAL }, { 0x00460081, NVME_CSTS_FATAL },
        { 0x00460801, NVME_CSTS_FATAL }, { 0x00450001, NVME_CSTS_FATAL }, { 0x00360001, NVME_CSTS_FATAL },
        { 0x00460001, NVME_CSTS_READY },
    };
    struct nvme_command sqe;

    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        sqe = rig_property_set(refused[i].offset, refused[i].size, 0);
        assert_int_equal(rig_run(&rig, 0, &sqe).status, NVME_INVALID_FIELD);
    }
    for (size_t i = 0; i < COUNT(values); i++) {
        sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, 0);
        assert_int_equal(rig_run(&rig, 0, &sqe).completion.status, 0);
        assert_int_equal(controller->csts, 0);
        sqe = rig_command(NVME_ADMIN_KEEP_ALIVE, 0);
        assert_int_equal(rig_run(&rig, 0, &sqe).status, NVME_COMMAND_SEQUENCE_ERROR);
        sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, values[i].cc);
        assert_int_equal(rig_run(&rig, 0, &sqe).completion.status, 0);
        assert_int_equal(controller->csts, values[i].csts);
    }
}

/* A normal shutdown flushes the namespaces, an abrupt one does not. */
static void test_shutdown(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct nvme_command sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, 0x00464001);
    struct rig_outcome outcome = rig_run(&rig, 0, &sqe);

    (void)state;
    assert_int_equal(outcome.disks, 3);
    assert_int_equal(outcome.operation, TARGET_DISK_FLUSH);
    assert_int_equal(controller->csts, NVME_CSTS_READY | NVME_CSTS_SHUTDOWN_DONE);
    controller = rig_admin(&rig, 1, RIG_NQN);
    sqe.property.value = 0x00468001;
    outcome = rig_run(&rig, 1, &sqe);
    assert_int_equal(outcome.disks, 0);
    assert_int_equal(controller->csts, NVME_CSTS_READY | NVME_CSTS_SHUTDOWN_DONE);
}

/* After a reset the controller's I/O queues accept nothing, and the host may enable it again. */
static void test_reset(void **state)
{
    struct target_controller *controller = rig_admin(&rig, 0, RIG_NQN);
    struct nvme_command sqe = rig_command(NVME_ADMIN_ASYNC_EVENT, 0);
    struct rig_outcome outcome;

    (void)state;
    rig_io_queue(&rig, 1, controller, 1, 32);
    assert_int_equal(rig_run(&rig, 0, &sqe).action, TARGET_WAIT);
    sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, 0x00460000);
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.status, 0);
    assert_true(rig_pop(&rig, controller, &outcome));
    assert_int_equal(outcome.status, NVME_ABORT_REQUESTED);
    sqe = rig_io(NVME_IO_READ, 1, 0, 1);
    assert_int_equal(rig_run(&rig, 1, &sqe).action, TARGET_DISCONNECT);
    rig_close(&rig, 1);
    sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, 0x00460001);
    assert_int_equal(rig_run(&rig, 0, &sqe).completion.status, 0);
    rig_io_queue(&rig, 1, controller, 1, 32);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_connect_admin),
        TEST(test_connect_in_capsule),
        TEST(test_connect_without_flow_control),
        TEST(test_sq_head),
        TEST(test_connect_refused),
        TEST(test_connect_io),
        TEST(test_connect_cntlid_of_request),
        TEST(test_connect_discovery),
        TEST(test_connect_limits),
        TEST(test_connect_numbers),
        TEST(test_not_connected),
        TEST(test_connect_twice),
        TEST(test_property_get),
        TEST(test_property_set),
        TEST(test_shutdown),
        TEST(test_reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
