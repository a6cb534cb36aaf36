/* SPDX-License-Identifier: MIT */
/*
 * Handles: each is a number that owns a reference to an object. A number is never reused, so that every use of a closed
 * handle is detected. An open handle is registered as LIVE_HANDLE (live.h).
 */
#ifndef WDK_HANDLE_H
#define WDK_HANDLE_H

#include <stdbool.h>

#include "wdm.h"

/*
 * Creates a handle, which takes over the caller's reference. If out of memory, fails, and the caller keeps the
 * reference.
 */
NTSTATUS handle_open(void *object, HANDLE *handle);

/*
 * Returns the object with a reference, which the caller drops with ob_unref. If `type` is NULL, every type matches. On
 * failure returns NULL and sets *status: STATUS_INVALID_HANDLE if there is no such handle, STATUS_OBJECT_TYPE_MISMATCH
 * if its object has another type. The caller reports the failure, because only the caller has the routine's name.
 */
void *handle_lookup(HANDLE handle, POBJECT_TYPE type, NTSTATUS *status);

/*
 * Works like handle_lookup. If the handle is not open, also reports the handle while checks are on. `routine` is the
 * name of the function that the driver has called.
 */
void *handle_lookup_reported(const char *routine, HANDLE handle, POBJECT_TYPE type, NTSTATUS *status);

/* Calls the type's `closed` and drops the handle's reference. Returns false if there is no such handle. */
bool handle_close(HANDLE handle);

#endif
