/* SPDX-License-Identifier: MIT */
/* Declares the device interfaces of the framework's devices. */
#ifndef WDK_WDF_INTERFACE_H
#define WDK_WDF_INTERFACE_H

#include <stdbool.h>

#include "wdk/wdf/device.h"

/*
 * If `enabled` is true, enables the interfaces that were registered before this call and that the driver has not
 * disabled. Otherwise disables all interfaces of the device.
 */
void wdf_interfaces_set_state(struct wdf_device *d, bool enabled);
void wdf_interfaces_free(struct wdf_device *d);

#endif
