/* SPDX-License-Identifier: MIT */
/* The security descriptors of devices. */
#ifndef ONDK_WDK_IO_SECURITY_H
#define ONDK_WDK_IO_SECURITY_H

#include "wdm.h"

#include "wdk/rtl/descriptor.h"

/* Replaces the device's descriptor by a copy of these parts. The parts must be valid. */
NTSTATUS device_set_security(PDEVICE_OBJECT device, const struct descriptor *d);
/*
 * Returns STATUS_SUCCESS if a program may open the device with these rights: the device has no descriptor, or its
 * descriptor allows the rights to the local system. Otherwise returns STATUS_ACCESS_DENIED. `rest` is the part of the
 * opened name after the device's name. If `rest` is not empty, the descriptor is checked only if the device has
 * FILE_DEVICE_SECURE_OPEN, as on Windows.
 */
NTSTATUS device_check_security(PDEVICE_OBJECT device, PCUNICODE_STRING rest, ACCESS_MASK access);
/* Frees the descriptor of a device that is destroyed. */
void device_free_security(PDEVICE_OBJECT device);

#endif
