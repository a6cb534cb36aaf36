/* SPDX-License-Identifier: MIT */
/*
 * The part of the Storport port driver that virtual miniports need. Each driver that has called StorPortInitialize has
 * one adapter. queue.c passes requests to the miniport and completes them. The requests come from the port's device
 * (device.c), the scan (scan.c) and the port itself. The adapter's lock is never held during a call into the miniport.
 */
#ifndef ONDK_WDK_STORPORT_PORT_H
#define ONDK_WDK_STORPORT_PORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "storport.h"

#include "verify/stack.h"
#include "wdk/ke/thread.h"

/* A request's parameters and results. */
struct port_call {
    UCHAR function, path, target, lun;
    UCHAR cdb_length, cdb[16];
    ULONG flags;   /* SRB_FLAGS_DATA_IN and so on */
    ULONG timeout; /* seconds */
    void *data;
    ULONG length; /* bytes at `data`; after the completion, the bytes transferred */
    STOR_PNP_ACTION pnp_action;
    ULONG pnp_flags;
    UCHAR srb_status, scsi_status, sense_length;
    UCHAR sense[SENSE_BUFFER_SIZE_EX];
};

struct port_unit {
    struct port_unit *next;
    UCHAR path, target, lun;
    bool found; /* the last INQUIRY found a device */
    UCHAR inquiry[INQUIRYDATABUFFERSIZE];
    STOR_UNIT_ATTRIBUTES attributes;
    void *extension; /* the miniport's memory for the unit */
    ULONG active, depth;
    ULONG busy_until;     /* the unit is busy while `active` > busy_until; UINT32_MAX: not busy */
    int64_t paused_until; /* interrupt time; 0: not paused */
};

enum port_state { REQUEST_WAITING, REQUEST_STARTED, REQUEST_COMPLETED };
/* The last measure of watch.c against a request that takes too long: none, a unit reset, or a bus reset. */
enum port_rescue { RESCUE_NONE, RESCUE_UNIT_RESET, RESCUE_BUS_RESET };

struct port_request {
    LIST_ENTRY link; /* in `waiting` or `started` */
    int references;  /* the queue, the sender and a running HwStartIo each have one; under the adapter's lock */
    enum port_state state;
    enum port_rescue rescue;
    bool completed;       /* `call` has the results */
    bool abandoned;       /* watch.c has given up the request: no sender waits for it */
    pthread_cond_t ended; /* signalled when the request is completed or abandoned; its sender waits for it */
    int64_t deadline;     /* interrupt time */
    struct port_unit *unit;
    struct port_call call;
    void *srb, *extension, *data, *sense;
    PMDL mdl;
};

enum { PORT_MAX_RECENT = 64 };

/* Whether the adapter has received IRP_MN_START_DEVICE and IRP_MN_REMOVE_DEVICE. */
enum port_pnp { PNP_NEW, PNP_STARTED, PNP_REMOVED };

/* Reports from the miniport. The next scan processes these reports. attributes.c has the table of states. */
struct port_notices {
    bool async; /* StorPortAsyncNotificationDetected */
    bool state; /* StorPortStateChangeDetected; the members below are its arguments */
    PHW_STATE_CHANGE routine;
    void *context;
    STOR_ADDRESS *address;
};

struct port_adapter {
    PDRIVER_OBJECT driver;
    HW_INITIALIZATION_DATA miniport;
    PORT_CONFIGURATION_INFORMATION config;
    struct port_extension *extension;
    PDEVICE_OBJECT device, lower;
    unsigned number;
    bool supports[ScsiAdapterControlMax];
    bool finding; /* HwFindAdapter runs */
    STORAGE_BUS_TYPE bus_type;
    _Atomic(enum port_pnp) pnp;
    const char *start_failure; /* the reason why the adapter did not start */
    PHW_PASSIVE_INITIALIZE_ROUTINE passive;
    KSPIN_LOCK start_io_lock, interrupt_lock; /* for StorPortAcquireSpinLock and StorPortSynchronizeAccess */
    KTIMER watch;                             /* set while a request waits or is started */
    KDPC watch_dpc;
    KTIMER timer; /* RequestTimerCall */
    KDPC timer_dpc;
    _Atomic(PHW_TIMER) timer_routine;
    atomic_bool running; /* apart from the members below, which the compiler reads in one word */

    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t changed;
    LIST_ENTRY waiting, started;
    ULONG active, busy_until;
    int64_t paused_until;
    bool link_down, resetting, watched;
    bool removing; /* set when the removal begins; from then on no timer is set and no work item is queued */
    /* Number of work items and of threads that start or complete requests. The removal waits until this number is 0. */
    ULONG users;
    bool scanning, scan_again, no_scan;
    struct port_notices notices;
    bool refused; /* HwStartIo returned FALSE: no request starts until a completion, a reset or port_watch */
    WORK_QUEUE_ITEM scan_item;
    struct port_unit *units;
    struct {
        const void *srb;
        struct stack by;
    } recent[PORT_MAX_RECENT]; /* a ring of the last completed SRBs, while checks are on */
    unsigned recent_next;
};

/* The block that contains the miniport's device extension, which is `data`. */
struct port_extension {
    struct port_adapter *adapter;
    _Alignas(64) char data[];
};

