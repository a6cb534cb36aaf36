/* SPDX-License-Identifier: MIT */
/* Shared by the files of the driver wdfcontrol. */
#ifndef TESTS_WDK_DRIVERS_WDFCONTROL_DRIVER_H
#define TESTS_WDK_DRIVERS_WDFCONTROL_DRIVER_H

#include <ntddk.h>
#include <wdf.h>

#include "wdfcontrol.h"

struct request {
    WDFMEMORY input, output; /* of WdfRequestProbeAndLockUserBuffer..., or of the first retrieval */
    CHAR first;              /* the first byte of the input */
    BOOLEAN noted;           /* the deletion of the request is an event */
};
typedef struct request struct_request;
WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(struct_request, request_of)

struct scoped {
    volatile LONG inside, most;
};
typedef struct scoped struct_scoped;
WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(struct_scoped, scoped_of)

struct control {
    WDFDRIVER driver;
    WDFDEVICE device, unfinished;
    WDFDEVICE dispatch, passive; /* serialized by their scopes, at these levels */
    WDFQUEUE queues[4];
    WDFSPINLOCK lock; /* guards `marked` and `marks` */
    WDFREQUEST marked;
    ULONG marks; /* requests that WDFCONTROL_MARK has marked */
    WDFREQUEST volatile reading;
    CHAR events[128];
    volatile LONG n_events;
    volatile LONG notified; /* `events` has an event of WdfIoQueueReadyNotify */
};
extern struct control control;

/* Appends an event. */
VOID note(CHAR what);

/* Breaks the rule of the case, and completes the request. */
VOID break_rule(WDFREQUEST Request, ULONG Case);
/* Returns whether the code is one that EvtIoInCallerContext shall leave unanswered. */
BOOLEAN break_in_caller_context(WDFREQUEST Request, ULONG IoControlCode);
/* A read of WDFCONTROL_LINGER bytes. */
VOID linger(WDFREQUEST Request);
/* MARK_ALONE; returns STATUS_PENDING. */
NTSTATUS mark_alone(WDFREQUEST Request);
/* MARK_READ, REQUEUE and FLUSH. */
NTSTATUS handle_purge(ULONG Function);
/* Returns the line of the first check that fails, or 0. */
ULONG check_objects(WDFDEVICE Device);

#endif
