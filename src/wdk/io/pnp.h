/* SPDX-License-Identifier: MIT */
/* The requests that the kernel sends in place of the PnP manager. */
#ifndef ONDK_WDK_PNP_H
#define ONDK_WDK_PNP_H

#include "wdm.h"

#include "base/private_export.h"

/* Sends a request of IRP_MJ_PNP without parameters to the device, and returns its status. Requires PASSIVE_LEVEL. */
NTSTATUS pnp_send(PDEVICE_OBJECT device, UCHAR minor) PRIVATE_EXPORT(pnp_send);

#endif
