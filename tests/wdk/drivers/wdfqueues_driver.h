/* SPDX-License-Identifier: MIT */
/* Shared by the files of the driver wdfqueues. */
#ifndef TESTS_WDK_DRIVERS_WDFQUEUES_DRIVER_H
#define TESTS_WDK_DRIVERS_WDFQUEUES_DRIVER_H

#include <ntddk.h>
#include <wdf.h>

#include "wdfqueues.h"

#define CHECK(what)          \
    do {                     \
        if (!(what))         \
            return __LINE__; \
    } while (0)

/* Returns the line of the first failed CHECK of a part, if there is one. */
#define CHECK_PART(part)     \
    do {                     \
        ULONG line = (part); \
        if (line)            \
            return line;     \
    } while (0)

/* Control codes: the request handler does this with a device control. */
enum action {
    HOLD = 0x220000,   /* keeps the request in scene.held */
    LINGER = 0x220004, /* completes the request, and returns after scene.go is set */
    MARK = 0x220008,   /* keeps the request in scene.held, with scene.cancel */
};

/* The state of the case that runs. Cases run one after the other. */
struct scene {
    WDFDRIVER driver;
    WDFDEVICE device; /* a device that only this case uses */
    WDFQUEUE queue;   /* its default queue */
    WDFREQUEST volatile held;
    PFN_WDF_REQUEST_CANCEL cancel;
    KEVENT arrived; /* set when a handler has acted */
    KEVENT go, done;
    volatile LONG first, second; /* counts */
};
extern struct scene scene;

/* Creates the scene's device, with this scope and level, and its default queue of this type. */
NTSTATUS scene_open(WDF_IO_QUEUE_DISPATCH_TYPE Type, WDF_SYNCHRONIZATION_SCOPE Scope, WDF_EXECUTION_LEVEL Level);
VOID scene_close(VOID);

/* A request to the scene's device. */
struct sent {
    PIRP irp; /* valid while the request is pending */
    KEVENT done;
    IO_STATUS_BLOCK result;
};
NTSTATUS send(struct sent *Sent, ULONG Code);
/* Waits for the request, and returns its status. */
NTSTATUS sent_status(struct sent *Sent);

VOID wait_for(PKEVENT Event);
/* Starts a system thread, which calls Routine(NULL) and then ends. */
PVOID thread_begin(VOID (*Routine)(PVOID));
VOID thread_end(PVOID Thread);

/* Increments the LONG at Context. */
EVT_WDF_IO_QUEUE_STATE count_state;

ULONG run_request_case(ULONG Case);
ULONG run_object_case(ULONG Case);
ULONG run_target_case(ULONG Case);
VOID break_queue_rule(ULONG Case);
VOID break_wait_rule(ULONG Case);
VOID break_target_rule(ULONG Case);

#endif
