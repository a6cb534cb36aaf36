/* SPDX-License-Identifier: MIT */
/* The device controls of the NVMe initiator (nvmeioctl.h), above controllers in memory (nvme_fake.c). */
#include "nvme_port.h"

static void test_connect(void **state)
{
    uint8_t block[FAKE_BLOCK];
    uint32_t target = 0;
    ondk_wdk_scsi_command_t c = transfer(false, 0, 1, block);

    (void)state;
    start();
    assert_int_equal(connect_to("127.0.0.1:4420", "nqn.fake", &target), NAME_COLLISION);
    assert_int_equal(connect_to("127.0.0.1", "nqn.fake", &target), NAME_COLLISION);
    assert_int_equal(connect_to("127.0.0.1", "nqn.refused", &target), REFUSED);
    assert_int_equal(connect_to("elsewhere", "nqn.fake", &target), INVALID_PARAMETER);
    assert_int_equal(connect_to("127.0.0.1", "", &target), INVALID_PARAMETER);
    assert_int_equal(connect_to("127.0.0.1:4421", "nqn.fake", &target), OK);
    assert_int_equal(target, 1);
    wait_for_units(2);
    c.target = 1;
    assert_int_equal(send_command(&c), OK);
    assert_int_equal(disconnect(0), OK);
    wait_for_units(1);
    assert_int_equal(disconnect(0), NO_SUCH_DEVICE);
    assert_int_equal(disconnect(8), NO_SUCH_DEVICE);
    c.target = 0;
    assert_int_equal(send_command(&c), NO_DEVICE);
    assert_int_equal(connect_to("127.0.0.1:4422", "nqn.fake", &target), OK);
    assert_int_equal(target, 0);
    for (uint32_t i = 2; i < 8; i++) {
        char address[32];

        snprintf(address, sizeof address, "127.0.0.1:%u", 5000 + i);
        assert_int_equal(connect_to(address, "nqn.fake", &target), OK);
        assert_int_equal(target, i);
    }
    assert_int_equal(connect_to("127.0.0.1:6000", "nqn.fake", &target), NO_MEMORY);
    stop();
}

/* The target refuses every connection: the controller exists, and is connecting. */
static void test_retry(void **state)
{
    NVME_IOCTL_CONNECTED connected = { 99 };
    NVME_IOCTL_REQUEST r = request_of(NVME_IOCTL_CONNECT, "127.0.0.1", "nqn.refused");
    struct {
        NVME_IOCTL_CONTROLLERS list;
        NVME_IOCTL_CONTROLLER second;
    } out;

    (void)state;
    start();
    r.Flags = NVME_IOCTL_RETRY;
    assert_int_equal(control(&r, sizeof r, &connected, sizeof connected, NULL), OK);
    assert_int_equal(connected.TargetId, 1);
    assert_int_equal(control(&r, sizeof r, &connected, sizeof connected, NULL), NAME_COLLISION);
    assert_int_equal(units(), 1);
    r = request_of(NVME_IOCTL_LIST, "", "");
    assert_int_equal(control(&r, sizeof r, &out, sizeof out, NULL), OK);
    assert_int_equal(out.list.Count, 2);
    assert_int_equal(out.second.State, NVME_IOCTL_CONNECTING);
    assert_int_equal(disconnect(1), OK);
    stop();
}

static void test_list(void **state)
{
    struct {
        NVME_IOCTL_CONTROLLERS list;
        NVME_IOCTL_CONTROLLER second;
    } out;
    NVME_IOCTL_REQUEST r = request_of(NVME_IOCTL_LIST, "", "");
    uint32_t target, length = 0;

    (void)state;
    start();
    assert_int_equal(connect_to("127.0.0.1:4421", "nqn.other", &target), OK);
    assert_int_equal(control(&r, sizeof r, &out, sizeof out, &length), OK);
    assert_int_equal(length, sizeof out);
    assert_int_equal(out.list.Count, 2);
    assert_int_equal(out.list.Controllers[0].State, NVME_IOCTL_LIVE);
    assert_string_equal(out.list.Controllers[0].Address, "127.0.0.1:4420");
    assert_string_equal(out.list.Controllers[0].Subsystem, "nqn.fake");
    assert_string_equal(out.list.Controllers[0].Model, "Fake");
    assert_string_equal(out.list.Controllers[0].Serial, "FAKE");
    assert_int_equal(out.list.Controllers[0].Namespaces, 1);
    assert_string_equal(out.second.Subsystem, "nqn.other");
    assert_int_equal(out.second.TargetId, 1);
    assert_int_equal(control(&r, sizeof r, &out, sizeof out - 1, &length), OK); /* room for one */
    assert_int_equal(length, sizeof out.list);
    assert_int_equal(out.list.Count, 2);
    assert_int_equal(control(&r, sizeof r, &out, 3, &length), BUFFER_TOO_SMALL);
    stop();
}

