/* SPDX-License-Identifier: MIT */
/*
 * I/O requests, and how the kernel itself sends them. The code that has allocated an IRP owns the IRP until all stack
 * locations are completed, or until the IRP is freed. A counted block precedes each IRP that this kernel has allocated.
 * The memory of a freed IRP remains allocated until the last reference on its block is released.
 */
#ifndef ONDK_WDK_IRP_H
#define ONDK_WDK_IRP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "wdm.h"

#include "base/private_export.h"
#include "verify/stack.h"

/* The mode from which a request is sent: KernelMode or UserMode. */
enum irp_from { IRP_FROM_KERNEL, IRP_FROM_USER };

struct irp_block {
    bool system;           /* the completion frees the IRP; otherwise IoFreeIrp does */
    bool completed;        /* all stack locations of the IRP are completed, and `result` is valid */
    bool completing;       /* the output is being copied to the sender's buffer; the sender must wait */
    bool abandoned;        /* irp_send has returned before the completion, so the sender's buffers must not be used */
    atomic_int references; /* the owner's reference; the sender also has one while it waits */
    atomic_int pending_facts; /* bits about the dispatch routine and the completion: see irp_check_pending */
    PDEVICE_OBJECT device;    /* the IRP was allocated for this device; NULL for an IRP of IoAllocateIrp */
    bool refs_device;         /* the IRP has a reference on `device`, which irp_send or irp_free_unsent drops */
    IO_STATUS_BLOCK result;
    void *out_buffer;   /* buffered output is copied here on completion, at most out_capacity bytes */
    ULONG out_capacity; /* size of the sender's output buffer, for every method; 0: the sender expects no output */
    struct irp_block *sending_next;
    /* irp_send sets the members below, except `released`. */
    PFILE_OBJECT file; /* the request's file, while irp_send waits */
    unsigned thread;   /* the host's ID of the thread that sends the request */
    UCHAR major;
    ULONG code;            /* the control code, if the request is a device control */
    int64_t sent_at;       /* the value of clock_interrupt() when the request was sent */
    struct stack released; /* call stack of IoCompleteRequest or IoFreeIrp; stored only while checks are on */
};

/*
 * Returns an IRP that the kernel itself sends, or NULL if out of memory. The IRP has a location for each device of the
 * stack, and a reference on the top device. The caller fills in the next location, and then calls irp_send or
 * irp_free_unsent, which drop that reference. The completion frees the IRP.
 */
PIRP irp_new(PDEVICE_OBJECT device) PRIVATE_EXPORT(irp_new);
/*
 * Returns an IRP that a driver sends to this device, or NULL if out of memory. If `system` is true, the completion of
 * the IRP frees it. Otherwise the driver frees it with IoFreeIrp.
 */
PIRP irp_build(PDEVICE_OBJECT device, bool system);

/*
 * Reads Irp->Cancel. This access and the exchange of the cancel routine are sequentially consistent. IoCancelIrp sets
 * Cancel and then exchanges the routine; a driver sets the routine and then reads Cancel. So IoCancelIrp finds the
 * routine, or the driver finds Cancel set, or both.
 */
static inline bool irp_is_cancelled(PIRP irp)
{
    return __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST);
}

static inline void irp_set_cancel(PIRP irp)
{
    __atomic_store_n(&irp->Cancel, TRUE, __ATOMIC_SEQ_CST);
}

/*
 * Sends a request to the device for which irp_new has allocated it, waits for its completion, and returns its status.
 * *information receives the IRP's Information; `information` may be NULL. Afterwards the caller must not use the IRP.
 * Requires PASSIVE_LEVEL.
 */
NTSTATUS irp_send(PIRP irp, ULONG_PTR *information) PRIVATE_EXPORT(irp_send);

/* Completes the IRP as IoCompleteRequest does. The kernel calls this for requests that a driver has sent to it. */
void irp_complete(PIRP irp);

/* Cancels the file's requests for which irp_send waits. */
void irp_cancel_file(PFILE_OBJECT file);
/*
 * Cancels the requests for which `thread` (the host's ID) waits in irp_send, except IRP_MJ_CLEANUP and IRP_MJ_CLOSE.
 * Windows does the same when a thread ends. A second call does not cancel these requests again.
 */
void irp_cancel_thread(unsigned thread);

/* A request for which irp_send waits: the dispatch routine runs, or the request is pending. */
struct irp_pending {
    const void *irp;
    unsigned thread;
    UCHAR major;
    ULONG code;
    int64_t age;        /* in units of 100 ns */
    bool returned;      /* the dispatch routine has returned; false: the thread still runs it */
    bool completed;     /* if true, `marked`, `cancelled` and `cancel` are not valid */
    bool marked;        /* the highest driver has called IoMarkIrpPending */
    bool cancelled;     /* IoCancelIrp was called */
    const void *cancel; /* the cancel routine, or NULL */
    char driver[64];    /* the name of the highest device's driver */
};
/*
 * Copies at most `room` of the pending requests that `thread` (0: any thread) has sent. Returns the number of all such
 * requests, which may exceed `room`.
 */
unsigned irp_copy_pending(unsigned thread, struct irp_pending *out, unsigned room);

/* Sets the calling thread's previous mode, for ExGetPreviousMode. Returns the mode that was set before. */
KPROCESSOR_MODE request_enter(KPROCESSOR_MODE mode);

/* Frees a request that was not sent. */
void irp_free_unsent(PIRP irp);

/*
 * irp_set_control, irp_set_transfer and irp_set_buffered set the request's buffers. The control code or the device
 * selects the method: buffered, direct or neither. The completion copies buffered output back and frees the system's
 * buffer and MDL. If the functions fail, for example because a buffer cannot be locked, they free the IRP.
 */
struct irp_buffers {
    const void *in;
    ULONG in_length;
    void *out;
    ULONG out_capacity;
};
NTSTATUS irp_set_control(PIRP irp, ULONG code, const struct irp_buffers *buffers);
NTSTATUS irp_set_buffered(PIRP irp, const struct irp_buffers *buffers);
NTSTATUS irp_set_transfer(PIRP irp, const struct irp_buffers *buffers, int64_t offset);
/* Copies buffered output back, frees the system's buffer and the MDLs. Called before the completion is signalled. */
void irp_release_buffers(PIRP irp, struct irp_block *b);

enum { IRP_TEXT_SIZE = 96, IRP_STATUS_TEXT_SIZE = 96 };
/*
 * Describes the IRP, for example "IRP 0x7f..., IRP_MJ_DEVICE_CONTROL code 0x00222003". Omits the major function if the
 * IRP was sent to no device. Returns `text`.
 */
const char *irp_text(PIRP irp, char text[IRP_TEXT_SIZE]);
/* Describes the status, for example "STATUS_SUCCESS", or "status 0xE0001234" if it has no name. Returns `text`. */
const char *irp_status_text(NTSTATUS status, char text[IRP_STATUS_TEXT_SIZE]);

/* Returns the IRP's block, or NULL if the driver allocated the IRP itself. */
struct irp_block *irp_block_from_irp(PIRP irp);

#endif
