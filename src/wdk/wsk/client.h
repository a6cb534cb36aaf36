/* SPDX-License-Identifier: MIT */
/*
 * The interface between a Winsock Kernel client (wsk.c) and its sockets. WskDeregister returns only after all of the
 * client's calls have ended and all of its references are released.
 */
#ifndef ONDK_WDK_WSK_CLIENT_H
#define ONDK_WDK_WSK_CLIENT_H

#include "wsk.h"

struct wsk_client;

/*
 * Begins a call through the provider's table. WskDeregister waits until wsk_client_end_call. Returns NULL and reports
 * the handle if it is no client, or a client that has not captured the provider and has no adapter open.
 */
struct wsk_client *wsk_client_begin_call(const char *routine, PWSK_CLIENT handle);
void wsk_client_end_call(struct wsk_client *c);

/* Adds or drops the reference of a socket or a name query. WskDeregister waits until no reference is left. */
void wsk_client_ref(struct wsk_client *c);
void wsk_client_unref(struct wsk_client *c);

/* Returns the events that WSK_SET_STATIC_EVENT_CALLBACKS has set. */
ULONG wsk_client_static_events(struct wsk_client *c);

/* Completes the IRP, if it is not NULL, during the call that received it. Returns the status. */
NTSTATUS wsk_complete_irp(PIRP irp, NTSTATUS status, ULONG_PTR information);

#endif
