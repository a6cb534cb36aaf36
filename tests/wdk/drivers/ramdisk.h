/* SPDX-License-Identifier: MIT */
/* What the RAM disk understands beside a disk's commands, for it and its test. */
#ifndef TESTS_WDK_RAMDISK_H
#define TESTS_WDK_RAMDISK_H

#include <stdint.h>

enum { RAMDISK_BLOCK = 512, RAMDISK_BLOCKS = 64 };

enum ramdisk_command {
    RAMDISK_LATER_BY_TIMER = 0xC0,
    RAMDISK_LATER_BY_WORK,
    RAMDISK_LATER_BY_DPC,
    RAMDISK_FREES_TIMER,           /* in its callback, which asks for it again */
    RAMDISK_BY_WORK_AND_DPC,       /* both call StorPortCompleteRequest for the unit */
    RAMDISK_BUSY_TWICE,            /* SRB_STATUS_BUSY */
    RAMDISK_REFUSED_ONCE,          /* HwStartIo says FALSE */
    RAMDISK_HANGS_UNTIL_RESET,     /* of the unit */
    RAMDISK_HANGS_UNTIL_BUS_RESET,
    RAMDISK_HANGS,
    RAMDISK_TWICE,                 /* completed twice */
    RAMDISK_TWICE_WITH_ALL,        /* the first time by StorPortCompleteRequest */
    RAMDISK_AS_PENDING,            /* completed with SRB_STATUS_PENDING */
    RAMDISK_ADDS_UNIT,             /* or takes it away */
    RAMDISK_PAUSES,                /* the unit, for a second, and is busy until then */
    RAMDISK_RESETS,                /* pauses the adapter for a second, and sees a reset then */
    RAMDISK_LINK,                  /* down, and up 300 ms later */
    RAMDISK_TELLS,                 /* a struct ramdisk_told */
    RAMDISK_LEAVES_POOL,
    RAMDISK_LOCKS,
    RAMDISK_TICKS,                 /* HwTimer, which sets itself again to the end */
    RAMDISK_WORKS,                 /* a work item, which queues itself again to the end */
    RAMDISK_LEAVES_LATE,           /* holds the adapter when that is removed, and is done when its reset waits */
    RAMDISK_BUSY_WITH_ALL,         /* with all there are, half a second later, and holds the others until then */
    RAMDISK_STAYS,                 /* in HwStartIo when it is complete; fails without the one above */
    RAMDISK_LINGERS                /* in HwStartIo on its own thread, when the adapter is removed */
};

struct ramdisk_told {
    uint32_t initialize_irql, start_io_irql, passive, unit_resets, bus_resets, removed, tries, refused, locked;
    uint32_t timer_busy, timer_gone, null_refused, others_refused;
    uint32_t calls; /* of StorPortCompleteRequest that are over */
    uint32_t inquiries, together; /* the latter: most at once */
};

#endif
