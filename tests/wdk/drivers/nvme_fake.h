/* SPDX-License-Identifier: MIT */
/*
 * The disks of nvme_fake.c. A write of a struct fake_order to the last block of namespace 1 is an order to the
 * controller. Such a write succeeds and changes no data. A read of this block returns a struct fake_state.
 */
#ifndef NVME_FAKE_H
#define NVME_FAKE_H

#include <stdint.h>

enum { FAKE_BLOCK = 512, FAKE_BLOCKS = 2048, FAKE_ORDER_LBA = FAKE_BLOCKS - 1, FAKE_MAGIC = 0x4f524445 };

enum fake_action {
    FAKE_HOLD = 1, /* later requests are not completed until they are aborted, or with FAKE_RELEASE */
    FAKE_RELEASE,
    FAKE_SLOW_ABORTS, /* aborted requests end later, in another thread */
    FAKE_LATE_ABORTS, /* aborts and resets are too late: the held requests succeed, later ones are not held */
    FAKE_NAMESPACES, /* value: one bit for each namespace that the controller lists, from namespace 1 on */
    FAKE_GROW,       /* value: blocks that namespace 1 has from now on */
    FAKE_STATE,      /* value: an NVME_STATE */
    FAKE_ANSWER,     /* value: a request's NVMe status, and in the upper 16 bits the number of requests before it */
    FAKE_LIMIT,      /* value: maximum number of data bytes of a request */
    FAKE_LIMIT_LATE, /* the same, but the change is not reported */
    FAKE_REPLACE,    /* value: the first byte of the UUIDs from now on; the state becomes Reconnecting */
    FAKE_RESET_BUS,  /* the driver's HwResetBus is called */
    FAKE_BREAK,      /* value: the NTSTATUS of the next request, which does not reach the controller */
};

struct fake_order {
    uint32_t magic, action, value;
};

struct fake_state {
    uint32_t outstanding; /* requests of all namespaces that are not completed because of FAKE_HOLD */
};

#endif
