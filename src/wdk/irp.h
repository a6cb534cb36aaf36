/* SPDX-License-Identifier: MIT */
/*
 * I/O requests: what lies in front of an IRP that the system allocated, and how the system itself sends one and waits.
 */
#ifndef ONDK_WDK_IRP_H
#define ONDK_WDK_IRP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "wdm.h"

#include "wdk/stack.h"

struct irp_block {
    bool system;             /* completion frees it; else IoFreeIrp does */
    bool over;               /* gone through all of its completion: result counts */
    atomic_int references;   /* the owner's, and the sender's while it waits */
    atomic_int facts;        /* how it returned and how it ended, which have to agree */
    IO_STATUS_BLOCK result;
    void *copy_to;           /* buffered output goes there, at most copy_most octets */
    ULONG copy_most;
    struct stack given_away; /* by IoCompleteRequest or IoFreeIrp, while checks are on */
};

/* A request of the system's own with room for the device's whole stack; the caller fills the next location. */
PIRP irp_new(PDEVICE_OBJECT device);

/* Sends it, waits until it has ended, and tells how. The IRP is gone afterwards. PASSIVE_LEVEL. */
NTSTATUS irp_send(PDEVICE_OBJECT device, PIRP irp, ULONG_PTR *information);

#endif
