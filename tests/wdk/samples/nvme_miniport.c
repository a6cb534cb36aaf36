/* SPDX-License-Identifier: MIT */
/*
 * The NVMe initiator's Storport miniport above controllers in memory (nvme_fake.c): commands, resets, changes of
 * namespaces, device controls, and removal with requests outstanding.
 */
#include "host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "nvme-initiator/nvmeioctl.h"
#include "drivers/nvme_fake.h"

#define PORT "\\Device\\RaidPort0"

enum { NEVER = 3600 }; /* seconds */

enum {
    OK = 0,
    INVALID_PARAMETER = (int)0xC000000D,
    NO_SUCH_DEVICE = (int)0xC000000E,
    BUFFER_TOO_SMALL = (int)0xC0000023,
    NAME_COLLISION = (int)0xC0000035,
    IO_TIMEOUT = (int)0xC00000B5,
    NO_DEVICE = (int)0xC00000C0,
    IO_ERROR = (int)0xC0000185,
    REFUSED = (int)0xC0000236,
    NOT_CONNECTED = (int)0xC000009D,
    NO_MEMORY = (int)0xC000009A,
};

static ondk_wdk_driver_t *driver;
static ondk_wdk_device_t *port;

static void start(void)
{
    uint32_t status = 1;

    driver = host_load("nvme_fake");
    if (ondk_wdk_open(PORT, &port, &status))
        fail_msg("%s", ondk_wdk_error());
}

static void stop(void)
{
    ondk_wdk_close(port);
    host_unload(driver);
    assert_int_equal(ondk_verify_breaches(), 0);
}

static int send(ondk_wdk_scsi_command_t *c)
{
    uint32_t status = 1;

    c->timeout = c->timeout ? c->timeout : NEVER;
    assert_int_equal(ondk_wdk_scsi(port, c, &status), 0);
    return (int)status;
}

static ondk_wdk_scsi_command_t transfer(bool out, uint16_t lba, uint16_t blocks, void *data)
{
    return (ondk_wdk_scsi_command_t){
        .cdb_length = 10,
        .cdb = { out ? 0x2a : 0x28, 0, 0, 0, (uint8_t)(lba >> 8), (uint8_t)lba, 0, (uint8_t)(blocks >> 8),
                 (uint8_t)blocks },
        .out = out,
        .data = data,
        .data_length = blocks * (uint32_t)FAKE_BLOCK,
    };
}

static void order_target(uint8_t target, enum fake_action action, uint32_t value)
{
    uint8_t block[FAKE_BLOCK] = { 0 };
    struct fake_order order = { FAKE_MAGIC, (uint32_t)action, value };
    ondk_wdk_scsi_command_t c = transfer(true, FAKE_ORDER_LBA, 1, block);

    memcpy(block, &order, sizeof order);
    c.target = target;
    assert_int_equal(send(&c), OK);
    assert_int_equal(c.scsi_status, 0);
}

static void order(enum fake_action action, uint32_t value)
{
    order_target(0, action, value);
}

/* Returns the sense key, or 0 for success. */
static int send_sense(ondk_wdk_scsi_command_t *c)
{
    assert_int_equal(send(c), OK);
    if (!c->scsi_status)
        return 0;
    assert_int_equal(c->scsi_status, 2);
    assert_int_equal(c->sense_length, 18);
    assert_int_equal(c->data_length, 0);
    return c->sense[2];
}

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
    assert_int_equal(send(&c), OK);
    c.target = 1;
    assert_int_equal(send(&c), NO_DEVICE);
    assert_int_equal(c.data_length, 0);
    c.target = 200;
    assert_int_equal(send(&c), NO_DEVICE);
    c.target = 0;
    c.lun = 1;
    assert_int_equal(send(&c), NO_DEVICE);
    c.lun = 200;
    assert_int_equal(send(&c), NO_DEVICE);
    c.lun = 0;
    c.path = 1;
    assert_int_equal(send(&c), NO_DEVICE);
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
    assert_int_equal(send(&c), IO_TIMEOUT);
    order(FAKE_BREAK, (uint32_t)NOT_CONNECTED);
    c = transfer(false, 0, 1, block);
    assert_int_equal(send(&c), NO_DEVICE);
    order(FAKE_BREAK, (uint32_t)NO_MEMORY); /* sent again */
    c = transfer(false, 0, 1, block);
    assert_int_equal(send(&c), OK);
    stop();
}

/* ---- Resets ------------------------------------------------------------------------------------------------------ */

