/* SPDX-License-Identifier: MIT */
/*
 * The interface between a Winsock Kernel client (wsk.c) and its sockets. WskDeregister returns only when no call and
 * no reference of the client is left.
 */
#ifndef ONDK_WDK_WSK_CLIENT_H
#define ONDK_WDK_WSK_CLIENT_H

#include "wsk.h"

struct wsk_client;

/*
 * Begins a call through the provider's table; WskDeregister waits until wsk_client_end_call. Returns NULL, and reports
 * it, if the handle is no client or the client has neither captured the provider nor opened an adapter.
 */
struct wsk_client *wsk_client_begin_call(const char *routine, PWSK_CLIENT handle);
void wsk_client_end_call(struct wsk_client *c);

/* A reference for a socket or a name query: WskDeregister waits for it. */
void wsk_client_ref(struct wsk_client *c);
void wsk_client_unref(struct wsk_client *c);

/* The events that WSK_SET_STATIC_EVENT_CALLBACKS has set. */
ULONG wsk_client_static_events(struct wsk_client *c);

/* Completes the IRP, if not NULL, in the call that received it. Returns the status. */
NTSTATUS wsk_complete_irp(PIRP irp, NTSTATUS status, ULONG_PTR information);

#endif
