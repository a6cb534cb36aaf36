/* SPDX-License-Identifier: MIT */
/* The vendor's commands of the RAM disk, for the disk and its test. */
#ifndef TESTS_WDK_RAMDISK_H
#define TESTS_WDK_RAMDISK_H

#include <stdint.h>

enum { RAMDISK_BLOCK = 512, RAMDISK_BLOCKS = 64 };

enum ramdisk_command {
    RAMDISK_LATER_BY_TIMER = 0xC0,
    RAMDISK_LATER_BY_WORK,
    RAMDISK_LATER_BY_DPC,
    RAMDISK_FREES_TIMER,       /* from its callback, which requests it again */
    RAMDISK_BY_WORK_AND_DPC,   /* both call StorPortCompleteRequest for the unit */
    RAMDISK_BUSY_TWICE,        /* SRB_STATUS_BUSY */
    RAMDISK_REFUSED_ONCE,      /* HwStartIo returns FALSE */
    RAMDISK_HANGS_UNTIL_RESET, /* of the unit */
    RAMDISK_HANGS_UNTIL_BUS_RESET,
    RAMDISK_HANGS,
    RAMDISK_TWICE,          /* completed twice */
    RAMDISK_TWICE_WITH_ALL, /* the first time by StorPortCompleteRequest */
    RAMDISK_AS_PENDING,     /* completed with SRB_STATUS_PENDING */
    RAMDISK_ADDS_UNIT,      /* or removes it */
    RAMDISK_PAUSES,         /* the unit, for a second, and is busy until then */
    RAMDISK_RESETS,         /* pauses the adapter for a second, and sees a reset then */
    RAMDISK_LINK,           /* down, and up 300 ms later */
    RAMDISK_TELLS,          /* a struct ramdisk_told */
    RAMDISK_LEAVES_POOL,
    RAMDISK_LOCKS,
    RAMDISK_TICKS,         /* HwTimer, which sets itself again until the end */
    RAMDISK_WORKS,         /* a work item, which queues itself again until the end */
    RAMDISK_LEAVES_LATE,   /* blocks the removal of the adapter, and returns when the reset waits */
    RAMDISK_BUSY_WITH_ALL, /* with all requests, half a second later, and delays the others until then */
    RAMDISK_STAYS,         /* in HwStartIo when it is complete; fails without the one above */
    RAMDISK_NOTIFIES,      /* the port of changes */
    RAMDISK_LINGERS,       /* in HwStartIo on its own thread, when the adapter is removed */
    RAMDISK_HIDES_FIRST,   /* INQUIRY of unit 0 has the peripheral qualifier 3; or shows unit 0 again */
    RAMDISK_LISTS_NOTHING, /* REPORT LUNS is not supported; or is supported again */
    RAMDISK_NOTIFIES_LAST  /* the port of a change, whose scan the removal prevents */
};

struct ramdisk_told {
    uint32_t initialize_irql, start_io_irql, passive, unit_resets, bus_resets, removed, tries, refused, locked;
    uint32_t timer_busy, timer_gone, null_refused, others_refused;
    uint32_t calls;               /* of StorPortCompleteRequest */
    uint32_t inquiries, together; /* the latter: most at once */
    uint32_t unmet;               /* line of the first expectation of ramdisk_pnp.c that is not met */
    uint32_t changes;             /* calls of HwStateChange */
};

/* The value Refuse of the service: what the dispatch routine in front of the port's does. */
enum { RAMDISK_REFUSE_START = 1, RAMDISK_FORGET_START, RAMDISK_FORGET_REMOVE, RAMDISK_REFUSE_REMOVE };
#define RAMDISK_INTERFACE "{6a1d0f5e-3c1b-4d0e-9a11-52414d444953}"

#endif
