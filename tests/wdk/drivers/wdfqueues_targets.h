/* SPDX-License-Identifier: MIT */
/* Shared by the cases of wdfqueues for I/O targets. */
#ifndef TESTS_WDK_DRIVERS_WDFQUEUES_TARGETS_H
#define TESTS_WDK_DRIVERS_WDFQUEUES_TARGETS_H

#include "wdfqueues_driver.h"

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

ULONG check_target_state(ULONG Case);
VOID break_target_state(ULONG Case);

#endif