/* The entries are those of a target that ends no string. */
static void test_discover(void **state)
{
    struct {
        NVME_IOCTL_LOG log;
        NVME_IOCTL_ENTRY second;
    } out;
    NVME_IOCTL_REQUEST r = request_of(NVME_IOCTL_DISCOVER, "127.0.0.1", "");
    uint32_t length = 0;

    (void)state;
    start();
    assert_int_equal(control(&r, sizeof r, &out, sizeof out, &length), OK);
    assert_int_equal(length, sizeof out);
    assert_int_equal(out.log.Count, 2);
    assert_int_equal(out.log.Entries[0].IsDiscovery, 1);
    assert_int_equal(strlen(out.log.Entries[0].Subsystem), NVME_IOCTL_NAME_SIZE - 1);
    assert_memory_equal(out.log.Entries[0].Subsystem, "n?nn", 4);
    assert_string_equal(out.log.Entries[0].Address + strspn(out.log.Entries[0].Address, "1"), ":4420");
    assert_int_equal(out.second.IsDiscovery, 0);
    assert_string_equal(out.second.Address + 1 + strspn(out.second.Address + 1, "f"), "]:4420");
    assert_int_equal(control(&r, sizeof r, &out, offsetof(NVME_IOCTL_LOG, Entries), &length), OK);
    assert_int_equal(length, offsetof(NVME_IOCTL_LOG, Entries));
    r.Address[0] = 'x';
    assert_int_equal(control(&r, sizeof r, &out, sizeof out, &length), INVALID_PARAMETER);
    stop();
}

static void test_wrong_controls(void **state)
{
    NVME_IOCTL_REQUEST r = request_of(99, "", "");

    (void)state;
    start();
    assert_int_equal(control(&r, sizeof r, NULL, 0, NULL), INVALID_PARAMETER);
    assert_int_equal(control(&r, sizeof r - 1, NULL, 0, NULL), BUFFER_TOO_SMALL);
    r = request_of(NVME_IOCTL_LIST, "", "");
    assert_int_equal(control(&r, sizeof r, NULL, 0, NULL), BUFFER_TOO_SMALL);
    r.Size--;
    assert_int_equal(control(&r, sizeof r, NULL, 0, NULL), INVALID_PARAMETER);
    r = request_of(NVME_IOCTL_LIST, "", "");
    memset(r.Address, 'a', sizeof r.Address);
    assert_int_equal(control(&r, sizeof r, NULL, 0, NULL), INVALID_PARAMETER);
    r = request_of(NVME_IOCTL_LIST, "", "");
    memset(r.Subsystem, 'a', sizeof r.Subsystem);
    assert_int_equal(control(&r, sizeof r, NULL, 0, NULL), INVALID_PARAMETER);
    r = request_of(NVME_IOCTL_CONNECT, "127.0.0.1:4421", "nqn.fake");
    assert_int_equal(control(&r, sizeof r, NULL, 0, NULL), BUFFER_TOO_SMALL);
    r.Flags = 2 * NVME_IOCTL_RETRY;
    assert_int_equal(control(&r, sizeof r, NULL, 0, NULL), INVALID_PARAMETER);
    r = request_of(NVME_IOCTL_LIST, "", "");
    r.Flags = NVME_IOCTL_RETRY;
    assert_int_equal(control(&r, sizeof r, NULL, 0, NULL), INVALID_PARAMETER);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_connect), cmocka_unit_test(test_retry),
                                        cmocka_unit_test(test_list), cmocka_unit_test(test_discover),
                                        cmocka_unit_test(test_wrong_controls) };

    return cmocka_run_group_tests_name("nvme_controls", tests, NULL, NULL);
}
