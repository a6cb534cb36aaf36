/* SPDX-License-Identifier: MIT */
/* Who has registered with Winsock Kernel, as the sockets see it: see wsk.c. */
#ifndef ONDK_WDK_WSK_CLIENT_H
#define ONDK_WDK_WSK_CLIENT_H

#include "wsk.h"

struct wsk_client;

/*
 * A call through the provider's table: it counts until leave. NULL: that is no client which has captured the provider,
 * and that has been reported.
 */
struct wsk_client *wsk_client_enter(const char *routine, PWSK_CLIENT handle);
void wsk_client_leave(struct wsk_client *c);

/* A socket, or something else that WskDeregister waits for. */
void wsk_client_hold(struct wsk_client *c);
void wsk_client_drop(struct wsk_client *c);

/* Events of WSK_SET_STATIC_EVENT_CALLBACKS. */
ULONG wsk_client_static_events(struct wsk_client *c);

/* Where the IRP is not NULL, it gets what the call returns, at once. */
NTSTATUS wsk_answer(PIRP irp, NTSTATUS status, ULONG_PTR information);

#endif
