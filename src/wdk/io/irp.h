/* SPDX-License-Identifier: MIT */
/*
 * I/O requests: what lies in front of an IRP that the system allocated, and how the system itself sends one and waits.
 */
#ifndef ONDK_WDK_IRP_H
#define ONDK_WDK_IRP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "wdm.h"

#include "verify/stack.h"

/* KernelMode and UserMode: who sent it. */
enum irp_from { IRP_FROM_KERNEL, IRP_FROM_USER };

struct irp_block {
    bool system;             /* completion frees it; else IoFreeIrp does */
    bool over;               /* gone through all of its completion: result counts */
    bool ending;             /* output is being copied: the sender waits for that */
    bool abandoned;          /* the sender has gone, and its buffers with it */
    atomic_int references;   /* the owner's, and the sender's while it waits */
    atomic_int facts;        /* how it returned and how it ended, which have to agree */
    IO_STATUS_BLOCK result;
    void *copy_to;           /* buffered output goes there, at most copy_most octets */
    ULONG copy_most;
    PFILE_OBJECT file;       /* that it was sent for, while somebody waits */
    struct irp_block *sending_next;
    struct stack given_away; /* by IoCompleteRequest or IoFreeIrp, while checks are on */
};

/* A request of the system's own with room for the device's whole stack; the caller fills the next location. */
PIRP irp_new(PDEVICE_OBJECT device);
/* The same, but the driver's completion routine frees it. */
PIRP irp_new_for_driver(PDEVICE_OBJECT device);

/*
 * Cancel is set under the cancel spin lock and looked at without it: before it, or after it, the cancel routine is
 * exchanged, so that of the one who cancels and the one who sets a routine at least one sees the other.
 */
static inline bool irp_is_cancelled(PIRP irp)
{
    return __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST);
}

static inline void irp_set_cancel(PIRP irp)
{
    __atomic_store_n(&irp->Cancel, TRUE, __ATOMIC_SEQ_CST);
}

/* Sends it, waits until it has ended, and tells how. The IRP is gone afterwards. PASSIVE_LEVEL. */
NTSTATUS irp_send(PDEVICE_OBJECT device, PIRP irp, ULONG_PTR *information);

/* Cancels what irp_send waits for with that file. */
void irp_cancel_all(PFILE_OBJECT file);

/* Never sent. */
void irp_drop(PIRP irp);

/*
 * Hands buffers over as the control code or the device's flags say. The IRP's end copies buffered output back and
 * frees what was made for it. Where it fails, which a buffer that cannot be locked is a reason for, the IRP is gone.
 */
struct irp_buffers {
    const void *in;
    ULONG in_length;
    void *out;
    ULONG out_capacity;
};
NTSTATUS irp_set_control(PIRP irp, ULONG code, const struct irp_buffers *buffers);
NTSTATUS irp_set_transfer(PIRP irp, PDEVICE_OBJECT device, const struct irp_buffers *buffers, int64_t offset);
/* The system's part of the end, before anybody sees it: output copied, buffers freed. */
void irp_take_buffers(PIRP irp, struct irp_block *b);
struct irp_block *irp_block_of(PIRP irp);

#endif
