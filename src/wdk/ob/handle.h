/* SPDX-License-Identifier: MIT */
/*
 * Handles: numbers that stand for a reference to an object. A number is never given out twice, so that the use of a
 * closed handle is always seen. Each open one is in the registry of what is left (LIVE_HANDLE).
 */
#ifndef WDK_HANDLE_H
#define WDK_HANDLE_H

#include <stdbool.h>

#include "wdm.h"

/* The handle takes the caller's reference over; when there is no memory, the reference stays the caller's. */
NTSTATUS handle_open(void *object, HANDLE *handle);

/*
 * The object with a reference of the caller's (ob_unref). type NULL: any. NULL: *status is STATUS_INVALID_HANDLE or
 * STATUS_OBJECT_TYPE_MISMATCH; a bad handle is reported by whoever knows the routine's name.
 */
void *handle_lookup(HANDLE handle, POBJECT_TYPE type, NTSTATUS *status);

/* Tells the object's type and drops the handle's reference. False: no such handle. */
bool handle_close(HANDLE handle);

#endif
