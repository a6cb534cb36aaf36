/* SPDX-License-Identifier: MIT */
/*
 * The interface between a Winsock Kernel client (wsk.c) and its sockets. WskDeregister returns only after all of the
 * client's calls have ended and all of its references are released.
 */
#ifndef ONDK_WDK_WSK_CLIENT_H
#define ONDK_WDK_WSK_CLIENT_H

#include "wsk.h"

#include "wdk/common/kernel_call.h"

struct wsk_client;

/*
 * Begins a driver's call through the provider's table. WskDeregister then waits until wsk_client_end_call. If the
 * handle is no client, or the client has not captured the provider and has no open adapter, reports the call and
 * returns NULL.
 */
struct wsk_client *wsk_client_begin_call(const char *routine, PWSK_CLIENT handle);
void wsk_client_end_call(struct wsk_client *c);

/*
 * These two functions add and drop a reference to the client. Sockets and name queries hold such references.
 * WskDeregister waits until no reference is left.
 */
void wsk_client_ref(struct wsk_client *c);
void wsk_client_unref(struct wsk_client *c);

/* Returns the events that WSK_SET_STATIC_EVENT_CALLBACKS has set. */
ULONG wsk_client_static_events(struct wsk_client *c);

/* Completes the IRP of a driver's call before the call returns. Does nothing if `irp` is NULL. Returns `status`. */
NTSTATUS wsk_complete_irp(PIRP irp, NTSTATUS status, ULONG_PTR information);
/*
 * Records that the IRP of a call that has returned STATUS_PENDING is about to be completed. `object` is the call's
 * object. Does nothing if tracing was off when the call began.
 */
void wsk_trace_completed(const struct kernel_call *call, PIRP irp, NTSTATUS status, ULONG_PTR information);

#endif