static inline struct port_adapter *port_of(PVOID extension)
{
    return CONTAINING_RECORD(extension, struct port_extension, data)->adapter;
}

/*
 * port_enter and port_exit surround a call into the miniport. port_enter sets the IRQL of the call. port_exit reports a
 * changed IRQL and locks that are still held, and restores the IRQL from before port_enter.
 */
struct port_inside {
    KIRQL before;
    struct thread_mark mark;
};
struct port_inside port_enter(KIRQL level);
void port_exit(const struct port_inside *inside, const char *routine, const void *called);

/* ---- request.c: a request's memory --------------------------------------------------------------------- */

/*
 * Allocates a request with SRB and extension, and two references: one of the queue and one of the sender. Returns NULL
 * if out of memory.
 */
struct port_request *port_request_alloc(struct port_adapter *a, const struct port_call *call);
/* Replaces the SRB and its extension for a retry. If out of memory, returns false and keeps both. */
bool port_request_renew(struct port_adapter *a, struct port_request *r);
void port_request_free(struct port_request *r);
/* Drops a reference. Requires the adapter's lock. */
void port_request_unref(struct port_request *r);
/* Copies the SRB's results to r->call. If the request is not abandoned, also copies the data to the sender. */
void port_request_collect(struct port_request *r);
UCHAR port_srb_status(const void *srb);
void port_srb_set_status(void *srb, UCHAR status);

/* ---- queue.c ------------------------------------------------------------------------------------------- */

/*
 * Sends a request and waits until it is completed. Returns false if the request cannot be queued or takes too long.
 * Requires PASSIVE_LEVEL.
 */
bool port_send(struct port_adapter *a, struct port_call *call);
/* Starts every request that can be started. */
void port_pump(struct port_adapter *a);
/* Decrements `users`. Requires the lock. */
void port_unref(struct port_adapter *a);
/* Handles the miniport's completion of the SRB; `by` is the return address of the miniport's call. */
void port_complete(struct port_adapter *a, void *srb, const void *by);
/*
 * Completes all started requests to `address`, which has the numbers of path, target and unit. SP_UNTAGGED in place of
 * a number means all numbers.
 */
void port_complete_all(struct port_adapter *a, const UCHAR address[3], UCHAR status, const void *by);
/* Returns the started request of the SRB, or NULL. Requires the lock. */
struct port_request *port_find(struct port_adapter *a, const void *srb);
/*
 * Returns the unit, or NULL if it does not exist. If `make` is true, creates a missing unit, and returns NULL only if
 * out of memory. Requires the lock.
 */
struct port_unit *port_unit_get(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun, bool make);
/* Calls HwResetBus. The caller has set `resetting`, so that no request is started meanwhile; clears it. */
void port_reset_bus(struct port_adapter *a, UCHAR path);
/* Pauses the adapter for BusResetHoldTime. Requires the lock. */
void port_pause_after_reset(struct port_adapter *a);
/* Runs four times a second while a request waits or is started (watch.c). */
KDEFERRED_ROUTINE port_watch;
/* Sets the timer a->watch, except if that timer is set already. Requires the lock. */
void port_watch_arm(struct port_adapter *a);
/* Fails the waiting requests whose deadline has passed. If a->removing, fails all of them. Requires the lock. */
void port_end_waiting(struct port_adapter *a);

/* ---- scan.c, device.c, adapter.c ----------------------------------------------------- */

/* Starts the processing of requests, and scans on the caller's thread. Requires PASSIVE_LEVEL. */
void port_scan_first(struct port_adapter *a);
/*
 * Queues a work item that scans. If a scan is running, instead requests another scan after the running scan. Returns
 * false if the adapter is not started, or is being removed.
 */
bool port_scan_later(struct port_adapter *a);
/* Like port_scan_later, but requires the lock. */
bool port_scan_later_locked(struct port_adapter *a);
/* Ends the notices, and passes `status` to the miniport's routine. Called for each notice once. */
void port_end_notices(struct port_adapter *a, const struct port_notices *notices, ULONG status);
/* These functions implement StorPortNotification for the two kinds of notices. They return a STOR_STATUS. */
ULONG port_notice_async(struct port_adapter *a, const STOR_ADDRESS *address, ULONGLONG flags);
ULONG port_notice_state(struct port_adapter *a, ULONG entities, STOR_ADDRESS *address, PHW_STATE_CHANGE routine,
                        void *context);

/* The driver passes IRP_MJ_PNP of the adapter's device to this routine. */
DRIVER_DISPATCH port_pnp_dispatch;
/*
 * Starts the miniport. Returns NULL, or the reason of the failure. After a failure the caller frees the devices and the
 * adapter's number.
 */
const char *port_adapter_start(struct port_adapter *a);
/* Frees the record of the registry buffer. If the miniport has not freed the buffer, the unload reports the buffer. */
void port_registry_forget(const struct port_adapter *a);
/* Reports the removal to the miniport and stops the miniport. The caller frees the devices and the adapter. */
void port_adapter_stop(struct port_adapter *a);
struct port_adapter *port_of_device(PDEVICE_OBJECT device);
DRIVER_DISPATCH port_device_control;
DRIVER_DISPATCH port_device_open;
KDEFERRED_ROUTINE port_timer_expired;

#endif
