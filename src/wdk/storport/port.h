/* SPDX-License-Identifier: MIT */
/*
 * The Storport port driver, as far as virtual miniports need one. One adapter for each driver that has called
 * StorPortInitialize. Requests come from the port's device (device.c), the scan (scan.c) and the port
 * itself; queue.c hands them to the miniport and takes them back.
 */
#ifndef ONDK_WDK_STORPORT_PORT_H
#define ONDK_WDK_STORPORT_PORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "storport.h"

#include "verify/stack.h"
#include "wdk/ke/thread.h"

/* What is asked for, and what came of it. */
struct port_call {
    UCHAR function, path, target, lun;
    UCHAR cdb_length, cdb[16];
    ULONG flags;          /* SRB_FLAGS_DATA_IN and so on */
    ULONG timeout;        /* seconds */
    void *data;
    ULONG length;         /* of data; then how much was moved */
    STOR_PNP_ACTION pnp_action;
    ULONG pnp_flags;
    UCHAR srb_status, scsi_status, sense_length;
    UCHAR sense[SENSE_BUFFER_SIZE_EX];
};

struct port_unit {
    struct port_unit *next;
    UCHAR path, target, lun;
    bool found;           /* it has answered an INQUIRY */
    UCHAR inquiry[INQUIRYDATABUFFERSIZE];
    void *extension;      /* the miniport's */
    ULONG active, depth;
    ULONG busy_until;     /* not before `active` is as low; UINT32_MAX: not busy */
    int64_t paused_until; /* interrupt time; 0: not paused */
};

enum port_state { REQUEST_WAITS, REQUEST_IS_STARTED, REQUEST_IS_OVER };
/* What a request that takes too long has led to. */
enum port_rescue { RESCUE_NONE, RESCUE_UNIT_RESET, RESCUE_BUS_RESET };

struct port_request {
    LIST_ENTRY link;      /* in `waiting` or `started` */
    int references;       /* the queue's, the sender's, a call's into the miniport; under the adapter's lock */
    enum port_state state;
    enum port_rescue rescue;
    bool over;            /* the sender's copy below is whole */
    bool abandoned;       /* the sender has gone */
    int64_t until;        /* interrupt time */
    struct port_unit *unit;
    struct port_call call;
    void *srb, *extension, *data, *sense;
    PMDL mdl;
};

enum { PORT_FORGOTTEN = 64 };

struct port_adapter {
    PDRIVER_OBJECT driver;
    HW_INITIALIZATION_DATA miniport;
    PORT_CONFIGURATION_INFORMATION config;
    struct port_extension *extension;
    PDEVICE_OBJECT device, lower;
    unsigned number;
    bool passive_asked, supports[ScsiAdapterControlMax];
    PHW_PASSIVE_INITIALIZE_ROUTINE passive;
    KSPIN_LOCK start_io_lock, interrupt_lock; /* the miniport's to acquire */
    KTIMER watch;         /* set while a request is under way */
    KDPC watch_dpc;
    KTIMER timer;         /* RequestTimerCall */
    KDPC timer_dpc;
    _Atomic(PHW_TIMER) timer_routine;

    pthread_mutex_t lock; /* all below */
    pthread_cond_t changed;
    LIST_ENTRY waiting, started;
    ULONG active, busy_until;
    int64_t paused_until;
    atomic_bool running;
    bool link_down, resetting, watched;
    bool removing;        /* its timers are not set any more, nor its work items queued */
    ULONG users;          /* work items, and threads on their way to the miniport or back: its end waits for them */
    bool scanning, scan_again, no_scan;
    bool refused;         /* HwStartIo has said FALSE: nothing is started until something has changed */
    WORK_QUEUE_ITEM scan_item;
    struct port_unit *units;
    struct {
        const void *srb;
        struct stack by;
    } forgotten[PORT_FORGOTTEN]; /* completed last, while checks are on */
    unsigned forgotten_next;
};

/* In front of the miniport's device extension. */
struct port_extension {
    struct port_adapter *adapter;
    _Alignas(64) char data[];
};

static inline struct port_adapter *port_of(PVOID extension)
{
    return CONTAINING_RECORD(extension, struct port_extension, data)->adapter;
}

/* Around a call into the miniport: at this IRQL, and it has to come back as it was called. */
struct port_inside {
    KIRQL before;
    struct thread_mark mark;
};
struct port_inside port_enter(KIRQL level);
void port_leave(const struct port_inside *inside, const char *routine, const void *called);

/* ---- request.c: a request's memory --------------------------------------------------------------------- */

/* With an SRB and its extension, both references the caller's. NULL: no memory. */
struct port_request *port_request_new(struct port_adapter *a, const struct port_call *call);
/* A fresh SRB and extension for another try. False: no memory, and it has the old ones. */
bool port_request_renew(struct port_adapter *a, struct port_request *r);
void port_request_free(struct port_request *r);
/* Under the adapter's lock. */
void port_request_put(struct port_request *r);
/* What the miniport has put into the SRB, into r->call. */
void port_request_collect(struct port_request *r);
UCHAR port_srb_status(const void *srb);
void port_srb_set_status(void *srb, UCHAR status);

/* ---- queue.c ------------------------------------------------------------------------------------------- */

/* Sends it and waits for its end; false: no memory, or no end came in time. PASSIVE_LEVEL. */
bool port_send(struct port_adapter *a, struct port_call *call);
/* Starts what can be started. */
void port_pump(struct port_adapter *a);
/* Under the lock: one of `users` has gone. */
void port_unuse(struct port_adapter *a);
/* From the miniport. */
void port_complete(struct port_adapter *a, void *srb, const void *by);
/* address: path, target, unit, each of them SP_UNTAGGED for all. */
void port_complete_all(struct port_adapter *a, const UCHAR address[3], UCHAR status, const void *by);
/* Under the lock. NULL: it is not started. */
struct port_request *port_find(struct port_adapter *a, const void *srb);
/* Under the lock; with `make`, NULL means no memory. */
struct port_unit *port_unit_get(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun, bool make);
/* HwResetBus, with nothing started meanwhile. */
void port_reset_bus(struct port_adapter *a, UCHAR path);
/* Under the lock: for BusResetHoldTime. */
void port_hold_after_reset(struct port_adapter *a);
/* Four times a second while a request is under way (watch.c). */
KDEFERRED_ROUTINE port_watch;
void port_watch_start(struct port_adapter *a);
/* Under the lock: waiting ones whose time is over, or all when the adapter goes, never reach the miniport. */
void port_end_waiting(struct port_adapter *a);

/* ---- scan.c, device.c, adapter.c ----------------------------------------------------- */

/* On the caller's thread. PASSIVE_LEVEL. */
void port_scan(struct port_adapter *a);
void port_scan_later(struct port_adapter *a);
struct port_adapter *port_of_device(PDEVICE_OBJECT device);
DRIVER_DISPATCH port_device_control;
DRIVER_DISPATCH port_device_open;
KDEFERRED_ROUTINE port_timer_expired;

#endif
