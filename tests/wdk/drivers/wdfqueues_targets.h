/* SPDX-License-Identifier: MIT */
/* Shared by the cases of wdfqueues for I/O targets. */
#ifndef TESTS_WDK_DRIVERS_WDFQUEUES_TARGETS_H
#define TESTS_WDK_DRIVERS_WDFQUEUES_TARGETS_H

#include "wdfqueues_driver.h"

/* More control codes of the scene's device. */
#define REVERSE(method) (0x220000u | 0x40u << 2 | (ULONG)(method)) /* output: the input, reversed */
#define FORWARD 0x220104u                                         /* sent on to `target` as it is */
#define REFORMAT 0x220108u                                        /* sent on with a buffer of the driver */
#define PURGE 0x22010Cu                                           /* the request handler purges `target` */

/* The scene's device as target of this driver's requests. NULL: the case has deleted it. */
extern WDFIOTARGET target;

/* The last completion that on_completion has received. */
struct completed {
    KEVENT done;
    WDF_REQUEST_COMPLETION_PARAMS params;
    NTSTATUS status;
    WDFCONTEXT context;
};
extern struct completed completed;

/* Creates the scene with `target`. */
NTSTATUS open_scene(VOID);
/* Creates a target, and opens scene.device by the name that the system has made. */
NTSTATUS open_target(PWDF_OBJECT_ATTRIBUTES Attributes, WDFIOTARGET *Target);
EVT_WDF_REQUEST_COMPLETION_ROUTINE on_completion;
/* Sends a request to `target`, and waits until it is marked cancelable in scene.held. */
NTSTATUS send_marked_with(WDFREQUEST *Request, PFN_WDF_REQUEST_COMPLETION_ROUTINE Routine);
/* The completion routine is on_completion. */
NTSTATUS send_marked(WDFREQUEST *Request);

/* Sends a request whose IRP has a stack location more, for the target to which the driver forwards the request. */
NTSTATUS send_with_location(struct sent *Sent, ULONG Code);

/* A completion routine that runs on a thread of its own. */
struct linger {
    PVOID runs, ends; /* the thread of the routine, and the thread that sets scene.go a little later, or NULL */
};
/* Begins a completion routine that waits for scene.go, and then increments scene.first. */
NTSTATUS begin_linger_until_set(struct linger *Linger);
/* Works like begin_linger_until_set, and lets another thread set scene.go. */
NTSTATUS begin_linger(struct linger *Linger);
VOID finish_linger(struct linger *Linger);

ULONG check_target_state(ULONG Case);
ULONG check_target_stopping(ULONG Case);
VOID break_target_state(ULONG Case);
VOID break_target_stopping(ULONG Case);

#endif
