/* SPDX-License-Identifier: MIT */
/* The NVMe initiator's Storport miniport above controllers in memory (nvme_fake.c), for its tests. */
#ifndef NVME_PORT_H
#define NVME_PORT_H

#include "host.h"

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

static inline void start(void)
{
    uint32_t status = 1;

    driver = host_load("nvme_fake");
    if (ondk_wdk_open(PORT, &port, &status))
        fail_msg("%s", ondk_wdk_error());
}

static inline void stop(void)
{
    ondk_wdk_close(port);
    host_unload(driver);
    assert_int_equal(ondk_verify_breaches(), 0);
}

static inline int send_command(ondk_wdk_scsi_command_t *c)
{
    uint32_t status = 1;

    c->timeout = c->timeout ? c->timeout : NEVER;
    assert_int_equal(ondk_wdk_scsi(port, c, &status), 0);
    return (int)status;
}

static inline ondk_wdk_scsi_command_t transfer(bool out, uint16_t lba, uint16_t blocks, void *data)
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

static inline void order_target(uint8_t target, enum fake_action action, uint32_t value)
{
    uint8_t block[FAKE_BLOCK] = { 0 };
    struct fake_order order = { FAKE_MAGIC, (uint32_t)action, value };
    ondk_wdk_scsi_command_t c = transfer(true, FAKE_ORDER_LBA, 1, block);

    memcpy(block, &order, sizeof order);
    c.target = target;
    assert_int_equal(send_command(&c), OK);
    assert_int_equal(c.scsi_status, 0);
}

static inline void order(enum fake_action action, uint32_t value)
{
    order_target(0, action, value);
}

/* Returns the sense key, or 0 for success. */
static inline int send_sense(ondk_wdk_scsi_command_t *c)
{
    assert_int_equal(send_command(c), OK);
    if (!c->scsi_status)
        return 0;
    assert_int_equal(c->scsi_status, 2);
    assert_int_equal(c->sense_length, 18);
    assert_int_equal(c->data_length, 0);
    return c->sense[2];
}

/* The number of units that the port has found. */
static inline unsigned units(void)
{
    uint8_t data[1024];
    uint32_t length = 0, status = 1;

    assert_int_equal(ondk_wdk_device_control(port, 0x4100c, NULL, 0, data, sizeof data, &length, &status), 0);
    assert_int_equal(status, OK);
    return data[4];
}

static inline void wait_for_units(unsigned wanted)
{
    while (units() != wanted)
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static inline int control(const NVME_IOCTL_REQUEST *request, uint32_t size, void *out, uint32_t room, uint32_t *length)
{
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_device_control(port, 0x4d038, request, size, out, room, length, &status), 0);
    return (int)status;
}

static inline NVME_IOCTL_REQUEST request_of(uint32_t operation, const char *address, const char *subsystem)
{
    NVME_IOCTL_REQUEST r = { .Size = sizeof r, .Operation = operation };

    strcpy(r.Address, address);
    strcpy(r.Subsystem, subsystem);
    return r;
}

static inline int connect_to(const char *address, const char *subsystem, uint32_t *target)
{
    NVME_IOCTL_REQUEST r = request_of(NVME_IOCTL_CONNECT, address, subsystem);
    NVME_IOCTL_CONNECTED connected = { 99 };
    int status = control(&r, sizeof r, &connected, sizeof connected, NULL);

    *target = connected.TargetId;
    return status;
}

static inline int disconnect(uint32_t target)
{
    NVME_IOCTL_REQUEST r = request_of(NVME_IOCTL_DISCONNECT, "", "");

    r.TargetId = target;
    return control(&r, sizeof r, NULL, 0, NULL);
}

#endif