static void test_timeout(void **state)
{
    uint8_t block[FAKE_BLOCK];
    ondk_wdk_scsi_command_t c;

    (void)state;
    start();
    order(FAKE_HOLD, 0);
    c = transfer(false, 0, 1, block);
    c.timeout = 1;
    assert_int_equal(send(&c), IO_ERROR); /* SRB_STATUS_BUS_RESET, by the reset of the unit */
    assert_int_equal(c.data_length, 0);
    order(FAKE_RELEASE, 0);
    c = transfer(false, 0, 1, block);
    assert_int_equal(send(&c), OK);
    stop();
}

struct reader {
    pthread_t thread;
    atomic_int answer; /* 1: none yet */
};

static void *read_block(void *context)
{
    uint8_t block[FAKE_BLOCK];
    ondk_wdk_scsi_command_t c = transfer(false, 0, 1, block);

    atomic_store(&((struct reader *)context)->answer, send(&c));
    return NULL;
}

static void readers_start(struct reader *readers, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
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

/* ---- Changes ----------------------------------------------------------------------------------------------------- */

/* The number of units that the port has found. */
static unsigned units(void)
{
    uint8_t data[1024];
    uint32_t length = 0, status = 1;

    assert_int_equal(ondk_wdk_device_control(port, 0x4100c, NULL, 0, data, sizeof data, &length, &status), 0);
    assert_int_equal(status, OK);
    return data[4];
}

static void wait_for_units(unsigned wanted)
{
    while (units() != wanted)
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

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
    assert_int_equal(send(&c), OK);
    order(FAKE_NAMESPACES, 5); /* namespace 3 keeps its LUN */
    wait_for_units(2);
    c.lun = 2;
    assert_int_equal(send(&c), OK);
    c.lun = 1;
    assert_int_equal(send(&c), NO_DEVICE);
    order(FAKE_STATE, 3); /* the controller gives up */
    wait_for_units(0);
    c.lun = 0;
    assert_int_equal(send(&c), NO_DEVICE);
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

/* ---- Device controls --------------------------------------------------------------------------------------------- */

static int control(const NVME_IOCTL_REQUEST *request, uint32_t size, void *out, uint32_t room, uint32_t *length)
{
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_device_control(port, 0x4d038, request, size, out, room, length, &status), 0);
    return (int)status;
}

static NVME_IOCTL_REQUEST request_of(uint32_t operation, const char *address, const char *subsystem)
{
    NVME_IOCTL_REQUEST r = { .Size = sizeof r, .Operation = operation };

    strcpy(r.Address, address);
    strcpy(r.Subsystem, subsystem);
    return r;
}

static int connect_to(const char *address, const char *subsystem, uint32_t *target)
{
    NVME_IOCTL_REQUEST r = request_of(NVME_IOCTL_CONNECT, address, subsystem);
    NVME_IOCTL_CONNECTED connected = { 99 };
    int status = control(&r, sizeof r, &connected, sizeof connected, NULL);

    *target = connected.TargetId;
    return status;
}

static int disconnect(uint32_t target)
{
    NVME_IOCTL_REQUEST r = request_of(NVME_IOCTL_DISCONNECT, "", "");

    r.TargetId = target;
    return control(&r, sizeof r, NULL, 0, NULL);
}

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
    assert_int_equal(send(&c), OK);
    assert_int_equal(disconnect(0), OK);
    wait_for_units(1);
    assert_int_equal(disconnect(0), NO_SUCH_DEVICE);
    assert_int_equal(disconnect(8), NO_SUCH_DEVICE);
    c.target = 0;
    assert_int_equal(send(&c), NO_DEVICE);
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
    stop();
}

/* ---- Removal ----------------------------------------------------------------------------------------------------- */

/* Requests that wait in the controller end when it is disconnected, each with the status of a removed device. */
static void test_disconnect_outstanding(void **state)
{
    struct reader readers[16];

    (void)state;
    start();
    order(FAKE_HOLD, 0);
    readers_start(readers, 16);
    nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL); /* most of them are outstanding now */
    assert_int_equal(disconnect(0), OK);
    readers_join(readers, 16, NO_DEVICE);
    wait_for_units(0);
    stop();
}

/* Each round ends in another way: some readers are answered, some are reset, some find no disk. */
static void test_disconnect_running(void **state)
{
    (void)state;
    start();
    for (int round = 0; round < 50; round++) {
        struct reader readers[4];
        uint32_t target;

        readers_start(readers, 4);
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
        cmocka_unit_test(test_no_first_unit),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_reconnecting),
        cmocka_unit_test(test_connect),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_discover),
        cmocka_unit_test(test_wrong_controls),
        cmocka_unit_test(test_disconnect_outstanding),
        cmocka_unit_test(test_disconnect_running),
    };

    return cmocka_run_group_tests_name("nvme_miniport", tests, NULL, NULL);
}
