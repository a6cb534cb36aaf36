/* SPDX-License-Identifier: MIT */
/*
 * Handles: each is a number that owns a reference to an object. A number is never reused, so that every use of a closed
 * handle is detected. An open handle is registered in live.h (LIVE_HANDLE).
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
 * Returns the object with a reference, which the caller drops with ob_unref. A `type` of NULL matches all. Returns NULL
 * if there is no such handle or the type differs: *status is STATUS_INVALID_HANDLE or STATUS_OBJECT_TYPE_MISMATCH. The
 * caller reports the broken rule, because it has the routine's name.
 */
void *handle_lookup(HANDLE handle, POBJECT_TYPE type, NTSTATUS *status);

/* Calls the type's `closed` and drops the handle's reference. Returns false if there is no such handle. */
bool handle_close(HANDLE handle);

#endif
